// MIL text in both dialects, and what is said about text that is none.
#include "ane_direct/mil_parser.h"

#include <gtest/gtest.h>

namespace anelane::soft {
namespace {

// The published minimal example, in the order in which the parser meets things.
constexpr const char* kExample = R"(program(1.3)
[buildInfo = dict<string, string>({{"coremlc-component-MIL", "3510.2.1"}, {"coremltools-version", "9.0"}})]
{
    func main<ios18>(tensor<fp16, [1, 64, 1, 64]> a_x) {
        string c_pt = const()[name = string("c_pt"), val = string("valid")];
        tensor<int32, [2]> c_st = const()[name = string("c_st"), val = tensor<int32, [2]>([1, 1])];
        int32 c_gr = const()[name = string("c_gr"), val = int32(1)];
        fp16 k = const()[name = string("k"), val = fp16(-0x1.8p-3)];
        bool t = const()[name = string("t"), val = bool(true)];
        tensor<fp16, [64, 64, 1, 1]> c_w = const()[name = string("c_w"), val = tensor<fp16, [64, 64, 1, 1]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(64)))];
        tensor<fp16, [1, 32, 1, 64]> u, tensor<fp16, [1, 32, 1, 64]> v = split(x = a_x, axis = c_gr, num_splits = int32(2))[name = string("u")];
        tensor<fp16, [1, 64, 1, 64]> z = concat<ios17>(values = (u, v), axis = c_gr, interleave = t);
    } -> (z);
}
)";

TEST(MilParser, ModernDialect) {
  const auto program = parse_mil(kExample);
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->functions.size(), 1u);
  const MilFunction& main = program->functions[0];
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.opset, "ios18");
  ASSERT_EQ(main.inputs.size(), 1u);
  EXPECT_EQ(main.inputs[0].type.shape, (Shape{1, 64, 1, 64}));
  ASSERT_EQ(main.statements.size(), 8u);
  EXPECT_EQ(main.statements[0].attributes[1].literal->text, "valid");
  EXPECT_EQ(main.statements[3].attributes[1].literal->numbers[0], -0.1875);
  const MilLiteral& blob = *main.statements[5].attributes[1].literal;
  EXPECT_TRUE(blob.is_blob);
  EXPECT_EQ(blob.blob_path, "@model_path/weights/weight.bin");
  EXPECT_EQ(blob.blob_offset, 64);
  EXPECT_EQ(main.statements[6].results.size(), 2u);
  EXPECT_EQ(main.statements[7].arguments[0].values.size(), 2u);
  EXPECT_EQ(main.statements[7].place.line, 12u);
  EXPECT_EQ(main.returns[0].name, "z");
}

TEST(MilParser, OldDialectAndSeveralFunctions) {
  const auto program = parse_mil(R"(program(1.0)
[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremlc-version", "3505.4.1"}})]
{
    func s128<ios16>(tensor<fp16, [1, 1, 1, 64]> x) {
        tensor<fp16, []> k = const()[name = tensor<string, []>("k"), val = tensor<fp16, []>(0x1p-3)];
        tensor<fp16, [1, 1, 1, 64]> y = mul(x = x, y = k)[name = tensor<string, []>("y")];
    } -> (y);
    func s256<ios16>(tensor<fp16, [1, 1, 1, 64]> x) { tensor<fp16, [1, 1, 1, 64]> y = relu(x = x); } -> (y);
})");
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->functions.size(), 2u);
  EXPECT_EQ(program->functions[0].statements[0].attributes[1].literal->numbers[0], 0.125);
  EXPECT_TRUE(program->functions[0].statements[0].attributes[1].literal->type.shape.empty());
}

TEST(MilParser, NumbersInEveryNotation) {
  const auto value = [](const std::string& text) {
    const auto program =
        parse_mil("program(1.3){func f<ios18>(){fp16 k = const()[val = fp16(" + text + ")];} -> (k);}");
    EXPECT_TRUE(program.ok()) << text << ": " << program.status().message();
    return program.ok() ? program->functions[0].statements[0].attributes[0].literal->numbers[0] : -999.0;
  };
  EXPECT_EQ(value("0x1p-24"), 0x1p-24);
  EXPECT_EQ(value("-0x1.ffcp+15"), -65504.0);
  EXPECT_EQ(value("0X.8P1"), 1.0);
  EXPECT_EQ(value("0x123456789abcdef01234p+0"), 0x123456789abcdef01234p+0);
  EXPECT_EQ(value("1.5e-3"), 0.0015);
  EXPECT_EQ(value("-10000"), -10000.0);
  EXPECT_EQ(value("-.5"), -0.5);
  EXPECT_TRUE(value("inf") > 1e300);
  EXPECT_TRUE(value("-inf") < -1e300);
}

std::string failure(const std::string& text) {
  const auto program = parse_mil(text);
  EXPECT_FALSE(program.ok()) << text;
  EXPECT_EQ(program.status().code(), Code::kCompileFailed);
  return program.status().message();
}

TEST(MilParser, ErrorsCarryLineAndColumn) {
  EXPECT_EQ(failure(""),
            "InvalidMILProgram: line 1, column 1: \"program\" expected, found the end of the text");
  EXPECT_EQ(failure("program(1.3)\n{\n  func main<ios18>(tensor<fp16, [1, 2> x) {} -> (x);\n}"),
            "InvalidMILProgram: line 3, column 38: \",\" expected, found \">\"");
  EXPECT_EQ(failure("program(2.0) {}"),
            "InvalidMILProgram: line 1, column 9: program version 2.0, 1.0 or 1.3 is needed");
  EXPECT_NE(failure("program(1.3) {}").find("no function"), std::string::npos);
  EXPECT_NE(failure("program(1.3) [a = \"x").find("string does not end"), std::string::npos);
  EXPECT_NE(failure("program(1.3) [[[").find("end of the text"), std::string::npos);
  EXPECT_NE(failure("program(1.3) \x01").find("unexpected byte 0x01"), std::string::npos);
  EXPECT_NE(failure("program(1.3){func f<ios18>(state<tensor<fp16,[1]>> s){} -> (s);}")
                .find("state is not supported"),
            std::string::npos);
  EXPECT_NE(failure(std::string(kExample) + "x").find("end of the text\" expected") == std::string::npos,
            false);
}

TEST(MilParser, NumbersThatAreNone) {
  for (const char* text : {"0x", "0xp3", "0x1p", "0x1p99999999999", "1e", "1..2", "0x1.8.1p0", "--1", "0xg"})
    failure(std::string("program(1.3){func f<ios18>(){fp16 k = const()[val = fp16(") + text +
            ")];} -> (k);}");
}

TEST(MilParser, DeepNestingIsBounded) {
  const std::string head =
      "program(1.3){func f<ios18>(){tensor<fp16, [1]> k = const()[val = tensor<fp16, [1]>(";
  EXPECT_NE(failure(head + std::string(100000, '[')).find("nested too deeply"), std::string::npos);
  std::string blob = head;
  for (int i = 0; i < 1000; ++i) blob += "BLOBFILE(path = tensor<fp16, [1]>(";
  EXPECT_NE(failure(blob).find("BLOBFILE inside BLOBFILE"), std::string::npos);
}

TEST(MilParser, EveryTruncationIsAnErrorAndNothingElse) {
  const std::string text = kExample;
  for (size_t size = 0; size + 2 < text.size(); ++size) failure(text.substr(0, size));
}

}  // namespace
}  // namespace anelane::soft
