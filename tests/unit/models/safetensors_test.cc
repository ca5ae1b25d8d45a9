#include "models/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The error of parsing a file with this header and as many bytes of data.
Status refusal(std::string_view header, size_t data = 16) {
  const std::string bytes = safetensors_bytes(header, std::string(data, '\0'));
  return Safetensors::parse("t.safetensors", as_bytes(bytes)).status();
}

void expect_invalid(const Status& status, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code(), Code::kModelInvalid);
  EXPECT_NE(status.message().find("t.safetensors"), std::string::npos) << status.message();
  for (const char* part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

constexpr const char* kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
    R"("a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsTensorsByName) {
  const std::string bytes = safetensors_bytes(kGood, std::string(16, '\0'));
  Result<Safetensors> file = Safetensors::parse("t.safetensors", as_bytes(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->find("a")->shape, (Shape{2, 2}));
  EXPECT_EQ(file->find("a")->elements, 4u);
  EXPECT_EQ(file->find("b")->bytes.size(), 8u);
  EXPECT_EQ(file->find("__metadata__"), nullptr);
}

TEST(Safetensors, FloatsOfEveryWidthAreRead) {
  TinyTensor f32{"f32", "F32", {2}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}};  // 1, -2
  TinyTensor f16{"f16", "F16", {3}, {0, 0x3c, 1, 0, 0, 0xfc}};           // 1, 2^-24, -inf
  TinyTensor bf16{"bf16", "BF16", {2}, {0x80, 0x3f, 0, 0xc0}};           // 1, -2
  const std::string bytes = safetensors_bytes({f16, f32, bf16});         // f32 lies unaligned
  Result<Safetensors> file = Safetensors::parse("t.safetensors", as_bytes(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(read_all_floats(*file->find("f32")), (std::vector<float>{1, -2}));
  EXPECT_EQ(read_all_floats(*file->find("bf16")), (std::vector<float>{1, -2}));
  EXPECT_EQ(read_all_floats(*file->find("f16")), (std::vector<float>{1, 0x1p-24f, -INFINITY}));
  float second = 0;
  read_floats(*file->find("f32"), 1, std::span(&second, 1));
  EXPECT_EQ(second, -2);
}

TEST(Safetensors, TruncatedFilesAreRefusedAtEveryLength) {
  const std::string bytes = safetensors_bytes(kGood, std::string(16, '\0'));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Status status = Safetensors::parse("t.safetensors", as_bytes(bytes.substr(0, size))).status();
    ASSERT_EQ(status.code(), Code::kModelInvalid) << size;
  }
}

TEST(Safetensors, HugeHeaderLengthsAreRefusedWithoutReading) {
  for (const int byte : {0x7f, 0x80, 0xff}) {
    std::string bytes(64, '\0');
    bytes[7] = static_cast<char>(byte);  // 2^63 and around
    expect_invalid(Safetensors::parse("t.safetensors", as_bytes(bytes)).status(), {"header length"});
  }
  std::string bytes(64, '\0');
  bytes[3] = 1;  // 16 MiB: possible, but not here
  expect_invalid(Safetensors::parse("t.safetensors", as_bytes(bytes)).status(), {"truncated"});
}

TEST(Safetensors, HeadersThatAreNoObjectAreRefused) {
  expect_invalid(refusal("[]", 0), {"header", "JSON object"});
  expect_invalid(refusal("", 0), {"header"});
  expect_invalid(refusal("{", 0), {"header", "byte"});
  expect_invalid(refusal("\xff{}", 0), {"header"});
  expect_invalid(refusal(std::string(100, '[') + std::string(100, ']'), 0), {"nested"});
}

TEST(Safetensors, ATensorNamedTwiceIsRefused) {
  expect_invalid(refusal(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                         R"("a":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}})"),
                 {"\"a\"", "twice"});
}

TEST(Safetensors, OffsetsAreChecked) {
  const auto one = [](const char* offsets, const char* shape = "[16]") {
    return std::string(R"({"x":{"dtype":"U8","shape":)") + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_TRUE(refusal(one("[0,16]")).ok());
  expect_invalid(refusal(one("[0,17]", "[17]")), {"tensor x"});
  expect_invalid(refusal(one("[8,24]")), {"tensor x", "truncated"});
  expect_invalid(refusal(one("[-1,15]")), {"tensor x", "data_offsets"});
  expect_invalid(refusal(one("[16,0]")), {"tensor x", "data_offsets"});
  expect_invalid(refusal(one("[0,9223372036854775807]")), {"tensor x"});
  expect_invalid(refusal(one("[0,18446744073709551615]")), {"tensor x"});
  expect_invalid(refusal(one("[0.0,16.0]")), {"tensor x"});
  expect_invalid(refusal(one("[0]")), {"tensor x"});
  expect_invalid(refusal(one("null")), {"tensor x"});
  expect_invalid(refusal(one("[0,8]")), {"tensor x", "16 bytes", "found 8"});
  expect_invalid(refusal(one("[1,16]", "[15]")), {"before tensor x"});
  expect_invalid(refusal(one("[0,15]", "[15]")), {"1 bytes at the end"});
}

TEST(Safetensors, OverlappingTensorsAreRefused) {
  expect_invalid(refusal(R"({"a":{"dtype":"U8","shape":[10],"data_offsets":[0,10]},)"
                         R"("b":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}})"),
                 {"tensor b", "overlaps tensor a"});
  expect_invalid(refusal(R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},)"
                         R"("b":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}})"),
                 {"overlaps"});
}

