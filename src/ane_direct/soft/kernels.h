// The inner loops, once for each level of the processor's instruction set. Plain pointers only: the files
// that implement a level share no inline function with the rest of the program (see kernels_body.inc).
#pragma once
#include <cstddef>
#include <cstdint>

namespace anelane::soft {

// Columns of a packed B panel are a multiple of this on every level; tiles along axes have this many lanes.
inline constexpr size_t kTileLanes = 64;

// What a multiply-accumulate result meets on its way to fp16.
struct GemmStore {
  const float* row_bias = nullptr;     // one for all columns of a row, or
  const float* column_bias = nullptr;  // one for each column, or neither
  float ceiling = 0;                   // magnitudes from here on become infinite; 0: no ceiling
};

struct Kernels {
  const char* name;
  size_t panel_columns;  // of a packed B panel

  // Same bits as base/fp16.h, NaN included.
  void (*from_half)(const uint16_t* in, float* out, size_t n);
  void (*to_half)(const float* in, uint16_t* out, size_t n);

  // out[i] = x[i] ∘ y[i]; steps 0 repeat one operand. NaN results become +0 (numerics N23).
  void (*add)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);
  void (*sub)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);
  void (*mul)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);
  void (*div)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);
  void (*max)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);
  void (*min)(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one);

  // B rows (contiguous halves, `n` of them used) to one panel of panel_columns, zeros behind n.
  void (*pack_rows)(const uint16_t* b, size_t row_stride, size_t k, size_t n, float* panel);
  // c[6][n…] += a panel (k × 6) · b panel (k × panel_columns); `first`: c is not read. n ≤ panel_columns.
  void (*gemm)(const float* a, const float* b, float* c, size_t c_stride, size_t k, size_t n, bool first);
  // One row of results to fp16.
  void (*gemm_store)(const float* acc, uint16_t* out, size_t n, const GemmStore& how, size_t row);

  // An 8 × 8 block: out[i][j] = in[j][i]. Strides in elements.
  void (*transpose)(const uint16_t* in, size_t in_stride, uint16_t* out, size_t out_stride);

  // Tiles of `rows` × kTileLanes, along the rows. softmax and layer_norm work in place.
  void (*softmax)(float* tile, size_t rows);
  void (*layer_norm)(float* tile, size_t rows, const float* gamma, const float* beta, float epsilon);
  // total (kTileLanes) goes on from what it holds.
  void (*reduce_sum)(const float* tile, size_t rows, float* total);
  void (*reduce_max)(const float* tile, size_t rows, float* total);
  void (*reduce_min)(const float* tile, size_t rows, float* total);
};

// The levels that this processor can run, fastest first; the baseline is always there.
const Kernels* const* usable_kernels(size_t* count);
const Kernels& best_kernels();

}  // namespace anelane::soft
