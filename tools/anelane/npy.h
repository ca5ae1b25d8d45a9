// NumPy's .npy files, as far as tensors of a lane need them: little endian, C order, of one of five types.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anelane_tool {

struct Npy {
  anelane_dtype dtype = ANELANE_F16;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> data;  // dense, row-major
};

// Bytes of one element; 0 for a type that is none.
uint64_t dtype_bytes(anelane_dtype dtype);
const char* dtype_text(anelane_dtype dtype);  // "fp16"
uint64_t element_count(const std::vector<uint64_t>& shape);
std::string shape_text(const std::vector<uint64_t>& shape);  // "[1, 32, 1, 64]"

// nullopt: *fault says what is wrong with the file. Float32 and float64 stay what they are: see convert_to.
std::optional<Npy> read_npy(const std::string& path, std::string* fault);
// Of float64 there is only this: it becomes float32 when it is read.
bool write_npy(const std::string& path, const Npy& array, std::string* fault);

float half_value(uint16_t half);
uint16_t half_of(float value);  // rounded to nearest, ties to even
// The value of an element as a number, for people.
double element_value(const Npy& array, uint64_t index);
// fp32 to fp16 or back; false between other types.
bool convert_to(anelane_dtype dtype, Npy* array);

}  // namespace anelane_tool
