// Folders of programs: the committed example, and copies of it with one thing broken.
#include "models/program_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

namespace fs = std::filesystem;

const std::string kExample = ANELANE_SOURCE_DIR "/examples/programs/residual";

class ProgramModelTest : public testing::Test {
 protected:
  ProgramModelTest() { fs::copy(kExample, folder_.file("residual")); }
  std::string file(const std::string& name) const { return folder_.file("residual/" + name); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = *read_file(file(name), 1u << 20);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  Status status(const ModelOpenOptions& options = {}) const {
    const Status opened = open_model(folder_.file("residual"), options).status();
    // What the headers show is refused before a worker is started, in the same words.
    const Status inspected = inspect_model(folder_.file("residual"), options).status();
    if (!inspected.ok()) {
      EXPECT_EQ(inspected.message(), opened.message());
    }
    return opened;
  }
  void expect(Code code, const std::string& says) const {
    const Status got = status();
    EXPECT_EQ(got.code(), code) << got.message();
    EXPECT_NE(got.message().find(says), std::string::npos) << got.message();
  }
  TempFolder folder_;
};

TEST_F(ProgramModelTest, TheExampleIsWhatItSays) {
  const auto model = open_model(kExample, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const ModelSummary& summary = (*model)->summary();
  EXPECT_EQ(summary.kind, ModelKind::kProgram);
  EXPECT_EQ(summary.name, "residual");
  EXPECT_EQ(summary.layers, 3u);
  EXPECT_EQ(summary.ladder, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(summary.ceiling, 128u);
  ASSERT_EQ(summary.ports.size(), 2u);
  EXPECT_EQ(summary.ports[0].inputs.size(), 1u);
  EXPECT_EQ(port_text(summary.ports[0].inputs[0]), "fp16 [1, 32, 1, 64]");
  ASSERT_EQ(summary.ports[1].outputs.size(), 2u);
  EXPECT_EQ(summary.ports[1].outputs[0].name, "total");
  EXPECT_EQ(port_text(summary.ports[1].outputs[1]), "fp16 [1, 32, 1, 128]");
  EXPECT_EQ(summary.checkpoint_digest.size(), 64u);
  const Program program = (*model)->layer_program(64, 2);
  EXPECT_EQ(program.mil, *read_file(kExample + "/down_64.mil", 1u << 20));
  EXPECT_EQ(program.weights.size(), fs::file_size(kExample + "/down.bin"));
  EXPECT_TRUE((*model)->layer_program(128, 1).weights.empty());
  EXPECT_EQ((*model)->layer_place(64, 2), "layer 2 (down_64.mil)");
  const auto inspected = inspect_model(kExample, {});
  ASSERT_TRUE(inspected.ok());
  EXPECT_EQ(inspected->conversion, summary.conversion);  // what library and worker compare
  EXPECT_EQ((*model)->check_tokens(std::vector<int32_t>{1}).code(), Code::kUnsupported);
}

TEST_F(ProgramModelTest, OptionsChooseNameAndRungs) {
  const auto model = open_model(folder_.file("residual"), {.rungs = {128}, .name = "mine"});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->summary().name, "mine");
  EXPECT_EQ((*model)->summary().ladder, (std::vector<uint32_t>{128}));
  EXPECT_EQ(status({.rungs = {96}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(status({.rungs = {128, 64}}).code(), Code::kInvalidArgument);
  replace("program.json", "\"name\": \"residual\",", "");
  EXPECT_EQ(open_model(folder_.file("residual/"), {}).status().message(), "");
  EXPECT_EQ(inspect_model(folder_.file("residual/"), {})->name, "residual");  // the folder's
}

TEST_F(ProgramModelTest, TheDigestIsOfEveryByteThatCounts) {
  const auto digest = [&] {
    return (*open_model(folder_.file("residual"), {}))->summary().checkpoint_digest;
  };
  const std::string first = digest();
  EXPECT_EQ(digest(), first);
  std::string weights = *read_file(file("up.bin"), 1u << 20);
  weights[200] = static_cast<char>(weights[200] ^ 1);
  write("up.bin", weights);
  const std::string second = digest();
  EXPECT_NE(second, first);
  replace("activate_64.mil", "0x1p-1", "0x1p-2");
  EXPECT_NE(digest(), second);
}

TEST_F(ProgramModelTest, MissingAndForeignFilesAreNamed) {
  fs::remove(file("activate_128.mil"));
  expect(Code::kIo, "activate_128.mil");
  fs::create_directory(file("activate_128.mil"));
  expect(Code::kIo, "activate_128.mil");
  fs::remove(file("activate_128.mil"));
  fs::copy_file(file("activate_64.mil"), file("activate_128.mil"));
  expect(
      Code::kModelInvalid,
      "program.json: rungs: 128: layer 1 (activate_128.mil): input \"h\" is fp16 [1, 64, 1, 64], but layer 0 "
      "(up_128.mil) gives \"h\" as fp16 [1, 64, 1, 128]");
}

TEST_F(ProgramModelTest, AMissingWeightFileIsFoundByTheWorker) {
  fs::remove(file("down.bin"));
  expect(Code::kIo, "down.bin");
  EXPECT_TRUE(inspect_model(folder_.file("residual"), {}).ok());
}

TEST_F(ProgramModelTest, BrokenTextsAreRefusedWithFileAndLine) {
  replace("activate_64.mil", "t_relu = relu", "t_relu relu");
  expect(Code::kModelInvalid, "/residual/activate_64.mil: InvalidMILProgram: line 6, column 45");
  write("activate_64.mil", "");
  expect(Code::kModelInvalid, "activate_64.mil: InvalidMILProgram: line 1");
  write("activate_64.mil", std::string("\0\1\2", 3));
  expect(Code::kModelInvalid, "activate_64.mil: InvalidMILProgram: line 1");
}

TEST_F(ProgramModelTest, PortsThatALaneCannotHoldAreRefused) {
  const auto text = [](const std::string& input, const std::string& returned) {
    return "program(1.3)\n{\n    func main<ios18>(" + input +
           ") {\n        tensor<fp16, [1, 64, 1, 64]> g = relu(x = h);\n    } -> (" + returned + ");\n}\n";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {text("tensor<string, [1, 64, 1, 64]> h", "g"), "line 3, column 22: \"h\" is string"},
      {text("fp16 h", "g"), "is a scalar"},
      {text("tensor<fp16, [1, 64, 0, 64]> h", "g"), "is empty"},
      {text("tensor<fp16, [1, 16385]> h", "g"), "16384"},
      {text("tensor<fp16, [1, 64, 1, 64]> h, tensor<fp16, [1, 64, 1, 64]> h", "g"), "named twice"},
      {text("tensor<fp16, [1, 64, 1, 64]> h", "g, g"), "named twice"},
      {text("tensor<fp16, [1, 64, 1, 64]> h", "h"), "is the result of no operation"},
      {text("tensor<fp16, [1, 64, 1, 64]> h", "nobody"), "is the result of no operation"},
      {text("tensor<fp16, [1, 64, 1, 64]> h", ""), "returns nothing"},
      {text("", "g"), "has no input"},
      {text("tensor<fp16, [1, 64, 1, 64]> " + std::string(64, 'h'), "g"), "has a name of 64 bytes"},
      {text("state<tensor<fp16, [1]>> h", "g"), "state is not supported"},
  };
  for (const auto& [mil, says] : cases) {
    write("activate_64.mil", mil);
    expect(Code::kModelInvalid, says);
  }
}

TEST_F(ProgramModelTest, RungsMustHaveTheSamePorts) {
  replace("program.json", "\"skip\": \"h\"", "\"skip\": \"g\"");  // at 64: then x and y alone are outer
  EXPECT_TRUE(status().ok());
  replace("up_64.mil", "32, 1, 64]> x", "32, 1, 64]> w");
  replace("up_64.mil", "x = x)", "x = w)");
  replace("down_64.mil", "32, 1, 64]> x", "32, 1, 64]> w");
  replace("down_64.mil", "y = x)", "y = w)");
  expect(Code::kModelInvalid,
         "rungs: 128 has the inputs x fp16 [1, 32, 1, 128]; 64 has w fp16 [1, 32, 1, 64]: names, types and "
         "ranks "
         "must be the same");
}

TEST_F(ProgramModelTest, HugePortsAreRefused) {
  write("up_64.mil",
        "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 16384, 4, 16384]> x) {\n"
        "        tensor<fp16, [1, 16384, 4, 16384]> h = relu(x = x);\n    } -> (h);\n}\n");
  write("program.json", R"({"format": 1, "rungs": {"64": [{"mil": "up_64.mil"}]}})");
  const Status refused = status();
  EXPECT_EQ(refused.code(), Code::kModelInvalid);
  EXPECT_NE(refused.message().find("4294967296 bytes, at most 1073741824"), std::string::npos)
      << refused.message();
  EXPECT_EQ(refused.detail().limit, uint64_t{1} << 30);
}

// A text with `count` inputs, each with an output of its own.
std::string many_ports(const std::string& stem, int count) {
  std::string inputs, outputs, statements;
  for (int i = 0; i < count; ++i) {
    const std::string in = stem + std::to_string(i), out = "o" + in, comma = i == 0 ? "" : ", ";
    inputs += comma + "tensor<fp16, [1, 1, 1, 32]> " + in;
    outputs += comma + out;
    statements += "tensor<fp16, [1, 1, 1, 32]> " + out + " = relu(x = " + in + ");\n";
  }
  return "program(1.3)\n{\nfunc main<ios18>(" + inputs + ") {\n" + statements + "} -> (" + outputs +
         ");\n}\n";
}

TEST_F(ProgramModelTest, MorePortsThanARunCanCarryAreRefused) {
  write("program.json", R"({"format": 1, "rungs": {"7": [{"mil": "a.mil"}, {"mil": "b.mil"}]}})");
  write("a.mil", many_ports("a", 200));
  write("b.mil", many_ports("b", 55));
  EXPECT_TRUE(status().ok()) << status().message();
  write("b.mil", many_ports("b", 56));
  expect(Code::kModelInvalid, "program.json: rungs: 7: layer 1 (b.mil): a model may have 255 inputs");
  // The inputs are fed, the outputs are too many.
  std::string connect;
  for (int i = 0; i < 56; ++i) connect += (i == 0 ? "\"b" : ", \"b") + std::to_string(i) + "\": \"oa0\"";
  write("program.json", R"({"format": 1, "rungs": {"7": [{"mil": "a.mil"}, {"mil": "b.mil", "connect": {)" +
                            connect + "}}]}}");
  EXPECT_TRUE(status().ok()) << status().message();
  write("b.mil", many_ports("b", 57));
  write("program.json", R"({"format": 1, "rungs": {"7": [{"mil": "a.mil"}, {"mil": "b.mil", "connect": {)" +
                            connect + R"(, "b56": "oa0"}}]}})");
  expect(Code::kModelInvalid, "a model may have 255 outputs, there are 256");
}

TEST_F(ProgramModelTest, ATextThatManyLayersShareIsParsedOnce) {
  std::string statements = "tensor<fp16, [1, 1, 1, 32]> v0 = relu(x = x);\n";
  for (int i = 1; i < 8000; ++i)
    statements += "tensor<fp16, [1, 1, 1, 32]> v" + std::to_string(i) + " = relu(x = v" +
                  std::to_string(i - 1) + ");\n";
  write("long.mil", "program(1.3)\n{\nfunc main<ios18>(tensor<fp16, [1, 1, 1, 32]> x) {\n" + statements +
                        "} -> (v7999);\n}\n");
  std::string layers = R"({"mil": "long.mil"})", rungs;
  for (int i = 1; i < 512; ++i) layers += R"(, {"mil": "long.mil", "connect": {"x": "v7999"}})";
  for (int i = 1; i <= 16; ++i)
    rungs += (i == 1 ? "\"" : ", \"") + std::to_string(i) + "\": [" + layers + "]";
  write("program.json", R"({"format": 1, "rungs": {)" + rungs + "}}");
  const uint64_t start = now_ns();
  const auto summary = inspect_model(folder_.file("residual"), {});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->layers, 512u);
  EXPECT_LT(now_ns() - start, 30'000'000'000u) << "8192 times would take minutes";
}

TEST_F(ProgramModelTest, AChainBeyondTheBudgetIsRefusedBeforeATextIsRead) {
  fs::remove(file("up_64.mil"));
  EXPECT_EQ(status({.budget = 3}).code(), Code::kIo);
  const Status refused = status({.budget = 2});
  EXPECT_EQ(refused.code(), Code::kResourcesExhausted) << refused.message();
  EXPECT_EQ(refused.detail().limit, 2u);
}

TEST_F(ProgramModelTest, LinksMayNotLeadOutOfTheFolder) {
  const TempFolder elsewhere;
  for (const char* name : {"up_64.mil", "up.bin"}) {
    fs::copy(kExample + "/" + name, elsewhere.file(name));
    fs::rename(file(name), file("blob"));
    fs::create_symlink("blob", file(name));
    EXPECT_TRUE(status().ok()) << name << " inside: " << status().message();
    fs::remove(file(name));
    fs::create_symlink(elsewhere.file(name), file(name));
    EXPECT_EQ(status().code(), Code::kModelInvalid) << name;
    EXPECT_NE(status().message().find(std::string(name) + " leads to "), std::string::npos)
        << status().message();
    fs::remove(file(name));
    fs::rename(file("blob"), file(name));
  }
  fs::create_directory_symlink(elsewhere.path(), file("away"));
  replace("program.json", "\"up_64.mil\"", "\"away/up_64.mil\"");
  expect(Code::kModelInvalid, "out of the folder");
}

TEST_F(ProgramModelTest, TheFolderItselfMayBeALink) {
  fs::create_directory_symlink(folder_.file("residual"), folder_.file("link"));
  EXPECT_TRUE(open_model(folder_.file("link"), {}).ok());
}

TEST_F(ProgramModelTest, AFolderThatIsBothIsRefused) {
  write("config.json", "{}");
  expect(Code::kModelInvalid, "has both config.json and program.json");
}

TEST_F(ProgramModelTest, AHugeManifestIsNotReadIntoMemory) {
  std::ofstream stream(file("program.json"));
  for (int i = 0; i < 17; ++i) stream << std::string(1u << 20, ' ');
  stream.close();
  expect(Code::kIo, "program.json");
}

}  // namespace
}  // namespace anelane
