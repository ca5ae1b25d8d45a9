// Weight file, little endian. Header of 64 bytes: u32 number of records, u32 version 2, zeros. Each record
// starts at a multiple of 64: u32 magic, u32 type, u64 data size, u64 absolute offset of the data (always the
// record's own offset + 64), u64 padding bits of sub-byte types (0 here), zeros up to 64; then the data. The
// next record starts at the next multiple of 64; nothing follows the last record's data.
//
// A wrong absolute offset makes the engine read other weights without any error, so writer and reader derive
// it by one rule and the reader refuses everything else. Hostile files: sizes are compared against what is
// left of the file before any arithmetic that could wrap.
#include "ane_direct/weight_blob.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/limits.h"

namespace anelane {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t kHead = 64;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kMagic = 0xDEADBEEF;

template <class T>
void put(std::vector<uint8_t>& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

template <class T>
T get(std::span<const uint8_t> bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(bytes[at + i]) << (8 * i));
  return value;
}

uint64_t align_up(uint64_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

Status bad(const std::string& text) {
  return error(Code::kCompileFailed, "weight file: " + text);
}

Status bad_record(size_t index, uint64_t offset, const std::string& text) {
  return bad("record " + std::to_string(index) + " at offset " + std::to_string(offset) + ": " + text)
      .with_item(static_cast<int64_t>(index));
}

// One record head at `offset`; at least kHead bytes are there.
Result<BlobRecord> read_record(std::span<const uint8_t> bytes, size_t index, uint64_t offset) {
  if (get<uint32_t>(bytes, offset) != kMagic)
    return bad_record(index, offset, "it does not start with EF BE AD DE");
  const uint32_t type = get<uint32_t>(bytes, offset + 4);
  const size_t element = blob_type_size(static_cast<BlobType>(type));
  if (element == 0)
    return bad_record(index, offset, "data type code " + std::to_string(type) + " is not supported");
  const uint64_t size = get<uint64_t>(bytes, offset + 8);
  const uint64_t data = get<uint64_t>(bytes, offset + 16);
  if (data != offset + kHead)
    return bad_record(
        index, offset,
        "its data offset is " + std::to_string(data) + ", it must be " + std::to_string(offset + kHead));
  if (size > bytes.size() - data)
    return bad_record(index, offset,
                      "it announces " + std::to_string(size) + " bytes of data, the file has " +
                          std::to_string(bytes.size() - data) + " left");
  if (size == 0 || size % element != 0)
    return bad_record(index, offset,
                      std::to_string(size) + " bytes are not a whole number of elements of " +
                          std::to_string(element) + " bytes");
  return BlobRecord{offset, static_cast<BlobType>(type), bytes.subspan(data, size)};
}

}  // namespace

size_t blob_type_size(BlobType type) {
  switch (type) {
    case BlobType::kU8:
    case BlobType::kI8:
      return 1;
    case BlobType::kF16:
    case BlobType::kI16:
    case BlobType::kU16:
      return 2;
    case BlobType::kF32:
    case BlobType::kI32:
    case BlobType::kU32:
      return 4;
  }
  return 0;
}

uint64_t WeightBlobWriter::add(BlobType type, std::span<const uint8_t> data) {
  if (bytes_.empty()) bytes_.resize(kHead);
  const uint64_t offset = align_up(bytes_.size());
  bytes_.resize(offset + kHead);
  put<uint32_t>(bytes_, offset, kMagic);
  put<uint32_t>(bytes_, offset + 4, static_cast<uint32_t>(type));
  put<uint64_t>(bytes_, offset + 8, data.size());
  put<uint64_t>(bytes_, offset + 16, offset + kHead);
  bytes_.insert(bytes_.end(), data.begin(), data.end());
  ++records_;
  return offset;
}

uint64_t WeightBlobWriter::add(std::span<const Half> values) {
  std::vector<uint8_t> bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) put<uint16_t>(bytes, 2 * i, values[i]);
  return add(BlobType::kF16, bytes);
}

std::vector<uint8_t> WeightBlobWriter::finish() {
  if (!bytes_.empty()) {
    put<uint32_t>(bytes_, 0, records_);
    put<uint32_t>(bytes_, 4, kVersion);
  }
  records_ = 0;
  return std::exchange(bytes_, {});
}

Result<WeightBlobReader> WeightBlobReader::open(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHead)
    return bad("it has " + std::to_string(bytes.size()) + " bytes, the header alone takes " +
               std::to_string(kHead));
  const uint32_t count = get<uint32_t>(bytes, 0);
  const uint32_t version = get<uint32_t>(bytes, 4);
  if (version != kVersion)
    return bad("it has version " + std::to_string(version) + ", version " + std::to_string(kVersion) +
               " is needed");
  WeightBlobReader reader;
  uint64_t offset = kHead;
  while (offset < bytes.size()) {
    const size_t index = reader.records_.size();
    if (index >= limits::kMaxBlobRecords)
      return bad("more than " + std::to_string(limits::kMaxBlobRecords) + " records")
          .with_limit(limits::kMaxBlobRecords);
    if (bytes.size() - offset < kHead)
      return bad_record(index, offset, "the file ends inside the record's head");
    ANELANE_ASSIGN(const BlobRecord record, read_record(bytes, index, offset));
    reader.records_.push_back(record);
    offset = align_up(offset + kHead + record.data.size());
  }
  if (reader.records_.size() != count)
    return bad("the header announces " + std::to_string(count) + " records, the file holds " +
               std::to_string(reader.records_.size()));
  return reader;
}

Result<BlobRecord> WeightBlobReader::at(uint64_t offset) const {
  const auto found =
      std::lower_bound(records_.begin(), records_.end(), offset,
                       [](const BlobRecord& record, uint64_t wanted) { return record.offset < wanted; });
  if (found == records_.end() || found->offset != offset)
    return bad("no record starts at offset " + std::to_string(offset));
  return *found;
}

}  // namespace anelane
