// The text is compared as a whole once for each dialect; the rest is about names, constants and errors.
#include "ane_direct/mil_writer.h"

#include <gtest/gtest.h>

#include "ane_direct/content_id.h"
#include "ane_direct/mil_text.h"
#include "ane_direct/weight_blob.h"

namespace anelane {
namespace {

Result<Program> small_layer(MilDialect dialect) {
  MilWriter mil(dialect);
  const auto x = mil.input("a00_x", {1, 2, 1, 64});
  const auto w = mil.weight({2, 2, 1, 1}, std::vector<float>{1, 0, 0, 1});
  const auto y = mil.mul(mil.conv(x, w), 0.125f);
  mil.output("z00_y", mil.add(y, x));
  return std::move(mil).finish();
}

TEST(MilWriter, ModernTextIsExactlyThis) {
  const auto program = small_layer(MilDialect::kIos18);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->mil, R"(program(1.3)
[buildInfo = dict<string, string>({{"coremlc-component-MIL", "3510.2.1"}, {"coremlc-version", "3505.4.1"}, {"coremltools-component-milinternal", ""}, {"coremltools-version", "9.0"}})]
{
    func main<ios18>(tensor<fp16, [1, 2, 1, 64]> a00_x) {
        tensor<fp16, [2, 2, 1, 1]> c0 = const()[name = string("c0"), val = tensor<fp16, [2, 2, 1, 1]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(64)))];
        tensor<int32, [2]> c1 = const()[name = string("c1"), val = tensor<int32, [2]>([1, 1])];
        int32 c2 = const()[name = string("c2"), val = int32(1)];
        tensor<int32, [4]> c3 = const()[name = string("c3"), val = tensor<int32, [4]>([0, 0, 0, 0])];
        string c4 = const()[name = string("c4"), val = string("valid")];
        tensor<fp16, [1, 2, 1, 64]> t1 = conv(dilations = c1, groups = c2, pad = c3, pad_type = c4, strides = c1, weight = c0, x = a00_x)[name = string("t1")];
        fp16 c5 = const()[name = string("c5"), val = fp16(0x1p-3)];
        tensor<fp16, [1, 2, 1, 64]> t2 = mul(x = t1, y = c5)[name = string("t2")];
        tensor<fp16, [1, 2, 1, 64]> z00_y = add(x = t2, y = a00_x)[name = string("z00_y")];
    } -> (z00_y);
}
)");
  EXPECT_EQ(program->weights.size(), 64u + 64 + 8);
}

TEST(MilWriter, OldDialectWritesScalarsAsRankZeroTensors) {
  const auto program = small_layer(MilDialect::kIos16);
  ASSERT_TRUE(program.ok());
  for (const char* piece :
       {"program(1.0)\n", "func main<ios16>(",
        "tensor<fp16, []> c5 = const()[name = tensor<string, []>(\"c5\"), val = "
        "tensor<fp16, []>(0x1p-3)];",
        "offset = tensor<uint64, []>(64)", "dict<tensor<string, []>, tensor<string, []>>"})
    EXPECT_NE(program->mil.find(piece), std::string::npos) << piece;
}

TEST(MilWriter, L8_1_SameCallsSameBytes) {
  EXPECT_EQ(content_id(*small_layer(MilDialect::kIos18)), content_id(*small_layer(MilDialect::kIos18)));
}

TEST(MilWriter, InputsAreDeclaredInTheOrderInWhichTheEngineBindsThem) {
  MilWriter mil;
  const auto b = mil.input("b", {1, 1, 1, 32});
  const auto a = mil.input("a", {1, 1, 1, 32});
  mil.output("z", mil.sub(b, a));
  mil.output("y", mil.add(b, a));
  const auto program = std::move(mil).finish();
  ASSERT_TRUE(program.ok());
  EXPECT_LT(program->mil.find("> a,"), program->mil.find("> b)"));
  EXPECT_NE(program->mil.find("-> (y, z);"), std::string::npos);
}

TEST(MilWriter, OutputsThatNoOperationMadePassThroughIdentity) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 1, 1, 32});
  mil.output("y", x);
  const auto doubled = mil.add(x, x);
  mil.output("z1", doubled);
  mil.output("z2", doubled);
  const auto program = std::move(mil).finish();
  ASSERT_TRUE(program.ok());
  EXPECT_NE(program->mil.find(" y = identity(x = x)"), std::string::npos);
  EXPECT_NE(program->mil.find(" z2 = identity(x = z1)"), std::string::npos);
}