TEST(Safetensors, ShapesAndTypesAreChecked) {
  const auto one = [](const char* dtype, const char* shape) {
    return std::string(R"({"x":{"dtype":)") + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":[0,16]}})";
  };
  expect_invalid(refusal(one("\"F31\"", "[4]")), {"tensor x", "dtype", "F31"});
  expect_invalid(refusal(one("7", "[4]")), {"tensor x", "dtype"});
  expect_invalid(refusal(one("\"F32\"", "[-4]")), {"tensor x", "shape"});
  expect_invalid(refusal(one("\"F32\"", "[4.0]")), {"tensor x", "shape"});
  expect_invalid(refusal(one("\"F32\"", "4")), {"tensor x", "shape"});
  expect_invalid(refusal(one("\"F32\"", "[1,1,1,1,1,1,1,1,4]")), {"tensor x", "shape"});
  expect_invalid(refusal(one("\"F32\"", "[4294967296,4294967296,4294967296]")), {"tensor x"});
  expect_invalid(refusal(one("\"F32\"", "[4611686018427387905,4]")),
                 {"tensor x"});  // 2^62 + 1: the product wraps to 16
  expect_invalid(refusal(one("\"F16\"", "[4]")), {"8 bytes", "F16 [4]", "found 16"});
  expect_invalid(refusal(R"({"x":7})"), {"tensor x", "found 7"});
}

TEST(Safetensors, EmptyTensorsAreFine) {
  EXPECT_TRUE(
      refusal(R"({"e":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,0]}})", 0).ok());
}

TEST(Safetensors, ExpectNamesWhatIsWrong) {
  const std::string bytes = safetensors_bytes(
      {{"w", "F32", {2, 1}, std::vector<uint8_t>(8)}, {"i", "I64", {1}, std::vector<uint8_t>(8)}});
  Result<Safetensors> file = Safetensors::parse("t.safetensors", as_bytes(bytes));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->expect("w", {2, 1}).ok());
  expect_invalid(file->expect("v", {2}).status(), {"tensor v", "[2]", "no such tensor"});
  expect_invalid(file->expect("w", {1, 2}).status(), {"tensor w", "expected shape [1, 2]", "found [2, 1]"});
  const Status dtype = file->expect("i", {1}).status();
  EXPECT_EQ(dtype.code(), Code::kModelUnsupported);
  EXPECT_NE(dtype.message().find("found I64"), std::string::npos);
}

TEST(Safetensors, FilesThatCannotBeReadAreIoErrors) {
  TempFolder folder;
  EXPECT_EQ(Safetensors::open(folder.file("nothing")).status().code(), Code::kIo);
  EXPECT_EQ(Safetensors::open(folder.path()).status().code(), Code::kIo);
}

}  // namespace
}  // namespace anelane
