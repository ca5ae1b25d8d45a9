// Signatures of files that are built here, byte by byte, after <mach-o/loader.h> and the kernel's cs_blobs.h.
#include "worker/code_signature.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace anelane::worker {
namespace {

constexpr uint32_t kArm64 = 0x0100000c, kX86 = 0x01000007;
constexpr uint32_t kAdHoc = 0x2, kHardened = 0x10000;

void put_big(std::vector<uint8_t>* out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<uint8_t>(value >> shift));
}
void put_little(std::vector<uint8_t>* out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<uint8_t>(value >> shift));
}
void append(std::vector<uint8_t>* out, const std::vector<uint8_t>& more) {
  out->insert(out->end(), more.begin(), more.end());
}

std::vector<uint8_t> directory(const std::string& identifier, const std::string& team, uint32_t flags) {
  constexpr uint32_t kHead = 52;
  std::vector<uint8_t> texts(identifier.begin(), identifier.end());
  texts.push_back(0);
  const uint32_t team_at = team.empty() ? 0 : kHead + static_cast<uint32_t>(texts.size());
  texts.insert(texts.end(), team.begin(), team.end());
  texts.push_back(0);
  std::vector<uint8_t> out;
  const uint32_t length = kHead + static_cast<uint32_t>(texts.size());
  // magic, length, version, flags, hashes, identifier, special slots, slots, limit, sizes, spare, scatter,
  // team
  for (const uint32_t word :
       {0xfade0c02u, length, 0x20400u, flags, length, kHead, 0u, 0u, 4096u, 0x20020c00u, 0u, 0u, team_at})
    put_big(&out, word);
  append(&out, texts);
  return out;
}

std::vector<uint8_t> mach_o(uint32_t cpu, const std::vector<uint8_t>& code_directory,
                            bool with_signature = true) {
  std::vector<uint8_t> blob;
  // A superblob with something else before the directory.
  const uint32_t other = 28, where = other + 8;
  for (const uint32_t word : {0xfade0cc0u, where + static_cast<uint32_t>(code_directory.size()), 2u, 2u,
                              other, 0u, where, 0xfade0c01u, 8u})
    put_big(&blob, word);
  append(&blob, code_directory);
  std::vector<uint8_t> out;
  for (const uint32_t word : {0xfeedfacfu, cpu, 0u, 2u, 2u, 8u + 16u, 0u, 0u}) put_little(&out, word);
  for (const uint32_t word : {0x26u, 8u}) put_little(&out, word);
  for (const uint32_t word : {with_signature ? 0x1du : 0x29u, 16u, 56u, static_cast<uint32_t>(blob.size())})
    put_little(&out, word);
  append(&out, blob);
  return out;
}

std::optional<CodeSignature> read(const std::vector<uint8_t>& file, uint32_t cpu = kArm64) {
  const auto read = read_code_signature(file, cpu);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : std::nullopt;
}

TEST(CodeSignature, L8_6_AnAdHocSignatureHasAnIdentifierAndNoTeam) {
  const auto signature = read(mach_o(kArm64, directory("anelane-worker", "", kAdHoc)));
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->identifier, "anelane-worker");
  EXPECT_EQ(signature->team, "");
  EXPECT_TRUE(signature->ad_hoc);
  EXPECT_FALSE(signature->hardened);
}

TEST(CodeSignature, ADevelopersSignatureNamesTheTeam) {
  const auto signature = read(mach_o(kArm64, directory("org.example.worker", "ABCDE12345", kHardened)));
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->identifier, "org.example.worker");
  EXPECT_EQ(signature->team, "ABCDE12345");
  EXPECT_FALSE(signature->ad_hoc);
  EXPECT_TRUE(signature->hardened);
}

TEST(CodeSignature, AFileForSeveralMachinesIsReadForThisOne) {
  const auto arm = mach_o(kArm64, directory("arm", "", kAdHoc));
  const auto intel = mach_o(kX86, directory("intel", "", kAdHoc));
  std::vector<uint8_t> fat;
  const uint32_t head = 8 + 2 * 20;
  for (const uint32_t word :
       {0xcafebabeu, 2u, kX86, 3u, head, static_cast<uint32_t>(intel.size()), 0u, kArm64, 0u,
        head + static_cast<uint32_t>(intel.size()), static_cast<uint32_t>(arm.size()), 0u})
    put_big(&fat, word);
  append(&fat, intel);
  append(&fat, arm);
  EXPECT_EQ(read(fat, kArm64)->identifier, "arm");
  EXPECT_EQ(read(fat, kX86)->identifier, "intel");
  EXPECT_EQ(read(fat, 7)->identifier, "intel");
}

TEST(CodeSignature, NoSignatureIsAnAnswerAndAnotherFileIsNone) {
  EXPECT_FALSE(read(mach_o(kArm64, directory("x", "", kAdHoc), false)));
  const std::vector<uint8_t> elf = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0};
  EXPECT_EQ(read_code_signature(elf, kArm64).status().code(), Code::kUnsupported);
}

// Cut anywhere, or with any word of it made huge, it is answered, and never read beyond its end (ASan).
TEST(CodeSignature, DamagedFilesAreRefused) {
  const std::vector<uint8_t> good = mach_o(kArm64, directory("anelane-worker", "TEAM", kAdHoc));
  for (size_t length = 0; length < good.size(); ++length) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(read_code_signature(cut, kArm64).ok()) << length;
  }
  for (size_t at = 0; at + 4 <= good.size(); ++at)
    for (const uint8_t byte : {0x7f, 0xff}) {
      std::vector<uint8_t> bad = good;
      for (size_t i = 0; i < 4; ++i) bad[at + i] = byte;
      (void)read_code_signature(bad, kArm64);
    }
}

}  // namespace
}  // namespace anelane::worker