TEST(MilWriter, SplitGivesOneStatementWithSeveralResults) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 96, 1, 32});
  const auto parts = mil.split(x, {32, 64}, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(mil.shape(parts[0]), (Shape{1, 32, 1, 32}));
  EXPECT_EQ(mil.shape(parts[1]), (Shape{1, 64, 1, 32}));
  mil.output("y", parts[1]);
  const auto program = std::move(mil).finish();
  ASSERT_TRUE(program.ok());
  EXPECT_NE(program->mil.find("tensor<fp16, [1, 32, 1, 32]> t1, tensor<fp16, [1, 64, 1, 32]> y = split("),
            std::string::npos);
}

TEST(MilWriter, ShapesAreKnownAtOnce) {
  MilWriter mil;
  const auto q = mil.input("q", {1, 12, 32, 128});
  EXPECT_EQ(mil.shape(mil.matmul(q, q, true, false)), (Shape{1, 12, 128, 128}));
  EXPECT_EQ(mil.shape(mil.transpose(q, {0, 3, 1, 2})), (Shape{1, 128, 12, 32}));
  EXPECT_EQ(mil.shape(mil.reshape(q, {1, -1, 1, 128})), (Shape{1, 384, 1, 128}));
  EXPECT_EQ(mil.shape(mil.reduce_mean(q, {1})), (Shape{1, 1, 32, 128}));
  EXPECT_EQ(mil.shape(mil.slice_by_size(q, {0, 4, 0, 0}, {1, 4, -1, 64})), (Shape{1, 4, 32, 64}));
  EXPECT_EQ(mil.shape(mil.concat({q, q}, -1)), (Shape{1, 12, 32, 256}));
  EXPECT_TRUE(mil.status().ok()) << mil.status().message();
}

TEST(MilWriter, FirstErrorStaysAndSaysWhere) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 384, 1, 128});
  const auto w = mil.weight({384, 192, 1, 1}, std::vector<Half>(384 * 192));
  auto y = mil.add(x, 1.0f);
  y = mil.conv(y, w);
  EXPECT_FALSE(y.valid());
  EXPECT_FALSE(mil.add(y, x).valid());
  EXPECT_EQ(mil.split(y, {1, 2}, 1).size(), 2u);
  mil.output("z", y);
  const auto program = std::move(mil).finish();
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), Code::kCompileFailed);
  EXPECT_EQ(program.status().message(),
            "MIL program: operation 1 (conv): KernelChannels (192) != InputChannels (384) / Group (1)");
}

template <class Build>
std::string failure(Build build) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 8, 1, 64});
  build(mil, x);
  mil.output("z", mil.add(x, x));
  const auto program = std::move(mil).finish();
  return program.ok() ? "" : program.status().message();
}

TEST(MilWriter, BadCallsAreRefused) {
  using W = MilWriter;
  using V = MilWriter::Value;
  EXPECT_EQ(failure([](W&, V) {}), "");
  EXPECT_NE(failure([](W& m, V) { m.input("x", {1}); }).find("used twice"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.input("t3", {1}); }).find("gives itself"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.input("a b", {1}); }).find("not a name"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.input("a", {1, 0}); }).find("is empty"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.input("a", {16385}); }).find("16384"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.input("a", {1, 1, 1, 1, 1, 1}); }).find("rank 6"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.scalar(1e6f); }).find("not finite"), std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.weight({2}, std::vector<float>{1}); }).find("1 were given"),
            std::string::npos);
  EXPECT_NE(failure([](W& m, V) { m.weight({1}, std::vector<float>{1e30f}); }).find("not finite"),
            std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.gelu(x, "FAST"); }).find("EXACT"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.softmax(x, 4); }).find("axis 4"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.reshape(x, {7}); }).find("512 elements"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.transpose(x, {0, 1, 1, 2}); }).find("named twice"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) {
              m.slice_by_size(x, {0, 7, 0, 0}, {1, 2, 1, 1});
            }).find("axis 1"),
            std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.conv(x, x); }).find("must be a constant"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.add(x, V{}); }).find("no value"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.unary(MilOp::kMatmul, x); }).find("more than one"), std::string::npos);
  EXPECT_NE(failure([](W& m, V x) { m.matmul(x, x); }).find("sums over"), std::string::npos);
}

TEST(MilText, HexFloatsAreExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = static_cast<Half>(bits);
    if ((half & 0x7c00u) == 0x7c00u) continue;
    const std::string text = hex_float(half);
    ASSERT_EQ(float_to_half(std::strtof(text.c_str(), nullptr)), half) << text;
  }
  EXPECT_EQ(hex_float(0x3c00), "0x1p+0");
  EXPECT_EQ(hex_float(0xc500), "-0x1.4p+2");
  EXPECT_EQ(hex_float(0x0001), "0x1p-24");
  EXPECT_EQ(hex_float(0x8000), "-0x0p+0");
}

}  // namespace
}  // namespace anelane
