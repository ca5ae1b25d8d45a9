// How the layers of one rung of a program model hang together: which output feeds which input, what is left
// over as the model's own inputs and outputs, and which memory the tensors in between use.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ane_direct/mil_signature.h"
#include "base/status.h"

namespace anelane {

// One layer, before it is wired.
struct LayerPorts {
  std::string where;  // "layer 0 (up.mil)", for errors
  ProgramPorts ports;
  std::vector<std::pair<std::string, std::string>> connect;  // input → output of an earlier layer
};

// Where a port of a layer lies: an input or output of the model, or a buffer in between.
struct WirePlace {
  enum Kind : uint8_t { kInput, kOutput, kBuffer };
  Kind kind = kInput;
  uint32_t index = 0;
  bool operator==(const WirePlace&) const = default;
};

struct ProgramWiring {
  struct Layer {
    std::vector<WirePlace> inputs, outputs;  // in the order of the layer's ports
  };
  std::vector<Port> inputs, outputs;  // of the model, sorted by name
  std::vector<uint64_t> buffers;      // bytes of each
  std::vector<Layer> layers;
};

// An input is fed by what `connect` says: the name of an output, of the last earlier layer that has it, or
// "LAYER.NAME" with the layer's number. Without that, by the last earlier output of its own name. What
// nothing feeds is an input of the model, one for each name; an output that feeds nothing is an output of the
// model. No layer's call ever has one buffer on both sides. MODEL_INVALID names layer, port, expected and
// found.
Result<ProgramWiring> wire_layers(std::span<const LayerPorts> layers);

}  // namespace anelane
