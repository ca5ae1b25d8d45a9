// Reads the fields of a checkpoint's JSON files. Every error is MODEL_INVALID and says which file and field,
// what was expected and what was found.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace anelane {

class JsonFields {
 public:
  // The file must hold one JSON object of at most `limit` bytes. IO when it cannot be read.
  static Result<JsonFields> read(const std::string& path, size_t limit);
  // The same from memory; `where` names the text.
  static Result<JsonFields> parse(const std::string& where, std::string_view text);
  // `where` stands in front of every error: "tokenizer.json: normalizer".
  JsonFields(std::string where, Json object) : where_(std::move(where)), object_(std::move(object)) {}

  const std::string& where() const { return where_; }
  // nullptr when the field is missing or null.
  const Json* find(std::string_view field) const;

  // Without a fallback the field is obligatory; with one, a missing or null field gives the fallback.
  Result<int64_t> integer(std::string_view field, int64_t min, int64_t max,
                          std::optional<int64_t> fallback = std::nullopt) const;
  Result<double> number(std::string_view field, double min, double max,
                        std::optional<double> fallback = std::nullopt) const;
  Result<bool> boolean(std::string_view field, std::optional<bool> fallback = std::nullopt) const;
  Result<std::string> string(std::string_view field,
                             const std::optional<std::string>& fallback = std::nullopt) const;
  // The member object, with its own place in errors; obligatory.
  Result<JsonFields> object(std::string_view field) const;
  // The member array; obligatory.
  Result<Json::Array> array(std::string_view field) const;

  // "config.json: hidden_size: expected an integer from 1 to 16384, found \"wide\"".
  Status wrong(std::string_view field, const std::string& expected) const;

 private:
  std::string where_;
  Json object_;
};

// A value for an error message: its JSON text, shortened.
std::string describe(const Json& value);

}  // namespace anelane
