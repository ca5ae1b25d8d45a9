#include <gtest/gtest.h>

#include "support/test_model.h"
#include "text/tokenizer_file.h"

namespace anelane {
namespace {

constexpr const char* kVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nÉ\n";

Result<std::shared_ptr<const Tokenizer>> parse(std::string_view text, Json config = Json::object()) {
  return parse_vocab_text("vocab.txt", text, JsonFields("tokenizer_config.json", std::move(config)));
}

std::vector<int32_t> ids(std::string_view vocab, std::string_view text, Json config = Json::object()) {
  Result<std::shared_ptr<const Tokenizer>> tokenizer = parse(vocab, std::move(config));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *(*tokenizer)->encode(text) : std::vector<int32_t>();
}

using Ids = std::vector<int32_t>;

TEST(VocabText, LinesAreIds) {
  EXPECT_EQ(ids(kVocab, "AB a[MASK] é"), (Ids{2, 5, 6, 5, 4, 1, 3}));
  EXPECT_EQ(ids("[UNK]\r\n[CLS]\r\n[SEP]\r\na", "a"),
            (Ids{1, 3, 2}));  // line ends of Windows, none at the end
}

TEST(VocabText, TheConfigurationIsFollowed) {
  EXPECT_EQ(ids(kVocab, "É", Json::object().set("do_lower_case", false)), (Ids{2, 7, 3}));
  EXPECT_EQ(
      ids("[UNK]\n<s>\n</s>\na\n", "a", Json::object().set("cls_token", "<s>").set("sep_token", "</s>")),
      (Ids{1, 3, 2}));
  EXPECT_EQ(ids("[UNK]\n<s>\n[SEP]\na\n", "a",
                Json::object().set("cls_token", Json::object().set("content", "<s>"))),
            (Ids{1, 3, 2}));
}

TEST(VocabText, ProblemsAreNamed) {
  const Status no_cls = parse("[UNK]\n[SEP]\n").status();
  EXPECT_EQ(no_cls.code(), Code::kModelInvalid);
  EXPECT_NE(no_cls.message().find("cls_token"), std::string::npos) << no_cls.message();
  EXPECT_EQ(parse("").status().code(), Code::kModelInvalid);
  EXPECT_EQ(parse("[UNK]\n\xff\n").status().code(), Code::kModelInvalid);
  EXPECT_EQ(parse(kVocab, Json::object().set("do_lower_case", 1)).status().code(), Code::kModelInvalid);
  const Status other = parse(kVocab, Json::object().set("tokenizer_class", "T5Tokenizer")).status();
  EXPECT_EQ(other.code(), Code::kModelUnsupported);
  EXPECT_NE(other.message().find("T5Tokenizer"), std::string::npos);
}

// The same model's two forms must agree.
TEST(VocabText, AgreesWithTokenizerJsonOfTheRealModel) {
  const std::string folder = test_model_folder();
  Result<std::shared_ptr<const Tokenizer>> from_json = load_tokenizer(folder);
  Result<std::string> vocab = read_file(join_path(folder, "vocab.txt"), 1u << 24);
  Result<JsonFields> config = JsonFields::read(join_path(folder, "tokenizer_config.json"), 1u << 20);
  ASSERT_TRUE(from_json.ok() && vocab.ok() && config.ok());
  Result<std::shared_ptr<const Tokenizer>> from_text = parse_vocab_text("vocab.txt", *vocab, *config);
  ASSERT_TRUE(from_text.ok()) << from_text.status().message();
  const std::string lines = test_data("tokenizer_golden.jsonl");
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    const Result<Json> line = parse_json(lines.substr(at, end - at), "golden");
    const std::string& text = line->at("text").as_string();
    EXPECT_EQ(*(*from_text)->encode(text), *(*from_json)->encode(text)) << text;
    at = end + 1;
  }
}

}  // namespace
}  // namespace anelane
