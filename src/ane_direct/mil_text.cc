// The two dialects differ in scalars only: `fp16(0x1p+0)` against `tensor<fp16, []>(0x1p+0)`, and in the
// program's head. The buildInfo attribute must be there, its values are not looked at; they are frozen here
// because every byte is part of the content identifier.
#include "ane_direct/mil_text.h"

namespace anelane {

std::string hex_float(Half value) {
  std::string text = (value & 0x8000u) != 0 ? "-" : "";
  const int exponent_bits = (value >> 10) & 0x1f;
  uint32_t mantissa = value & 0x3ffu;
  if (exponent_bits == 0x1f) return text + (mantissa == 0 ? "inf" : "nan");
  if (exponent_bits == 0 && mantissa == 0) return text + "0x0p+0";
  int exponent = exponent_bits - 15;
  if (exponent_bits == 0) {  // denormal: bring the leading one to bit 10
    exponent = -14;
    while ((mantissa & 0x400u) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= 0x3ffu;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "0x1";
  uint32_t fraction = mantissa << 2;  // 10 bits as three hexadecimal digits
  if (fraction != 0) text += '.';
  while (fraction != 0) {
    text += kDigits[(fraction >> 8) & 15u];
    fraction = (fraction << 4) & 0xfffu;
  }
  text += exponent < 0 ? "p-" : "p+";
  return text + std::to_string(exponent < 0 ? -exponent : exponent);
}

std::string MilText::type(std::string_view element, const Shape& shape) const {
  if (shape.empty() && modern_) return std::string(element);
  return "tensor<" + std::string(element) + ", " + shape_text(shape) + ">";
}

std::string MilText::scalar(std::string_view element, std::string_view value) const {
  return type(element, {}) + "(" + std::string(value) + ")";
}

std::string MilText::quoted(std::string_view text) const {
  std::string value = "\"";
  value += text;
  return scalar("string", value + '"');
}

std::string MilText::ints(std::span<const int64_t> values) const {
  std::string text = type("int32", {values.size()}) + "([";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "])";
}

std::string MilText::blob(const Shape& shape, uint64_t offset) const {
  return "tensor<fp16, " + shape_text(shape) +
         ">(BLOBFILE(path = " + quoted("@model_path/weights/weight.bin") +
         ", offset = " + scalar("uint64", std::to_string(offset)) + "))";
}

std::string MilText::header() const {
  if (!modern_)
    return "program(1.0)\n"
           "[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{\"coremlc-version\", "
           "\"3505.4.1\"}})]\n"
           "{\n    func main<ios16>(";
  return "program(1.3)\n"
         "[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"3510.2.1\"}, "
         "{\"coremlc-version\", \"3505.4.1\"}, {\"coremltools-component-milinternal\", \"\"}, "
         "{\"coremltools-version\", \"9.0\"}})]\n"
         "{\n    func main<ios18>(";
}

}  // namespace anelane
