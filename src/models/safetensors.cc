// The format: u64 header length (little endian), a JSON object of tensors, then their data. The header comes
// from a stranger, so every number in it is checked before it is used: sizes multiply without overflow,
// offsets lie in the data, and the tensors, sorted by offset, cover the data without gap or overlap. After
// parse() every view is inside the mapping and as long as its dtype and shape say.
#include "models/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/fp16.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/limits.h"

namespace anelane {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr int kHeaderDepth = 8;
constexpr size_t kMaxRank = 8;

// Bytes of one element; 0: a dtype that the format does not have.
uint64_t element_size(std::string_view dtype) {
  struct Entry {
    std::string_view name;
    uint64_t size;
  };
  static constexpr Entry kEntries[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                                       {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},     {"U32", 4},
                                       {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const Entry& entry : kEntries)
    if (entry.name == dtype) return entry.size;
  return 0;
}

uint64_t read_u64(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

// Header length and position checked against the file.
Result<uint64_t> header_size(const std::string& where, std::span<const uint8_t> bytes) {
  if (bytes.size() < kLengthBytes)
    return error(Code::kModelInvalid,
                 where + ": " + std::to_string(bytes.size()) +
                     " bytes, too short for a safetensors file (8 bytes of header length)");
  const uint64_t size = read_u64(bytes);
  if (size > limits::kMaxSafetensorsHeader)
    return error(Code::kModelInvalid, where + ": header length " + std::to_string(size) + " is beyond " +
                                          std::to_string(limits::kMaxSafetensorsHeader) +
                                          "; is this a safetensors file?")
        .with_limit(limits::kMaxSafetensorsHeader);
  if (size > bytes.size() - kLengthBytes)
    return error(Code::kModelInvalid, where + ": the header should have " + std::to_string(size) +
                                          " bytes, but the file ends after " +
                                          std::to_string(bytes.size() - kLengthBytes) + ": it is truncated");
  return size;
}

// dtype, shape and data_offsets of one tensor, checked against each other.
class TensorParser {
 public:
  TensorParser(const std::string& where, const std::string& name, const Json& entry,
               std::span<const uint8_t> data)
      : where_(where + ": tensor " + name), entry_(entry), data_(data) {
    tensor_.name = name;
  }

  Result<TensorView> parse() {
    if (!entry_.is_object()) return wrong("an object with dtype, shape and data_offsets", entry_);
    ANELANE_TRY(parse_dtype());
    ANELANE_TRY(parse_shape());
    ANELANE_TRY(parse_offsets());
    return std::move(tensor_);
  }

 private:
  Status wrong(const std::string& expected, const Json& found) const {
    return error(Code::kModelInvalid, where_ + ": expected " + expected + ", found " + describe(found));
  }

  Status parse_dtype() {
    const Json& dtype = entry_.at("dtype");
    tensor_.dtype = dtype.as_string();
    element_size_ = element_size(tensor_.dtype);
    return element_size_ > 0 ? Status() : wrong("a dtype of the format (F32, F16, BF16, …)", dtype);
  }

  Status parse_shape() {
    const Json& shape = entry_.at("shape");
    if (!shape.is_array() || shape.as_array().size() > kMaxRank)
      return wrong("a shape of at most " + std::to_string(kMaxRank) + " extents", shape);
    bool empty = false;
    for (const Json& extent : shape.as_array()) {
      if (!extent.is_int() || extent.as_int() < 0) return wrong("a shape of whole numbers", shape);
      tensor_.shape.push_back(static_cast<uint64_t>(extent.as_int()));
      empty = empty || extent.as_int() == 0;
    }
    tensor_.elements = empty ? 0 : 1;
    size_ = tensor_.elements * element_size_;
    for (const uint64_t extent : tensor_.shape) {
      if (empty) break;
      if (size_ > data_.size() / extent)  // also where the product would overflow
        return wrong("a tensor that fits into the file's " + std::to_string(data_.size()) + " bytes of data",
                     shape);
      size_ *= extent;
      tensor_.elements *= extent;
    }
    return {};
  }

  Status parse_offsets() {
    const Json& offsets = entry_.at("data_offsets");
    const Json::Array& pair = offsets.as_array();
    if (pair.size() != 2 || !pair[0].is_int() || !pair[1].is_int() || pair[0].as_int() < 0 ||
        pair[1].as_int() < pair[0].as_int())
      return wrong("data_offsets [begin, end]", offsets);
    const uint64_t begin = static_cast<uint64_t>(pair[0].as_int());
    const uint64_t end = static_cast<uint64_t>(pair[1].as_int());
    if (end > data_.size())
      return wrong("data_offsets within the file's " + std::to_string(data_.size()) +
                       " bytes of data (is the file truncated?)",
                   offsets);
    if (end - begin != size_)
      return wrong(std::to_string(size_) + " bytes of data, as " + tensor_.dtype + " " +
                       shape_text(tensor_.shape) + " has",
                   Json(end - begin));
    tensor_.bytes = data_.subspan(begin, end - begin);
    return {};
  }

  const std::string where_;
  const Json& entry_;
  const std::span<const uint8_t> data_;
  TensorView tensor_;
  uint64_t element_size_ = 0;
  uint64_t size_ = 0;
};

// The tensors cover the data exactly, each byte once.
Status check_cover(const std::string& where, std::span<const uint8_t> data,
                   const std::vector<TensorView>& tensors) {
  std::vector<const TensorView*> by_offset;
  for (const TensorView& tensor : tensors) by_offset.push_back(&tensor);
  std::sort(by_offset.begin(), by_offset.end(), [](const TensorView* a, const TensorView* b) {
    return a->bytes.data() != b->bytes.data() ? a->bytes.data() < b->bytes.data()
                                              : a->bytes.size() < b->bytes.size();
  });
  const TensorView* previous = nullptr;
  const uint8_t* covered = data.data();
  for (const TensorView* tensor : by_offset) {
    const auto offset = std::to_string(tensor->bytes.data() - data.data());
    if (tensor->bytes.data() < covered)
      return error(Code::kModelInvalid, where + ": tensor " + tensor->name + " at offset " + offset +
                                            " overlaps tensor " + previous->name);
    if (tensor->bytes.data() > covered)
      return error(Code::kModelInvalid, where + ": the data before tensor " + tensor->name + " at offset " +
                                            offset + " belongs to no tensor");
    covered = tensor->bytes.data() + tensor->bytes.size();
    previous = tensor;
  }
  const uint64_t rest = static_cast<uint64_t>(data.data() + data.size() - covered);
  if (rest > 0)
    return error(Code::kModelInvalid,
                 where + ": " + std::to_string(rest) + " bytes at the end of the file belong to no tensor");
  return {};
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::string where, std::span<const uint8_t> bytes) {
  ANELANE_ASSIGN(const uint64_t size, header_size(where, bytes));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, size);
  Result<Json> json = parse_json(header, where + ": header", kHeaderDepth, DuplicateKeys::kRefuse);
  if (!json.ok()) return error(Code::kModelInvalid, json.status().message());
  if (!json->is_object())
    return error(Code::kModelInvalid, where + ": header: expected a JSON object, found " + describe(*json));

  Safetensors file;
  file.where_ = std::move(where);
  file.bytes_ = bytes;
  const std::span<const uint8_t> data = bytes.subspan(kLengthBytes + size);
  for (const auto& [name, entry] : json->as_object()) {
    if (name == "__metadata__") continue;
    ANELANE_ASSIGN(TensorView tensor, TensorParser(file.where_, name, entry, data).parse());
    file.tensors_.push_back(std::move(tensor));
  }
  ANELANE_TRY(check_cover(file.where_, data, file.tensors_));
  std::sort(file.tensors_.begin(), file.tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  return file;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  ANELANE_ASSIGN(MappedFile mapped, MappedFile::open(path));
  ANELANE_ASSIGN(Safetensors file, parse(path, mapped.bytes()));
  file.file_ = std::move(mapped);
  return file;
}

const TensorView* Safetensors::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const TensorView& a, std::string_view b) { return a.name < b; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

Result<TensorView> Safetensors::expect(std::string_view name, const Shape& shape) const {
  const TensorView* tensor = find(name);
  const std::string place = where_ + ": tensor " + std::string(name) + ": ";
  if (tensor == nullptr)
    return error(Code::kModelInvalid, place + "expected shape " + shape_text(shape) +
                                          ", found no such tensor among " + std::to_string(tensors_.size()));
  if (tensor->shape != shape)
    return error(Code::kModelInvalid,
                 place + "expected shape " + shape_text(shape) + ", found " + shape_text(tensor->shape));
  if (!tensor->is_float())
    return error(Code::kModelUnsupported, place + "expected dtype F32, F16 or BF16, found " + tensor->dtype);
  return *tensor;
}

void read_floats(const TensorView& tensor, uint64_t first, std::span<float> out) {
  if (tensor.dtype == "F32") {
    std::memcpy(out.data(), tensor.bytes.data() + first * sizeof(float), out.size_bytes());
    return;
  }
  const bool bf16 = tensor.dtype == "BF16";
  const uint8_t* from = tensor.bytes.data() + first * sizeof(uint16_t);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint16_t bits = static_cast<uint16_t>(from[2 * i] | from[2 * i + 1] << 8);
    out[i] = bf16 ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16) : half_to_float(bits);
  }
}

std::vector<float> read_all_floats(const TensorView& tensor) {
  std::vector<float> values(tensor.elements);
  read_floats(tensor, 0, values);
  return values;
}

}  // namespace anelane
