// What the compiler refuses, with line, operation and reason. Also: the same refusal every time.
#include <gtest/gtest.h>

#include "ane_direct/mil_writer.h"
#include "ane_direct/soft/compile.h"
#include "ane_direct/weight_blob.h"

namespace anelane::soft {
namespace {

// A program whose body is `body`, with input x [1, 8, 1, 64] and constants for use. Body starts on line 6.
Program program_of(const std::string& body, const std::string& returns = "z",
                   const std::string& input = "tensor<fp16, [1, 8, 1, 64]> x") {
  Program program;
  program.mil = "program(1.3)\n{\nfunc main<ios18>(" + input +
                ") {\nint32 one = const()[val = int32(1)];\nfp16 half = const()[val = fp16(0x1p-1)];\n" +
                body + "\n} -> (" + returns + ");\n}\n";
  WeightBlobWriter blob;
  blob.add(std::vector<Half>(64, 0x3c00));
  const std::vector<uint8_t> wide(64 * 4, 0);
  blob.add(BlobType::kF32, wide);
  blob.add(BlobType::kI8, std::vector<uint8_t>(64));
  program.weights = blob.finish();
  return program;
}

std::string failure(const Program& program) {
  const auto plan = compile_program(program);
  EXPECT_FALSE(plan.ok()) << program.mil;
  if (plan.ok()) return "";
  EXPECT_EQ(plan.status().code(), Code::kCompileFailed);
  EXPECT_EQ(compile_program(program).status().message(), plan.status().message());
  return plan.status().message();
}

std::string blob(const std::string& type, uint64_t offset,
                 const std::string& path = "@model_path/weights/weight.bin") {
  return type + "(BLOBFILE(path = string(\"" + path + "\"), offset = uint64(" + std::to_string(offset) +
         ")))";
}

const std::string kRelu = "tensor<fp16, [1, 8, 1, 64]> z = relu(x = x);";
const std::string kConvTail =
    ", strides = tensor<int32, [2]>([1, 1]), pad_type = string(\"valid\"), pad = tensor<int32, [4]>([0, 0, "
    "0, 0]), "
    "dilations = tensor<int32, [2]>([1, 1]), groups = one, x = x);";

#define EXPECT_HAS(text, piece) EXPECT_NE((text).find(piece), std::string::npos) << (text)

TEST(MilCheck, GoodProgramCompiles) {
  EXPECT_TRUE(compile_program(program_of(kRelu)).ok());
  const auto conv = compile_program(
      program_of("tensor<fp16, [8, 8, 1, 1]> w = const()[val = " + blob("tensor<fp16, [8, 8, 1, 1]>", 64) +
                 "];\ntensor<fp16, [1, 8, 1, 64]> z = conv(weight = w" + kConvTail));
  EXPECT_TRUE(conv.ok()) << conv.status().message();
}

TEST(MilCheck, Names) {
  EXPECT_EQ(failure(program_of(kRelu + kRelu)),
            "InvalidMILProgram: line 6, column 45: the name \"z\" is used twice");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = relu(x = y);")),
             "line 6, column 38: \"y\" is not defined");
  EXPECT_HAS(failure(program_of(kRelu, "q")), "output \"q\" is not defined");
  EXPECT_HAS(failure(program_of(kRelu, "x")), "output \"x\" must be produced by an operation");
  EXPECT_HAS(failure(program_of(kRelu, "half")), "must be produced by an operation");
  EXPECT_HAS(failure(program_of(kRelu, "z, z")), "returned twice");
  EXPECT_HAS(failure(program_of(kRelu, "")), "returns nothing");
  EXPECT_HAS(failure(program_of(kRelu, "z", "")), "has no input");
}

TEST(MilCheck, OperationsAndParameters) {
  EXPECT_EQ(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = mod(x = x, y = x);")),
            "CompilationFailure: line 6, column 33: operation \"mod\" is not supported by this engine");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = gelu(x = x);")),
             "gelu: Required param 'mode' is missing");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = rsqrt(x = x);")),
             "rsqrt: Required param 'epsilon' is missing");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = relu(x = x, k = x);")),
             "relu has no parameter \"k\"");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = relu(x = x, x = x);")),
             "Param 'x' is given twice");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = softmax(x = x, axis = half);")),
             "Param 'axis' must be int32, got fp16");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = softmax(x = x, axis = x);")),
             "Param 'axis' must be a constant");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = softmax(x = x, axis = int32(4));")),
             "axis 4 does not exist");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = relu(x = one);")),
             "a tensor of int32 as operand");
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z, tensor<fp16, [1]> y = relu(x = x);")),
             "gives 1 results, 2 are declared");
}

