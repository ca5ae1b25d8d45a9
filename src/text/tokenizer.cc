// Finds the tokenizer in a checkpoint folder: tokenizer.json first, since it says everything; vocab.txt else.
#include "text/tokenizer.h"

#include "base/file.h"
#include "base/limits.h"
#include "text/tokenizer_file.h"

namespace anelane {

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& folder) {
  if (!is_folder(folder))
    return error(Code::kIo,
                 "cannot read " + folder + ": no such folder; the path must be a checkpoint folder");
  const std::string json_path = join_path(folder, "tokenizer.json");
  if (is_regular_file(json_path)) {
    ANELANE_ASSIGN(const JsonFields file, JsonFields::read(json_path, limits::kMaxTokenizerBytes));
    return parse_tokenizer_json(file);
  }
  const std::string vocab_path = join_path(folder, "vocab.txt");
  if (!is_regular_file(vocab_path))
    return error(
        Code::kModelInvalid,
        folder + ": no tokenizer here: expected tokenizer.json, or vocab.txt with tokenizer_config.json");
  ANELANE_ASSIGN(const std::string text, read_file(vocab_path, limits::kMaxTokenizerBytes));
  const std::string config_path = join_path(folder, "tokenizer_config.json");
  JsonFields config(config_path, Json::object());
  if (is_regular_file(config_path)) {
    ANELANE_ASSIGN(config, JsonFields::read(config_path, limits::kMaxConfigBytes));
  }
  return parse_vocab_text(vocab_path, text, config);
}

}  // namespace anelane
