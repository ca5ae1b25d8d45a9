// The table of operations. Parameters stand in the order of their names: that is the order in which Core
// ML's own writer prints them, and one fixed order keeps the text, and so the content identifier, stable.
// Obligatory parameters follow what the daemon's compiler demands: gelu without a mode or rsqrt without
// epsilon is rejected there too.
#include "ane_direct/mil_ops.h"

#include <cstring>

namespace anelane {
namespace {

using K = ParamKind;
constexpr bool kOptional = false;

#define ANELANE_UNARY(op, name) \
  OpInfo {                      \
    MilOp::op, name, {          \
      Param {                   \
        "x", K::kTensor         \
      }                         \
    }                           \
  }
#define ANELANE_BINARY(op, name)      \
  OpInfo {                            \
    MilOp::op, name, {                \
      Param{"x", K::kTensor}, Param { \
        "y", K::kTensor               \
      }                               \
    }                                 \
  }
#define ANELANE_REDUCE(op, name)                                                \
  OpInfo {                                                                      \
    MilOp::op, name, {                                                          \
      Param{"axes", K::kInts}, Param{"keep_dims", K::kBool, kOptional}, Param { \
        "x", K::kTensor                                                         \
      }                                                                         \
    }                                                                           \
  }
#define ANELANE_EPSILON(op, name)          \
  OpInfo {                                 \
    MilOp::op, name, {                     \
      Param{"epsilon", K::kFloat}, Param { \
        "x", K::kTensor                    \
      }                                    \
    }                                      \
  }
#define ANELANE_ALPHA(op, name)          \
  OpInfo {                               \
    MilOp::op, name, {                   \
      Param{"alpha", K::kFloat}, Param { \
        "x", K::kTensor                  \
      }                                  \
    }                                    \
  }
#define ANELANE_ALPHA_BETA(op, name)                               \
  OpInfo {                                                         \
    MilOp::op, name, {                                             \
      Param{"alpha", K::kFloat}, Param{"beta", K::kFloat}, Param { \
        "x", K::kTensor                                            \
      }                                                            \
    }                                                              \
  }

const std::array<OpInfo, static_cast<size_t>(MilOp::kCount)> kOps = {
    OpInfo{MilOp::kConv,
           "conv",
           {Param{"bias", K::kTensor, kOptional}, Param{"dilations", K::kInts}, Param{"groups", K::kInt},
            Param{"pad", K::kInts}, Param{"pad_type", K::kText}, Param{"strides", K::kInts},
            Param{"weight", K::kTensor}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kLinear,
           "linear",
           {Param{"bias", K::kTensor, kOptional}, Param{"weight", K::kTensor}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kMatmul,
           "matmul",
           {Param{"transpose_x", K::kBool, kOptional}, Param{"transpose_y", K::kBool, kOptional},
            Param{"x", K::kTensor}, Param{"y", K::kTensor}}},
    ANELANE_BINARY(kAdd, "add"),
    ANELANE_BINARY(kSub, "sub"),
    ANELANE_BINARY(kMul, "mul"),
    ANELANE_BINARY(kRealDiv, "real_div"),
    ANELANE_BINARY(kMaximum, "maximum"),
    ANELANE_BINARY(kMinimum, "minimum"),
    ANELANE_BINARY(kPow, "pow"),
    ANELANE_UNARY(kAbs, "abs"),
    ANELANE_UNARY(kExp, "exp"),
    ANELANE_UNARY(kExp2, "exp2"),
    ANELANE_UNARY(kSqrt, "sqrt"),
    ANELANE_UNARY(kErf, "erf"),
    ANELANE_UNARY(kRelu, "relu"),
    ANELANE_UNARY(kRelu6, "relu6"),
    ANELANE_UNARY(kSigmoid, "sigmoid"),
    ANELANE_UNARY(kSilu, "silu"),
    ANELANE_UNARY(kTanh, "tanh"),
    ANELANE_UNARY(kSoftsign, "softsign"),
    ANELANE_UNARY(kSoftplus, "softplus"),
    ANELANE_UNARY(kSquare, "square"),
    ANELANE_UNARY(kSign, "sign"),
    ANELANE_UNARY(kFloor, "floor"),
    ANELANE_UNARY(kCeil, "ceil"),
    ANELANE_UNARY(kRound, "round"),
    ANELANE_UNARY(kAtan, "atan"),
    ANELANE_UNARY(kIdentity, "identity"),
    ANELANE_EPSILON(kRsqrt, "rsqrt"),
    ANELANE_EPSILON(kLog, "log"),
    ANELANE_EPSILON(kInverse, "inverse"),
    OpInfo{MilOp::kGelu, "gelu", {Param{"mode", K::kText}, Param{"x", K::kTensor}}},
    ANELANE_ALPHA_BETA(kClip, "clip"),
    ANELANE_ALPHA(kLeakyRelu, "leaky_relu"),
    ANELANE_ALPHA(kElu, "elu"),
    ANELANE_ALPHA_BETA(kLinearActivation, "linear_activation"),
    ANELANE_ALPHA_BETA(kSigmoidHard, "sigmoid_hard"),
    ANELANE_ALPHA_BETA(kClampedRelu, "clamped_relu"),
    OpInfo{MilOp::kSoftmax, "softmax", {Param{"axis", K::kInt}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kLayerNorm,
           "layer_norm",
           {Param{"axes", K::kInts}, Param{"beta", K::kTensor, kOptional}, Param{"epsilon", K::kFloat},
            Param{"gamma", K::kTensor, kOptional}, Param{"x", K::kTensor}}},
    ANELANE_REDUCE(kReduceSum, "reduce_sum"),
    ANELANE_REDUCE(kReduceMean, "reduce_mean"),
    ANELANE_REDUCE(kReduceMax, "reduce_max"),
    ANELANE_REDUCE(kReduceMin, "reduce_min"),
    OpInfo{MilOp::kReshape, "reshape", {Param{"shape", K::kInts}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kTranspose, "transpose", {Param{"perm", K::kInts}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kExpandDims, "expand_dims", {Param{"axes", K::kInts}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kSqueeze, "squeeze", {Param{"axes", K::kInts, kOptional}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kConcat,
           "concat",
           {Param{"axis", K::kInt}, Param{"interleave", K::kBool}, Param{"values", K::kTensors}}},
    OpInfo{MilOp::kSplit,
           "split",
           {Param{"axis", K::kInt}, Param{"num_splits", K::kInt, kOptional},
            Param{"split_sizes", K::kInts, kOptional}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kSliceBySize,
           "slice_by_size",
           {Param{"begin", K::kInts}, Param{"size", K::kInts}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kSliceByIndex,
           "slice_by_index",
           {Param{"begin", K::kInts}, Param{"begin_mask", K::kBools, kOptional}, Param{"end", K::kInts},
            Param{"end_mask", K::kBools, kOptional}, Param{"squeeze_mask", K::kBools, kOptional},
            Param{"stride", K::kInts, kOptional}, Param{"x", K::kTensor}}},
    OpInfo{MilOp::kCast, "cast", {Param{"dtype", K::kText}, Param{"x", K::kTensor}}},
};

}  // namespace

int OpInfo::param(std::string_view param_name) const {
  for (size_t i = 0; i < params.size() && params[i].name != nullptr; ++i)
    if (param_name == params[i].name) return static_cast<int>(i);
  return -1;
}

const OpInfo& op_info(MilOp op) {
  return kOps[static_cast<size_t>(op)];
}

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& info : kOps)
    if (name == info.name) return &info;
  return nullptr;
}

const OpArg& OpCall::at(std::string_view param_name) const {
  return args[static_cast<size_t>(info->param(param_name))];
}

OpArg& OpCall::at(std::string_view param_name) {
  return args[static_cast<size_t>(info->param(param_name))];
}

}  // namespace anelane
