// config.json from a stranger: whatever is accepted keeps the promises that the conversion relies on.
#include <cstdlib>

#include "base/limits.h"
#include "models/hf_config.h"
#include "models/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anelane;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<JsonFields> file = JsonFields::parse("fuzz", text);
  if (!file.ok()) return 0;
  const Result<BertConfig> config = parse_bert_config(*file);
  if (!config.ok()) return 0;
  if (config->width % 32 != 0 || config->width % config->heads != 0 || 3 * config->width > limits::kMaxAxis)
    std::abort();
  if (config->layers == 0 || config->layers > limits::kMaxLayers || config->vocab == 0) std::abort();
  const Result<std::vector<uint32_t>> ladder = make_ladder(config->ceiling(), {});
  if (!ladder.ok() || ladder->back() != config->ceiling() || ladder->back() > limits::kMaxAxis) std::abort();
  return 0;
}
