// The state of one lowering (lower.cc), shared by the files that lower the families of operations.
#pragma once
#include <map>
#include <span>
#include <tuple>

#include "ane_direct/soft/arena_layout.h"
#include "ane_direct/soft/graph.h"
#include "ane_direct/soft/plan.h"
#include "ane_direct/soft/strides.h"

namespace anelane::soft {

struct Place {
  bool constant = false;
  uint32_t buffer = kNoIndex;
  uint64_t offset = 0;  // bytes: inside the buffer, or inside the constants
};

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph), places_(graph.values.size()) {}
  Result<Plan> run();

 private:
  const Shape& shape(uint32_t value) const { return graph_.values[value].shape; }
  uint32_t new_buffer(uint64_t bytes);
  View use(uint32_t value);  // as operand of the step being made
  View use(const Place& place);
  View make(uint32_t value);  // as result of the step being made
  Place constant(uint32_t index);
  View packed(uint32_t index, uint64_t groups, uint64_t m, uint64_t k);
  uint64_t add_weights(uint64_t elements);
  void put(uint64_t byte, Half half);
  void push(Step step) { plan_.steps.push_back(std::move(step)); }
  uint32_t now() const { return static_cast<uint32_t>(plan_.steps.size()); }

  Status op(const GraphOp& op);       // lower.cc
  Status compute(const GraphOp& op);  // lower_math.cc
  Status move(const GraphOp& op);     // lower_moves.cc
  Status conv(const GraphOp& op);
  Status linear(const GraphOp& op);
  Status matmul(const GraphOp& op);
  Status binary(const GraphOp& op, BinaryFn fn);
  Status unary(const GraphOp& op, UnaryFn fn, float alpha, float beta);
  Status along_axes(const GraphOp& op, StepKind kind, uint8_t fn, std::span<const int64_t> axes);
  Status copy(uint32_t from, const Strides& strides, int64_t first, uint32_t to, uint8_t flags);
  Status slice(const GraphOp& op);
  Status split(const GraphOp& op);
  Status concat(const GraphOp& op);
  Status transpose(const GraphOp& op);
  Status cast(const GraphOp& op);
  void alias(uint32_t from, uint64_t byte_offset, uint32_t to);

  const Graph& graph_;
  Plan plan_;
  std::vector<Place> places_;
  std::vector<ArenaBuffer> buffers_;
  std::map<uint32_t, uint64_t> raw_;                                               // constant → byte offset
  std::map<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t>, uint64_t> panels_;  // packed constants
};

}  // namespace anelane::soft
