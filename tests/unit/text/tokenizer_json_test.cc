#include <gtest/gtest.h>

#include "text/tokenizer_file.h"

namespace anelane {
namespace {

// A small file that is right; each test changes one thing.
Json small_file() {
  return *parse_json(R"({
    "added_tokens": [
      {"id": 1, "content": "[CLS]", "special": true, "normalized": false},
      {"id": 7, "content": "new tok", "special": false, "normalized": true}],
    "truncation": {"max_length": 2}, "padding": {"strategy": {"Fixed": 9}},
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                         "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4, "new": 5, "É": 6}}})",
                     "test");
}

Json with(std::string_view section, const std::string& field, Json value) {
  Json file = small_file();
  Json part = file.at(section);
  part.set(field, std::move(value));
  return file.set(std::string(section), part);
}

Status refusal(Json file) {
  return parse_tokenizer_json(JsonFields("tokenizer.json", std::move(file))).status();
}

std::vector<int32_t> ids(Json file, std::string_view text) {
  Result<std::shared_ptr<const Tokenizer>> tokenizer =
      parse_tokenizer_json(JsonFields("tokenizer.json", std::move(file)));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *(*tokenizer)->encode(text) : std::vector<int32_t>();
}

void expect_error(const Status& status, Code code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code(), code) << status.message();
  for (const char* part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

using Ids = std::vector<int32_t>;

TEST(TokenizerJson, ReadsEverySection) {
  EXPECT_EQ(ids(small_file(), "ab q a[CLS]NEW  tok new tok"), (Ids{1, 3, 4, 0, 3, 1, 5, 0, 7, 2}));
}

TEST(TokenizerJson, BertProcessingIsTheOldFormOfTheTemplate) {
  Json file = small_file();
  file.set("post_processor",
           *parse_json(R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})", "t"));
  EXPECT_EQ(ids(file, "a"), (Ids{1, 3, 2}));
  file.set("post_processor", nullptr);
  EXPECT_EQ(ids(file, "a"), (Ids{3}));
}

TEST(TokenizerJson, AccentsFollowTheCaseUnlessSaid) {
  EXPECT_EQ(ids(with("normalizer", "lowercase", false), "É"), (Ids{1, 6, 2}));
  EXPECT_EQ(ids(with("normalizer", "strip_accents", false), "Á"), (Ids{1, 0, 2}));
  EXPECT_EQ(ids(small_file(), "Á"), (Ids{1, 3, 2}));
}

TEST(TokenizerJson, OtherKindsAreUnsupportedByName) {
  expect_error(refusal(with("model", "type", "BPE")), Code::kModelUnsupported,
               {"tokenizer.json: model", "BPE", "WordPiece"});
  expect_error(refusal(with("normalizer", "type", "NFC")), Code::kModelUnsupported, {"normalizer", "NFC"});
  expect_error(refusal(with("pre_tokenizer", "type", "ByteLevel")), Code::kModelUnsupported,
               {"pre_tokenizer", "ByteLevel"});
  expect_error(refusal(with("post_processor", "type", "RobertaProcessing")), Code::kModelUnsupported,
               {"post_processor", "RobertaProcessing"});
}

TEST(TokenizerJson, BrokenFieldsAreNamed) {
  expect_error(refusal(Json::object()), Code::kModelInvalid, {"tokenizer.json: model", "missing"});
  expect_error(refusal(with("model", "vocab", Json::array())), Code::kModelInvalid, {"model: vocab"});
  expect_error(refusal(with("model", "vocab", Json::object())), Code::kModelInvalid, {"vocabulary is empty"});
  expect_error(refusal(with("model", "vocab", Json::object().set("[UNK]", -1))), Code::kModelInvalid,
               {"id of \"[UNK]\"", "-1"});
  expect_error(refusal(with("model", "vocab", Json::object().set("[UNK]", "0"))), Code::kModelInvalid,
               {"[UNK]"});
  expect_error(refusal(with("model", "vocab", Json::object().set("[UNK]", 4294967296))), Code::kModelInvalid,
               {"4294967296"});
  expect_error(refusal(with("model", "unk_token", "<unk>")), Code::kModelInvalid, {"<unk>"});
  expect_error(refusal(with("model", "max_input_chars_per_word", 0)), Code::kModelInvalid,
               {"max_input_chars_per_word", "found 0"});
  expect_error(refusal(with("normalizer", "lowercase", "yes")), Code::kModelInvalid,
               {"normalizer: lowercase"});
  expect_error(refusal(with("post_processor", "single", 7)), Code::kModelInvalid, {"post_processor: single"});
  expect_error(refusal(with("post_processor", "single", Json::array())), Code::kModelInvalid, {"single"});
  expect_error(refusal(with("post_processor", "special_tokens", Json::object())), Code::kModelInvalid,
               {"[CLS]"});
  Json file = small_file();
  file.set("added_tokens", Json::array().push(7));
  expect_error(refusal(file), Code::kModelInvalid, {"added_tokens[0]"});
}

TEST(TokenizerJson, AnIdThatThePackageWouldNotGiveIsRefused) {
  const auto added = [](const char* content, int id) {
    return small_file().set("added_tokens",
                            Json::array().push(Json::object().set("id", id).set("content", content)));
  };
  EXPECT_TRUE(refusal(added("fresh", 7)).ok());
  expect_error(refusal(added("fresh", 9)), Code::kModelInvalid, {"added_tokens[0]: id", "7", "found 9"});
  expect_error(refusal(added("a", 7)), Code::kModelInvalid, {"added_tokens[0]: id", "3", "found 7"});
}

TEST(TokenizerJson, ATemplateIdBeyondTheVocabularyIsRefused) {
  Json file = small_file();
  file.set("post_processor", *parse_json(R"({"type":"BertProcessing","sep":["x",200],"cls":["y",1]})", "t"));
  expect_error(refusal(file), Code::kModelInvalid, {"post_processor", "200"});
}

}  // namespace
}  // namespace anelane