TEST(MilCheck, DeclaredShapesAndTypesMustBeTheInferredOnes) {
  EXPECT_EQ(failure(program_of("tensor<fp16, [1, 8, 1, 63]> z = relu(x = x);")),
            "InvalidMILProgram: line 6, column 1: relu \"z\": Expected tensor<fp16, [1, 8, 1, 64]>; got "
            "tensor<fp16, [1, 8, 1, 63]>");
  EXPECT_HAS(failure(program_of("tensor<fp32, [1, 8, 1, 64]> z = relu(x = x);")), "got tensor<fp32");
  EXPECT_HAS(
      failure(program_of("tensor<fp16, [2]> k = const()[val = tensor<fp16, [3]>([1, 2, 3])];" + kRelu)),
      "is declared as fp16[2]");
  EXPECT_HAS(failure(program_of("tensor<fp16, [3]> k = const()[val = tensor<fp16, [3]>([1, 2])];tensor<fp16, "
                                "[1, 8, 1, 64]> z = add(x = x, y = k);")),
             "the literal has 2 elements");
}

TEST(MilCheck, LimitsOfTheEngine) {
  EXPECT_HAS(failure(program_of(kRelu, "z", "tensor<fp16, [1, 1, 1, 1, 1, 8]> x")),
             "tensor rank 6 exceeds the engine's maximum of 5");
  EXPECT_HAS(failure(program_of(kRelu, "z", "tensor<fp16, [1, 16385]> x")),
             "exceeds the engine's maximum of 16384");
  EXPECT_HAS(failure(program_of(kRelu, "z", "tensor<fp16, [1, 0]> x")), "is empty");
  EXPECT_HAS(failure(program_of(kRelu, "z", "fp16 x")), "is a scalar");
  EXPECT_HAS(failure(program_of(kRelu, "z", "tensor<int32, [1, 8]> x")), "dtype must be 'fp16'");
  EXPECT_HAS(failure(program_of(kRelu, "z", "tensor<fp32, [1, 8, 1, 64]> x")), "only cast reads it");
  EXPECT_TRUE(compile_program(
                  program_of("tensor<fp16, [1, 16384]> z = relu(x = x);", "z", "tensor<fp16, [1, 16384]> x"))
                  .ok());
}

TEST(MilCheck, ConvolutionRules) {
  const auto conv = [](const std::string& weight_shape, const std::string& values) {
    return "tensor<fp16, " + weight_shape + "> w = const()[val = " + values +
           "];\ntensor<fp16, [1, 8, 1, 64]> z = conv(weight = w" + kConvTail;
  };
  EXPECT_HAS(failure(program_of("tensor<fp16, [1, 8, 1, 64]> z = conv(weight = x" + kConvTail)),
             "weight must be a constant");
  EXPECT_HAS(failure(program_of(conv("[16, 4, 1, 1]", blob("tensor<fp16, [16, 4, 1, 1]>", 64)))),
             "KernelChannels (4) != InputChannels (8) / Group (1)");
  EXPECT_HAS(failure(program_of(conv("[4, 8, 1, 1]", blob("tensor<fp16, [4, 8, 1, 1]>", 64)))),
             "has 64 elements");
  EXPECT_HAS(failure(program_of(conv("[1, 4, 1, 16]", blob("tensor<fp16, [1, 4, 1, 16]>", 64)))),
             "KernelChannels");
}

