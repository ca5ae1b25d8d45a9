// The operations of MIL text that we know: their parameters and the shapes of their results. One table for
// the writer (mil_writer.h) and for whoever reads such text.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane_direct/shape.h"
#include "base/status.h"

namespace anelane {

enum class MilOp : uint16_t {
  kConv,
  kLinear,
  kMatmul,
  kAdd,
  kSub,
  kMul,
  kRealDiv,
  kMaximum,
  kMinimum,
  kPow,
  kAbs,
  kExp,
  kExp2,
  kSqrt,
  kErf,
  kRelu,
  kRelu6,
  kSigmoid,
  kSilu,
  kTanh,
  kSoftsign,
  kSoftplus,
  kSquare,
  kSign,
  kFloor,
  kCeil,
  kRound,
  kAtan,
  kIdentity,
  kRsqrt,
  kLog,
  kInverse,
  kGelu,
  kClip,
  kLeakyRelu,
  kElu,
  kLinearActivation,
  kSigmoidHard,
  kClampedRelu,
  kSoftmax,
  kLayerNorm,
  kReduceSum,
  kReduceMean,
  kReduceMax,
  kReduceMin,
  kReshape,
  kTranspose,
  kExpandDims,
  kSqueeze,
  kConcat,
  kSplit,
  kSliceBySize,
  kSliceByIndex,
  kCast,
  kCount
};

enum class ParamKind : uint8_t { kNone, kTensor, kTensors, kInt, kInts, kBool, kBools, kText, kFloat };

struct Param {
  const char* name = nullptr;
  ParamKind kind = ParamKind::kNone;
  bool obligatory = true;
};

inline constexpr size_t kMaxParams = 8;

struct OpInfo {
  MilOp op = MilOp::kCount;
  const char* name = nullptr;
  std::array<Param, kMaxParams> params{};        // in the order of their names, as the text lists them
  int param(std::string_view param_name) const;  // -1: no such parameter
};

const OpInfo& op_info(MilOp op);
const OpInfo* find_op(std::string_view name);  // nullptr: unknown

// One argument with what shape inference needs to know of it.
struct OpArg {
  bool given = false;
  bool constant = false;      // kTensor: its value is known when the program is compiled
  std::vector<Shape> shapes;  // kTensor, kTensors
  std::vector<int64_t> ints;  // kInt, kInts, kBool, kBools
  std::string text;           // kText
  float number = 0;           // kFloat
};

struct OpCall {
  explicit OpCall(const OpInfo& op) : info(&op) {}
  const OpArg& at(std::string_view param_name) const;
  OpArg& at(std::string_view param_name);
  const Shape& shape(std::string_view param_name) const { return at(param_name).shapes.front(); }
  int64_t integer(std::string_view param_name) const { return at(param_name).ints.front(); }

  const OpInfo* info;
  std::array<OpArg, kMaxParams> args;  // parallel to info->params
};

// Shapes of the results (one, but for split). All obligatory arguments are given and of their kind.
// COMPILE_FAILED says which argument is wrong and why.
Result<std::vector<Shape>> infer_shapes(const OpCall& call);
// -rank … rank-1 to 0 … rank-1.
Result<size_t> resolve_axis(int64_t axis, size_t rank);
// The same for a list, without repeats; ascending.
Result<std::vector<size_t>> resolve_axes(std::span<const int64_t> axes, size_t rank);

// Begin, end and step of slice_by_index after masks and negative positions, one for each axis.
struct SliceRange {
  int64_t begin = 0;
  int64_t step = 1;
  uint64_t count = 0;
};
Result<std::vector<SliceRange>> resolve_slice(const OpCall& call);

struct ConvGeometry {
  std::array<uint64_t, 2> kernel{}, stride{}, dilation{}, out{};
  std::array<uint64_t, 2> pad_before{};  // top, left
  uint64_t groups = 1;
};
Result<ConvGeometry> resolve_conv(const OpCall& call);

}  // namespace anelane
