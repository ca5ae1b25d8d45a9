// BERT in double, straight from its equations, over the tensors of a tiny checkpoint: what the engine's
// result is compared with. Shares no code with src/models.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "support/tiny_checkpoint.h"

namespace anelane {

// The pooled vector ("mean", "cls" or "last"), normalised to length one when asked.
std::vector<float> reference_vector(const TinyCheckpoint& checkpoint, const std::string& prefix,
                                    std::span<const int32_t> ids, const std::string& pooling, bool normalize);

}  // namespace anelane
