// Literals and types of MIL text in both dialects. Pure functions; no locale.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ane_direct/mil_writer.h"

namespace anelane {

// "0x1.8p+1": the exact value, as printf's %a writes it.
std::string hex_float(Half value);

// Text for one dialect: how a type is named and how a literal of it is written.
class MilText {
 public:
  explicit MilText(MilDialect dialect) : modern_(dialect == MilDialect::kIos18) {}
  std::string type(std::string_view element, const Shape& shape) const;  // "fp16", "tensor<fp16, [1, 64]>"
  std::string scalar(std::string_view element, std::string_view value) const;
  std::string quoted(std::string_view text) const;  // string("…")
  std::string ints(std::span<const int64_t> values) const;
  std::string blob(const Shape& shape, uint64_t offset) const;
  std::string header() const;  // up to and including "func main<…>("
 private:
  bool modern_;
};

}  // namespace anelane
