// Interpolation in log space: between two shapes of one width along the line through them, beyond them along
// the line through the last two rows (or the first two, below). Between two widths the same way; beyond them
// the nearest width's time times the square of the ratio, because a layer's weights grow so.
//
// The table is compiled in from data/seed_costs.tsv; it is sorted by width, then shape.
#include "scheduler/seed_costs.h"

#include <cmath>
#include <cstddef>
#include <iterator>

namespace anelane::sched {
namespace {

struct Row {
  double width, shape, seconds;
};
constexpr Row kRows[] = {
#include "scheduler/seed_costs_table.inc"
};
constexpr size_t kRowCount = std::size(kRows);

// Of the rows [first, end), which are of one width and at least two.
double log_seconds(size_t first, size_t end, double shape) {
  size_t high = first + 1;
  while (high + 1 < end && kRows[high].shape < shape) ++high;
  const Row& a = kRows[high - 1];
  const Row& b = kRows[high];
  const double slope = (std::log(b.seconds) - std::log(a.seconds)) / (std::log(b.shape) - std::log(a.shape));
  return std::log(a.seconds) + slope * (std::log(shape) - std::log(a.shape));
}

size_t end_of_width(size_t first) {
  size_t end = first;
  while (end < kRowCount && kRows[end].width == kRows[first].width) ++end;
  return end;
}

double seconds_a_layer(double width, double shape) {
  size_t first = 0, end = end_of_width(0);
  const double least = kRows[first].width;
  if (width <= least) {
    const double ratio = width / least;
    return std::exp(log_seconds(first, end, shape)) * ratio * ratio;
  }
  while (end < kRowCount) {
    const size_t next = end, next_end = end_of_width(next);
    const double low = kRows[first].width, high = kRows[next].width;
    if (width <= high) {
      const double part = (std::log(width) - std::log(low)) / (std::log(high) - std::log(low));
      return std::exp((1 - part) * log_seconds(first, end, shape) +
                      part * log_seconds(next, next_end, shape));
    }
    first = next;
    end = next_end;
  }
  const double ratio = width / kRows[first].width;
  return std::exp(log_seconds(first, end, shape)) * ratio * ratio;
}

}  // namespace

Time seed_compile_cost(uint32_t layers, uint32_t width, uint32_t shape) {
  if (layers == 0 || width == 0 || shape == 0) return kUnknown;
  return static_cast<Time>(std::llround(layers * seconds_a_layer(width, shape) * 1e6));
}

}  // namespace anelane::sched
