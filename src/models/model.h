// A model as the worker serves it. A checkpoint: one program per layer per rung, and the stages that stay on
// the CPU (embedding gather before the first layer; final norm, pooling and normalisation after the last). A
// model of its caller's own programs (program_model.h): the same without CPU stages, and wired as its
// manifest says. Immutable after open; all const members may be called from any thread.
//
// Tensors between the stages: activations are fp16 [1, C, 1, S], channel-major, rows of S padded to 64
// bytes (S is a multiple of 32 on every ladder, so rows are packed); the mask is fp16 [1, 1, 1, S], 0 for a
// token and -10000 for padding, decided by the token count alone.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ane_direct/mil_dialect.h"
#include "ane_direct/program.h"
#include "base/fp16.h"
#include "base/status.h"
#include "models/program_wiring.h"

namespace anelane {

enum class ModelKind : int32_t { kEmbedder = 1, kReranker = 2, kProgram = 3 };

// What a run takes and gives at one rung.
struct RungPorts {
  std::vector<Port> inputs, outputs;  // sorted by name
};

struct ModelSummary {
  ModelKind kind = ModelKind::kEmbedder;
  std::string architecture;  // "BertModel"
  std::string name;          // folder name, or what the caller said
  uint32_t dim = 0;          // floats of one result
  uint32_t width = 0;        // channels between layers
  uint32_t ceiling = 0;      // longest sequence in tokens
  uint32_t layers = 0;       // the charge of one resident shape
  uint32_t vocab = 0;
  std::vector<uint32_t> ladder;   // strictly ascending, last = ceiling
  std::string checkpoint_digest;  // over config and weights; part of the vector-space identity
  std::string conversion;         // the conversion policy's name and version, e.g. "bert-1"
  uint64_t host_bytes = 0;        // memory that a worker needs beside the engine's
  std::vector<RungPorts> ports;   // kProgram: one for each rung. A checkpoint's follow from `width`
};

struct ModelOpenOptions {
  std::vector<uint32_t> rungs{};             // empty = the default ladder, cut at the ceiling (L2.2)
  std::string name{};                        // "" = the folder's
  MilDialect dialect = MilDialect::kIos18;   // of the programs that are written
  uint32_t budget = 0;                       // programs that one shape may need; 0: not known here
  const std::atomic<bool>* abort = nullptr;  // looked at between the texts of programs: CANCELLED
};

// RESOURCES_EXHAUSTED, for good, for a model that needs more programs for one shape than the lane has.
Status check_budget(const std::string& place, uint32_t layers, uint32_t budget);

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelSummary& summary() const = 0;

  // The program of one layer at one rung of the ladder. The same bytes every time (L8.1). Its inputs are
  // named a00_x and a01_mask, its output z00_y; the output feeds the next layer's a00_x.
  virtual Program layer_program(uint32_t rung, uint32_t layer) const = 0;

  // How the layers of a rung hang together; nullptr: as a checkpoint's do, each feeding the next.
  virtual const ProgramWiring* wiring(uint32_t) const { return nullptr; }
  // "layer 3", and its file where there is one: for errors.
  virtual std::string layer_place(uint32_t, uint32_t layer) const { return "layer " + std::to_string(layer); }

  // L2.3: token count within 1..ceiling, ids within the vocabulary.
  virtual Status check_tokens(std::span<const int32_t> ids) const = 0;
  // Fills the first layer's input and the mask for `ids`, padded to `rung`.
  virtual Status embed_tokens(std::span<const int32_t> ids, uint32_t rung, Half* x, Half* mask) const = 0;
  // The vector of one sequence from the last layer's output. `out` holds summary().dim floats.
  virtual Status finish(const Half* hidden, uint32_t rung, uint32_t tokens, std::span<float> out) const = 0;
};

// Reads and checks the whole folder: program.json and what it names; or config.json, model.safetensors
// (mapped), pooling configuration. Errors name the file, and the field or tensor, with what was expected and
// what was found.
Result<std::shared_ptr<const Model>> open_model(const std::string& folder, const ModelOpenOptions& options);
// The same checks on headers only; no tensor data is read (no digest then).
Result<ModelSummary> inspect_model(const std::string& folder, const ModelOpenOptions& options);

// 128, 256, …, 8192 cut at the ceiling, the ceiling last (L2.2); `wanted` instead when not empty.
Result<std::vector<uint32_t>> make_ladder(uint32_t ceiling, std::span<const uint32_t> wanted);
// The smallest rung that holds `tokens`; 0 when none does (L2.3).
uint32_t rung_for(std::span<const uint32_t> ladder, uint64_t tokens);

}  // namespace anelane
