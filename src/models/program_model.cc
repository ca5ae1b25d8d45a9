// Everything is read at the open: the texts once for each file however many layers name it, weight files too.
// After that the files may go. What the compiler thinks of the texts is the engine's to say (Engine::check),
// because engines differ; what the lane must know, ports and wiring, is known here for all of them.
//
// All members are const over immutable state: any thread may call them.
#include "models/program_model.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ane_direct/sha256.h"
#include "base/limits.h"
#include "models/checkpoint_digest.h"
#include "models/program_manifest.h"

namespace anelane {
namespace {

// Of the wiring's rules: a change of them on purpose makes other models of the same files.
constexpr const char* kConversion = "program-1";

struct Files {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<uint8_t>> weights;
};

// The ports of every distinct text, parsed once: a chain may name one text for hundreds of its layers.
using KnownPorts = std::unordered_map<std::string_view, ProgramPorts>;  // the keys lie in Files::texts

Status unfit(Status status, const std::string& where) {
  return error(Code::kModelInvalid, where + ": " + status.message());
}

// The rungs that are served, in their order.
Result<std::vector<ManifestRung>> chosen_rungs(const std::string& where, const ProgramManifest& manifest,
                                               std::span<const uint32_t> wanted) {
  if (wanted.empty()) return manifest.rungs;
  std::vector<ManifestRung> rungs;
  for (const uint32_t width : wanted) {
    const auto found = std::find_if(manifest.rungs.begin(), manifest.rungs.end(),
                                    [&](const ManifestRung& rung) { return rung.width == width; });
    if (found == manifest.rungs.end() || (!rungs.empty() && width <= rungs.back().width))
      return error(Code::kInvalidArgument, "rungs: " + std::to_string(width) +
                                               " is not one of the rungs in " + where +
                                               ", or not in ascending order");
    rungs.push_back(*found);
  }
  return rungs;
}

Result<ProgramWiring> wire_rung(const ProgramFiles& files, const ManifestRung& rung, Files* read,
                                KnownPorts* known, const std::atomic<bool>* abort) {
  std::vector<LayerPorts> layers;
  for (const ManifestLayer& layer : rung.layers) {
    if (abort != nullptr && abort->load()) return error(Code::kCancelled, "the model is not wanted any more");
    const auto [text, fresh] = read->texts.try_emplace(layer.mil);
    if (fresh) {
      ANELANE_ASSIGN(text->second, files.read(layer.mil, limits::kMaxMilBytes));
    }
    auto ports = known->find(text->second);
    if (ports == known->end()) {
      Result<ProgramPorts> declared = declared_ports(text->second);
      if (!declared.ok()) return unfit(std::move(declared).status(), files.place(layer.mil));
      ports = known->emplace(text->second, *std::move(declared)).first;
    }
    layers.push_back(
        {"layer " + std::to_string(layers.size()) + " (" + layer.mil + ")", ports->second, layer.connect});
  }
  Result<ProgramWiring> wiring = wire_layers(layers);
  if (!wiring.ok())
    return unfit(std::move(wiring).status(),
                 files.place(kManifestName) + ": rungs: " + std::to_string(rung.width));
  return wiring;
}

Status check_same_ports(const std::string& where, const RungPorts& first, uint32_t first_width,
                        const RungPorts& rung, uint32_t width) {
  for (const auto& [side, a, b] : {std::tuple{"input", &first.inputs, &rung.inputs},
                                   std::tuple{"output", &first.outputs, &rung.outputs}}) {
    const bool same =
        std::equal(a->begin(), a->end(), b->begin(), b->end(), [](const Port& x, const Port& y) {
          return x.name == y.name && x.dtype == y.dtype && x.dims.size() == y.dims.size();
        });
    const auto names = [](const std::vector<Port>& ports) {
      std::string text;
      for (const Port& port : ports) text += (text.empty() ? "" : ", ") + port.name + " " + port_text(port);
      return text;
    };
    if (!same)
      return error(Code::kModelInvalid, where + ": rungs: " + std::to_string(width) + " has the " + side +
                                            "s " + names(*b) + "; " + std::to_string(first_width) + " has " +
                                            names(*a) +
                                            ": names, types and ranks must be the same at every rung");
  }
  return {};
}

Status check_size(const std::string& where, uint32_t width, const RungPorts& rung) {
  uint64_t bytes = 0;
  for (const auto* ports : {&rung.inputs, &rung.outputs})
    for (const Port& port : *ports) bytes += port.bytes;
  if (bytes <= limits::kMaxRunBytes) return {};
  return error(Code::kModelInvalid, where + ": rungs: the inputs and outputs of " + std::to_string(width) +
                                        " have " + std::to_string(bytes) + " bytes, at most " +
                                        std::to_string(limits::kMaxRunBytes) + " are possible")
      .with_limit(limits::kMaxRunBytes);
}

// What library and worker must agree on before the first run: every port of every rung.
std::string ports_digest(const ModelSummary& summary) {
  Sha256 sha;
  for (size_t i = 0; i < summary.ladder.size(); ++i) {
    std::string text = std::to_string(summary.ladder[i]);
    for (const auto* ports : {&summary.ports[i].inputs, &summary.ports[i].outputs}) {
      text += ":";
      for (const Port& port : *ports) text += port.name + " " + port_text(port) + ",";
    }
    sha.update(text + "\n");
  }
  return upper_hex(sha.finish()).substr(0, 16);
}

class ProgramModel final : public Model {
 public:
  ModelSummary summary_;
  Files files_;
  std::vector<ManifestRung> rungs_;
  std::vector<ProgramWiring> wirings_;  // one for each rung

