#include "seam.h"

namespace standin {

id string(const std::string& text) {
  return msg(type("NSString"), "stringWithUTF8String:", text.c_str());
}
id data(const void* bytes, size_t size) {
  return msg(type("NSData"), "dataWithBytes:length:", bytes, static_cast<unsigned long>(size));
}
id number(uint64_t value) {
  return msg(type("NSNumber"), "numberWithUnsignedLongLong:", static_cast<unsigned long long>(value));
}
id array(const std::vector<id>& items) {
  id out = msg(type("NSMutableArray"), "array");
  for (id item : items) msg<void>(out, "addObject:", item);
  return out;
}
id dictionary(const std::vector<std::pair<id, id>>& entries) {
  id out = msg(type("NSMutableDictionary"), "dictionary");
  for (const auto& [key, value] : entries) msg<void>(out, "setObject:forKey:", value, key);
  return out;
}
std::string text(id string) {
  const char* utf8 = msg<const char*>(string, "UTF8String");
  return utf8 != nullptr ? utf8 : "";
}
id at_key(id dictionary, const char* key) {
  return msg(dictionary, "objectForKey:", string(key));
}
id at_index(id array, size_t index) {
  return msg(array, "objectAtIndex:", static_cast<unsigned long>(index));
}
size_t count(id collection) {
  return msg<unsigned long>(collection, "count");
}

Error error_of(id ns_error) {
  Error out;
  if (ns_error == nullptr) return out;
  out.none = false;
  out.domain = text(msg(ns_error, "domain"));
  out.code = msg<long>(ns_error, "code");
  out.text = text(msg(ns_error, "localizedDescription"));
  if (id under = at_key(msg(ns_error, "userInfo"), "NSUnderlyingError"); under != nullptr)
    out.under = text(msg(under, "localizedDescription"));
  return out;
}

std::string Error::all() const {
  return none ? "nil"
              : domain + " " + std::to_string(code) + ": " + text + (under.empty() ? "" : " / " + under);
}

}  // namespace standin
