// Every operation on its own, through text, compiler and executor, against plain loops in double precision.
#include <cmath>
#include <functional>

#include "ane_direct/mil_ops.h"
#include "base/file.h"
#include "soft_harness.h"

namespace anelane {
namespace {

using In = const std::vector<MilValue>&;
using Ints = MilWriter::Ints;

// Calls visit(flat index, position) over all positions of a shape.
void each(const Shape& shape, const std::function<void(size_t, const Shape&)>& visit) {
  Shape at(shape.size(), 0);
  for (size_t flat = 0; flat < element_count(shape); ++flat) {
    visit(flat, at);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

size_t flat_index(const Shape& shape, const Shape& at) {
  size_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + at[i];
  return flat;
}

void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                  double relative = 1.0 / 1024) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], relative * std::fabs(want[i]) + 1e-4)
        << "element " << i;
}

TEST(Ops, BinaryWithEveryKindOfBroadcast) {
  const Shape a = {2, 3, 4, 40};
  for (const Shape& b : {Shape{2, 3, 4, 40}, Shape{1, 1, 1, 40}, Shape{2, 3, 4, 1}, Shape{1, 3, 1, 1},
                         Shape{1, 3, 1, 40}, Shape{40}, Shape{4, 1}, Shape{1, 1, 4, 1}}) {
    auto x = random_values(1, element_count(a), 4), y = random_values(2, element_count(b), 4);
    for (float& v : y) v = v >= 0 ? v + 0.5f : v - 0.5f;
    for (float& v : y) v = as_half(v);
    const auto expected = [&](auto f, bool swapped) {
      std::vector<double> want(x.size());
      each(a, [&](size_t flat, const Shape& at) {
        Shape in_b(at.end() - static_cast<std::ptrdiff_t>(b.size()), at.end());
        for (size_t i = 0; i < b.size(); ++i) in_b[i] = b[i] == 1 ? 0 : in_b[i];
        const double p = static_cast<double>(x[flat]), q = static_cast<double>(y[flat_index(b, in_b)]);
        want[flat] = swapped ? f(q, p) : f(p, q);
      });
      return want;
    };
    const auto run = [&](auto method, auto f) {
      expect_close(
          run_once({a, b}, {x, y}, [&](MilWriter& mil, In in) { return (mil.*method)(in[0], in[1]); }),
          expected(f, false));
      expect_close(
          run_once({a, b}, {x, y}, [&](MilWriter& mil, In in) { return (mil.*method)(in[1], in[0]); }),
          expected(f, true));
    };
    using Two = MilValue (MilWriter::*)(MilValue, MilValue);
    run(static_cast<Two>(&MilWriter::add), [](double p, double q) { return p + q; });
    run(static_cast<Two>(&MilWriter::sub), [](double p, double q) { return p - q; });
    run(static_cast<Two>(&MilWriter::mul), [](double p, double q) { return p * q; });
    run(static_cast<Two>(&MilWriter::maximum), [](double p, double q) { return std::max(p, q); });
    run(static_cast<Two>(&MilWriter::minimum), [](double p, double q) { return std::min(p, q); });
    expect_close(run_once({a, b}, {x, y}, [&](MilWriter& mil, In in) { return mil.real_div(in[0], in[1]); }),
                 expected([](double p, double q) { return p / q; }, false));
  }
}

