// The mark that `anelane doctor` leaves when the engine passed all its steps on this machine. Without it the
// engine is not used inside a host's own process (thread mode), where nothing that goes wrong can be stopped.
#pragma once
#include <string>

#include "base/status.h"

namespace anelane::apple {

// A file of one line, the OS build that passed: another build asks for another doctor.
// ~/Library/Caches/anelane/doctor-passed.
Result<std::string> doctor_marker_path();
bool doctor_passed(const std::string& os_build);
Status mark_doctor_passed(const std::string& os_build);

}  // namespace anelane::apple
