// The daemon's name for a program, against worked values.
#include "ane_direct/content_id.h"

#include <gtest/gtest.h>

#include "ane_direct/sha256.h"
#include "ane_direct/weight_blob.h"

namespace anelane {
namespace {

// Two fp16 tensors: [1, 2, -1, 0.5, 0, 0, 0, -2] and [0.25, -0.25, 3, 4].
std::vector<uint8_t> worked_blob() {
  WeightBlobWriter writer;
  writer.add(std::vector<Half>{0x3c00, 0x4000, 0xbc00, 0x3800, 0, 0, 0, 0xc000});
  writer.add(std::vector<Half>{0x3400, 0xb400, 0x4200, 0x4400});
  return writer.finish();
}

std::string part(const std::string& id, int index) {
  return id.substr(static_cast<size_t>(index) * 65, 64);
}

TEST(Sha256, MatchesThePublishedVector) {
  EXPECT_EQ(upper_hex(Sha256().update("abc").finish()),
            "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD");
}

TEST(Sha256, PiecesGiveTheSameDigestAsTheWhole) {
  const std::string text(1000, 'x');
  EXPECT_EQ(Sha256().update(text.substr(0, 63)).update(text.substr(63)).finish(),
            Sha256().update(text).finish());
}

TEST(ContentId, L8_1_NoWeightsAndNoOptionsHaveTheirKnownHashes) {
  const std::string id = content_id(Program{});
  EXPECT_EQ(id.size(), 194u);
  EXPECT_EQ(part(id, 0), "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855");
  EXPECT_EQ(part(id, 1), "DF3F619804A92FDB4057192DC43DD748EA778ADC52BC498CE80524C014B81119");
  EXPECT_EQ(part(id, 2), "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855");
}

TEST(ContentId, L8_1_WorkedBlobHasItsKnownHash) {
  Program program;
  program.weights = worked_blob();
  EXPECT_EQ(part(content_id(program), 1), "62AC16D365E2B258CA805F6F4F9899FCADE86DD3B4D2406E168823D511573E14");
}

TEST(ContentId, L8_1_EveryPartCounts) {
  const Program base{"program(1.3)", {1, 2, 3}, "<plist/>"};
  Program mil = base, weights = base, options = base;
  mil.mil += "\n";
  weights.weights[2] = 4;
  options.options = "";
  const std::string id = content_id(base);
  EXPECT_EQ(id, content_id(base));
  EXPECT_NE(part(content_id(mil), 0), part(id, 0));
  EXPECT_NE(part(content_id(weights), 1), part(id, 1));
  EXPECT_NE(part(content_id(options), 2), part(id, 2));
}

TEST(ContentId, OnlyWellFormedNamesAreNames) {
  std::string id = content_id(Program{});
  EXPECT_TRUE(is_content_id(id));
  EXPECT_FALSE(is_content_id(id.substr(1)));
  EXPECT_FALSE(is_content_id(""));
  for (const char c : {'/', '.', 'a', '_', '\0'}) {
    std::string forged = id;
    forged[3] = c;
    EXPECT_FALSE(is_content_id(forged)) << c;
  }
  id[64] = 'A';
  EXPECT_FALSE(is_content_id(id));
}

}  // namespace
}  // namespace anelane