TEST(Ops, PowWithTensorAndWithConstantExponent) {
  std::vector<float> x = random_values(1, 64, 2);
  for (float& v : x) v = as_half(std::fabs(v) + 0.1f);
  const auto y = random_values(2, 64, 2);
  std::vector<double> want, root;
  for (size_t i = 0; i < 64; ++i) {
    want.push_back(std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
    root.push_back(1 / std::sqrt(static_cast<double>(x[i])));
  }
  const Shape s = {1, 1, 1, 64};
  expect_close(run_once({s, s}, {x, y}, [](MilWriter& mil, In in) { return mil.pow(in[0], in[1]); }), want);
  expect_close(run_once({s}, {x}, [](MilWriter& mil, In in) { return mil.pow(in[0], -0.5f); }), root);
}

TEST(Ops, UnaryFunctions) {
  const auto x = random_values(5, 96, 4);
  const auto check = [&](MilOp op, auto f) {
    std::vector<double> want;
    for (const float v : x) want.push_back(f(static_cast<double>(v)));
    SCOPED_TRACE(op_info(op).name);
    expect_close(run_once({{1, 3, 1, 32}}, {x}, [&](MilWriter& mil, In in) { return mil.unary(op, in[0]); }),
                 want);
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  check(MilOp::kAbs, [](double v) { return std::fabs(v); });
  check(MilOp::kExp, [](double v) { return std::exp(v); });
  check(MilOp::kExp2, [](double v) { return std::exp2(v); });
  check(MilOp::kErf, [](double v) { return std::erf(v); });
  check(MilOp::kRelu, [](double v) { return std::max(v, 0.0); });
  check(MilOp::kRelu6, [](double v) { return std::clamp(v, 0.0, 6.0); });
  check(MilOp::kSigmoid, sigmoid);
  check(MilOp::kSilu, [&](double v) { return v * sigmoid(v); });
  check(MilOp::kTanh, [](double v) { return std::tanh(v); });
  check(MilOp::kSoftsign, [](double v) { return v / (1 + std::fabs(v)); });
  check(MilOp::kSoftplus, [](double v) { return std::log1p(std::exp(v)); });
  check(MilOp::kSquare, [](double v) { return v * v; });
  check(MilOp::kSign, [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; });
  check(MilOp::kFloor, [](double v) { return std::floor(v); });
  check(MilOp::kCeil, [](double v) { return std::ceil(v); });
  check(MilOp::kRound, [](double v) { return std::nearbyint(v); });
  check(MilOp::kAtan, [](double v) { return std::atan(v); });
  check(MilOp::kIdentity, [](double v) { return v; });
}

TEST(Ops, FunctionsWithParameters) {
  const auto x = random_values(5, 96, 4);
  std::vector<float> positive = x;
  for (float& v : positive) v = as_half(std::fabs(v) + 0.01f);
  const auto check = [](const std::vector<float>& values, const Build& build, auto f) {
    std::vector<double> want;
    for (const float v : values) want.push_back(f(static_cast<double>(v)));
    expect_close(run_once({{1, 3, 1, 32}}, {values}, build), want);
  };
  const double eps = static_cast<double>(as_half(0.01f));
  check(
      positive, [](MilWriter& mil, In in) { return mil.sqrt(in[0]); }, [](double v) { return std::sqrt(v); });
  check(
      positive, [](MilWriter& mil, In in) { return mil.rsqrt(in[0], 0.01f); },
      [&](double v) { return 1 / std::sqrt(v + eps); });
  check(
      positive, [](MilWriter& mil, In in) { return mil.log(in[0], 0.01f); },
      [&](double v) { return std::log(v + eps); });
  check(
      positive, [](MilWriter& mil, In in) { return mil.inverse(in[0], 0.01f); },
      [&](double v) { return 1 / (v + eps); });
  check(
      x, [](MilWriter& mil, In in) { return mil.clip(in[0], -1, 2); },
      [](double v) { return std::clamp(v, -1.0, 2.0); });
  check(
      x, [](MilWriter& mil, In in) { return mil.gelu(in[0], "EXACT"); },
      [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  check(
      x, [](MilWriter& mil, In in) { return mil.gelu(in[0], "TANH_APPROXIMATION"); },
      [](double v) {
        return 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v)));
      });
  check(
      x, [](MilWriter& mil, In in) { return mil.gelu(in[0], "SIGMOID_APPROXIMATION"); },
      [](double v) { return v / (1 + std::exp(-1.702 * v)); });
}

// Convolution by its definition.
std::vector<double> reference_conv(const Shape& xs, const std::vector<float>& x, const Shape& ws,
                                   const std::vector<float>& w, const std::vector<float>& bias,
                                   const Shape& out, uint64_t groups, uint64_t stride_h, uint64_t stride_w,
                                   uint64_t dilation, int64_t top, int64_t left) {
  std::vector<double> y(element_count(out));
  each(out, [&](size_t flat, const Shape& at) {
    const uint64_t o = at[1], group = o / (ws[0] / groups);
    double sum = bias.empty() ? 0 : static_cast<double>(bias[o]);
    for (uint64_t i = 0; i < ws[1]; ++i)
      for (uint64_t kh = 0; kh < ws[2]; ++kh)
        for (uint64_t kw = 0; kw < ws[3]; ++kw) {
          const int64_t row = static_cast<int64_t>(at[2] * stride_h + kh * dilation) - top;
          const int64_t column = static_cast<int64_t>(at[3] * stride_w + kw * dilation) - left;
          if (row < 0 || column < 0 || row >= static_cast<int64_t>(xs[2]) ||
              column >= static_cast<int64_t>(xs[3]))
            continue;
          sum += static_cast<double>(w[flat_index(ws, {o, i, kh, kw})]) *
                 static_cast<double>(x[flat_index(xs, {at[0], group * ws[1] + i, static_cast<uint64_t>(row),
                                                       static_cast<uint64_t>(column)})]);
        }
    y[flat] = sum;
  });
  return y;
}

TEST(Ops, ConvPointwiseStridedPaddedDilatedGrouped) {
  struct Case {
    Shape x, w;
    MilWriter::ConvOptions options;
    Shape out;
    int64_t top, left;
  };
  MilWriter::ConvOptions pointwise, strided, custom, same, lower, grouped, dilated, depthwise;
  strided.strides = {2, 3};
  custom.pad_type = "custom";
  custom.pad = {1, 0, 2, 1};
  same.pad_type = "same";
  lower.pad_type = "same_lower";
  grouped.groups = 2;
  dilated.dilations = {2, 2};
  depthwise.groups = 8;
  depthwise.pad_type = "same";
  for (const Case& c : {Case{{2, 8, 3, 32}, {7, 8, 1, 1}, pointwise, {2, 7, 3, 32}, 0, 0},
                        Case{{1, 8, 9, 33}, {5, 8, 3, 3}, strided, {1, 5, 4, 11}, 0, 0},
                        Case{{1, 8, 9, 33}, {5, 8, 3, 5}, custom, {1, 5, 8, 32}, 1, 2},
                        Case{{1, 8, 9, 33}, {5, 8, 2, 4}, same, {1, 5, 9, 33}, 0, 1},
                        Case{{1, 8, 9, 33}, {5, 8, 2, 4}, lower, {1, 5, 9, 33}, 1, 2},
                        Case{{2, 8, 5, 32}, {6, 4, 3, 3}, grouped, {2, 6, 3, 30}, 0, 0},
                        Case{{1, 8, 9, 33}, {5, 8, 3, 3}, dilated, {1, 5, 5, 29}, 0, 0},
                        Case{{1, 8, 5, 32}, {8, 1, 3, 3}, depthwise, {1, 8, 5, 32}, 1, 1}}) {
    const auto x = random_values(1, element_count(c.x)), w = random_values(2, element_count(c.w)),
               bias = random_values(3, c.w[0]);
    const auto got = run_once({c.x}, {x}, [&](MilWriter& mil, In in) {
      MilWriter::ConvOptions options = c.options;
      options.bias = mil.weight({c.w[0]}, bias);
      return mil.conv(in[0], mil.weight(c.w, w), options);
    });
    SCOPED_TRACE(shape_text(c.w) + std::string(c.options.pad_type));
    expect_close(got,
                 reference_conv(c.x, x, c.w, w, bias, c.out, static_cast<uint64_t>(c.options.groups),
                                static_cast<uint64_t>(c.options.strides[0]),
                                static_cast<uint64_t>(c.options.strides[1]),
                                static_cast<uint64_t>(c.options.dilations[0]), c.top, c.left),
                 2.0 / 1024);
  }
}

TEST(Ops, MatmulInAllFourOrientationsWithBroadcastBatches) {
  const uint64_t m = 13, k = 37, n = 70;
  for (const bool tx : {false, true}) {
    for (const bool ty : {false, true}) {
      for (const bool shared : {false, true}) {
        const Shape xs = tx ? Shape{2, 3, k, m} : Shape{2, 3, m, k};
        Shape ys = ty ? Shape{2, 3, n, k} : Shape{2, 3, k, n};
        if (shared) ys[0] = ys[1] = 1;
        const auto x = random_values(1, element_count(xs)), y = random_values(2, element_count(ys));
        std::vector<double> want(2 * 3 * m * n);
        each({2, 3, m, n}, [&](size_t flat, const Shape& at) {
          for (uint64_t i = 0; i < k; ++i) {
            const Shape ax = {at[0], at[1], tx ? i : at[2], tx ? at[2] : i};
            const Shape ay = {shared ? 0 : at[0], shared ? 0 : at[1], ty ? at[3] : i, ty ? i : at[3]};
            want[flat] +=
                static_cast<double>(x[flat_index(xs, ax)]) * static_cast<double>(y[flat_index(ys, ay)]);
          }
        });
        expect_close(run_once({xs, ys}, {x, y},
                              [&](MilWriter& mil, In in) { return mil.matmul(in[0], in[1], tx, ty); }),
                     want);
      }
    }
  }
}

TEST(Ops, MatmulWithLongSumsAndManyTiles) {
  const uint64_t m = 200, k = 800, n = 300;  // several tiles in every direction
  const auto x = random_values(1, m * k, 0.25f), y = random_values(2, k * n, 0.25f);
  std::vector<double> want(m * n);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t s = 0; s < k; ++s)
      for (uint64_t j = 0; j < n; ++j)
        want[i * n + j] += static_cast<double>(x[i * k + s]) * static_cast<double>(y[s * n + j]);
  expect_close(run_once({{1, 1, m, k}, {1, 1, k, n}}, {x, y},
                        [](MilWriter& mil, In in) { return mil.matmul(in[0], in[1]); }),
               want);
}

