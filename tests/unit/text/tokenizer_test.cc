#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

void expect_error(const Status& status, Code code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(LoadTokenizer, TakesVocabTextWhereThereIsNoJson) {
  TempFolder folder;
  ASSERT_TRUE(write_tiny_checkpoint(folder.path()).ok());
  Result<std::shared_ptr<const Tokenizer>> tokenizer = load_tokenizer(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ((*tokenizer)->encode("").status().code(), Code::kOk);
  EXPECT_EQ(*(*tokenizer)->encode(""), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ((*tokenizer)->encode("Hello, worlds!")->size(), 7u);  // hello , world ##s ! and two
}

TEST(LoadTokenizer, PrefersTokenizerJson) {
  TempFolder folder;
  ASSERT_TRUE(write_tiny_checkpoint(folder.path()).ok());
  ASSERT_TRUE(write_file_atomic(folder.file("tokenizer.json"), "{}").ok());
  expect_error(load_tokenizer(folder.path()).status(), Code::kModelInvalid, "tokenizer.json: model");
}

TEST(LoadTokenizer, SaysWhatIsMissing) {
  TempFolder folder;
  expect_error(load_tokenizer(folder.path()).status(), Code::kModelInvalid, "tokenizer.json");
  expect_error(load_tokenizer(folder.file("nowhere")).status(), Code::kIo, "nowhere");
  ASSERT_TRUE(write_file_atomic(folder.file("file"), "x").ok());
  expect_error(load_tokenizer(folder.file("file")).status(), Code::kIo, "folder");
}

TEST(LoadTokenizer, BrokenJsonIsInvalidWithItsPlace) {
  TempFolder folder;
  ASSERT_TRUE(write_file_atomic(folder.file("tokenizer.json"), "{\"model\": ").ok());
  expect_error(load_tokenizer(folder.path()).status(), Code::kModelInvalid, "byte");
  ASSERT_TRUE(write_file_atomic(folder.file("tokenizer.json"), "[]").ok());
  expect_error(load_tokenizer(folder.path()).status(), Code::kModelInvalid, "expected a JSON object");
}

}  // namespace
}  // namespace anelane
