// One pass over the operations. Every value gets a place: a buffer of the arena with an element offset, or
// constants. Dense row-major everywhere, so reshape, squeeze, identity and slices that are one contiguous
// run cost nothing: their value shares the buffer. Everything else becomes one or two steps; buffers live
// from the step that writes them to the last step that reads them or an alias of them.
//
// Weights of convolutions are packed here into panels of kPanelRows rows, element (m, k) at
// panel(m / 6) + k · 6 + m % 6, because a plan is made once and run often. A NaN constant becomes +inf
// like any NaN that enters the engine (numerics N20).
#include "ane_direct/soft/lower.h"

#include <algorithm>

#include "ane_direct/soft/lowering.h"
#include "base/limits.h"

namespace anelane::soft {

uint32_t Lowering::new_buffer(uint64_t bytes) {
  buffers_.push_back({bytes, now(), now(), 0});
  return static_cast<uint32_t>(buffers_.size() - 1);
}

uint64_t Lowering::add_weights(uint64_t elements) {
  const uint64_t offset = plan_.weights.size();
  plan_.weights.resize(offset + (elements * 2 + 63) / 64 * 64);
  return offset;
}

void Lowering::put(uint64_t byte, Half half) {
  if ((half & 0x7fffu) > 0x7c00u) half = 0x7c00;
  plan_.weights[byte] = static_cast<uint8_t>(half);
  plan_.weights[byte + 1] = static_cast<uint8_t>(half >> 8);
}

Place Lowering::constant(uint32_t index) {
  const GraphConstant& data = graph_.constants[index];
  const auto [found, fresh] = raw_.try_emplace(index, 0);
  if (fresh) {
    found->second = add_weights(data.size());
    for (size_t i = 0; i < data.size(); ++i) put(found->second + 2 * i, data.at(i));
  }
  return {true, kNoIndex, found->second};
}

View Lowering::packed(uint32_t index, uint64_t groups, uint64_t m, uint64_t k) {
  const GraphConstant& data = graph_.constants[index];
  const auto [found, fresh] = panels_.try_emplace({index, groups, m, k}, 0);
  if (fresh) {
    found->second = add_weights(groups * panel_elements(m, k));
    for (uint64_t g = 0; g < groups; ++g) {
      const uint64_t base = found->second + 2 * g * panel_elements(m, k);
      for (uint64_t row = 0; row < m; ++row) {
        const uint64_t panel = row / kPanelRows * kPanelRows * k + row % kPanelRows;
        for (uint64_t i = 0; i < k; ++i)
          put(base + 2 * (panel + i * kPanelRows), data.at((g * m + row) * k + i));
      }
    }
  }
  return {Space::kWeights, found->second};
}

// Buffer offsets are filled in by run(): until then a view of the arena holds the buffer's index in its
// upper 24 bits. Offsets inside a buffer fit the lower 40: kMaxTensorElements × 4 bytes is 2^33.
View Lowering::use(const Place& place) {
  if (place.constant) return {Space::kWeights, place.offset};
  ArenaBuffer& buffer = buffers_[place.buffer];
  buffer.last_step = std::max(buffer.last_step, now());
  return {Space::kArena, static_cast<uint64_t>(place.buffer) << 40 | place.offset};
}

View Lowering::use(uint32_t value) {
  const GraphValue& v = graph_.values[value];
  return use(v.constant != kNoIndex ? constant(v.constant) : places_[value]);
}

View Lowering::make(uint32_t value) {
  const uint64_t bytes = element_count(shape(value)) * dtype_size(graph_.values[value].dtype);
  places_[value] = {false, new_buffer(bytes), 0};
  return use(places_[value]);
}

// Which file lowers an operation: those that move data, or those that compute.
Status Lowering::op(const GraphOp& op) {
  switch (op.call.info->op) {
    case MilOp::kReshape:
    case MilOp::kExpandDims:
    case MilOp::kSqueeze:
    case MilOp::kIdentity:
    case MilOp::kTranspose:
    case MilOp::kConcat:
    case MilOp::kSplit:
    case MilOp::kSliceBySize:
    case MilOp::kSliceByIndex:
    case MilOp::kCast:
      return move(op);
    default:
      return compute(op);
  }
}

Result<Plan> Lowering::run() {
  for (const uint32_t value : graph_.inputs) make(value);
  for (const GraphOp& one : graph_.ops) {
    Status status = op(one);
    if (!status.ok())
      return error(Code::kCompileFailed,
                   "CompilationFailure: " + place_text(one.place) + ": " + status.message());
    if (plan_.weights.size() > limits::kMaxPlanWeights)
      return error(Code::kCompileFailed, "CompilationFailure: the weights exceed " +
                                             std::to_string(limits::kMaxPlanWeights) + " bytes")
          .with_limit(limits::kMaxPlanWeights);
  }
  // Outputs stay alive behind the last step; one that is a constant after all moves into the arena.
  std::vector<View> outputs;
  for (const uint32_t value : graph_.outputs) {
    if (places_[value].constant) {
      Step step;
      step.kind = StepKind::kCopy;
      step.a = use(places_[value]);
      step.out = make(value);
      const std::vector<int64_t> dense = repeat_strides(shape(value), shape(value));
      step.nest = make_nest(shape(value), dense, std::vector<int64_t>(dense.size(), 0), dense);
      push(step);
    }
  }
  for (const uint32_t value : graph_.outputs) outputs.push_back(use(places_[value]));

  plan_.arena_bytes = place_buffers(&buffers_);
  if (plan_.arena_bytes > limits::kMaxArenaBytes)
    return error(Code::kCompileFailed, "CompilationFailure: the intermediates need " +
                                           std::to_string(plan_.arena_bytes) + " bytes, at most " +
                                           std::to_string(limits::kMaxArenaBytes) + " are accepted")
        .with_limit(limits::kMaxArenaBytes);
  const auto resolve = [&](View* view) {
    if (view->space == Space::kArena && !buffers_.empty())
      view->offset = buffers_[view->offset >> 40].offset + (view->offset & ((uint64_t{1} << 40) - 1));
  };
  for (Step& step : plan_.steps)
    for (View* view : {&step.a, &step.b, &step.c, &step.d, &step.out}) resolve(view);
  for (const uint32_t value : graph_.inputs)
    plan_.inputs.push_back({graph_.values[value].name, graph_.values[value].dtype, shape(value),
                            buffers_[places_[value].buffer].offset});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphValue& value = graph_.values[graph_.outputs[i]];
    resolve(&outputs[i]);
    plan_.outputs.push_back({value.name, value.dtype, value.shape, outputs[i].offset});
  }
  return std::move(plan_);
}

Result<Plan> lower(const Graph& graph) {
  return Lowering(graph).run();
}

}  // namespace anelane::soft
