// A packed program of any bytes: whatever is accepted gives its files out in full, or says why not.
#include <cstdlib>

#include "models/program_model.h"
#include "models/program_pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anelane;
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const auto files = open_program_pack(bytes);
  if (!files.ok()) return files.status().code() == Code::kProtocol ? 0 : (std::abort(), 0);
  const Result<std::string> manifest = (*files)->read("program.json", size);
  if (manifest.ok() && manifest->size() > size) std::abort();
  const auto model = open_program_model(**files, "fuzz", {});
  if (model.ok() && (*model)->layer_program((*model)->summary().ladder[0], 0).mil.empty()) std::abort();
  return 0;
}
