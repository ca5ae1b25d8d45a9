#include "models/program_manifest.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace anelane {
namespace {

std::string failure(const std::string& text) {
  const Result<ProgramManifest> manifest = parse_program_manifest("program.json", text);
  EXPECT_TRUE(manifest.ok() || manifest.status().code() == Code::kModelInvalid);
  return manifest.ok() ? "" : manifest.status().message();
}

// A manifest with this as its rungs.
std::string with_rungs(const std::string& rungs) {
  return R"({"format": 1, "rungs": )" + rungs + "}";
}

TEST(ProgramManifest, EveryMemberIsRead) {
  const Result<ProgramManifest> manifest = parse_program_manifest("program.json", R"({
    "format": 1, "name": "adder", "rungs": {
      "128": [{"mil": "a.mil"}, {"mil": "deep/er/b.mil", "weights": "w.bin", "connect": {"x": "h", "y": "0.h"}}],
      "64": [{"mil": "c.mil", "weights": null, "connect": {}}, {"mil": "d.mil"}]}})");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->name, "adder");
  ASSERT_EQ(manifest->rungs.size(), 2u);
  EXPECT_EQ(manifest->rungs[0].width, 64u);  // by number, whatever their order in the file
  EXPECT_EQ(manifest->rungs[1].width, 128u);
  const ManifestLayer& layer = manifest->rungs[1].layers[1];
  EXPECT_EQ(layer.mil, "deep/er/b.mil");
  EXPECT_EQ(layer.weights, "w.bin");
  EXPECT_EQ(layer.connect, (std::vector<std::pair<std::string, std::string>>{{"x", "h"}, {"y", "0.h"}}));
  EXPECT_EQ(manifest->rungs[0].layers[0].weights, "");
}

TEST(ProgramManifest, WhatIsWrongIsNamed) {
  const std::string layer = R"([{"mil": "a.mil"}])";
  std::string deep = "1";
  for (int i = 0; i < 40; ++i) deep = "[" + deep + "]";
  std::string many_rungs, many_layers;
  for (int i = 1; i <= 17; ++i) many_rungs += (i > 1 ? ",\"" : "\"") + std::to_string(i) + "\":" + layer;
  for (size_t i = 0; i <= limits::kMaxLayers; ++i)
    many_layers += std::string(i > 0 ? "," : "") + R"({"mil": "a"})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "program.json: "},
      {"garbage", "program.json: "},
      {std::string("\0\xff\xfe", 3), "program.json: "},
      {deep, "program.json: "},
      {"[]", "expected an object"},
      {"{}", "format: expected an integer"},
      {R"({"format": 2, "rungs": {"64": [{"mil": "a"}]}})",
       "format: expected an integer from 1 to 1, found 2"},
      {R"({"format": 1})", "rungs: expected an object"},
      {R"({"format": 1, "rungs": {}})", "rungs: expected an object"},
      {R"({"format": 1, "rungs": [1]})", "rungs: expected an object"},
      {R"({"format": 1, "format": 1})", "format"},
      {R"({"format": 1, "Rungs": {}})", "\"Rungs\" is no member here: format, name, rungs are"},
      {R"({"format": 1, "name": 7, "rungs": {}})", "name"},
      {R"({"format": 1, "name": "two\nlines", "rungs": {}})", "name: expected one line"},
      {with_rungs("{" + many_rungs + "}"), "17 rungs, at most 16"},
      {with_rungs(R"({"sixty": )" + layer + "}"), "rungs: \"sixty\" is not a width"},
      {with_rungs(R"({"0": )" + layer + "}"), "\"0\" is not a width"},
      {with_rungs(R"({"064": )" + layer + "}"), "\"064\" is not a width"},
      {with_rungs(R"({"-1": )" + layer + "}"), "\"-1\" is not a width"},
      {with_rungs(R"({"99999999999999999999": )" + layer + "}"), "is not a width"},
      {with_rungs(R"({"64": )" + layer + R"(, "64": )" + layer + "}"), "64"},
      {with_rungs(R"({"64": []})"), "rungs: 64: expected a list of layers"},
      {with_rungs(R"({"64": {"mil": "a"}})"), "rungs: 64: expected a list of layers"},
      {with_rungs(R"({"64": [)" + many_layers + "]}"), "513 layers, at most 512"},
      {with_rungs(R"({"64": ["a.mil"]})"), "rungs: 64: layer 0: expected an object with \"mil\""},
      {with_rungs(R"({"64": [{}]})"), "rungs: 64: layer 0: mil"},
      {with_rungs(R"({"64": [{"mil": "a", "weigths": "w"}]})"), "\"weigths\" is no member here"},
      {with_rungs(R"({"64": [{"mil": "a", "weights": 3}]})"), "weights"},
      {with_rungs(R"({"64": [{"mil": "a", "connect": "h"}]})"), "connect: expected an object"},
      {with_rungs(R"({"64": [{"mil": "a", "connect": {"x": 1}}]})"), "connect: expected an object"},
      {with_rungs(R"({"64": [{"mil": "a", "connect": {"x": ""}}]})"), "connect: expected an object"},
      {with_rungs(R"({"64": )" + layer + R"(, "128": [{"mil": "a"}, {"mil": "b"}]})"),
       "rungs: 128 has 2 layers, 64 has 1"},
  };
  for (const auto& [text, says] : cases) {
    const std::string message = failure(text);
    EXPECT_NE(message.find(says), std::string::npos) << text.substr(0, 200) << "\n  gives: " << message;
    EXPECT_FALSE(message.empty()) << text.substr(0, 200);
  }
}

TEST(ProgramManifest, FileNamesStayBelowTheFolder) {
  for (const std::string name : {"", "/etc/passwd", "../a.mil", "a/../../b", "a//b", "./a", "a/", "a\\\\b"}) {
    EXPECT_NE(failure(with_rungs(R"({"64": [{"mil": ")" + name + R"("}]})")).find("below the folder"),
              std::string::npos)
        << name;
  }
  EXPECT_EQ(failure(with_rungs(R"({"64": [{"mil": "a..b/.c"}]})")), "");
}

}  // namespace
}  // namespace anelane
