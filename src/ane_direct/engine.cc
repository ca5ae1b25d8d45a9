// What every engine shares: element sizes, the layout of ports, and memory for those that take any.
#include "ane_direct/engine.h"

#include <cstdlib>
#include <cstring>

namespace anelane {
namespace {

constexpr uint64_t kRowAlign = 64;
constexpr uint64_t kMemoryAlign = 64;

class PlainMemory final : public EngineMemory {
 public:
  explicit PlainMemory(uint64_t bytes) : bytes_(bytes) {
    const uint64_t rounded = (bytes + kMemoryAlign - 1) / kMemoryAlign * kMemoryAlign;
    void* data = nullptr;
    if (rounded < bytes || ::posix_memalign(&data, kMemoryAlign, rounded == 0 ? kMemoryAlign : rounded) != 0)
      return;
    std::memset(data, 0, rounded);
    data_ = data;
  }
  ~PlainMemory() override { std::free(data_); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  Buffer buffer() override { return {data_, bytes_, this}; }
  Status begin_access(Access) override { return {}; }
  Status end_access(Access) override { return {}; }

 private:
  void* data_ = nullptr;
  uint64_t bytes_;
};

}  // namespace

void clear_padding(const Port& port, void* data) {
  if (port.dims.size() < 2) return;
  const size_t last = port.dims.size() - 1;
  const uint64_t row = port.dims[last] * port.strides[last], stride = port.strides[last - 1];
  if (row >= stride) return;
  std::vector<uint64_t> index(last, 0);
  uint64_t at = 0;
  for (size_t axis = 0; axis < last;) {
    if (at + stride <= port.bytes) std::memset(static_cast<char*>(data) + at + row, 0, stride - row);
    // The next row: the rightmost index first.
    for (axis = 0; axis < last; ++axis) {
      const size_t i = last - 1 - axis;
      at += port.strides[i];
      if (++index[i] < port.dims[i]) break;
      at -= port.strides[i] * port.dims[i];
      index[i] = 0;
    }
  }
}

Result<std::unique_ptr<EngineMemory>> Engine::allocate(uint64_t bytes) {
  auto memory = std::make_unique<PlainMemory>(bytes);
  if (memory->buffer().data == nullptr)
    return error(Code::kOutOfMemory, "not enough memory for a port of " + std::to_string(bytes) + " bytes");
  return std::unique_ptr<EngineMemory>(std::move(memory));
}

size_t dtype_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return 2;
    case Dtype::kF32:
    case Dtype::kI32:
      return 4;
    case Dtype::kI8:
    case Dtype::kU8:
      return 1;
  }
  return 0;
}

const char* dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return "fp16";
    case Dtype::kF32:
      return "fp32";
    case Dtype::kI32:
      return "int32";
    case Dtype::kI8:
      return "int8";
    case Dtype::kU8:
      return "uint8";
  }
  return "";
}

std::string port_text(const Port& port) {
  return std::string(dtype_name(port.dtype)) + " " + shape_text(port.dims);
}

Port make_port(std::string name, Dtype dtype, const Shape& shape) {
  Port port;
  port.name = std::move(name);
  port.dtype = dtype;
  port.dims = shape;
  port.strides.assign(shape.size(), dtype_size(dtype));
  uint64_t bytes = (shape.back() * dtype_size(dtype) + kRowAlign - 1) / kRowAlign * kRowAlign;
  for (size_t i = shape.size() - 1; i-- > 0;) {
    port.strides[i] = bytes;
    bytes *= shape[i];
  }
  port.bytes = bytes;
  return port;
}

}  // namespace anelane
