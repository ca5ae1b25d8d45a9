// Entry points of vectors and text: embed, embed_texts, tokenizers.
#include <algorithm>

#include "abi/calls.h"

using namespace anelane;
using namespace anelane::abi;

namespace {

// Waits for the vectors and copies rows out. Rows that are good are copied even when the call fails.
Status embed_into(const std::shared_ptr<EmbedOperation>& op, float* out, size_t row_stride,
                  anelane_status* item_status) {
  const size_t dim = op->dim();
  if (row_stride == 0) row_stride = dim;
  if (row_stride < dim)
    return error(Code::kInvalidArgument,
                 "row_stride is " + std::to_string(row_stride) + " floats; a row has " + std::to_string(dim))
        .with_limit(dim);
  const Status status = start_and_wait(op);
  for (size_t row = 0; row < op->rows(); ++row) {
    if (op->item_codes()[row] == Code::kOk && (status.ok() || item_status != nullptr))
      std::memcpy(out + row * row_stride, op->floats().data() + row * dim, dim * sizeof(float));
    if (item_status != nullptr) item_status[row] = static_cast<anelane_status>(op->item_codes()[row]);
  }
  return status;
}

// A call that is refused as a whole: no row is good.
Status refused(Status why, anelane_status* item_status, size_t count) {
  if (item_status != nullptr && count <= limits::kMaxItemsPerCall)
    std::fill_n(item_status, count, static_cast<anelane_status>(why.code()));
  return why;
}

}  // namespace

extern "C" {

ANELANE_API anelane_status anelane_embed(anelane_model model, const anelane_tokens* items, size_t count,
                                         float* out, size_t row_stride, anelane_status* item_status,
                                         uint64_t deadline, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_may_block());
    const auto op = make_embed(model, items, count, deadline);
    if (!op.ok()) return refused(op.status(), item_status, count);
    return embed_into(*op, out, row_stride, item_status);
  });
}

ANELANE_API anelane_status anelane_embed_texts(anelane_model model, const char* const* utf8, size_t count,
                                               float* out, size_t row_stride, anelane_status* item_status,
                                               uint64_t deadline, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_may_block());
    const auto op = make_embed_texts(model, utf8, count, deadline);
    if (!op.ok()) return refused(op.status(), item_status, count);
    return embed_into(*op, out, row_stride, item_status);
  });
}

ANELANE_API anelane_status anelane_tokenizer_load(const char* path, anelane_tokenizer* out,
                                                  anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (path == nullptr) return null_argument("path");
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(std::shared_ptr<const Tokenizer> tokenizer, load_tokenizer(path));
    const uint64_t bits =
        tables().tokenizers.insert(std::make_shared<LoadedTokenizer>(LoadedTokenizer{std::move(tokenizer)}));
    if (bits == 0) return error(Code::kResourcesExhausted, "too many tokenizers; release some");
    out->bits = bits;
    return {};
  });
}

ANELANE_API anelane_status anelane_tokenize(anelane_tokenizer handle, const char* utf8, size_t bytes,
                                            int32_t* ids, size_t cap, size_t* count, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (utf8 == nullptr && bytes > 0) return null_argument("utf8");
    if (ids == nullptr && cap > 0) return null_argument("ids");
    if (count == nullptr) return null_argument("count");
    const auto loaded = tables().tokenizers.find(handle.bits);
    if (!loaded) return error(Code::kBadHandle, "this is no tokenizer");
    ANELANE_ASSIGN(const std::vector<int32_t> all,
                   loaded->tokenizer->encode({utf8 != nullptr ? utf8 : "", bytes}));
    std::copy_n(all.begin(), std::min(cap, all.size()), ids);
    *count = all.size();
    return {};
  });
}

ANELANE_API void anelane_tokenizer_release(anelane_tokenizer handle) {
  if (!fork_guard::forked()) tables().tokenizers.remove(handle.bits);
}

}  // extern "C"
