// The weight file of a program (weights/weight.bin): a header, then records of a 64-byte head and data.
// MIL text refers to a record by the offset of its head.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/fp16.h"
#include "base/status.h"

namespace anelane {

// Codes of the file format.
enum class BlobType : uint32_t {
  kF16 = 1,
  kF32 = 2,
  kU8 = 3,
  kI8 = 4,
  kI16 = 6,
  kU16 = 7,
  kI32 = 14,
  kU32 = 15
};
size_t blob_type_size(BlobType type);  // 0: not a type that we read

class WeightBlobWriter {
 public:
  // Appends a record and returns its offset, which is what BLOBFILE(offset = …) wants.
  uint64_t add(BlobType type, std::span<const uint8_t> data);
  uint64_t add(std::span<const Half> values);
  uint32_t records() const { return records_; }
  // The finished file; empty when nothing was added. The writer is empty afterwards.
  std::vector<uint8_t> finish();

 private:
  std::vector<uint8_t> bytes_;
  uint32_t records_ = 0;
};

struct BlobRecord {
  uint64_t offset = 0;  // of the head
  BlobType type = BlobType::kF16;
  std::span<const uint8_t> data;
};

// A checked view of a weight file. The bytes must outlive it.
class WeightBlobReader {
 public:
  // Checks the whole file: every record in place, inside the file, no overlap, the announced count real.
  static Result<WeightBlobReader> open(std::span<const uint8_t> bytes);
  std::span<const BlobRecord> records() const { return records_; }
  // The record whose head is at `offset`.
  Result<BlobRecord> at(uint64_t offset) const;

 private:
  std::vector<BlobRecord> records_;  // ascending by offset
};

}  // namespace anelane