TEST(MilCheck, WeightsMustBeWhereTheTextSays) {
  const auto with = [](const std::string& value) {
    return "tensor<fp16, [1, 8, 1, 8]> w = const()[val = " + value +
           "];\ntensor<fp16, [1, 8, 1, 64]> z = add(x = x, y = w);";
  };
  EXPECT_HAS(failure(program_of(with(blob("tensor<fp16, [1, 8, 1, 8]>", 128)))),
             "no record starts at offset 128");
  EXPECT_HAS(failure(program_of(with(blob("tensor<fp16, [1, 8, 1, 8]>", 256)))), "is not of type fp16");
  EXPECT_HAS(failure(program_of(with(blob("tensor<fp16, [1, 8, 1, 8]>", 64, "/etc/passwd")))),
             "BLOBFILE path is \"/etc/passwd\"");
  Program bare = program_of(with(blob("tensor<fp16, [1, 8, 1, 8]>", 64)));
  bare.weights.clear();
  EXPECT_HAS(failure(bare), "BLOBFILE without a weight file");
  bare.weights = {1, 2, 3};
  EXPECT_HAS(failure(bare), "weight file: it has 3 bytes");
}

TEST(MilCheck, N3_WideConstantsAreRoundedAndIntegerOnesRefused) {
  const std::string add = "\ntensor<fp16, [1, 8, 1, 64]> z = add(x = x, y = w);";
  EXPECT_TRUE(compile_program(program_of("tensor<fp32, [1, 1, 1, 64]> w = const()[val = " +
                                         blob("tensor<fp32, [1, 1, 1, 64]>", 256) + "];" + add))
                  .ok());
  EXPECT_HAS(failure(program_of("tensor<int8, [1, 1, 1, 64]> w = const()[val = " +
                                blob("tensor<int8, [1, 1, 1, 64]>", 576) + "];" + add)),
             "a tensor of int8 as operand");
}

TEST(MilCheck, SeveralFunctionsAreAllCheckedAndMainIsTaken) {
  const std::string text = R"(program(1.3) {
func a<ios18>(tensor<fp16, [1, 4]> x) { tensor<fp16, [1, 4]> z = relu(x = x); } -> (z);
func main<ios18>(tensor<fp16, [1, 6]> x) { tensor<fp16, [1, 6]> z = relu(x = x); } -> (z);
})";
  const auto plan = compile_program({text, {}, ""});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->inputs[0].shape, (Shape{1, 6}));
  std::string twice = text;
  twice.replace(twice.find("func a"), 6, "func main");
  EXPECT_HAS(failure({twice, {}, ""}), "is defined twice");
  std::string broken = text;
  broken.replace(broken.find("relu"), 4, "nope");
  EXPECT_HAS(failure({broken, {}, ""}), "line 2");
}

TEST(MilCheck, PortsAreSortedByName) {
  MilWriter mil(MilDialect::kIos16);
  const auto b = mil.input("b", {1, 32});
  const auto a = mil.input("a", {1, 64});
  mil.output("y2", mil.relu(a));
  mil.output("y10", mil.relu(b));
  const auto plan = compile_program(*std::move(mil).finish());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->inputs[0].name, "a");
  EXPECT_EQ(plan->outputs[0].name, "y10");  // byte order, as the engine binds
  EXPECT_EQ(plan->outputs[0].shape, (Shape{1, 32}));
}

TEST(MilCheck, HugeIntermediatesAreRefused) {
  std::string body =
      "tensor<fp16, [1, 16384, 1, 1]> t = transpose(x = x, perm = tensor<int32, [4]>([0, 3, 2, 1]));\n"
      "tensor<fp16, [1, 16384, 1, 16384]> z = add(x = x, y = t);";
  const auto plan = compile_program(program_of(body, "z", "tensor<fp16, [1, 1, 1, 16384]> x"));
  EXPECT_TRUE(plan.ok());  // 512 MiB is still accepted
  body =
      "tensor<fp16, [1, 16384, 1, 1]> t = transpose(x = x, perm = tensor<int32, [4]>([0, 3, 2, 1]));\n"
      "tensor<fp16, [1, 1, 16384, 1]> u = transpose(x = x, perm = tensor<int32, [4]>([0, 1, 3, 2]));\n"
      "tensor<fp16, [1, 16384, 16384, 1]> v = add(x = u, y = t);\n"
      "tensor<fp16, [1, 16384, 16384, 16384]> z = add(x = v, y = x);";
  EXPECT_HAS(failure(program_of(body, "z", "tensor<fp16, [1, 1, 1, 16384]> x")), "has more than");
}

}  // namespace
}  // namespace anelane::soft
