// A lowered program: a flat list of steps over one arena and one block of constants. What the "compiler"
// leaves in the vault. Independent of processor, numerics profile and thread count.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ane_direct/engine.h"
#include "ane_direct/shape.h"

namespace anelane::soft {

// Rows of a packed weight panel: fixed for all processors, since plans are shared between them.
inline constexpr size_t kPanelRows = 6;
inline constexpr size_t kNestRank = 5;

enum class Space : uint8_t { kArena = 0, kWeights = 1 };

// Where element 0 of an operand is, in bytes.
struct View {
  Space space = Space::kArena;
  uint64_t offset = 0;
};

// Loops over up to five axes, outermost first; strides in elements, 0 where an operand is repeated.
struct Nest {
  uint8_t rank = 0;
  std::array<uint64_t, kNestRank> extent{};
  std::array<int64_t, kNestRank> a{}, b{}, c{}, out{};
};

enum class StepKind : uint8_t {
  kGemm = 0,   // nest: batches. dims: GemmDim
  kIm2col,     // dims: Im2colDim
  kBinary,     // nest
  kUnary,      // dims[0]: elements
  kReduce,     // dims: outer, reduced, inner
  kSoftmax,    // dims: outer, reduced, inner
  kLayerNorm,  // dims: outer, reduced, inner; c = gamma, d = beta, scalars[0] = epsilon
  kCopy,       // nest: a to out
  kToHalf,     // dims[0]: elements; fp32 to fp16
  kToFloat,    // dims[0]: elements; fp16 to fp32
  kCount
};

enum class BinaryFn : uint8_t { kAdd = 0, kSub, kMul, kDiv, kMax, kMin, kPow, kCount };
enum class ReduceFn : uint8_t { kSum = 0, kMean, kMax, kMin, kCount };
enum class UnaryFn : uint8_t {
  kAbs = 0,
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
  kRsqrt,
  kLog,
  kInverse,
  kGeluExact,
  kGeluTanh,
  kGeluSigmoid,
  kClip,
  kLeakyRelu,
  kElu,
  kLinear,
  kSigmoidHard,
  kClampedRelu,
  kPowScalar,
  kCount
};

// out[m, n] = sum over k of a[m, k] · b[k, n], plus c[m · c_row + n · c_col]. Strides in elements.
enum GemmDim : size_t { kM, kN, kK, kARow, kACol, kBRow, kBCol, kOutRow, kCRow, kCCol };
enum Im2colDim : size_t {
  kImages,
  kChannels,
  kHeight,
  kWidth,
  kKernelH,
  kKernelW,
  kOutH,
  kOutW,
  kStrideH,
  kStrideW,
  kDilationH,
  kDilationW,
  kPadTop,
  kPadLeft
};
inline constexpr size_t kStepDims = 14;

// Flags of a step.
inline constexpr uint8_t kPackedA = 1;     // kGemm: a is weight panels, kARow and kACol unused
inline constexpr uint8_t kHasC = 2;        // kGemm: bias; kLayerNorm: gamma
inline constexpr uint8_t kHasD = 4;        // kLayerNorm: beta
inline constexpr uint8_t kSingleTap = 8;   // kGemm: a convolution that accumulates one tap (numerics N15)
inline constexpr uint8_t kWidthCrop = 16;  // kCopy: a slice that begins inside the last axis (numerics N46)

struct Step {
  StepKind kind = StepKind::kCopy;
  uint8_t fn = 0;
  uint8_t flags = 0;
  View a, b, c, d, out;
  Nest nest;
  std::array<uint64_t, kStepDims> dims{};
  std::array<float, 2> scalars{};
};

struct PlanPort {
  std::string name;
  Dtype dtype = Dtype::kF16;
  Shape shape;
  uint64_t offset = 0;  // in the arena, dense
};

struct Plan {
  std::vector<PlanPort> inputs;   // sorted by name
  std::vector<PlanPort> outputs;  // sorted by name
  std::vector<Step> steps;
  uint64_t arena_bytes = 0;
  std::vector<uint8_t> weights;  // of a plan just compiled; a stored plan's weights stay in its file
};

// Elements of the panels of an M × K matrix: M rounded up to whole panels.
inline uint64_t panel_elements(uint64_t m, uint64_t k) {
  return (m + kPanelRows - 1) / kPanelRows * kPanelRows * k;
}

// Every operand of every step lies inside its space, every number is in range: the executor trusts this.
Status check_plan(const Plan& plan, uint64_t weight_bytes);

}  // namespace anelane::soft
