// A safetensors file from a stranger: whatever parses must lie within the input and be readable to its end.
#include <cstdlib>

#include "models/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anelane;
  const std::span<const uint8_t> bytes(data, size);
  const Result<Safetensors> file = Safetensors::parse("fuzz", bytes);
  if (!file.ok()) return 0;
  for (const TensorView& tensor : file->tensors()) {
    if (tensor.bytes.data() < data || tensor.bytes.data() + tensor.bytes.size() > data + size) std::abort();
    if (file->find(tensor.name) == nullptr) std::abort();
    if (tensor.is_float() && read_all_floats(tensor).size() != tensor.elements) std::abort();
    if (file->expect(tensor.name, tensor.shape).ok() != tensor.is_float()) std::abort();
  }
  return 0;
}
