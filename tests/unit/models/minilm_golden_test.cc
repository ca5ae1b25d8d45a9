// The whole of all-MiniLM-L6-v2 through the engine, against vectors of an independent float64 implementation
// (scripts/make-vector-golden).
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "ane_direct/soft/soft_engine.h"
#include "base/json.h"
#include "model_runner.h"
#include "support/test_model.h"
#include "support/tiny_checkpoint.h"
#include "text/tokenizer.h"

namespace anelane {
namespace {

struct Golden {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> vector;
};

float float_of_hex(const std::string& hex, size_t at) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i)
    bits |= static_cast<uint32_t>(std::stoul(hex.substr(at + 2 * i, 2), nullptr, 16)) << (8 * i);
  return std::bit_cast<float>(bits);
}

std::vector<Golden> read_golden() {
  std::vector<Golden> out;
  const std::string lines = test_data("minilm_golden.jsonl");
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    const Result<Json> line = parse_json(lines.substr(at, end - at), "golden");
    Golden& golden = out.emplace_back();
    golden.text = line->at("text").as_string();
    for (const Json& id : line->at("ids").as_array()) golden.ids.push_back(static_cast<int32_t>(id.as_int()));
    const std::string& hex = line->at("vector").as_string();
    for (size_t i = 0; i + 8 <= hex.size(); i += 8) golden.vector.push_back(float_of_hex(hex, i));
    at = end + 1;
  }
  return out;
}

TEST(MiniLmGolden, EveryVectorAgreesWithTheIndependentImplementation) {
  const std::string folder = test_model_folder();
  Result<std::shared_ptr<const Model>> model = open_model(folder, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<std::shared_ptr<const Tokenizer>> tokenizer = load_tokenizer(folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ((*model)->summary().layers, 6u);
  EXPECT_EQ((*model)->summary().ladder, (std::vector<uint32_t>{128, 256, 512}));
  EXPECT_EQ((*model)->summary().vocab, (*tokenizer)->vocab_size());

  TempFolder temp;
  SoftEngineOptions options;
  options.cache_dir = temp.file("vault");
  options.temp_dir = temp.path();
  options.signing_identifier = "minilm-golden-test";
  Result<std::unique_ptr<Engine>> engine = make_soft_engine(options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ModelRunner runner(**engine, **model);

  std::map<uint32_t, double> worst;  // by rung
  const std::vector<Golden> all = read_golden();
  for (const Golden& golden : all) {
    ASSERT_EQ(golden.vector.size(), 384u);
    Result<std::vector<int32_t>> ids = (*tokenizer)->encode(golden.text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, golden.ids) << golden.text;
    Result<std::vector<float>> vector = runner.embed(*ids);
    ASSERT_TRUE(vector.ok()) << vector.status().message();
    const double agreement = cosine(*vector, golden.vector);
    EXPECT_GE(agreement, 0.9999) << golden.ids.size() << " tokens: " << golden.text;
    const uint32_t rung = rung_for((*model)->summary().ladder, golden.ids.size());
    const auto known = worst.emplace(rung, 1).first;
    known->second = std::min(known->second, agreement);
  }
  EXPECT_GE(all.size(), 60u);
  EXPECT_EQ(runner.programs(), 18u);  // six layers at three rungs
  for (const auto& [rung, agreement] : worst) std::printf("rung %u: smallest cosine %.7f\n", rung, agreement);
}

// A whole layer, at the narrowest rung, in the dialect of either system generation.
TEST(MiniLmGolden, BothDialectsOfALayerGiveTheSameBits) {
  TempFolder temp;
  SoftEngineOptions options;
  options.cache_dir = temp.file("vault");
  options.temp_dir = temp.path();
  options.signing_identifier = "minilm-golden-test";
  Result<std::unique_ptr<Engine>> engine = make_soft_engine(options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::vector<std::vector<Half>> results;
  std::vector<std::string> names;
  for (const MilDialect dialect : {MilDialect::kIos18, MilDialect::kIos16}) {
    Result<std::shared_ptr<const Model>> model = open_model(test_model_folder(), {.dialect = dialect});
    ASSERT_TRUE(model.ok()) << model.status().message();
    const Program program = (*model)->layer_program(128, 3);
    names.push_back((*engine)->identify(program));
    ASSERT_TRUE((*engine)->compile(names.back(), program).ok());
    Result<std::unique_ptr<LoadedProgram>> loaded = (*engine)->load(names.back());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    std::vector<Half> x(384 * 128), mask(128), y(384 * 128);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float_to_half(static_cast<float>(i * 2654435761u % 4096) / 1024.0f - 2);
    for (size_t i = 100; i < mask.size(); ++i) mask[i] = float_to_half(-10000.0f);
    const Buffer in[] = {{x.data(), 2 * x.size()}, {mask.data(), 2 * mask.size()}};
    const Buffer out[] = {{y.data(), 2 * y.size()}};
    ASSERT_TRUE((*loaded)->run(in, out).ok());
    results.push_back(std::move(y));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(names[0], names[1]);
}

}  // namespace
}  // namespace anelane
