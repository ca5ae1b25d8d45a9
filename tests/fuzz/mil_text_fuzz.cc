// MIL text from a file or another program: parsed, checked and lowered, with a small weight file beside it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ane_direct/soft/compile.h"
#include "ane_direct/weight_blob.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  anelane::WeightBlobWriter blob;
  blob.add(std::vector<anelane::Half>(64, 0x3c00));
  anelane::Program program;
  program.mil.assign(reinterpret_cast<const char*>(data), size);
  program.weights = blob.finish();
  const auto plan = anelane::soft::compile_program(program);
  if (plan.ok() && !anelane::soft::check_plan(*plan, plan->weights.size()).ok()) __builtin_trap();
  return 0;
}