  const ModelSummary& summary() const override { return summary_; }
  const ProgramWiring* wiring(uint32_t rung) const override {
    const size_t i = index_of(rung);
    return i < wirings_.size() ? &wirings_[i] : nullptr;
  }
  std::string layer_place(uint32_t rung, uint32_t layer) const override {
    const size_t i = index_of(rung);
    const std::string base = Model::layer_place(rung, layer);
    return i < rungs_.size() && layer < rungs_[i].layers.size()
               ? base + " (" + rungs_[i].layers[layer].mil + ")"
               : base;
  }
  Program layer_program(uint32_t rung, uint32_t layer) const override {
    const size_t i = index_of(rung);
    if (i >= rungs_.size() || layer >= rungs_[i].layers.size()) return {};
    const ManifestLayer& from = rungs_[i].layers[layer];
    Program program;
    program.mil = files_.texts.at(from.mil);
    if (!from.weights.empty()) program.weights = files_.weights.at(from.weights);
    return program;
  }
  Status check_tokens(std::span<const int32_t>) const override { return no_tokens(); }
  Status embed_tokens(std::span<const int32_t>, uint32_t, Half*, Half*) const override { return no_tokens(); }
  Status finish(const Half*, uint32_t, uint32_t, std::span<float>) const override { return no_tokens(); }

  Status read_weights(const ProgramFiles& files);
  void digest(const std::string& manifest);

 private:
  size_t index_of(uint32_t rung) const {
    return static_cast<size_t>(std::find(summary_.ladder.begin(), summary_.ladder.end(), rung) -
                               summary_.ladder.begin());
  }
  Status no_tokens() const {
    return error(Code::kUnsupported, summary_.name + " is made of programs and takes no tokens: use run");
  }
};

Status ProgramModel::read_weights(const ProgramFiles& files) {
  for (const ManifestRung& rung : rungs_)
    for (const ManifestLayer& layer : rung.layers) {
      if (layer.weights.empty()) continue;
      const auto [bytes, fresh] = files_.weights.try_emplace(layer.weights);
      if (!fresh) continue;
      ANELANE_ASSIGN(const std::string text, files.read(layer.weights, limits::kMaxWeightFile));
      bytes->second.assign(text.begin(), text.end());
      summary_.host_bytes += bytes->second.size();
    }
  return {};
}

void ProgramModel::digest(const std::string& manifest) {
  Sha256 sha;
  add_digest_part(&sha, kManifestName, manifest);
  for (const auto& [name, text] : files_.texts) add_digest_part(&sha, name, text);
  for (const auto& [name, bytes] : files_.weights) add_digest_part(&sha, name, bytes);
  for (const uint32_t rung : summary_.ladder) add_digest_part(&sha, "rung", std::to_string(rung));
  summary_.checkpoint_digest = lower_hex(sha.finish());
}

Result<std::shared_ptr<ProgramModel>> read_model(const ProgramFiles& files, const std::string& name,
                                                 const ModelOpenOptions& options,
                                                 std::string* manifest_text) {
  ANELANE_ASSIGN(*manifest_text, files.read(kManifestName, limits::kMaxManifestBytes));
  const std::string where = files.place(kManifestName);
  ANELANE_ASSIGN(const ProgramManifest manifest, parse_program_manifest(where, *manifest_text));
  auto model = std::make_shared<ProgramModel>();
  ANELANE_ASSIGN(model->rungs_, chosen_rungs(where, manifest, options.rungs));
  ModelSummary& summary = model->summary_;
  summary.kind = ModelKind::kProgram;
  summary.architecture = "program";
  summary.name = !options.name.empty() ? options.name : !manifest.name.empty() ? manifest.name : name;
  summary.layers = static_cast<uint32_t>(model->rungs_.front().layers.size());
  ANELANE_TRY(check_budget(where, summary.layers, options.budget));  // before texts are read
  KnownPorts known;
  for (const ManifestRung& rung : model->rungs_) {
    ANELANE_ASSIGN(ProgramWiring wiring, wire_rung(files, rung, &model->files_, &known, options.abort));
    RungPorts ports{wiring.inputs, wiring.outputs};
    ANELANE_TRY(check_size(where, rung.width, ports));
    if (!summary.ports.empty())
      ANELANE_TRY(check_same_ports(where, summary.ports.front(), summary.ladder.front(), ports, rung.width));
    summary.ladder.push_back(rung.width);
    summary.ports.push_back(std::move(ports));
    model->wirings_.push_back(std::move(wiring));
  }
  summary.ceiling = summary.ladder.back();
  summary.conversion = std::string(kConversion) + " " + ports_digest(summary);
  for (const auto& [file, text] : model->files_.texts) summary.host_bytes += text.size();
  return model;
}

}  // namespace

Result<ModelSummary> inspect_program_model(const ProgramFiles& files, const std::string& name,
                                           const ModelOpenOptions& options) {
  std::string manifest;
  ANELANE_ASSIGN(const std::shared_ptr<ProgramModel> model, read_model(files, name, options, &manifest));
  return std::move(model->summary_);
}

Result<std::shared_ptr<const Model>> open_program_model(const ProgramFiles& files, const std::string& name,
                                                        const ModelOpenOptions& options) {
  std::string manifest;
  ANELANE_ASSIGN(const std::shared_ptr<ProgramModel> model, read_model(files, name, options, &manifest));
  ANELANE_TRY(model->read_weights(files));
  model->digest(manifest);
  return std::shared_ptr<const Model>(model);
}

}  // namespace anelane
