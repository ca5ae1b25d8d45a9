// The format: "\x93NUMPY", version, length of a header in Python's syntax, the header, the data. The header
// is looked through for its three fields instead of parsed: 'descr', 'fortran_order', 'shape'. Every length
// is compared with what the file has. Pure but for the files.
#include "npy.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "printable.h"
#include "regular_file.h"

namespace anelane_tool {
namespace {

constexpr size_t kMaxHeader = 1u << 16;
constexpr uint64_t kMaxTensor = uint64_t{1} << 30;  // the library's bound on the tensors of a run
constexpr size_t kMaxRank = 8;

struct Kind {
  const char* descr;
  anelane_dtype dtype;
};
constexpr Kind kKinds[] = {{"<f2", ANELANE_F16},
                           {"<f4", ANELANE_F32},
                           {"<i4", ANELANE_I32},
                           {"|i1", ANELANE_I8},
                           {"|u1", ANELANE_U8}};

// What stands behind 'name': in the header, from its first character that is no blank.
std::string field(const std::string& header, const std::string& name) {
  size_t at = header.find("'" + name + "'");
  if (at == std::string::npos) return "";
  at = header.find(':', at);
  if (at == std::string::npos) return "";
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? "" : header.substr(at);
}

// A tuple of whole numbers: "()", "(7,)", "(1, 2)", "(1, 2,)".
bool parse_shape(const std::string& text, std::vector<uint64_t>* shape) {
  if (text.empty() || text[0] != '(') return false;
  size_t at = 1;
  const auto next = [&] {  // the next character that is no blank; NUL at the end
    while (at < text.size() && text[at] == ' ') ++at;
    return at < text.size() ? text[at] : '\0';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  bool comma = false;
  for (char c = next(); c != ')'; c = next()) {
    if (!is_digit(c) || (!shape->empty() && !comma)) return false;
    uint64_t value = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      value = value * 10 + static_cast<uint64_t>(text[at] - '0');
      if (value > kMaxTensor) return false;
    }
    shape->push_back(value);
    if (shape->size() > kMaxRank) return false;
    comma = next() == ',';
    if (comma) ++at;
  }
  return shape->size() != 1 || comma;  // "(7)" is a number
}

// The type for a message, quotes included: a header may hold anything.
std::string type_shown(const std::string& descr) {
  const size_t end = descr.empty() || descr[0] != '\'' ? std::string::npos : descr.find('\'', 1);
  return end < 32 ? printable(descr.substr(0, end + 1)) : "no simple one";
}

bool bounded_count(const std::vector<uint64_t>& shape, uint64_t* count) {
  *count = 1;
  for (const uint64_t dim : shape) {
    if (dim != 0 && *count > kMaxTensor / dim) return false;
    *count *= dim;
  }
  return true;
}

void narrow_doubles(std::vector<uint8_t>* data) {
  std::vector<uint8_t> floats(data->size() / 2);
  for (size_t i = 0; i < floats.size() / 4; ++i) {
    double wide = 0;
    std::memcpy(&wide, data->data() + 8 * i, 8);
    const float narrow = static_cast<float>(wide);
    std::memcpy(floats.data() + 4 * i, &narrow, 4);
  }
  *data = std::move(floats);
}

}  // namespace

uint64_t dtype_bytes(anelane_dtype dtype) {
  switch (dtype) {
    case ANELANE_F16:
      return 2;
    case ANELANE_F32:
    case ANELANE_I32:
      return 4;
    case ANELANE_I8:
    case ANELANE_U8:
      return 1;
    default:
      return 0;
  }
}

const char* dtype_text(anelane_dtype dtype) {
  switch (dtype) {
    case ANELANE_F16:
      return "fp16";
    case ANELANE_F32:
      return "fp32";
    case ANELANE_I32:
      return "int32";
    case ANELANE_I8:
      return "int8";
    case ANELANE_U8:
      return "uint8";
    default:
      return "unknown";
  }
}

uint64_t element_count(const std::vector<uint64_t>& shape) {
  uint64_t count = 1;
  for (const uint64_t dim : shape) count *= dim;
  return count;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<Npy> read_npy(const std::string& path, std::string* fault) {
  const auto wrong = [&](const std::string& what) {
    *fault = path + ": " + what;
    return std::nullopt;
  };
  std::string why;
  std::optional<RegularFile> file = RegularFile::open(path, &why);
  if (!file) return wrong("cannot open: " + why);
  char magic[8] = {};
  if (file->size() < 8 || !file->read(magic, 8, &why) || std::memcmp(magic, "\x93NUMPY", 6) != 0)
    return wrong("this is no .npy file");
  uint8_t digits[4] = {};
  const size_t length_bytes = magic[6] == 1 ? 2 : 4;
  if (file->size() < 8 + length_bytes || !file->read(digits, length_bytes, &why))
    return wrong("the header is cut");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{digits[i]} << (8 * i);
  if (length > kMaxHeader) return wrong("the header is too long");
  std::string header(length, '\0');
  const uint64_t data_at = 8 + length_bytes + length;
  if (file->size() < data_at || !file->read(header.data(), length, &why)) return wrong("the header is cut");
  Npy array;
  const std::string descr = field(header, "descr");
  bool doubles = descr.rfind("'<f8'", 0) == 0, known = doubles;
  if (doubles) array.dtype = ANELANE_F32;
  for (const Kind& kind : kKinds) {
    if (descr.rfind(std::string("'") + kind.descr + "'", 0) != 0) continue;
    array.dtype = kind.dtype;
    known = true;
  }
  if (!known)
    return wrong("its type is " + type_shown(descr) +
                 "; '<f2', '<f4', '<f8', '<i4', '|i1' and '|u1' are read");
  if (field(header, "fortran_order").rfind("False", 0) != 0)
    return wrong("it is in Fortran order: save numpy.ascontiguousarray(x)");
  uint64_t count = 0;
  if (!parse_shape(field(header, "shape"), &array.shape) || !bounded_count(array.shape, &count))
    return wrong("its shape cannot be read, or is too large");
  // No port takes more, were the elements of a float stored as fp16.
  const uint64_t least = array.dtype == ANELANE_F32 ? 2 : dtype_bytes(array.dtype);
  if (count * least > kMaxTensor) return wrong("it is too large: a run takes 1 GiB at most");
  const uint64_t bytes = count * (doubles ? 8 : dtype_bytes(array.dtype));
  // By what is there, not by what the header says, and before anything is read: neither asks for gigabytes
  // alone.
  if (file->size() - data_at != bytes)
    return wrong("it has " + std::to_string(file->size() - data_at) + " bytes of data, " +
                 shape_text(array.shape) + " needs " + std::to_string(bytes));
  try {
    array.data.resize(bytes);
    if (!file->read(array.data.data(), bytes, &why)) return wrong("cannot read: " + why);
    if (doubles) narrow_doubles(&array.data);
  } catch (const std::bad_alloc&) {
    return wrong("there is not enough memory for its " + std::to_string(bytes) + " bytes");
  }
  return array;
}

bool write_npy(const std::string& path, const Npy& array, std::string* fault) {
  const char* descr = "";
  for (const Kind& kind : kKinds)
    if (kind.dtype == array.dtype) descr = kind.descr;
  std::string shape = "(";
  for (const uint64_t dim : array.shape) shape += std::to_string(dim) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + "), }";
  header += std::string((64 - (10 + header.size() + 1) % 64) % 64, ' ') + "\n";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  const unsigned char head[] = {0x93,
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                1,
                                0,
                                static_cast<unsigned char>(header.size()),
                                static_cast<unsigned char>(header.size() >> 8)};
  if (file != nullptr && std::fwrite(head, 1, sizeof head, file.get()) == sizeof head &&
      std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
      std::fwrite(array.data.data(), 1, array.data.size(), file.get()) == array.data.size() &&
      std::fflush(file.get()) == 0)
    return true;
  *fault = "cannot write " + path + ": " + std::strerror(errno);
  return false;
}

float half_value(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u, mantissa = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

uint16_t half_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {  // a denormal: the addition rounds it to a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

double element_value(const Npy& array, uint64_t index) {
  const uint8_t* at = array.data.data() + index * dtype_bytes(array.dtype);
  switch (array.dtype) {
    case ANELANE_F16: {
      uint16_t half = 0;
      std::memcpy(&half, at, 2);
      return static_cast<double>(half_value(half));
    }
    case ANELANE_F32: {
      float value = 0;
      std::memcpy(&value, at, 4);
      return static_cast<double>(value);
    }
    case ANELANE_I32: {
      int32_t value = 0;
      std::memcpy(&value, at, 4);
      return value;
    }
    case ANELANE_I8:
      return static_cast<int8_t>(*at);
    default:
      return *at;
  }
}

bool convert_to(anelane_dtype dtype, Npy* array) {
  if (dtype == array->dtype) return true;
  const bool narrow = dtype == ANELANE_F16 && array->dtype == ANELANE_F32;
  if (!narrow && !(dtype == ANELANE_F32 && array->dtype == ANELANE_F16)) return false;
  const uint64_t count = element_count(array->shape);
  std::vector<uint8_t> data(count * dtype_bytes(dtype));
  for (uint64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(element_value(*array, i));
    const uint16_t half = half_of(value);
    std::memcpy(data.data() + i * dtype_bytes(dtype), narrow ? static_cast<const void*>(&half) : &value,
                dtype_bytes(dtype));
  }
  array->data = std::move(data);
  array->dtype = dtype;
  return true;
}

}  // namespace anelane_tool
