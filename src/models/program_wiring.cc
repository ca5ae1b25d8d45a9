// First the names: every layer's inputs find their sources, front to back. Then what was not used becomes the
// model's own outputs. Last the memory: front to back again, a buffer is free for others of its size once the
// last layer that reads it has run, so that a long chain needs two, as a checkpoint's does. Outputs take
// their buffers before inputs give theirs back. A pure function.
#include "models/program_wiring.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/limits.h"

namespace anelane {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// An output of a layer, or an input of the model.
struct Tensor {
  Port port;
  std::string where;       // "layer 0 (up.mil)"; of a model input: its first reader
  uint32_t layer = kNone;  // that makes it; kNone: an input of the model
  uint32_t last_reader = kNone;
  uint32_t buffer = kNone;
  uint32_t outer = kNone;  // index among the model's inputs or outputs
};

Status invalid(const std::string& where, const std::string& what) {
  return error(Code::kModelInvalid, where + ": " + what);
}

// One run cannot carry more, whatever number of programs they belong to.
std::string too_many(const char* side) {
  return "a model may have " + std::to_string(limits::kMaxPorts) + " " + side;
}

Status check_same(const Port& taken, const std::string& where, const Tensor& source) {
  if (taken.dtype == source.port.dtype && taken.dims == source.port.dims) return {};
  const std::string other =
      source.layer == kNone ? " takes it as " : " gives \"" + source.port.name + "\" as ";
  return invalid(where, "input \"" + taken.name + "\" is " + port_text(taken) + ", but " + source.where +
                            other + port_text(source.port));
}

class Wirer {
 public:
  explicit Wirer(std::span<const LayerPorts> layers) : layers_(layers), uses_(layers.size()) {}
  Result<ProgramWiring> run();

 private:
  struct Uses {
    std::vector<uint32_t> inputs, outputs;  // tensors
  };
  Status connect_layer(uint32_t layer);
  Result<uint32_t> source(uint32_t layer, const Port& port);
  Result<uint32_t> named_source(uint32_t layer, const Port& port, const std::string& name);
  std::string known_outputs() const;
  Status collect_outer(ProgramWiring* wiring);
  void assign_buffers(ProgramWiring* wiring);
  WirePlace place(uint32_t tensor) const;

