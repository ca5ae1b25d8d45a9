// The tiny model, computed plainly.
#pragma once
#include <cstdint>
#include <vector>

#include "tiny_model.h"

namespace anelane_tool {

// The unit vector of one token sequence, in double precision, straight from the definition of a BERT encoder
// with mean pooling. Ids must be inside the vocabulary.
std::vector<double> reference_vector(const TinyModel& model, const std::vector<int32_t>& ids);

}  // namespace anelane_tool
