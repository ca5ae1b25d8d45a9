// A tokenizer file from a stranger, and after the first NUL a text for it: tokenizer.json when it begins with
// '{', vocab.txt else. Whatever loads gives ids within its vocabulary, or refuses the text as invalid UTF-8.
#include <cstdlib>

#include "text/tokenizer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anelane;
  std::string_view file(reinterpret_cast<const char*>(data), size);
  std::string_view text = "Hello w\u00f6rld \u4e2d [CLS] \u0301\u0327";
  if (const size_t nul = file.find('\0'); nul != std::string_view::npos) {
    text = file.substr(nul + 1);
    file = file.substr(0, nul);
  }
  Result<std::shared_ptr<const Tokenizer>> tokenizer = error(Code::kInternal, "none");
  if (file.starts_with('{')) {
    const Result<JsonFields> json = JsonFields::parse("fuzz", file);
    if (!json.ok()) return 0;
    tokenizer = parse_tokenizer_json(*json);
  } else {
    tokenizer = parse_vocab_text("fuzz", file, JsonFields("config", Json::object()));
  }
  if (!tokenizer.ok()) return 0;
  const Result<std::vector<int32_t>> ids = (*tokenizer)->encode(text);
  if (!ids.ok()) return ids.status().code() == Code::kInvalidArgument ? 0 : (std::abort(), 0);
  for (const int32_t id : *ids)
    if (id < 0 || static_cast<uint32_t>(id) >= (*tokenizer)->vocab_size()) std::abort();
  return 0;
}
