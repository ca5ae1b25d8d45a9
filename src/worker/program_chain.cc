// A model of its caller's own programs on the engine: the loaded programs in their wiring. Tensors in between
// lie in buffers that the wiring shares out (models/program_wiring.h); nothing is copied between the layers.
// Threads: the engine thread only.
#include "worker/served_model.h"

namespace anelane::worker {
namespace {

// What stands at a place of the wiring: its size, by the ports of the model or the buffers.
uint64_t bytes_at(const ProgramWiring& wiring, WirePlace place) {
  switch (place.kind) {
    case WirePlace::kInput:
      return wiring.inputs[place.index].bytes;
    case WirePlace::kOutput:
      return wiring.outputs[place.index].bytes;
    case WirePlace::kBuffer:
      return wiring.buffers[place.index];
  }
  return 0;
}

Status check_ports(const ProgramWiring& wiring, std::span<const Port> ports,
                   std::span<const WirePlace> places, const char* side) {
  if (ports.size() != places.size())
    return error(Code::kInternal, "the loaded program has " + std::to_string(ports.size()) + " " + side +
                                      "s, its text declares " + std::to_string(places.size()));
  for (size_t i = 0; i < ports.size(); ++i) {
    const uint64_t bytes = bytes_at(wiring, places[i]);
    if (ports[i].bytes != bytes)
      return error(Code::kUnsupported, std::string(side) + " " + ports[i].name + " takes " +
                                           std::to_string(ports[i].bytes) +
                                           " bytes on this engine, its declared shape gives " +
                                           std::to_string(bytes) + ": make the last axis a multiple of 32");
  }
  return {};
}

}  // namespace

Status prepare_wired(Engine& engine, uint32_t shape, const ProgramWiring& wiring, ResidentShape* room) {
  if (room->layers.size() != wiring.layers.size())
    return error(Code::kInternal, "the wiring has another number of layers").with_shape(shape);
  for (size_t i = 0; i < wiring.layers.size(); ++i) {
    const std::string where = "layer " + std::to_string(i);
    Status status = check_ports(wiring, room->layers[i]->inputs(), wiring.layers[i].inputs, "input");
    if (status.ok())
      status = check_ports(wiring, room->layers[i]->outputs(), wiring.layers[i].outputs, "output");
    if (!status.ok()) return std::move(status).in(where).with_shape(shape);
  }
  for (const uint64_t bytes : wiring.buffers) {
    ANELANE_ASSIGN(PortBuffer buffer, PortBuffer::make(engine, bytes));
    room->between.push_back(std::move(buffer));
  }
  return {};
}

Status run_wired(const ResidentShape& room, const ProgramWiring& wiring, std::span<const Buffer> in,
                 std::span<const Buffer> out) {
  const auto at = [&](WirePlace place) -> Buffer {
    switch (place.kind) {
      case WirePlace::kInput:
        return in[place.index];
      case WirePlace::kOutput:
        return out[place.index];
      case WirePlace::kBuffer:
        return room.between[place.index].buffer();
    }
    return {};
  };
  std::vector<Buffer> from, to;
  for (size_t i = 0; i < wiring.layers.size(); ++i) {
    from.clear();
    to.clear();
    for (const WirePlace place : wiring.layers[i].inputs) from.push_back(at(place));
    for (const WirePlace place : wiring.layers[i].outputs) to.push_back(at(place));
    if (Status status = room.layers[i]->run(from, to); !status.ok())
      return std::move(status).in("layer " + std::to_string(i));
  }
  return {};
}

}  // namespace anelane::worker
