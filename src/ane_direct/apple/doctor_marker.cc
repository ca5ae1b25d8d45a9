// Advice, not protection: the mark keeps a host from trying by accident what nobody has tried on this
// machine. Threads: any.
#include "ane_direct/apple/doctor_marker.h"

#include "base/file.h"

namespace anelane::apple {
namespace {
constexpr size_t kMostBytes = 256;
}

Result<std::string> doctor_marker_path() {
  ANELANE_ASSIGN(const std::string home, home_folder());
  return join_path(home, "Library/Caches/anelane/doctor-passed");
}

bool doctor_passed(const std::string& os_build) {
  const Result<std::string> path = doctor_marker_path();
  if (!path.ok() || os_build.empty()) return false;
  const Result<std::string> text = read_file(*path, kMostBytes);
  return text.ok() && *text == os_build + "\n";
}

Status mark_doctor_passed(const std::string& os_build) {
  ANELANE_ASSIGN(const std::string path, doctor_marker_path());
  ANELANE_TRY(make_folders(path.substr(0, path.rfind('/'))));
  return write_file_atomic(path, os_build + "\n");
}

}  // namespace anelane::apple
