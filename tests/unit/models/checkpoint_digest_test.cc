#include "models/checkpoint_digest.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

TEST(CheckpointDigest, L10_4_EveryPartCounts) {
  TempFolder folder;
  const std::vector<uint8_t> weights = {1, 2, 3};
  std::set<std::string> seen;
  const auto digest = [&](const std::string& pooling, std::span<const uint8_t> bytes) {
    Result<std::string> out = checkpoint_digest(folder.path(), pooling, bytes);
    EXPECT_TRUE(out.ok()) << out.status().message();
    EXPECT_EQ(out->size(), 64u);
    return out.ok() ? *out : std::string();
  };
  seen.insert(digest("mean", weights));
  EXPECT_EQ(digest("mean", weights), *seen.begin());
  seen.insert(digest("cls", weights));
  seen.insert(digest("mean", std::span(weights).first(2)));
  size_t expected = 3;
  for (const char* name : {"config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json"}) {
    ASSERT_TRUE(write_file_atomic(folder.file(name), "x").ok());
    seen.insert(digest("mean", weights));
    EXPECT_EQ(seen.size(), ++expected) << name;
  }
  ASSERT_TRUE(write_file_atomic(folder.file("README.md"), "x").ok());
  seen.insert(digest("mean", weights));
  EXPECT_EQ(seen.size(), expected) << "a file that decides nothing changed the digest";
}

// Written down with `printf 'pooling\0\4\0\0\0\0\0\0\0meanmodel.safetensors\0\2\0\0\0\0\0\0\0ab' |
// sha256sum`.
TEST(CheckpointDigest, L10_4_TheDefinitionIsTheOneInTheHeader) {
  TempFolder folder;
  const std::vector<uint8_t> weights = {'a', 'b'};
  EXPECT_EQ(*checkpoint_digest(folder.path(), "mean", weights),
            "fcf8a3e7bc75665e45cde3ddd256bb397ad7e07b7282fe1535bad8e8d3b61cee");
}

}  // namespace
}  // namespace anelane
