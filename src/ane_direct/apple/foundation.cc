// Public classes, so their selectors are not in the table of api_table.h. A nil where an object must be would
// be put into a collection as the end of it or raise: the makers of collections are given checked objects.
#include "ane_direct/apple/foundation.h"

#include "base/limits.h"

namespace anelane::apple {

Id Foundation::string(const std::string& text) const {
  return send<Id>(cls("NSString"), "stringWithUTF8String:", text.c_str());
}

Id Foundation::data(std::span<const uint8_t> bytes) const {
  return send<Id>(cls("NSData"), "dataWithBytes:length:", static_cast<const void*>(bytes.data()),
                  static_cast<unsigned long>(bytes.size()));
}

Id Foundation::number(int64_t value) const {
  return send<Id>(cls("NSNumber"), "numberWithLongLong:", static_cast<long long>(value));
}

Id Foundation::array(std::span<const Id> items) const {
  return send<Id>(cls("NSArray"), "arrayWithObjects:count:", items.data(),
                  static_cast<unsigned long>(items.size()));
}

Id Foundation::dictionary(std::initializer_list<std::pair<Id, Id>> entries) const {
  std::vector<Id> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key);
    values.push_back(value);
  }
  return send<Id>(cls("NSDictionary"),
                  "dictionaryWithObjects:forKeys:count:", static_cast<const Id*>(values.data()),
                  static_cast<const Id*>(keys.data()), static_cast<unsigned long>(keys.size()));
}

Id Foundation::folder_url(const std::string& path) const {
  return send<Id>(cls("NSURL"), "fileURLWithPath:isDirectory:", string(path), Bool{1});
}

bool Foundation::is_kind(Id object, const char* name) const {
  return object != nullptr && send<Bool>(object, "isKindOfClass:", cls(name)) != 0;
}

std::optional<std::string> Foundation::text_of(Id object) const {
  if (!is_kind(object, "NSString")) return std::nullopt;
  const char* text = send<const char*>(object, "UTF8String");
  if (text == nullptr) return std::nullopt;
  return std::string(text);
}

std::optional<int64_t> Foundation::number_of(Id object) const {
  if (!is_kind(object, "NSNumber")) return std::nullopt;
  return send<long long>(object, "longLongValue");
}

std::optional<std::vector<Id>> Foundation::items_of(Id object) const {
  if (!is_kind(object, "NSArray")) return std::nullopt;
  const unsigned long count = send<unsigned long>(object, "count");
  if (count > limits::kMaxPorts * limits::kMaxPorts) return std::nullopt;
  std::vector<Id> items;
  for (unsigned long i = 0; i < count; ++i) items.push_back(send<Id>(object, "objectAtIndex:", i));
  return items;
}

std::optional<Foundation::ErrorParts> Foundation::error_parts(Id object) const {
  if (!is_kind(object, "NSError")) return std::nullopt;
  ErrorParts parts;
  parts.domain = text_of(send<Id>(object, "domain")).value_or("");
  parts.code = send<long>(object, "code");
  parts.description = text_of(send<Id>(object, "localizedDescription")).value_or("");
  parts.user_info = send<Id>(object, "userInfo");
  return parts;
}

Id Foundation::value_of(Id object, const char* key) const {
  if (!is_dictionary(object)) return nullptr;
  return send<Id>(object, "objectForKey:", string(key));
}

}  // namespace anelane::apple
