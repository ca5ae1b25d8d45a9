// Builds a program: MIL text and its weight file, operation by operation.
//
//   MilWriter mil;
//   const auto x = mil.input("a00_x", {1, 384, 1, 128});
//   const auto w = mil.weight({384, 384, 1, 1}, weights);      // span of Half or of float
//   const auto b = mil.weight({384}, bias);
//   auto y = mil.conv(x, w, {.bias = b});
//   y = mil.add(mil.mul(y, 0.5f), x);                           // floats become fp16 constants
//   mil.output("z00_y", mil.gelu(y, "EXACT"));
//   Result<Program> program = std::move(mil).finish();
//
// Deterministic: the same calls give the same bytes in every process (L8.1). Values are named by position
// (t0, t1, … for results, c0, c1, … for constants), equal constants are written once, floats are
// hexadecimal, nothing depends on locale, addresses or hashing.
//
// Every value has a shape as soon as it is made: shape() may be asked at once. Errors stick: the first one
// is kept, later calls do nothing and return an invalid value, and status() and finish() report it with the
// position and name of the operation. So a builder of a layer needs one check, at the end.
//
// Tensors are fp16. Inputs and outputs are bound by the engine in the byte order of their names; choose
// names whose order is the order you mean (a00_…, a01_…; z00_…).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane_direct/mil_dialect.h"
#include "ane_direct/mil_ops.h"
#include "ane_direct/program.h"
#include "ane_direct/shape.h"
#include "base/fp16.h"
#include "base/status.h"

namespace anelane {

// A tensor of the program under construction; only good with the writer that made it.
struct MilValue {
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t index = kNone;
  bool valid() const { return index != kNone; }
};

class MilWriter {
 public:
  using Value = MilValue;
  using Ints = std::vector<int64_t>;

  explicit MilWriter(MilDialect dialect = MilDialect::kIos18);
  ~MilWriter();
  MilWriter(MilWriter&&) noexcept;
  MilWriter& operator=(MilWriter&&) noexcept;

  Status status() const;                  // the first error
  const Shape& shape(Value value) const;  // rank 0 of an invalid value

  // A parameter of the function. Names: letters, digits, _; not c0, t0, ….
  Value input(std::string_view name, const Shape& shape);
  // Returns the value under this name. A value that is an input, a constant or already an output passes
  // through `identity` first; otherwise no operation is added.
  void output(std::string_view name, Value value);

  // Constants. A scalar must be finite as fp16. Weights go to the weight file; floats are rounded to fp16,
  // and one that is not finite as fp16 is an error.
  Value scalar(float value);
  Value weight(const Shape& shape, std::span<const Half> values);
  Value weight(const Shape& shape, std::span<const float> values);

  struct ConvOptions {
    std::optional<Value> bias{};          // [outputs], a weight
    std::string_view pad_type = "valid";  // or "custom", "same", "same_lower"
    Ints pad{0, 0, 0, 0};                 // top, bottom, left, right; for "custom"
    Ints strides{1, 1};
    Ints dilations{1, 1};
    int64_t groups = 1;
  };
  // x [N, inputs, H, W], weight [outputs, inputs / groups, kH, kW].
  Value conv(Value x, Value weight, const ConvOptions& options);
  Value conv(Value x, Value weight);
  Value linear(Value x, Value weight,
               std::optional<Value> bias = {});  // x [..., inputs], weight [outputs, inputs]
  Value matmul(Value x, Value y, bool transpose_x = false, bool transpose_y = false);

  // Elementwise with broadcasting.
  Value add(Value x, Value y);
  Value add(Value x, float y);
  Value sub(Value x, Value y);
  Value sub(Value x, float y);
  Value mul(Value x, Value y);
  Value mul(Value x, float y);
  Value real_div(Value x, Value y);
  Value real_div(Value x, float y);
  Value maximum(Value x, Value y);
  Value maximum(Value x, float y);
  Value minimum(Value x, Value y);
  Value minimum(Value x, float y);
  Value pow(Value x, Value y);
  Value pow(Value x, float y);

  // Elementwise on one tensor: any operation that takes nothing but x.
  Value unary(MilOp op, Value x);
  Value abs(Value x) { return unary(MilOp::kAbs, x); }
  Value exp(Value x) { return unary(MilOp::kExp, x); }
  Value sqrt(Value x) { return unary(MilOp::kSqrt, x); }
  Value square(Value x) { return unary(MilOp::kSquare, x); }
  Value erf(Value x) { return unary(MilOp::kErf, x); }
  Value relu(Value x) { return unary(MilOp::kRelu, x); }
  Value relu6(Value x) { return unary(MilOp::kRelu6, x); }
  Value sigmoid(Value x) { return unary(MilOp::kSigmoid, x); }
  Value silu(Value x) { return unary(MilOp::kSilu, x); }
  Value tanh(Value x) { return unary(MilOp::kTanh, x); }
  Value identity(Value x) { return unary(MilOp::kIdentity, x); }
  Value rsqrt(Value x, float epsilon);
  Value log(Value x, float epsilon);
  Value inverse(Value x, float epsilon);
  Value gelu(Value x, std::string_view mode);  // "EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"
  Value clip(Value x, float low, float high);

  // Along axes. Negative axes count from the end.
  Value softmax(Value x, int64_t axis);
  Value reduce_sum(Value x, const Ints& axes, bool keep_dims = true);
  Value reduce_mean(Value x, const Ints& axes, bool keep_dims = true);
  Value reduce_max(Value x, const Ints& axes, bool keep_dims = true);
  Value reduce_min(Value x, const Ints& axes, bool keep_dims = true);
  // gamma and beta have the extents of `axes`.
  Value layer_norm(Value x, const Ints& axes, std::optional<Value> gamma, std::optional<Value> beta,
                   float epsilon);

  // Movement.
  Value reshape(Value x, const Ints& shape);  // one entry may be -1
  Value transpose(Value x, const Ints& perm);
  Value expand_dims(Value x, const Ints& axes);
  Value squeeze(Value x, const Ints& axes);
  Value slice_by_size(Value x, const Ints& begin, const Ints& size);  // size -1: to the end
  Value concat(std::span<const Value> values, int64_t axis);          // of one value: that value
  Value concat(std::initializer_list<Value> values, int64_t axis);
  std::vector<Value> split(Value x, const Ints& sizes,
                           int64_t axis);  // as many values as sizes, also on error

  // The text and the weight file, or the first error. At least one input and one output.
  Result<Program> finish() &&;

 private:
  struct State;
  class Call;
  Value reduce(MilOp op, Value x, const Ints& axes, bool keep_dims);
  Value binary(MilOp op, Value x, Value y);
  std::unique_ptr<State> state_;
};

}  // namespace anelane
