// program.json from a stranger, and after the first NUL a MIL text that every layer names: whatever is
// accepted keeps the promises that lane and worker rely on, and the wiring of its layers finishes.
#include <algorithm>
#include <cstdlib>

#include "base/limits.h"
#include "models/program_manifest.h"
#include "models/program_wiring.h"

namespace {

using namespace anelane;

void check_place(const ProgramWiring& wiring, const WirePlace& place, uint64_t bytes) {
  const auto& outer = place.kind == WirePlace::kInput ? wiring.inputs : wiring.outputs;
  if (place.kind == WirePlace::kBuffer) {
    if (place.index >= wiring.buffers.size() || wiring.buffers[place.index] != bytes) std::abort();
  } else if (place.index >= outer.size() || outer[place.index].bytes != bytes) {
    std::abort();
  }
}

void check_wiring(const ManifestRung& rung, const ProgramPorts& ports) {
  std::vector<LayerPorts> layers;
  for (const ManifestLayer& layer : rung.layers) layers.push_back({"layer", ports, layer.connect});
  const Result<ProgramWiring> wiring = wire_layers(layers);
  if (!wiring.ok()) return;
  if (wiring->layers.size() != layers.size() || wiring->inputs.empty()) std::abort();
  for (size_t i = 0; i < layers.size(); ++i) {
    const ProgramWiring::Layer& layer = wiring->layers[i];
    for (size_t k = 0; k < layer.inputs.size(); ++k)
      check_place(*wiring, layer.inputs[k], ports.inputs[k].bytes);
    for (size_t k = 0; k < layer.outputs.size(); ++k) {
      check_place(*wiring, layer.outputs[k], ports.outputs[k].bytes);
      if (layer.outputs[k].kind == WirePlace::kInput) std::abort();
      if (std::find(layer.inputs.begin(), layer.inputs.end(), layer.outputs[k]) != layer.inputs.end())
        std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view text = all.substr(0, all.find('\0'));
  std::string mil(
      "program(1.3){func main<ios18>(tensor<fp16, [1, 4, 1, 32]> x, tensor<fp16, [1, 4, 1, 32]> y)"
      "{tensor<fp16, [1, 4, 1, 32]> z = add(x = x, y = y);} -> (z);}");
  if (text.size() < all.size()) mil = all.substr(text.size() + 1);
  const Result<ProgramManifest> manifest = parse_program_manifest("fuzz", text);
  const Result<ProgramPorts> ports = declared_ports(mil);
  if (!manifest.ok()) return manifest.status().code() == Code::kModelInvalid ? 0 : (std::abort(), 0);
  if (manifest->rungs.empty() || manifest->rungs.size() > limits::kMaxRungs) std::abort();
  uint32_t previous = 0;
  for (const ManifestRung& rung : manifest->rungs) {
    if (rung.width <= previous || rung.layers.size() != manifest->rungs[0].layers.size()) std::abort();
    previous = rung.width;
    for (const ManifestLayer& layer : rung.layers)
      if (layer.mil.empty() || layer.mil[0] == '/' ||
          ("/" + layer.mil + "/").find("/../") != std::string::npos)
        std::abort();
    if (ports.ok()) check_wiring(rung, *ports);
  }
  return 0;
}
