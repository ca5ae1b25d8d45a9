// Admission, eviction and the report of the compile cache. Inference stands in layer_chain.cc.
//
// A shape is resident with all of its layers or not at all: layers that were loaded before a failure are
// unloaded before the answer goes out (L8.2), so that the refund of the charge is true.
// Threads: the engine thread only.
#include "worker/served_model.h"

#include <cctype>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"

namespace anelane::worker {
namespace {

double ms_since(uint64_t start_ns) {
  return static_cast<double>(now_ns() - start_ns) / 1e6;
}

std::string one_decimal(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// L8.4: exactly these fields.
void log_admission(const AdmittedBody& counts, std::string_view outcome) {
  const uint32_t hits = counts.cache_hit_layers.value_or(0), compiled = counts.compiled_layers.value_or(0);
  const LogLevel level = LogLevel::kInfo;
  if (!log_enabled(level)) return;
  log_line(level, "ane-direct shape admission: shape=" + std::to_string(counts.shape) +
                      " layers_loaded=" + std::to_string(hits + compiled) +
                      " cache_hit=" + std::to_string(hits) + " compiled=" + std::to_string(compiled) +
                      " total_ms=" + one_decimal(counts.total_ms) + " outcome=" + std::string(outcome));
}

void log_cache_check(const std::string& name, const std::vector<uint32_t>& cached, size_t checked,
                     double ms) {
  if (!log_enabled(LogLevel::kInfo)) return;
  std::string shapes;
  for (const uint32_t shape : cached) shapes += (shapes.empty() ? "" : ", ") + std::to_string(shape);
  log_line(LogLevel::kInfo, "ane-direct compile cache check: model_ref=" + name + " cached=[" + shapes +
                                "] checked=" + std::to_string(checked) + " total_ms=" + one_decimal(ms));
}

Status not_chainable(uint32_t shape, size_t layer, const std::string& what) {
  return error(Code::kInternal,
               "layer " + std::to_string(layer) + " at shape " + std::to_string(shape) + " " + what)
      .with_shape(shape);
}

// Every layer must take what the one before it gives: inputs (activation, then what all layers share) of the
// same sizes, and one output of the activation's size.
Status check_chain(uint32_t shape, const std::vector<std::unique_ptr<LoadedProgram>>& layers) {
  if (layers.empty()) return not_chainable(shape, 0, "does not exist");
  const auto first = layers.front()->inputs();
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto inputs = layers[i]->inputs();
    const auto outputs = layers[i]->outputs();
    if (inputs.empty() || inputs.size() != first.size() || outputs.empty())
      return not_chainable(shape, i, "has other ports than the first layer");
    if (layers.size() == 1) break;
    if (outputs.size() != 1) return not_chainable(shape, i, "has more than one output");
    for (size_t port = 0; port < inputs.size(); ++port)
      if (inputs[port].bytes != first[port].bytes)
        return not_chainable(shape, i,
                             "takes " + std::to_string(inputs[port].bytes) + " bytes at " +
                                 inputs[port].name + ", the first layer " +
                                 std::to_string(first[port].bytes));
    if (i + 1 < layers.size() && outputs[0].bytes != first[0].bytes)
      return not_chainable(shape, i,
                           "gives " + std::to_string(outputs[0].bytes) + " bytes, the next layer takes " +
                               std::to_string(first[0].bytes));
  }
  return {};
}

}  // namespace

Result<PortBuffer> PortBuffer::make(Engine& engine, uint64_t bytes) {
  PortBuffer made;
  ANELANE_ASSIGN(made.memory_, engine.allocate(bytes));
  return made;
}

LoadedBody ServedModel::report() {
  const ModelSummary& summary = model_->summary();
  LoadedBody body;
  body.kind = static_cast<int32_t>(summary.kind);
  body.architecture = summary.architecture;
  body.dim = summary.dim;
  body.width = summary.width;
  body.ceiling = summary.ceiling;
  body.layers = summary.layers;
  body.vocab = summary.vocab;
  body.ladder = summary.ladder;
  body.checkpoint_digest = summary.checkpoint_digest;
  body.conversion = summary.conversion;
  body.host_bytes = summary.host_bytes;
  const uint64_t start = now_ns();
  std::vector<uint32_t> cached;
  size_t checked = 0;
  for (const uint32_t rung : summary.ladder) {
    if (activity_.stopping.load(std::memory_order_relaxed) || summary.layers == 0) break;
    ++checked;
    const Program first = model_->layer_program(rung, 0);
    const Program last = model_->layer_program(rung, summary.layers - 1);
    if (rung_is_cached(engine_, first, last)) cached.push_back(rung);
  }
  body.check_ms = ms_since(start);
  log_cache_check(summary.name, cached, checked, body.check_ms);
  body.cached_shapes = std::move(cached);
  return body;
}

Status ServedModel::check_programs() const {
  const ModelSummary& summary = model_->summary();
  if (summary.kind != ModelKind::kProgram) return {};
  for (const uint32_t rung : summary.ladder) {
    for (uint32_t layer = 0; layer < summary.layers; ++layer) {
      if (activity_.stopping.load(std::memory_order_relaxed))
        return error(Code::kCancelled, "the worker was asked to end during the load");
      Status status = engine_.check(model_->layer_program(rung, layer));
      if (!status.ok())
        return std::move(status)
            .in("shape " + std::to_string(rung) + ", " + model_->layer_place(rung, layer))
            .with_shape(rung)
            .with_model(summary.name);
    }
  }
  return {};
}

Result<AdmittedBody> ServedModel::admit(uint32_t shape,
                                        const std::function<void(const ProgressBody&)>& progress) {
  const ModelSummary& summary = model_->summary();
  AdmittedBody counts;
  counts.shape = shape;
  counts.cache_hit_layers = 0;
  counts.compiled_layers = 0;
  if (is_resident(shape)) {
    counts.cache_hit_layers = summary.layers;
    log_admission(counts, "already_resident");
    return counts;
  }
  const uint64_t start = now_ns();
  ResidentShape room;
  Status status = load_layers(shape, &room, &counts, progress);
  if (!status.ok()) room = ResidentShape();
  counts.total_ms = ms_since(start);
  log_admission(counts, status.ok() ? "admitted" : lower_case(code_info(status.code()).name));
  if (!status.ok()) return std::move(status).with_shape(shape).with_model(summary.name);
  resident_.emplace(shape, std::move(room));
  return counts;
}

Status ServedModel::load_layers(uint32_t shape, ResidentShape* room, AdmittedBody* counts,
                                const std::function<void(const ProgressBody&)>& progress) {
  const ModelSummary& summary = model_->summary();
  bool on_ladder = false;
  for (const uint32_t rung : summary.ladder) on_ladder |= rung == shape;
  if (!on_ladder)
    return error(Code::kShapeUnknown,
                 "shape " + std::to_string(shape) + " is not on the ladder of " + summary.name);
  // The host keeps the ledger; a host that lost count must not get more of the engine (L2.4).
  if (shapes_max_ != 0 && resident_.size() >= shapes_max_)
    return error(Code::kResourcesExhausted, std::to_string(resident_.size()) + " shapes are resident, " +
                                                summary.name + " may have " + std::to_string(shapes_max_))
        .with_limit(shapes_max_);
  for (uint32_t layer = 0; layer < summary.layers; ++layer) {
    if (activity_.stopping.load(std::memory_order_relaxed))
      return error(Code::kCancelled, "the worker was asked to end during the admission");
    Result<LayerLoad> load = load_program(engine_, model_->layer_program(shape, layer), loader_);
    if (!load.ok()) return std::move(load).status().in(model_->layer_place(shape, layer));
    ++*(load->origin == LoadOrigin::kCache ? counts->cache_hit_layers : counts->compiled_layers);
    room->layers.push_back(std::move(load->program));
    if (progress) progress({shape, layer + 1, summary.layers});
  }
  if (const ProgramWiring* wiring = model_->wiring(shape))
    return prepare_wired(engine_, shape, *wiring, room);
  ANELANE_TRY(check_chain(shape, room->layers));
  const auto inputs = room->layers.front()->inputs();
  ANELANE_ASSIGN(room->first, PortBuffer::make(engine_, inputs[0].bytes));
  ANELANE_ASSIGN(room->second, PortBuffer::make(engine_, inputs[0].bytes));
  if (inputs.size() > 1) {
    ANELANE_ASSIGN(room->mask, PortBuffer::make(engine_, inputs[1].bytes));
  }
  return {};
}

}  // namespace anelane::worker