  std::span<const LayerPorts> layers_;
  std::vector<Uses> uses_;
  std::vector<Tensor> tensors_;
  std::map<std::string, uint32_t> latest_;  // output name → tensor
  std::map<std::string, uint32_t> outer_;   // model input → tensor
};

std::string Wirer::known_outputs() const {
  std::string names;
  for (const auto& [name, tensor] : latest_) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "it is the first layer, and layers run in the order of the list"
                       : "earlier layers give " + names + "; layers run in the order of the list";
}

Result<uint32_t> Wirer::named_source(uint32_t layer, const Port& port, const std::string& name) {
  const std::string& where = layers_[layer].where;
  const size_t dot = name.find('.');
  if (dot == std::string::npos) {
    if (const auto found = latest_.find(name); found != latest_.end()) return found->second;
  } else {
    const std::string number = name.substr(0, dot), output = name.substr(dot + 1);
    uint32_t i = 0;
    std::from_chars(number.data(), number.data() + number.size(), i);
    if (i < layer && std::to_string(i) == number)
      for (const uint32_t tensor : uses_[i].outputs)
        if (tensors_[tensor].port.name == output) return tensor;
  }
  return invalid(where, "connect: input \"" + port.name + "\" is to come from \"" + name.substr(0, 80) +
                            "\", which no earlier layer gives; " + known_outputs());
}

Result<uint32_t> Wirer::source(uint32_t layer, const Port& port) {
  for (const auto& [input, output] : layers_[layer].connect)
    if (input == port.name) return named_source(layer, port, output);
  if (const auto found = latest_.find(port.name); found != latest_.end()) return found->second;
  const auto [found, fresh] = outer_.try_emplace(port.name, static_cast<uint32_t>(tensors_.size()));
  if (fresh && outer_.size() > limits::kMaxPorts)
    return invalid(layers_[layer].where, too_many("inputs") + ", \"" + port.name + "\" is one more");
  if (fresh) tensors_.push_back({port, layers_[layer].where});
  return found->second;
}

Status Wirer::connect_layer(uint32_t layer) {
  const LayerPorts& from = layers_[layer];
  for (const auto& connection : from.connect) {
    const std::string& name = connection.first;
    const auto& inputs = from.ports.inputs;
    if (std::none_of(inputs.begin(), inputs.end(), [&](const Port& port) { return port.name == name; }))
      return invalid(from.where, "connect: it has no input \"" + name.substr(0, 80) + "\"");
  }
  for (const Port& port : from.ports.inputs) {
    ANELANE_ASSIGN(const uint32_t tensor, source(layer, port));
    ANELANE_TRY(check_same(port, from.where, tensors_[tensor]));
    tensors_[tensor].last_reader = layer;
    uses_[layer].inputs.push_back(tensor);
  }
  for (const Port& port : from.ports.outputs) {
    const auto tensor = static_cast<uint32_t>(tensors_.size());
    tensors_.push_back({port, from.where, layer});
    uses_[layer].outputs.push_back(tensor);
  }
  for (const uint32_t tensor : uses_[layer].outputs) latest_[tensors_[tensor].port.name] = tensor;
  return {};
}

// The model's own ports, sorted by name as the engine sorts a program's.
Status Wirer::collect_outer(ProgramWiring* wiring) {
  for (const auto& [name, tensor] : outer_) {
    tensors_[tensor].outer = static_cast<uint32_t>(wiring->inputs.size());
    wiring->inputs.push_back(tensors_[tensor].port);
  }
  std::map<std::string, uint32_t> outputs;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    if (tensor.layer == kNone || tensor.last_reader != kNone) continue;
    const auto [other, fresh] = outputs.try_emplace(tensor.port.name, i);
    if (!fresh)
      return invalid(tensor.where,
                     "output \"" + tensor.port.name + "\" feeds no later layer, and neither does that of " +
                         tensors_[other->second].where + ": two outputs of the model cannot have one name");
    if (outer_.contains(tensor.port.name))
      return invalid(
          tensor.where,
          "output \"" + tensor.port.name +
              "\" is an output of the model, which has an input of the same name: rename one in its "
              "text, or list this layer before the one that reads it");
  }
  if (outputs.size() > limits::kMaxPorts)
    return invalid(layers_.back().where, too_many("outputs") + ", there are " +
                                             std::to_string(outputs.size()) + " that feed no later layer");
  for (const auto& [name, tensor] : outputs) {
    tensors_[tensor].outer = static_cast<uint32_t>(wiring->outputs.size());
    wiring->outputs.push_back(tensors_[tensor].port);
  }
  return {};
}

void Wirer::assign_buffers(ProgramWiring* wiring) {
  std::multimap<uint64_t, uint32_t> free;  // bytes → buffer
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) {
    for (const uint32_t index : uses_[layer].outputs) {
      Tensor& tensor = tensors_[index];
      if (tensor.outer != kNone) continue;
      if (const auto found = free.find(tensor.port.bytes); found != free.end()) {
        tensor.buffer = found->second;
        free.erase(found);
      } else {
        tensor.buffer = static_cast<uint32_t>(wiring->buffers.size());
        wiring->buffers.push_back(tensor.port.bytes);
      }
    }
    std::vector<uint32_t> ended = uses_[layer].inputs;
    std::sort(ended.begin(), ended.end());
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    for (const uint32_t index : ended) {
      const Tensor& tensor = tensors_[index];
      if (tensor.buffer != kNone && tensor.last_reader == layer)
        free.emplace(tensor.port.bytes, tensor.buffer);
    }
  }
}

WirePlace Wirer::place(uint32_t index) const {
  const Tensor& tensor = tensors_[index];
  if (tensor.layer == kNone) return {WirePlace::kInput, tensor.outer};
  if (tensor.outer != kNone) return {WirePlace::kOutput, tensor.outer};
  return {WirePlace::kBuffer, tensor.buffer};
}

Result<ProgramWiring> Wirer::run() {
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) ANELANE_TRY(connect_layer(layer));
  ProgramWiring wiring;
  ANELANE_TRY(collect_outer(&wiring));
  assign_buffers(&wiring);
  for (const Uses& uses : uses_) {
    ProgramWiring::Layer& layer = wiring.layers.emplace_back();
    for (const uint32_t tensor : uses.inputs) layer.inputs.push_back(place(tensor));
    for (const uint32_t tensor : uses.outputs) layer.outputs.push_back(place(tensor));
  }
  return wiring;
}

}  // namespace

Result<ProgramWiring> wire_layers(std::span<const LayerPorts> layers) {
  return Wirer(layers).run();
}

}  // namespace anelane
