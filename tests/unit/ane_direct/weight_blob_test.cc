// The weight file: the worked example byte for byte, and everything that a reader must refuse.
#include "ane_direct/weight_blob.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace anelane {
namespace {

const std::vector<Half> kA = {0x3c00, 0x4000, 0xbc00, 0x3800, 0, 0, 0, 0xc000};
const std::vector<Half> kB = {0x3400, 0xb400, 0x4200, 0x4400};

std::vector<uint8_t> worked_blob() {
  WeightBlobWriter writer;
  EXPECT_EQ(writer.add(kA), 64u);
  EXPECT_EQ(writer.add(kB), 192u);
  return writer.finish();
}

template <class T>
std::vector<uint8_t> patched(size_t at, T value) {
  std::vector<uint8_t> bytes = worked_blob();
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

std::string refusal(const std::vector<uint8_t>& bytes) {
  const auto reader = WeightBlobReader::open(bytes);
  EXPECT_FALSE(reader.ok());
  return reader.status().message();
}

TEST(WeightBlob, WorkedExampleByteForByte) {
  std::vector<uint8_t> expected(264);
  const auto place = [&](size_t at, std::initializer_list<uint8_t> bytes) {
    std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
  };
  place(0x00, {2, 0, 0, 0, 2});
  place(0x40, {0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0, 0x10});
  place(0x50, {0x80});
  place(0x80, {0, 0x3c, 0, 0x40, 0, 0xbc, 0, 0x38, 0, 0, 0, 0, 0, 0, 0, 0xc0});
  place(0xc0, {0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0, 8});
  place(0xd0, {0, 1});
  place(0x100, {0, 0x34, 0, 0xb4, 0, 0x42, 0, 0x44});
  EXPECT_EQ(worked_blob(), expected);
}

TEST(WeightBlob, ReaderGivesBackWhatTheWriterTook) {
  const std::vector<uint8_t> bytes = worked_blob();
  const auto reader = WeightBlobReader::open(bytes);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader->records().size(), 2u);
  const auto b = reader->at(192);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->type, BlobType::kF16);
  ASSERT_EQ(b->data.size(), 8u);
  EXPECT_EQ(std::memcmp(b->data.data(), kB.data(), 8), 0);
  EXPECT_FALSE(reader->at(128).ok());
  EXPECT_FALSE(reader->at(~uint64_t{0}).ok());
}

TEST(WeightBlob, WriterIsEmptyAfterFinish) {
  WeightBlobWriter writer;
  EXPECT_TRUE(writer.finish().empty());
  writer.add(kA);
  const auto first = writer.finish();
  EXPECT_EQ(writer.records(), 0u);
  writer.add(kA);
  EXPECT_EQ(writer.finish(), first);
}

TEST(WeightBlob, RefusalsNameTheRecordAndItsOffset) {
  EXPECT_NE(refusal({1, 2, 3}).find("3 bytes"), std::string::npos);
  EXPECT_NE(refusal(patched<uint32_t>(4, 3)).find("version 3"), std::string::npos);
  EXPECT_NE(refusal(patched<uint32_t>(0, 7)).find("announces 7 records"), std::string::npos);
  EXPECT_NE(refusal(patched<uint32_t>(192, 0)).find("record 1 at offset 192"), std::string::npos);
  EXPECT_NE(refusal(patched<uint32_t>(196, 99)).find("code 99"), std::string::npos);
  EXPECT_NE(refusal(patched<uint64_t>(208, 0x80)).find("record 1 at offset 192: its data offset is 128"),
            std::string::npos);  // overlaps record 0
  EXPECT_NE(refusal(patched<uint64_t>(72, ~uint64_t{0})).find("record 0 at offset 64"), std::string::npos);
  EXPECT_NE(refusal(patched<uint64_t>(200, 7)).find("not a whole number"), std::string::npos);
  EXPECT_NE(refusal(patched<uint64_t>(200, 0)).find("not a whole number"), std::string::npos);
}

TEST(WeightBlob, EveryTruncationIsRefused) {
  const std::vector<uint8_t> whole = worked_blob();
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(WeightBlobReader::open(cut).ok()) << size;
  }
}

TEST(WeightBlob, MutationsNeverLeaveTheBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> bytes = worked_blob();
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    bytes.resize(random() % 4 != 0 ? bytes.size() : random() % bytes.size());
    const auto reader = WeightBlobReader::open(bytes);
    if (!reader.ok()) continue;
    for (const BlobRecord& record : reader->records()) {
      ASSERT_GE(record.data.data(), bytes.data());
      ASSERT_LE(record.data.data() + record.data.size(), bytes.data() + bytes.size());
    }
  }
}

}  // namespace
}  // namespace anelane
