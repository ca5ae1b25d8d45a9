#include "text/bert_tokenizer.h"

#include <gtest/gtest.h>

#include "ane_direct/sha256.h"
#include "base/json.h"
#include "support/test_model.h"
#include "text/unicode.h"

namespace anelane {
namespace {

class BertTokenizerTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<const Tokenizer>> loaded = load_tokenizer(test_model_folder());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    tokenizer_ = *loaded;
  }

  std::vector<int32_t> ids(std::string_view text) {
    Result<std::vector<int32_t>> out = tokenizer_->encode(text);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out.ok() ? *out : std::vector<int32_t>();
  }

  std::string code_point_digest(const std::string& before, const std::string& behind) {
    Sha256 sha;
    const auto add = [&sha](int32_t value) {
      uint8_t bytes[4];
      for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(static_cast<uint32_t>(value) >> (8 * i));
      sha.update(std::span<const uint8_t>(bytes));
    };
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      std::string text = before;
      append_utf8(c, &text);
      const std::vector<int32_t> out = ids(text + behind);
      add(static_cast<int32_t>(out.size()));
      for (const int32_t id : out) add(id);
    }
    return upper_hex(sha.finish());
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
};

TEST_F(BertTokenizerTest, GivesTheIdsOfTheTokenizersPackage) {
  const std::string lines = test_data("tokenizer_golden.jsonl");
  int texts = 0;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    Result<Json> line = parse_json(lines.substr(at, end - at), "golden");
    ASSERT_TRUE(line.ok()) << line.status().message();
    std::vector<int32_t> expected;
    for (const Json& id : line->at("ids").as_array()) expected.push_back(static_cast<int32_t>(id.as_int()));
    EXPECT_EQ(ids(line->at("text").as_string()), expected) << line->at("text").dump();
    ++texts;
    at = end + 1;
  }
  EXPECT_GE(texts, 400);
}

// The package's answers for all 1,112,064 code points, as two digests (scripts/make-tokenizer-golden).
TEST_F(BertTokenizerTest, EveryCodePointGivesTheIdsOfTheTokenizersPackage) {
  const std::string digests = test_data("tokenizer_code_points.txt");
  ASSERT_EQ(digests.size(), 130u);
  EXPECT_EQ(code_point_digest("", ""), digests.substr(0, 64));
  EXPECT_EQ(code_point_digest("a", "b"), digests.substr(65, 64));
}

TEST_F(BertTokenizerTest, TheEmptyTextIsItsSpecialTokens) {
  EXPECT_EQ(ids(""), (std::vector<int32_t>{101, 102}));
}

// tokenizer.json of this model says "truncate to 128, pad to 128".
TEST_F(BertTokenizerTest, L2_3_NothingIsTruncatedOrPadded) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "word ";
  EXPECT_EQ(ids(text).size(), 5002u);
  EXPECT_EQ(ids("word").size(), 3u);
}

TEST_F(BertTokenizerTest, InvalidUtf8IsRefusedWithItsOffset) {
  struct Case {
    std::string text;
    uint64_t offset;
  };
  for (const Case& c :
       {Case{"abc\xff", 3}, Case{"\xed\xa0\x80", 0}, Case{"ok \xf0\x9f\x98", 3}, Case{"\xc0\x80", 0}}) {
    const Status status = tokenizer_->encode(c.text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.detail().limit, c.offset);
    EXPECT_NE(status.message().find("byte " + std::to_string(c.offset)), std::string::npos)
        << status.message();
  }
}

TEST_F(BertTokenizerTest, ANulByteIsText) {
  EXPECT_EQ(ids(std::string_view("hello\0world", 11)), ids("helloworld"));
}

TEST_F(BertTokenizerTest, VocabularySizeIsTheHighestIdAndOne) {
  EXPECT_EQ(tokenizer_->vocab_size(), 30522u);
}

// Ten times the text must not take a hundred times as long: the texts here are the ones that would be
// quadratic in a careless search. The bound is against hanging only.
TEST_F(BertTokenizerTest, LongTextsOfEveryKindEnd) {
  for (const std::string piece :
       {"a", "\u0301", "[CLS", "[", "字", " ", ".", "[MASK]", "\U0001d165\U0001d16d", "가"}) {
    std::string text;
    while (text.size() < 2'000'000) text += piece;
    EXPECT_GE(ids(text).size(), 2u) << piece;
  }
}

}  // namespace
}  // namespace anelane
