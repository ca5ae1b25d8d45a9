/* The C side of the overhead benchmark: the same calls as the binding makes them for its callers, in a loop,
 * in the same process and on the same handles. Each function returns nanoseconds for all repetitions, 0 for a
 * failed call. */
#include <anelane.h>
#include <stdint.h>

uint64_t bench_embed_texts(anelane_model model, const char* text, float* out, uint32_t repetitions);
uint64_t bench_embed_ids(anelane_model model, const int32_t* ids, uint64_t count, float* out,
                         uint32_t repetitions);
uint64_t bench_lease(anelane_model model, uint32_t shape, uint32_t repetitions);
uint64_t bench_admit(anelane_model model, uint32_t shape, uint32_t repetitions);
uint64_t bench_predict(anelane_model model, uint32_t shape, uint32_t repetitions);
uint64_t bench_run(anelane_lease lease, const anelane_tensor* in, uint64_t n_in, const anelane_tensor* out,
                   uint64_t n_out, uint32_t repetitions);
uint64_t bench_lease_run(anelane_model model, uint32_t shape, const anelane_tensor* in, uint64_t n_in,
                         const anelane_tensor* out, uint64_t n_out, uint32_t repetitions);
uint64_t bench_tokenize(anelane_tokenizer tokenizer, const char* text, uint64_t bytes, uint32_t repetitions);

uint64_t bench_embed_texts(anelane_model model, const char* text, float* out, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++)
    if (anelane_embed_texts(model, &text, 1, out, 0, NULL, ANELANE_NO_DEADLINE, NULL) != ANELANE_OK) return 0;
  return anelane_now_ns() - start;
}

uint64_t bench_embed_ids(anelane_model model, const int32_t* ids, uint64_t count, float* out,
                         uint32_t repetitions) {
  const anelane_tokens item = {ids, count};
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++)
    if (anelane_embed(model, &item, 1, out, 0, NULL, ANELANE_NO_DEADLINE, NULL) != ANELANE_OK) return 0;
  return anelane_now_ns() - start;
}

uint64_t bench_lease(anelane_model model, uint32_t shape, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++) {
    anelane_lease lease;
    if (anelane_lease_acquire(model, shape, 0, &lease, NULL) != ANELANE_OK) return 0;
    anelane_lease_release(lease);
  }
  return anelane_now_ns() - start;
}

uint64_t bench_admit(anelane_model model, uint32_t shape, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++)
    if (anelane_admit(model, shape, ANELANE_NO_DEADLINE, NULL) != ANELANE_OK) return 0;
  return anelane_now_ns() - start;
}

uint64_t bench_predict(anelane_model model, uint32_t shape, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++) {
    uint64_t ms = 0;
    if (anelane_predict(model, shape, &ms, NULL) != ANELANE_OK) return 0;
  }
  return anelane_now_ns() - start;
}

uint64_t bench_run(anelane_lease lease, const anelane_tensor* in, uint64_t n_in, const anelane_tensor* out,
                   uint64_t n_out, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++)
    if (anelane_run(lease, in, n_in, out, n_out, ANELANE_NO_DEADLINE, NULL) != ANELANE_OK) return 0;
  return anelane_now_ns() - start;
}

uint64_t bench_lease_run(anelane_model model, uint32_t shape, const anelane_tensor* in, uint64_t n_in,
                         const anelane_tensor* out, uint64_t n_out, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++) {
    anelane_lease lease;
    if (anelane_lease_acquire(model, shape, 0, &lease, NULL) != ANELANE_OK) return 0;
    const anelane_status ran = anelane_run(lease, in, n_in, out, n_out, ANELANE_NO_DEADLINE, NULL);
    anelane_lease_release(lease);
    if (ran != ANELANE_OK) return 0;
  }
  return anelane_now_ns() - start;
}

uint64_t bench_tokenize(anelane_tokenizer tokenizer, const char* text, uint64_t bytes, uint32_t repetitions) {
  const uint64_t start = anelane_now_ns();
  for (uint32_t i = 0; i < repetitions; i++) {
    int32_t ids[64];
    size_t count = 0;
    if (anelane_tokenize(tokenizer, text, bytes, ids, 64, &count, NULL) != ANELANE_OK) return 0;
  }
  return anelane_now_ns() - start;
}
