// One step of the doctor, as it is shown.
#pragma once
#include <string>

namespace anelane_tool {

struct DoctorStep {
  std::string name;
  std::string outcome;  // "ok", "failed", "not applicable", "not reached"
  std::string detail;
  std::string advice;  // "": none
  double ms = 0;
};

}  // namespace anelane_tool
