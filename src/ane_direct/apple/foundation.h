// Strings, data, numbers, arrays and dictionaries of Foundation. What is made here is autoreleased: stand
// inside Framework::guarded(). What is read is kind-checked first: the framework's dictionaries are not ours.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ane_direct/apple/framework.h"

namespace anelane::apple {

class Foundation {
 public:
  explicit Foundation(const Framework& framework) : framework_(framework) {}

  Id string(const std::string& text) const;
  Id data(std::span<const uint8_t> bytes) const;  // a copy
  Id number(int64_t value) const;
  Id array(std::span<const Id> items) const;
  Id dictionary(std::initializer_list<std::pair<Id, Id>> entries) const;
  Id folder_url(const std::string& path) const;

  // nullopt, or empty: not of that kind.
  std::optional<std::string> text_of(Id object) const;
  std::optional<int64_t> number_of(Id object) const;
  std::optional<std::vector<Id>> items_of(Id object) const;
  bool is_dictionary(Id object) const { return is_kind(object, "NSDictionary"); }
  // Of an NSError. user_info is nil when it has none.
  struct ErrorParts {
    std::string domain, description;
    int64_t code = 0;
    Id user_info = nullptr;
  };
  std::optional<ErrorParts> error_parts(Id object) const;
  // The value under a key; nil when `object` is no dictionary or has none.
  Id value_of(Id object, const char* key) const;

 private:
  bool is_kind(Id object, const char* cls) const;
  template <class R, class... A>
  R send(Id target, const char* selector, A... arguments) const {
    Framework::note_selector(selector);
    return framework_.runtime().send<R>(target, framework_.runtime().selector(selector), arguments...);
  }
  Id cls(const char* name) const { return framework_.runtime().find_class(name); }
  const Framework& framework_;
};

}  // namespace anelane::apple
