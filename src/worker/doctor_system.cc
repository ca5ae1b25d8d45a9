// The steps that look at the system and need no engine. A folder is judged by making a file in it, not by its
// mode bits: whether a write works is decided by more than those. No state.
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "worker/code_signature.h"
#include "worker/doctor.h"
#include "worker/system_facts.h"

namespace anelane::worker {
namespace {

// "" when a file can be made in `folder`, and goes again; else why not.
std::string why_not_writable(const std::string& folder) {
  std::string name = join_path(folder, "anelane-doctor-XXXXXX");
  const UniqueFd fd(::mkstemp(name.data()));
  if (!fd) return errno_text(errno);
  const bool written = ::write(fd.get(), "x", 1) == 1;
  const int why = errno;
  ::unlink(name.c_str());
  return written ? std::string() : errno_text(why);
}

}  // namespace

StepResult describe_system() {
  const SystemFacts facts = system_facts();
  const std::string detail = facts.name + ", build " + facts.build + ", " + facts.machine;
  if (!facts.too_old.empty()) return {StepOutcome::kFailed, detail, facts.too_old + ": update the system"};
  return {StepOutcome::kOk, detail, {}};
}

StepResult describe_chip() {
  const SystemFacts facts = system_facts();
  if (facts.chip.empty()) return {StepOutcome::kNotApplicable, "this system does not name its processor", {}};
  return {StepOutcome::kOk, facts.chip, {}};
}

StepResult check_temp_folder(const std::string& option) {
  const char* variable = ::getenv("TMPDIR");
  const bool by_variable = option.empty() && variable != nullptr && variable[0] != '\0';
  const std::string folder = !option.empty() ? option : by_variable ? variable : "/tmp";
  const std::string detail = folder + (by_variable      ? ", from TMPDIR"
                                       : option.empty() ? ", the default"
                                                        : ", as asked for");
  const std::string why = why_not_writable(folder);
  if (why.empty()) return {StepOutcome::kOk, detail, {}};
  return {StepOutcome::kFailed, detail + ": no file can be made in it: " + why,
          by_variable ? "unset TMPDIR, or set it to a folder that you can write"
                      : "make the folder writable, or name another one"};
}

StepResult check_cache_folder(const std::string& folder) {
  const char* advice =
      "make the folder writable for you, or name another one with --cache-dir (the lane option cache_dir)";
  const Status made = make_folders(folder);
  if (!made.ok()) return {StepOutcome::kFailed, made.message(), advice};
  const std::string why = why_not_writable(folder);
  if (why.empty()) return {StepOutcome::kOk, folder, {}};
  return {StepOutcome::kFailed, folder + ": no file can be made in it: " + why, advice};
}

StepResult describe_signature(const std::string& own_file) {
  const char* advice = "sign the worker with a stable identifier: docs/macos.md says how";
  const Result<MappedFile> file = MappedFile::open(own_file);
  if (!file.ok()) return {StepOutcome::kFailed, file.status().message(), "install the worker again"};
  const auto read = read_code_signature(file->bytes(), own_cpu());
  if (!read.ok() && read.status().code() == Code::kUnsupported)
    return {StepOutcome::kNotApplicable, "programs of this system carry no signature", {}};
  if (!read.ok()) return {StepOutcome::kFailed, own_file + ": " + read.status().message(), advice};
  const std::optional<CodeSignature>& signature = *read;
  if (!signature || signature->identifier.empty())
    return {StepOutcome::kFailed,
            own_file + (signature ? " is signed without an identifier" : " is not signed"), advice};
  std::string detail = "identifier " + signature->identifier;
  detail += signature->ad_hoc ? ", ad hoc" : ", team " + signature->team;
  if (signature->hardened) detail += ", hardened runtime";
  return {StepOutcome::kOk, detail, {}};
}

}  // namespace anelane::worker
