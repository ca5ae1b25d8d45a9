// The "lattice" numerics profile: sums in the order and with the intermediate roundings that reproduce the
// published probes of the engine's accumulator.
#pragma once
#include <cstddef>

#include "base/fp16.h"

namespace anelane::soft {

// Adds up terms one by one, in the order of the lanes.
class LatticeSum {
 public:
  explicit LatticeSum(bool ceiling) : ceiling_(ceiling) {}
  void add(float term);
  float total();  // wide; infinite once the ceiling was met

 private:
  void close_tile();
  float accumulator_ = 0;
  double partial_ = 0;
  size_t lanes_ = 0;
  bool ceiling_;
  bool overflowed_ = false;
};

// The result of a multiply-accumulate as fp16: NaN is +0 (numerics N23), denormals are flushed (N28).
Half lattice_store(float total);
// The bias is added in fp16.
Half lattice_bias(Half value, Half bias);

}  // namespace anelane::soft
