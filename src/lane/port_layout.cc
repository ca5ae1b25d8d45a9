#include "lane/port_layout.h"

#include <algorithm>

namespace anelane {
namespace {

constexpr uint64_t kRowAlign = 64;
constexpr uint64_t kPage = 16384;
constexpr uint64_t kBayMin = 256 * 1024;  // some dozens of short texts in one exchange

uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::vector<PortLayout> port_layouts(const ModelSummary& model, uint32_t shape) {
  std::vector<PortLayout> ports;
  uint64_t offset = 0;
  const auto add = [&](const char* name, bool output, uint64_t channels) {
    PortLayout p;
    p.name = name;
    p.output = output;
    const uint64_t row = round_up(static_cast<uint64_t>(shape) * sizeof(Half), kRowAlign);
    p.dims = {1, channels, 1, shape};
    p.strides = {channels * row, row, row, sizeof(Half)};
    p.bytes = channels * row;
    p.bay_offset = offset;
    offset += round_up(p.bytes, kRowAlign);
    ports.push_back(std::move(p));
  };
  add("a00_x", false, model.width);
  add("a01_mask", false, 1);
  add("z00_y", true, model.width);
  return ports;
}

EmbedLayout embed_layout(uint64_t tokens, uint64_t rows, uint32_t dim) {
  EmbedLayout l;
  l.out_offset = round_up(tokens * sizeof(int32_t), kRowAlign);
  l.bytes = l.out_offset + rows * dim * sizeof(float);
  return l;
}

uint64_t bay_bytes_for(const ModelSummary& model) {
  const PortLayout last = port_layouts(model, model.ladder.back()).back();
  const uint64_t run = last.bay_offset + last.bytes;
  const uint64_t embed = embed_layout(model.ceiling, 1, model.dim).bytes;
  return round_up(std::max({run, embed, kBayMin}), kPage);
}

}  // namespace anelane
