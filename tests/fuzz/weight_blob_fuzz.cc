// A weight file of any bytes: every record that the reader accepts must lie inside them.
#include <cstddef>
#include <cstdint>

#include "ane_direct/weight_blob.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto reader = anelane::WeightBlobReader::open({data, size});
  if (!reader.ok()) return 0;
  for (const anelane::BlobRecord& record : reader->records()) {
    const bool inside = record.data.data() >= data && record.data.data() + record.data.size() <= data + size;
    if (!inside || !reader->at(record.offset).ok()) __builtin_trap();
  }
  return 0;
}
