// Reading anelane_model_options, and a load made of them; shared by the blocking and the asynchronous form.
#pragma once
#include "abi/entry.h"
#include "lane/load_operation.h"

namespace anelane::abi {
Result<ModelOptions> read_model_options(const anelane_model_options* from);
Result<std::shared_ptr<LoadOperation>> make_load(anelane_lane lane, const char* path,
                                                 const anelane_model_options* options, uint64_t deadline);
}  // namespace anelane::abi
