/* Checkpoints and right answers for the programs of this folder, from C++ parts that C cannot call. */
#ifndef ANELANE_TESTS_ABI_FIXTURES_H
#define ANELANE_TESTS_ABI_FIXTURES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Writes a tiny BERT (2 layers, 64 numbers, ceiling 256) with one flaw into `folder`; NULL or "": none. Ends
   the program for a flaw that it does not know (fixtures.cc lists them). */
void write_tiny(const char* folder, const char* flaw);
enum { TINY_DIM = 64, TINY_CEILING = 256 };
/* The same with one layer, one head and the default ladder up to 8192. */
void write_long(const char* folder);
enum { LONG_DIM = 32, LONG_CEILING = 8192 };

/* tests/data/minilm_golden.jsonl: texts with their token ids and the vectors of an independent
 * implementation. */
size_t golden_count(void);
/* A few texts hold NUL: they can be tokenized, and embedded by their ids, but not as C strings. */
const char* golden_text(size_t index, size_t* bytes);
int golden_is_c_string(size_t index);
const int32_t* golden_ids(size_t index, size_t* count);
const float* golden_vector(size_t index, size_t* dim);

#ifdef __cplusplus
}
#endif
#endif
