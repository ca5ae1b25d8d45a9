// From the last layer's output to one vector: pooling over the tokens, then normalisation, as the
// sentence-transformers files of the checkpoint say. A pure value.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fp16.h"
#include "base/status.h"

namespace anelane {

enum class PoolingMode { kMean, kCls, kLast };

struct Pooling {
  PoolingMode mode = PoolingMode::kMean;
  bool normalize = false;

  // `hidden` is fp16 [width, rung], one row a channel; the first `tokens` columns count. `out` holds width
  // floats. INTERNAL when a value is not finite.
  Status apply(const Half* hidden, uint32_t rung, uint32_t tokens, std::span<float> out) const;
};

// Reads modules.json and the pooling module's config.json. A folder without modules.json pools by the mean
// and does not normalise, which is what sentence-transformers makes of such a folder.
Result<Pooling> read_pooling(const std::string& folder, uint32_t width);

}  // namespace anelane
