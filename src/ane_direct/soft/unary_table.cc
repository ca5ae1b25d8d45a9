// Activations. The engine evaluates them from small tables of line segments whose knots are not published;
// what is published is that results match the rounded exact function to about half a unit on ordinary inputs
// (numerics N34). So each function is computed in double precision and rounded once, for all 65536 inputs:
// the table is exact, fast, and the same on every processor.
//
// Special values: a NaN input counts as +inf (N20, N21); a result that IEEE calls NaN is +0 (N23); the sign
// of zero is dropped before reciprocal and root (N24); softplus and softsign of +inf are +0 (N25); log of +0
// is -45440 (N26).
#include "ane_direct/soft/unary_table.h"

#include <bit>
#include <cmath>

namespace anelane::soft {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double evaluate(UnaryFn fn, double alpha, double beta, double x) {
  switch (fn) {
    case UnaryFn::kAbs:
      return std::fabs(x);
    case UnaryFn::kExp:
      return std::exp(x);
    case UnaryFn::kExp2:
      return std::exp2(x);
    case UnaryFn::kSqrt:
      return std::sqrt(x + 0.0);
    case UnaryFn::kErf:
      return std::erf(x);
    case UnaryFn::kRelu:
      return x > 0 ? x : 0;
    case UnaryFn::kRelu6:
      return x > 0 ? std::fmin(x, 6) : 0;
    case UnaryFn::kSigmoid:
      return sigmoid(x);
    case UnaryFn::kSilu:
      return x * sigmoid(x);
    case UnaryFn::kTanh:
      return std::tanh(x);
    case UnaryFn::kSoftsign:
      return std::isinf(x) ? 0 : x / (1 + std::fabs(x));
    case UnaryFn::kSoftplus:
      return std::isinf(x) ? 0 : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
    case UnaryFn::kSquare:
      return x * x;
    case UnaryFn::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryFn::kFloor:
      return std::floor(x);
    case UnaryFn::kCeil:
      return std::ceil(x);
    case UnaryFn::kRound:
      return std::nearbyint(x);
    case UnaryFn::kAtan:
      return std::atan(x);
    case UnaryFn::kRsqrt:
      return 1.0 / std::sqrt(x + 0.0 + alpha);
    case UnaryFn::kLog:
      return x + alpha == 0 ? -45440.0 : std::log(x + alpha);
    case UnaryFn::kInverse:
      return 1.0 / (x + 0.0 + alpha);
    case UnaryFn::kGeluExact:
      return 0.5 * x * std::erfc(-x * kSqrtHalf);
    case UnaryFn::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kGeluScale * (x + 0.044715 * x * x * x)));
    case UnaryFn::kGeluSigmoid:
      return x * sigmoid(1.702 * x);
    case UnaryFn::kClip:
      return std::fmin(std::fmax(x, alpha), beta);
    case UnaryFn::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case UnaryFn::kElu:
      return x > 0 ? x : alpha * std::expm1(x);
    case UnaryFn::kLinear:
      return alpha * x + beta;
    case UnaryFn::kSigmoidHard:
      return std::fmin(std::fmax(alpha * x + beta, 0), 1);
    case UnaryFn::kClampedRelu:
      return std::fmin(x > 0 ? x : alpha * x, beta);
    case UnaryFn::kPowScalar:
      return std::pow(x + 0.0, alpha);
    case UnaryFn::kCount:
      break;
  }
  return x;
}

// Rounds once: a double that float_to_half would round twice is nudged off the tie first.
Half round_double(double value) {
  float f = static_cast<float>(value);
  if (static_cast<double>(f) != value && std::isfinite(f) && (std::bit_cast<uint32_t>(f) & 0xfffu) == 0) {
    f = std::nextafterf(f, value > static_cast<double>(f) ? HUGE_VALF : -HUGE_VALF);
  }
  return float_to_half(f);
}

}  // namespace

Half unary_value(UnaryFn fn, float alpha, float beta, Half x) {
  if ((x & 0x7fffu) > 0x7c00u) x = 0x7c00;
  const double value = evaluate(fn, static_cast<double>(alpha), static_cast<double>(beta),
                                static_cast<double>(half_to_float(x)));
  return std::isnan(value) ? Half{0} : round_double(value);
}

std::shared_ptr<const UnaryTable> UnaryTables::get(UnaryFn fn, float alpha, float beta) {
  auto& slot = made_[{fn, std::bit_cast<uint32_t>(alpha), std::bit_cast<uint32_t>(beta)}];
  if (std::shared_ptr<const UnaryTable> table = slot.lock()) return table;
  const auto table = std::make_shared<UnaryTable>();
  for (uint32_t x = 0; x < 65536; ++x) (*table)[x] = unary_value(fn, alpha, beta, static_cast<Half>(x));
  slot = table;
  return table;
}

}  // namespace anelane::soft
