/* The C side of the overhead benchmark: the same calls as the binding makes them for its callers, in a loop,
 * in the same process and on the same handles. Each function returns nanoseconds for all repetitions, 0 for a
 * failed call. */
#include <anelane.h>
#include <stdint.h>

uint64_t bench_embed_texts(anelane_model model, const char* text, float* out, uint32_t repetitions);
uint64_t bench_embed_ids(anelane_model model, const int32_t* ids, uint64_t count, float* out,
                         uint32_t repetitions);
uint64_t bench_lease(anelane_model model, uint32_t shape, uint32_t repetitions);

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