TEST(Ops, LinearIsRowsTimesTheTransposedWeight) {
  const uint64_t rows = 9, in_width = 50, out_width = 33;
  const auto x = random_values(1, rows * in_width), w = random_values(2, out_width * in_width),
             bias = random_values(3, out_width);
  std::vector<double> want;
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t o = 0; o < out_width; ++o) {
      double sum = static_cast<double>(bias[o]);
      for (uint64_t i = 0; i < in_width; ++i)
        sum += static_cast<double>(x[r * in_width + i]) * static_cast<double>(w[o * in_width + i]);
      want.push_back(sum);
    }
  expect_close(
      run_once(
          {{3, 3, in_width}}, {x},
          [&](MilWriter& mil, In in) {
            return mil.linear(in[0], mil.weight({out_width, in_width}, w), mil.weight({out_width}, bias));
          }),
      want);
}

TEST(Ops, ReductionsOverEveryKindOfAxes) {
  const Shape xs = {2, 5, 3, 70};
  const auto x = random_values(1, element_count(xs));
  for (const Ints& axes :
       {Ints{1}, Ints{-1}, Ints{0}, Ints{2, 3}, Ints{1, 2}, Ints{0, 2}, Ints{1, 3}, Ints{0, 1, 2, 3}}) {
    Shape kept = xs;
    uint64_t count = 1;
    for (const int64_t axis : axes) {
      const size_t i = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
      count *= xs[i];
      kept[i] = 1;
    }
    std::vector<double> sum(element_count(kept)), top(sum.size(), -1e9), low(sum.size(), 1e9);
    each(xs, [&](size_t flat, Shape at) {
      for (size_t i = 0; i < 4; ++i) at[i] = kept[i] == 1 ? 0 : at[i];
      const size_t to = flat_index(kept, at);
      const double v = static_cast<double>(x[flat]);
      sum[to] += v;
      top[to] = std::max(top[to], v);
      low[to] = std::min(low[to], v);
    });
    std::vector<double> mean = sum;
    for (double& v : mean) v /= static_cast<double>(count);
    const auto run = [&](auto method) {
      return run_once({xs}, {x}, [&](MilWriter& mil, In in) { return (mil.*method)(in[0], axes, true); });
    };
    expect_close(run(&MilWriter::reduce_sum), sum);
    expect_close(run(&MilWriter::reduce_mean), mean);
    expect_close(run(&MilWriter::reduce_max), top);
    expect_close(run(&MilWriter::reduce_min), low);
  }
}

