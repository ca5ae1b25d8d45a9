// The two operations with arithmetic of their own (third part of mil_ops.h): where slices begin and end, and
// what a convolution reaches.
#include <algorithm>

#include "ane_direct/mil_ops.h"
#include "base/limits.h"

namespace anelane {
namespace {

Status bad(const std::string& text) {
  return error(Code::kCompileFailed, text);
}

std::string number(uint64_t n) {
  return std::to_string(n);
}

// Rows of resolve_slice for slice_by_index on one axis.
Result<SliceRange> index_range(int64_t begin, int64_t end, int64_t step, bool from_start, bool to_end,
                               bool squeeze, int64_t extent, const std::string& axis) {
  if (step == 0 || step < -extent || step > extent) {
    if (step == 0) return bad("stride of axis " + axis + " is 0");
    step = step < 0 ? -extent : extent;
  }
  const int64_t first = begin < 0 ? begin + extent : begin;
  SliceRange range;
  range.step = squeeze ? 1 : step;
  range.begin = from_start ? (step > 0 ? 0 : extent - 1) : first;
  if (range.begin < 0 || range.begin >= extent)
    return bad("begin of axis " + axis + " is " + std::to_string(begin) + ", the axis has " +
               std::to_string(extent));
  if (squeeze) {
    range.count = 1;
    return range;
  }
  int64_t last = end < 0 ? end + extent : end;
  if (to_end) last = step > 0 ? extent : -1;
  last = std::clamp<int64_t>(last, -1, extent);
  const int64_t span = step > 0 ? last - range.begin : range.begin - last;
  if (span <= 0) return bad("axis " + axis + " of the result is empty");
  const int64_t stride = step > 0 ? step : -step;
  range.count = static_cast<uint64_t>((span + stride - 1) / stride);
  return range;
}

Result<std::vector<SliceRange>> size_ranges(const Shape& x, std::span<const int64_t> begin,
                                            std::span<const int64_t> size) {
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t extent = static_cast<int64_t>(x[i]);
    if (begin[i] < 0 || begin[i] >= extent || size[i] < -1 || size[i] == 0 || size[i] > extent - begin[i])
      return bad("axis " + number(i) + ": begin " + std::to_string(begin[i]) + " and size " +
                 std::to_string(size[i]) + " leave x " + shape_text(x));
    const int64_t count = size[i] == -1 ? extent - begin[i] : size[i];
    ranges.push_back({begin[i], 1, static_cast<uint64_t>(count)});
  }
  return ranges;
}

Status check_conv_operands(const OpCall& call) {
  const Shape& x = call.shape("x");
  const Shape& w = call.shape("weight");
  if (x.size() != 4 || w.size() != 4)
    return bad("x is " + shape_text(x) + " and weight " + shape_text(w) + ", both must have rank 4");
  if (!call.at("weight").constant) return bad("weight must be a constant: runtime weights are not supported");
  const int64_t groups = call.integer("groups");
  if (groups <= 0 || x[1] % static_cast<uint64_t>(groups) != 0 || w[0] % static_cast<uint64_t>(groups) != 0)
    return bad("input/output channels (" + number(x[1]) + "/" + number(w[0]) +
               ") should be divisible by groups " + std::to_string(groups));
  if (w[1] != x[1] / static_cast<uint64_t>(groups))
    return bad("KernelChannels (" + number(w[1]) + ") != InputChannels (" + number(x[1]) + ") / Group (" +
               std::to_string(groups) + ")");
  if (w[3] > limits::kMaxKernelWidth)
    return bad("kW must be <= " + number(limits::kMaxKernelWidth) + ", it is " + number(w[3]))
        .with_limit(limits::kMaxKernelWidth);
  if (call.at("bias").given) {
    if (!call.at("bias").constant) return bad("bias must be a constant");
    if (call.shape("bias") != Shape{w[0]})
      return bad("bias is " + shape_text(call.shape("bias")) + ", [" + number(w[0]) + "] is needed");
  }
  for (const char* name : {"strides", "dilations"}) {
    const std::vector<int64_t>& ints = call.at(name).ints;
    if (ints.size() != 2 || ints[0] <= 0 || ints[1] <= 0 || ints[0] > limits::kMaxAxis ||
        ints[1] > limits::kMaxAxis)
      return bad(std::string(name) + " must hold 2 positive numbers");
  }
  return {};
}

}  // namespace

