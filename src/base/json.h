// A small JSON value. Objects keep the order of their members, so that what we write is the same bytes
// every time. Parsing is bounded in depth and reports the byte where it failed; numbers that fit are
// integers. Values: copyable, no lifetimes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace anelane {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool v) : value_(v) {}
  Json(int v) : value_(static_cast<int64_t>(v)) {}
  Json(int64_t v) : value_(v) {}
  Json(uint32_t v) : value_(static_cast<int64_t>(v)) {}
  Json(uint64_t v);
  Json(double v) : value_(v) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(Array v) : value_(std::move(v)) {}
  Json(Object v) : value_(std::move(v)) {}
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value, or the fallback when it is of another kind.
  bool as_bool(bool fallback = false) const;
  int64_t as_int(int64_t fallback = 0) const;
  double as_double(double fallback = 0) const;
  const std::string& as_string() const;  // "" when it is not a string
  const Array& as_array() const;         // empty when it is not an array
  const Object& as_object() const;       // empty when it is not an object

  // Member of an object; nullptr when there is none or this is no object.
  const Json* find(std::string_view key) const;
  const Json& at(std::string_view key) const;  // a null value when missing
  Json& set(std::string key, Json value);      // makes this an object; replaces or appends; returns *this
  Json& push(Json value);                      // makes this an array; returns *this

  std::string dump() const;  // one line, no blanks; invalid UTF-8 is replaced

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

enum class DuplicateKeys { kLastWins, kRefuse };
// The whole text must be one value. `what` names the source in the error: "config.json: byte 17: …".
// max_depth bounds nesting.
Result<Json> parse_json(std::string_view text, std::string_view what, int max_depth = 64,
                        DuplicateKeys duplicates = DuplicateKeys::kLastWins);

}  // namespace anelane