TEST(Ops, SoftmaxOnEveryAxis) {
  const Shape xs = {2, 7, 3, 40};
  const auto x = random_values(1, element_count(xs), 8);
  for (size_t axis = 0; axis < 4; ++axis) {
    Shape kept = xs;
    kept[axis] = 1;
    std::vector<double> total(element_count(kept)), want(x.size());
    const auto collapse = [&](Shape at) {
      at[axis] = 0;
      return flat_index(kept, at);
    };
    each(xs, [&](size_t flat, const Shape& at) {
      total[collapse(at)] += std::exp(static_cast<double>(x[flat]));
    });
    each(xs, [&](size_t flat, const Shape& at) {
      want[flat] = std::exp(static_cast<double>(x[flat])) / total[collapse(at)];
    });
    expect_close(
        run_once({xs}, {x},
                 [&](MilWriter& mil, In in) { return mil.softmax(in[0], static_cast<int64_t>(axis)); }),
        want);
  }
}

TEST(Ops, LayerNormOverChannelsAndOverTheLastAxes) {
  const Shape xs = {2, 6, 3, 40};
  const auto x = random_values(1, element_count(xs), 3);
  for (const Ints& axes : {Ints{1}, Ints{3}, Ints{2, 3}}) {
    uint64_t count = 1;
    Shape parameter;
    for (const int64_t axis : axes) {
      count *= xs[static_cast<size_t>(axis)];
      parameter.push_back(xs[static_cast<size_t>(axis)]);
    }
    const auto gamma = random_values(2, count), beta = random_values(3, count);
    const auto is_reduced = [&](size_t i) {
      return std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    };
    Shape kept = xs;
    for (size_t i = 0; i < 4; ++i)
      if (is_reduced(i)) kept[i] = 1;
    const auto collapse = [&](Shape at) {
      for (size_t i = 0; i < 4; ++i) at[i] = kept[i] == 1 ? 0 : at[i];
      return flat_index(kept, at);
    };
    std::vector<double> mean(element_count(kept)), variance(mean.size()), want(x.size());
    each(xs, [&](size_t flat, const Shape& at) {
      mean[collapse(at)] += static_cast<double>(x[flat]) / static_cast<double>(count);
    });
    each(xs, [&](size_t flat, const Shape& at) {
      variance[collapse(at)] +=
          std::pow(static_cast<double>(x[flat]) - mean[collapse(at)], 2) / static_cast<double>(count);
    });
    each(xs, [&](size_t flat, const Shape& at) {
      Shape p;
      for (size_t i = 0; i < 4; ++i)
        if (is_reduced(i)) p.push_back(at[i]);
      const size_t to = flat_index(parameter, p);
      want[flat] = (static_cast<double>(x[flat]) - mean[collapse(at)]) /
                       std::sqrt(variance[collapse(at)] + 1e-5) * static_cast<double>(gamma[to]) +
                   static_cast<double>(beta[to]);
    });
    expect_close(run_once({xs}, {x},
                          [&](MilWriter& mil, In in) {
                            return mil.layer_norm(in[0], axes, mil.weight(parameter, gamma),
                                                  mil.weight(parameter, beta), 1e-5f);
                          }),
                 want, 2.0 / 1024);
  }
}

