// Members of JSON that a library of another version may have written: what is missing or of another kind
// counts as null, an empty list or 0.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>

namespace anelane_tool {

inline const nlohmann::json& at(const nlohmann::json& object, const char* name) {
  static const nlohmann::json none;
  const auto it = object.is_object() ? object.find(name) : object.end();
  return it == object.end() ? none : *it;
}
inline const nlohmann::json& list(const nlohmann::json& value) {
  static const nlohmann::json none = nlohmann::json::array();
  return value.is_array() ? value : none;
}
inline int64_t number(const nlohmann::json& value) {
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

}  // namespace anelane_tool
