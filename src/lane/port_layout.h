// Where the ports of a run lie: the engine's layout (rows padded to 64 bytes) of the chain's outer tensors,
// and their places within a bay of the arena. Ports are numbered inputs first; of a checkpoint: 0 a00_x, 1
// a01_mask, 2 z00_y.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace anelane {

struct PortLayout {
  std::string name;
  bool output = false;
  Dtype dtype = Dtype::kF16;
  std::vector<uint64_t> dims, strides;  // elements; bytes
  uint64_t bytes = 0;
  uint64_t bay_offset = 0;
};

std::vector<PortLayout> port_layouts(const ModelSummary& model, uint32_t shape);

inline constexpr uint64_t kBayPage = 16384;  // bays begin at multiples of it
inline constexpr uint64_t kArenaBays =
    3;  // one for the holder of the stream, two for leases that map their ports

// Bytes of one bay: holds the ports at the widest shape, and an embed exchange of at least one longest
// sequence.
uint64_t bay_bytes_for(const ModelSummary& model);

// How an embed exchange of `tokens` ids in `rows` sequences uses a bay: ids first, then the rows of floats.
struct EmbedLayout {
  uint64_t out_offset = 0;  // within the bay
  uint64_t bytes = 0;       // in all
};
EmbedLayout embed_layout(uint64_t tokens, uint64_t rows, uint32_t dim);

}  // namespace anelane
