// vocab.txt: the token of line n (from 0) has id n. What else a tokenizer needs stands in
// tokenizer_config.json, or has BERT's usual value when it does not.
#include "text/bert_tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/unicode.h"

namespace anelane {
namespace {

// Without spaces at its end, as the package reads it.
std::string_view trim_line(std::string_view line) {
  size_t kept = 0;
  for (size_t at = 0; at < line.size();)
    if ((properties_of(next_code_point(line, &at)) & kSpace) == 0) kept = at;
  return line.substr(0, kept);
}

Result<WordPieceSettings> read_lines(std::string_view where, std::string_view text) {
  if (const size_t bad = find_invalid_utf8(text); bad != kValidUtf8)
    return error(Code::kModelInvalid,
                 std::string(where) + ": byte " + std::to_string(bad) + ": not valid UTF-8");
  WordPieceSettings settings;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    settings.vocab.emplace_back(trim_line(text.substr(0, end)), static_cast<int32_t>(settings.vocab.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

// "[CLS]", or {"content": "[CLS]", …} as newer files write it.
Result<std::string> special_token(const JsonFields& config, const char* field, const char* usual) {
  const Json* value = config.find(field);
  if (value != nullptr && value->is_object()) {
    ANELANE_ASSIGN(const JsonFields token, config.object(field));
    return token.string("content");
  }
  return config.string(field, usual);
}

Result<int32_t> special_id(std::string_view where, const BertTokenizerParts& parts, const char* field,
                           const std::string& token) {
  const int32_t id = parts.model.find(token);
  if (id < 0)
    return error(Code::kModelInvalid, std::string(where) + ": the token \"" + token + "\" (" + field +
                                          " in tokenizer_config.json) does not stand in it");
  return id;
}

Status check_class(const JsonFields& config) {
  ANELANE_ASSIGN(const std::string name, config.string("tokenizer_class", "BertTokenizer"));
  for (const char* known :
       {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast"})
    if (name == known) return {};
  return error(Code::kModelUnsupported, config.where() + ": tokenizer_class " + describe(Json(name)) +
                                            " is not supported; supported: BertTokenizer, BertTokenizerFast, "
                                            "DistilBertTokenizer, DistilBertTokenizerFast");
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parse_vocab_text(std::string_view where, std::string_view text,
                                                          const JsonFields& config) {
  ANELANE_TRY(check_class(config));
  ANELANE_ASSIGN(WordPieceSettings settings, read_lines(where, text));
  ANELANE_ASSIGN(settings.unknown, special_token(config, "unk_token", "[UNK]"));
  BertTokenizerParts parts;
  Result<WordPiece> model = WordPiece::make(std::move(settings));
  if (!model.ok()) return std::move(model).status().in(where);
  parts.model = *std::move(model);
  parts.vocab_size = static_cast<uint32_t>(parts.model.highest_id()) + 1;

  ANELANE_ASSIGN(parts.normalizer.lowercase, config.boolean("do_lower_case", true));
  ANELANE_ASSIGN(parts.normalizer.handle_chinese_chars, config.boolean("tokenize_chinese_chars", true));
  ANELANE_ASSIGN(parts.normalizer.strip_accents, config.boolean("strip_accents", parts.normalizer.lowercase));

  // The five special tokens match in the text; the first and the last of a text must exist.
  static constexpr const char* kFields[][2] = {{"cls_token", "[CLS]"},
                                               {"sep_token", "[SEP]"},
                                               {"unk_token", "[UNK]"},
                                               {"pad_token", "[PAD]"},
                                               {"mask_token", "[MASK]"}};
  for (const auto& [field, usual] : kFields) {
    ANELANE_ASSIGN(const std::string token, special_token(config, field, usual));
    const std::string_view name = field;
    if (name == "cls_token") {
      ANELANE_ASSIGN(const int32_t id, special_id(where, parts, field, token));
      parts.before = {id};
    } else if (name == "sep_token") {
      ANELANE_ASSIGN(const int32_t id, special_id(where, parts, field, token));
      parts.behind = {id};
    }
    AddedToken added;
    added.id = parts.model.find(token);
    added.content = token;
    if (added.id >= 0) parts.raw.add(std::move(added));
  }
  return make_bert_tokenizer(std::move(parts));
}

}  // namespace anelane
