// What the lines of `anelane-worker --doctor` say. A pass has to be told in full: whatever is not understood,
// or left out, is a failure.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "doctor_step.h"

namespace anelane_tool {

class WorkerReport {
 public:
  // One line. The step that it ends; or, as a failed step, what is wrong with the line: then this is over.
  std::optional<DoctorStep> hear(const std::string& text);
  // The end has come: nothing more is listened to.
  bool over() const { return over_; }
  bool ended() const { return complete_; }  // by the line "end"
  // After the line "end", with how the process ended ("ended with code 0"): the failure that is left, if any.
  std::optional<DoctorStep> verdict(const std::string& ending) const;
  const std::string& running() const { return running_; }  // the step; "": between two
  const std::string& engine() const { return engine_; }    // the one that ran; "": none

 private:
  DoctorStep broken(const std::string& what);

  std::string running_, engine_;
  std::map<std::string, std::string> outcomes_;  // by step
  size_t lines_ = 0;
  bool failed_ = false, over_ = false, complete_ = false;
};

}  // namespace anelane_tool
