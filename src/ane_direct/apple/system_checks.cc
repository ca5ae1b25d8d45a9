// Of two routes one is enough (framework.h): what only one of them needs and this system has not is told, and
// is an error when the other lacks something too. No state; libraries that were opened stay open.
#include "ane_direct/apple/system_checks.h"

#include <array>
#include <set>

#include "ane_direct/apple/api_table.h"
#include "ane_direct/apple/library.h"
#include "ane_direct/apple/objc_runtime.h"
#include "ane_direct/apple/surface_api.h"
#include "ane_direct/apple/temp_folder.h"

namespace anelane::apple {
namespace {

constexpr std::array<const char*, 3> kRoutes{"both routes", "the in-memory route", "the client route"};

// What is wrong with the rows of the table, by who needs them.
struct Missing {
  std::array<std::string, 3> text;
  std::set<std::string> said;
  void add(Need need, const std::string& what) {
    if (!said.insert(kRoutes[static_cast<size_t>(need)] + what).second) return;
    std::string& all = text[static_cast<size_t>(need)];
    all += (all.empty() ? "" : ", ") + what;
  }
  std::string all() const {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i)
      if (!text[i].empty()) out += (out.empty() ? "" : "; ") + std::string(kRoutes[i]) + ": " + text[i];
    return out;
  }
  bool usable() const { return text[0].empty() && (text[1].empty() || text[2].empty()); }
};

Result<ObjcRuntime> open_all(const FrameworkPaths& paths) {
  ANELANE_TRY(Library::open(paths.foundation).status());
  ANELANE_TRY(Library::open(paths.engine).status());
  return ObjcRuntime::open(paths.runtime, paths.engine);
}

Result<std::string> verdict(const Missing& missing, const char* what, size_t count) {
  if (!missing.usable()) return error(Code::kEngineUnavailable, missing.all());
  std::string found = std::to_string(count) + ' ' + what;
  if (!missing.all().empty()) found += ", and not those of " + missing.all();
  return found;
}

}  // namespace

Result<std::string> check_staging_folder(const AppleEngineOptions& options) {
  const char* variable = options.tmpdir.empty() ? nullptr : options.tmpdir.c_str();
  ANELANE_TRY(check_tmpdir(variable, options.user_temp_folder));
  return options.user_temp_folder;
}

Result<std::string> check_framework(const FrameworkPaths& paths) {
  ANELANE_TRY(open_all(paths).status());
  ANELANE_TRY(SurfaceApi::open(paths.surfaces, paths.core_foundation).status());
  return paths.engine;
}

Result<std::string> check_classes(const FrameworkPaths& paths) {
  ANELANE_ASSIGN(const ObjcRuntime runtime, open_all(paths));
  Missing missing;
  std::set<std::string> found;
  for (size_t i = 0; i < kFnCount; ++i) {
    const ApiRow& row = api_row(static_cast<Fn>(i));
    if (runtime.find_class(row.class_name) == nullptr)
      missing.add(row.need, std::string("no ") + row.class_name);
    else
      found.insert(row.class_name);
  }
  return verdict(missing, "classes are there", found.size());
}

Result<std::string> check_encodings(const FrameworkPaths& paths) {
  ANELANE_ASSIGN(const ObjcRuntime runtime, open_all(paths));
  Missing missing;
  size_t right = 0;
  for (size_t i = 0; i < kFnCount; ++i) {
    const ApiRow& row = api_row(static_cast<Fn>(i));
    const Id cls = runtime.find_class(row.class_name);
    const std::string method =
        std::string(row.class_method ? "+[" : "-[") + row.class_name + ' ' + row.selector + ']';
    const std::string found = cls == nullptr
                                  ? std::string()
                                  : runtime.encoding(cls, runtime.selector(row.selector), row.class_method);
    if (found == row.types)
      ++right;
    else if (found.empty())
      missing.add(row.need, "no " + method);
    else
      missing.add(row.need, method + " is " + found + ", not " + row.types);
  }
  return verdict(missing, "methods are as expected", right);
}

}  // namespace anelane::apple
