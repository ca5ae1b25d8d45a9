// A safetensors file: its header checked, its data mapped and read only when asked for. Immutable after open,
// usable from any thread. The file must not be changed in place while it is open (a new file renamed over it
// is fine): a mapping that loses its pages ends the process.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane_direct/shape.h"
#include "base/file.h"
#include "base/status.h"

namespace anelane {

struct TensorView {
  std::string name;
  std::string dtype;  // as the file spells it
  Shape shape;
  std::span<const uint8_t> bytes;  // not aligned
  uint64_t elements = 0;

  bool is_float() const { return dtype == "F32" || dtype == "F16" || dtype == "BF16"; }
};

// Elements first … first + out.size() of a float tensor, exactly.
void read_floats(const TensorView& tensor, uint64_t first, std::span<float> out);
std::vector<float> read_all_floats(const TensorView& tensor);

class Safetensors {
 public:
  // MODEL_INVALID for everything that the format forbids: a header that is cut off or not JSON, a tensor
  // named twice, a size that does not follow from dtype and shape, data outside the file, overlapping or
  // unused.
  static Result<Safetensors> open(const std::string& path);
  // The same over bytes that outlive the value; `where` names them in errors.
  static Result<Safetensors> parse(std::string where, std::span<const uint8_t> bytes);

  const std::string& where() const { return where_; }
  std::span<const TensorView> tensors() const { return tensors_; }  // sorted by name
  const TensorView* find(std::string_view name) const;
  // A float tensor of this shape. Missing or of another shape: MODEL_INVALID; another dtype:
  // MODEL_UNSUPPORTED.
  Result<TensorView> expect(std::string_view name, const Shape& shape) const;
  std::span<const uint8_t> bytes() const { return bytes_; }  // the whole file

 private:
  MappedFile file_;
  std::string where_;
  std::span<const uint8_t> bytes_;
  std::vector<TensorView> tensors_;
};

}  // namespace anelane