TEST(Ops, TransposeMovesEveryElement) {
  const Shape xs = {2, 9, 20, 33};
  const auto x = random_values(1, element_count(xs));
  std::vector<size_t> perm = {0, 1, 2, 3};
  do {
    Shape out;
    for (const size_t p : perm) out.push_back(xs[p]);
    std::vector<double> want(x.size());
    each(out, [&](size_t flat, const Shape& at) {
      Shape from(4);
      for (size_t i = 0; i < 4; ++i) from[perm[i]] = at[i];
      want[flat] = static_cast<double>(x[flat_index(xs, from)]);
    });
    expect_close(
        run_once({xs}, {x},
                 [&](MilWriter& mil, In in) { return mil.transpose(in[0], Ints(perm.begin(), perm.end())); }),
        want, 0);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Ops, SlicesConcatAndSplitKeepEveryBit) {
  const Shape xs = {2, 6, 4, 40};
  const auto x = random_values(1, element_count(xs));
  const auto part = [&](const Shape& begin, const Shape& size) {
    std::vector<double> want;
    each(size, [&](size_t, Shape at) {
      for (size_t i = 0; i < 4; ++i) at[i] += begin[i];
      want.push_back(static_cast<double>(x[flat_index(xs, at)]));
    });
    return want;
  };
  for (const auto& [begin, size] :
       {std::pair{Shape{0, 2, 0, 0}, Shape{2, 3, 4, 40}}, std::pair{Shape{1, 1, 1, 8}, Shape{1, 5, 2, 30}},
        std::pair{Shape{0, 0, 0, 0}, Shape{1, 6, 4, 40}}, std::pair{Shape{1, 5, 2, 0}, Shape{1, 1, 2, 40}}}) {
    expect_close(run_once({xs}, {x},
                          [&, b = begin, s = size](MilWriter& mil, In in) {
                            return mil.slice_by_size(in[0], Ints(b.begin(), b.end()),
                                                     Ints(s.begin(), s.end()));
                          }),
                 part(begin, size), 0);
  }
  std::vector<double> whole(x.begin(), x.end());
  for (const int64_t axis : {0, 1, 2, 3}) {
    const int64_t n = static_cast<int64_t>(xs[static_cast<size_t>(axis)]);
    expect_close(run_once({xs}, {x},
                          [&](MilWriter& mil, In in) {
                            const auto parts = mil.split(in[0], {1, n - 1}, axis);
                            return mil.concat({parts[0], parts[1]}, axis);
                          }),
                 whole, 0);
  }
  expect_close(run_once({xs}, {x},
                        [](MilWriter& mil, In in) {
                          const auto flat = mil.reshape(in[0], {12, -1});
                          return mil.squeeze(mil.expand_dims(mil.reshape(flat, {2, 6, 4, 40}), {0}), {0});
                        }),
               whole, 0);
}

// Operations that the writer has no call for, from text.
std::vector<float> run_text(const std::string& statement, const Shape& out, const std::vector<float>& x) {
  const std::string type = "tensor<fp16, [1, 2, 3, 40]>", result = "tensor<fp16, " + shape_text(out) + ">";
  Program program;
  program.mil = "program(1.3) {\nfunc main<ios18>(" + type + " x) {\n" + result + " z = " + statement +
                ";\n} -> (z);\n}";
  const TempFolder folder;
  auto engine = make_soft_engine(test_options(folder));
  EXPECT_TRUE(engine.ok());
  const auto loaded = load_fresh(**engine, program);
  return loaded == nullptr ? std::vector<float>{} : run_dense(*loaded, {x})[0];
}

TEST(Ops, ActivationsWithParametersFromText) {
  const auto x = random_values(8, 240, 6);
  const auto check = [&](const std::string& call, auto f) {
    std::vector<double> want;
    for (const float v : x) want.push_back(f(static_cast<double>(v)));
    SCOPED_TRACE(call);
    expect_close(run_text(call, {1, 2, 3, 40}, x), want);
  };
  check("leaky_relu(x = x, alpha = fp16(0x1p-2))", [](double v) { return v > 0 ? v : 0.25 * v; });
  check("elu(x = x, alpha = fp16(0x1p+0))", [](double v) { return v > 0 ? v : std::exp(v) - 1; });
  check("linear_activation(x = x, alpha = fp16(0x1p+1), beta = fp32(-0.5))",
        [](double v) { return 2 * v - 0.5; });
  check("sigmoid_hard(x = x, alpha = fp16(0x1p-2), beta = fp16(0x1p-1))",
        [](double v) { return std::clamp(0.25 * v + 0.5, 0.0, 1.0); });
  check("clamped_relu(x = x, alpha = fp16(0x1p-2), beta = fp16(0x1p+1))",
        [](double v) { return std::min(v > 0 ? v : 0.25 * v, 2.0); });
}

TEST(Ops, SliceByIndexWithMasksStridesAndNegativePositions) {
  const Shape xs = {1, 2, 3, 40};
  const auto x = random_values(8, 240);
  const auto at = [&](uint64_t c, uint64_t h, uint64_t w) {
    return static_cast<double>(x[flat_index(xs, {0, c, h, w})]);
  };
  std::vector<double> backwards, squeezed;
  for (uint64_t c = 0; c < 2; ++c)
    for (uint64_t w = 39; w >= 3; w -= 3) backwards.push_back(at(c, 1, w));
  for (uint64_t h = 0; h < 3; ++h)
    for (uint64_t w = 30; w < 38; ++w) squeezed.push_back(at(1, h, w));
  const auto ints = [](const char* values) { return "tensor<int32, [4]>([" + std::string(values) + "])"; };
  const auto bools = [](const char* values) { return "tensor<bool, [4]>([" + std::string(values) + "])"; };
  expect_close(run_text("slice_by_index(x = x, begin = " + ints("0, 0, 1, -1") +
                            ", end = " + ints("1, 9, 2, 0") + ", stride = " + ints("1, 1, 1, -3") +
                            ", end_mask = " + bools("true, false, false, false") + ")",
                        {1, 2, 1, 13}, x),
               backwards, 0);
  expect_close(run_text("slice_by_index(x = x, begin = " + ints("0, 1, 5, 30") + ", end = " +
                            ints("1, 0, 0, -2") + ", begin_mask = " + bools("false, false, true, false") +
                            ", end_mask = " + bools("false, false, true, false") +
                            ", squeeze_mask = " + bools("true, true, false, false") + ")",
                        {3, 8}, x),
               squeezed, 0);
}

TEST(Ops, RowsThatAreNoMultipleOf64BytesArePadded) {
  const Shape xs = {1, 3, 2, 5};
  const auto x = random_values(1, 30);
  const auto got = run_once({xs}, {x}, [](MilWriter& mil, In in) { return mil.add(in[0], 1.0f); });
  std::vector<double> want;
  for (const float v : x) want.push_back(static_cast<double>(v) + 1);
  expect_close(got, want);
}

// docs/programs.md lists the operations: this table, row by row.
TEST(Ops, ThePageOfProgramsSaysWhatTheTableSays) {
  const Result<std::string> page = read_file(ANELANE_SOURCE_DIR "/docs/programs.md", 1u << 20);
  ASSERT_TRUE(page.ok());
  const auto kind = [](ParamKind k) {
    switch (k) {
      case ParamKind::kTensor:
        return "tensor";
      case ParamKind::kTensors:
        return "tensors";
      case ParamKind::kInt:
        return "integer";
      case ParamKind::kInts:
        return "integers";
      case ParamKind::kBool:
        return "bool";
      case ParamKind::kBools:
        return "bools";
      case ParamKind::kText:
        return "string";
      case ParamKind::kFloat:
        return "number";
      case ParamKind::kNone:
        break;
    }
    return "nothing";
  };
  std::string table = "| operation | arguments |\n|---|---|\n";
  for (size_t op = 0; op < static_cast<size_t>(MilOp::kCount); ++op) {
    const OpInfo& info = op_info(static_cast<MilOp>(op));
    std::string arguments;
    for (const Param& param : info.params) {
      if (param.name == nullptr) break;
      arguments += (arguments.empty() ? "`" : ", `") + std::string(param.name) + "` " + kind(param.kind) +
                   (param.obligatory ? "" : " []");
    }
    table += "| `" + std::string(info.name) + "` | " + arguments + " |\n";
  }
  EXPECT_NE(page->find(table + "\n"), std::string::npos) << "the page should have\n" << table;
}

}  // namespace
}  // namespace anelane