Result<std::vector<SliceRange>> resolve_slice(const OpCall& call) {
  const Shape& x = call.shape("x");
  const std::vector<int64_t>& begin = call.at("begin").ints;
  const bool by_size = call.info->op == MilOp::kSliceBySize;
  const std::vector<int64_t>& end = call.at(by_size ? "size" : "end").ints;
  if (x.empty()) return bad("x is a scalar");
  if (begin.size() != x.size() || end.size() != x.size())
    return bad("begin has " + number(begin.size()) + " entries and " + (by_size ? "size " : "end ") +
               number(end.size()) + ", x has rank " + number(x.size()));
  if (by_size) return size_ranges(x, begin, end);
  for (const char* name : {"begin_mask", "end_mask", "squeeze_mask", "stride"})
    if (call.at(name).given && call.at(name).ints.size() != x.size())
      return bad(std::string(name) + " has " + number(call.at(name).ints.size()) + " entries, x has rank " +
                 number(x.size()));
  const auto mask = [&](const char* name, size_t i) {
    return call.at(name).given && call.at(name).ints[i] != 0;
  };
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t step = call.at("stride").given ? call.at("stride").ints[i] : 1;
    ANELANE_ASSIGN(const SliceRange range,
                   index_range(begin[i], end[i], step, mask("begin_mask", i), mask("end_mask", i),
                               mask("squeeze_mask", i), static_cast<int64_t>(x[i]), number(i)));
    ranges.push_back(range);
  }
  return ranges;
}

Result<ConvGeometry> resolve_conv(const OpCall& call) {
  ANELANE_TRY(check_conv_operands(call));
  const Shape& x = call.shape("x");
  const Shape& w = call.shape("weight");
  const std::string& pad_type = call.at("pad_type").text;
  const std::vector<int64_t>& pad = call.at("pad").ints;
  ConvGeometry g;
  g.groups = static_cast<uint64_t>(call.integer("groups"));
  for (size_t i = 0; i < 2; ++i) {
    g.kernel[i] = w[2 + i];
    g.stride[i] = static_cast<uint64_t>(call.at("strides").ints[i]);
    g.dilation[i] = static_cast<uint64_t>(call.at("dilations").ints[i]);
    const uint64_t reach = (g.kernel[i] - 1) * g.dilation[i] + 1;
    uint64_t total = 0;
    if (pad_type == "custom") {
      if (pad.size() != 4) return bad("pad has " + number(pad.size()) + " entries, 4 are needed");
      if (pad[2 * i] < 0 || pad[2 * i + 1] < 0 || pad[2 * i] > limits::kMaxAxis ||
          pad[2 * i + 1] > limits::kMaxAxis)
        return bad("pad must not be negative nor above " + number(limits::kMaxAxis));
      g.pad_before[i] = static_cast<uint64_t>(pad[2 * i]);
      total = g.pad_before[i] + static_cast<uint64_t>(pad[2 * i + 1]);
    } else if (pad_type == "same" || pad_type == "same_lower") {
      const uint64_t out = (x[2 + i] + g.stride[i] - 1) / g.stride[i];
      const uint64_t needed = (out - 1) * g.stride[i] + reach;
      total = needed > x[2 + i] ? needed - x[2 + i] : 0;
      g.pad_before[i] = pad_type == "same" ? total / 2 : (total + 1) / 2;
    } else if (pad_type != "valid") {
      return bad("pad_type is \"" + pad_type + "\", valid, custom, same or same_lower is needed");
    }
    if (x[2 + i] + total < reach)
      return bad("the kernel reaches over " + number(reach) + ", the padded input has " +
                 number(x[2 + i] + total));
    g.out[i] = (x[2 + i] + total - reach) / g.stride[i] + 1;
  }
  return g;
}

}  // namespace anelane
