// Tokenizers of the checkpoints, on the host side: text in, token ids out. Immutable after load, so any
// number of threads may use one. Needs no lane and no worker.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace anelane {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Token ids of one text, special tokens included; never truncated, never padded ("" gives the special
  // tokens). Invalid UTF-8: INVALID_ARGUMENT with the byte offset in `limit`.
  virtual Result<std::vector<int32_t>> encode(std::string_view utf8) const = 0;
  virtual uint32_t vocab_size() const = 0;
};

// From a checkpoint folder: tokenizer.json, or vocab.txt with tokenizer_config.json. Errors name the file
// and the field.
Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& folder);

}  // namespace anelane
