// The two forms in which checkpoints keep a WordPiece tokenizer, read from memory. `where` names the file in
// errors: MODEL_INVALID for a broken one, MODEL_UNSUPPORTED for another kind of tokenizer.
#pragma once
#include <memory>
#include <string_view>

#include "base/json_fields.h"
#include "text/tokenizer.h"

namespace anelane {

// tokenizer.json. Its truncation and padding sections are ignored: texts are never cut nor filled up.
Result<std::shared_ptr<const Tokenizer>> parse_tokenizer_json(const JsonFields& file);
// vocab.txt, one token a line, with the fields of tokenizer_config.json.
Result<std::shared_ptr<const Tokenizer>> parse_vocab_text(std::string_view where, std::string_view text,
                                                          const JsonFields& config);

}  // namespace anelane
