// Turning C arguments into operations; shared by the blocking and the asynchronous forms.
#pragma once
#include "abi/entry.h"
#include "lane/embed_operation.h"
#include "lane/run_operation.h"

namespace anelane::abi {

Result<std::shared_ptr<LaneModel>> find_ready_model(
    anelane_model handle);  // RETIRED once it is being retired
Result<std::shared_ptr<EmbedOperation>> make_embed(anelane_model handle, const anelane_tokens* items,
                                                   size_t count, uint64_t deadline);
Result<std::shared_ptr<EmbedOperation>> make_embed_texts(anelane_model handle, const char* const* utf8,
                                                         size_t count, uint64_t deadline);
Result<std::vector<RunTensor>> read_tensors(const anelane_tensor* tensors, size_t count, const char* name);

}  // namespace anelane::abi
