// A checked function of a program: values, constants and operations in order, every name resolved, every
// shape known. Indices are into the vectors of the same Graph.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ane_direct/engine.h"
#include "ane_direct/mil_lexer.h"
#include "ane_direct/mil_ops.h"
#include "base/fp16.h"

namespace anelane::soft {

inline constexpr uint32_t kNoIndex = ~uint32_t{0};

struct GraphValue {
  std::string name;
  Dtype dtype = Dtype::kF16;  // kF16, or kF32 for an input or output that `cast` converts
  Shape shape;
  uint32_t constant = kNoIndex;  // index of its data when it is a constant tensor
};

struct GraphConstant {
  std::span<const uint8_t> blob;  // fp16 in the weight file, which must outlive the graph; or
  std::vector<Half> owned;        // values from the text, or rounded from fp32
  size_t size() const { return owned.empty() ? blob.size() / 2 : owned.size(); }
  Half at(size_t i) const {
    return owned.empty() ? static_cast<Half>(blob[2 * i] | blob[2 * i + 1] << 8) : owned[i];
  }
};

struct GraphOp {
  explicit GraphOp(const OpInfo& info) : call(info) {}
  OpCall call;
  std::array<std::vector<uint32_t>, kMaxParams> operands;  // values, parallel to call.info->params
  std::vector<uint32_t> results;
  SourcePlace place;
  uint32_t operand(std::string_view param) const {
    return operands[static_cast<size_t>(call.info->param(param))].front();
  }
  bool has(std::string_view param) const { return call.at(param).given; }
};

struct Graph {
  std::string function;
  std::vector<GraphValue> values;
  std::vector<GraphConstant> constants;
  std::vector<GraphOp> ops;
  std::vector<uint32_t> inputs;   // sorted by name, as the engine binds them
  std::vector<uint32_t> outputs;  // sorted by name
};

}  // namespace anelane::soft
