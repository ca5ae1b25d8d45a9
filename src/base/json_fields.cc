// A thin layer over Json that turns a missing, mistyped or out-of-range field into an error that names it.
// Values: no lifetimes, no threads of its own.
#include "base/json_fields.h"

#include <cmath>

#include "base/file.h"

namespace anelane {
namespace {

std::string range_text(double v) {
  Json json(v);
  if (std::floor(v) == v && std::fabs(v) < 1e15) json = Json(static_cast<int64_t>(v));
  return json.dump();
}

}  // namespace

std::string describe(const Json& value) {
  constexpr size_t kShown = 60;
  if (value.is_object()) return "an object of " + std::to_string(value.as_object().size()) + " fields";
  if (value.is_array() && value.as_array().size() > 16)
    return "an array of " + std::to_string(value.as_array().size()) + " values";
  std::string text = value.dump();
  if (text.size() > kShown) {
    size_t end = kShown;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return text;
}

Result<JsonFields> JsonFields::read(const std::string& path, size_t limit) {
  ANELANE_ASSIGN(const std::string text, read_file(path, limit));
  return parse(path, text);
}

Result<JsonFields> JsonFields::parse(const std::string& where, std::string_view text) {
  Result<Json> json = parse_json(text, where);
  if (!json.ok()) return error(Code::kModelInvalid, json.status().message());
  if (!json->is_object())
    return error(Code::kModelInvalid, where + ": expected a JSON object, found " + describe(*json));
  return JsonFields(where, *std::move(json));
}

const Json* JsonFields::find(std::string_view field) const {
  const Json* value = object_.find(field);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

Status JsonFields::wrong(std::string_view field, const std::string& expected) const {
  const Json* value = object_.find(field);
  return error(Code::kModelInvalid,
               where_ + ": " + std::string(field) + ": expected " + expected + ", found " +
                   (value != nullptr ? describe(*value) : "nothing (the field is missing)"));
}

Result<int64_t> JsonFields::integer(std::string_view field, int64_t min, int64_t max,
                                    std::optional<int64_t> fallback) const {
  const Json* value = find(field);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_int() || value->as_int() < min || value->as_int() > max)
    return wrong(field, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return value->as_int();
}

Result<double> JsonFields::number(std::string_view field, double min, double max,
                                  std::optional<double> fallback) const {
  const Json* value = find(field);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_number() || !(value->as_double() >= min) || !(value->as_double() <= max))
    return wrong(field, "a number from " + range_text(min) + " to " + range_text(max));
  return value->as_double();
}

Result<bool> JsonFields::boolean(std::string_view field, std::optional<bool> fallback) const {
  const Json* value = find(field);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_bool()) return wrong(field, "true or false");
  return value->as_bool();
}

Result<std::string> JsonFields::string(std::string_view field,
                                       const std::optional<std::string>& fallback) const {
  const Json* value = find(field);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_string()) return wrong(field, "a string");
  return value->as_string();
}

Result<JsonFields> JsonFields::object(std::string_view field) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_object()) return wrong(field, "an object");
  return JsonFields(where_ + ": " + std::string(field), *value);
}

Result<Json::Array> JsonFields::array(std::string_view field) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_array()) return wrong(field, "an array");
  return value->as_array();
}

}  // namespace anelane
