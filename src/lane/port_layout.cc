#include "lane/port_layout.h"

#include <algorithm>

namespace anelane {
namespace {

constexpr uint64_t kRowAlign = 64;
constexpr uint64_t kBayMin = 256 * 1024;  // some dozens of short texts in one exchange

uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::vector<PortLayout> port_layouts(const ModelSummary& model, uint32_t shape) {
  std::vector<PortLayout> ports;
  uint64_t offset = 0;
  const auto add = [&](const Port& port, bool output) {
    ports.push_back({port.name, output, port.dtype, port.dims, port.strides, port.bytes, offset});
    offset += round_up(port.bytes, kRowAlign);
  };
  if (model.kind == ModelKind::kProgram) {
    const auto rung = std::find(model.ladder.begin(), model.ladder.end(), shape) - model.ladder.begin();
    const RungPorts& own = model.ports[static_cast<size_t>(rung)];
    for (const Port& port : own.inputs) add(port, false);
    for (const Port& port : own.outputs) add(port, true);
    return ports;
  }
  add(make_port("a00_x", Dtype::kF16, {1, model.width, 1, shape}), false);
  add(make_port("a01_mask", Dtype::kF16, {1, 1, 1, shape}), false);
  add(make_port("z00_y", Dtype::kF16, {1, model.width, 1, shape}), true);
  return ports;
}

EmbedLayout embed_layout(uint64_t tokens, uint64_t rows, uint32_t dim) {
  EmbedLayout l;
  l.out_offset = round_up(tokens * sizeof(int32_t), kRowAlign);
  l.bytes = l.out_offset + rows * dim * sizeof(float);
  return l;
}

uint64_t bay_bytes_for(const ModelSummary& model) {
  uint64_t run = 0;
  for (const uint32_t shape : model.ladder) {  // a program's widest rung need not be its largest
    const PortLayout last = port_layouts(model, shape).back();
    run = std::max(run, last.bay_offset + last.bytes);
  }
  if (model.kind == ModelKind::kProgram) return round_up(run, kBayPage);
  const uint64_t embed = embed_layout(model.ceiling, 1, model.dim).bytes;
  return round_up(std::max({run, embed, kBayMin}), kBayPage);
}

}  // namespace anelane
