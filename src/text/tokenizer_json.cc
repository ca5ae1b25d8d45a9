// Reads tokenizer.json section by section: model, normalizer, pre_tokenizer, post_processor, added_tokens.
// What is not of the WordPiece family is MODEL_UNSUPPORTED and says what was found. An added token whose id
// in the file is not the one that the package would give it (the vocabulary's, else the next free one) is
// refused, since the ids would be guesses.
#include <algorithm>
#include <unordered_map>

#include "text/bert_tokenizer.h"
#include "text/tokenizer_file.h"

namespace anelane {
namespace {

constexpr int64_t kMaxId = 0x7ffffffe;

Status unsupported(const JsonFields& section, std::string_view type, const char* supported) {
  return error(Code::kModelUnsupported, section.where() + ": type " + describe(Json(type)) +
                                            " is not supported; supported: " + supported);
}

// The type of a section; older files leave out the model's.
Status expect_type(const JsonFields& section, std::string_view wanted, std::optional<std::string> fallback,
                   const char* supported) {
  ANELANE_ASSIGN(const std::string type, section.string("type", fallback));
  return type == wanted ? Status() : unsupported(section, type, supported);
}

Result<WordPiece> read_model(const JsonFields& section) {
  std::optional<std::string> fallback;
  if (section.find("vocab") != nullptr && section.find("merges") == nullptr) fallback = "WordPiece";
  ANELANE_TRY(expect_type(section, "WordPiece", fallback, "WordPiece"));
  WordPieceSettings settings;
  ANELANE_ASSIGN(settings.unknown, section.string("unk_token"));
  ANELANE_ASSIGN(settings.continuation, section.string("continuing_subword_prefix"));
  ANELANE_ASSIGN(const int64_t max_chars, section.integer("max_input_chars_per_word", 1, 65536));
  settings.max_word_chars = static_cast<uint32_t>(max_chars);
  const Json* vocab = section.find("vocab");
  if (vocab == nullptr || !vocab->is_object()) return section.wrong("vocab", "an object of tokens and ids");
  for (const auto& [token, id] : vocab->as_object()) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() > kMaxId)
      return error(Code::kModelInvalid, section.where() + ": vocab: id of " + describe(Json(token)) +
                                            ": expected an integer from 0 to " + std::to_string(kMaxId) +
                                            ", found " + describe(id));
    settings.vocab.emplace_back(token, static_cast<int32_t>(id.as_int()));
  }
  Result<WordPiece> model = WordPiece::make(std::move(settings));
  if (!model.ok()) return std::move(model).status().in(section.where());
  return model;
}

Result<BertNormalizer> read_normalizer(const JsonFields& file) {
  if (file.find("normalizer") == nullptr) return BertNormalizer{false, false, false, false};
  ANELANE_ASSIGN(const JsonFields section, file.object("normalizer"));
  ANELANE_TRY(expect_type(section, "BertNormalizer", std::nullopt, "BertNormalizer"));
  BertNormalizer steps;
  ANELANE_ASSIGN(steps.clean_text, section.boolean("clean_text"));
  ANELANE_ASSIGN(steps.handle_chinese_chars, section.boolean("handle_chinese_chars"));
  ANELANE_ASSIGN(steps.lowercase, section.boolean("lowercase"));
  ANELANE_ASSIGN(steps.strip_accents,
                 section.boolean("strip_accents", steps.lowercase));  // null: as lowercase
  return steps;
}

// {"SpecialToken": {"id": "[CLS]", …}} or {"Sequence": {"id": "A", …}} of a template.
Status read_template_item(const JsonFields& section, const Json& item, const JsonFields& known,
                          bool* seen_text, BertTokenizerParts* parts) {
  if (item.find("Sequence") != nullptr) {
    if (*seen_text)
      return error(Code::kModelInvalid, section.where() + ": single: the text stands in it twice");
    *seen_text = true;
    return {};
  }
  const Json& token = item.at("SpecialToken").at("id");
  if (!token.is_string()) return section.wrong("single", "a list of SpecialToken and Sequence items");
  ANELANE_ASSIGN(const JsonFields entry, known.object(token.as_string()));
  ANELANE_ASSIGN(const Json::Array ids, entry.array("ids"));
  for (const Json& id : ids) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() > kMaxId)
      return entry.wrong("ids", "a list of token ids");
    (*seen_text ? parts->behind : parts->before).push_back(static_cast<int32_t>(id.as_int()));
  }
  return {};
}

// ["[SEP]", 102]
Result<int32_t> read_token_pair(const JsonFields& section, const char* field) {
  const Json* pair = section.find(field);
  if (pair == nullptr || pair->as_array().size() != 2 || !pair->as_array()[1].is_int() ||
      pair->as_array()[1].as_int() < 0 || pair->as_array()[1].as_int() > kMaxId)
    return section.wrong(field, "a token and its id");
  return static_cast<int32_t>(pair->as_array()[1].as_int());
}

Status read_post_processor(const JsonFields& file, BertTokenizerParts* parts) {
  if (file.find("post_processor") == nullptr) return {};
  ANELANE_ASSIGN(const JsonFields section, file.object("post_processor"));
  ANELANE_ASSIGN(const std::string type, section.string("type"));
  if (type == "BertProcessing") {
    ANELANE_ASSIGN(const int32_t cls, read_token_pair(section, "cls"));
    ANELANE_ASSIGN(const int32_t sep, read_token_pair(section, "sep"));
    parts->before = {cls};
    parts->behind = {sep};
    return {};
  }
  if (type != "TemplateProcessing") return unsupported(section, type, "TemplateProcessing, BertProcessing");
  ANELANE_ASSIGN(const Json::Array items, section.array("single"));
  ANELANE_ASSIGN(const JsonFields known, section.object("special_tokens"));
  bool seen_text = false;
  for (const Json& item : items) ANELANE_TRY(read_template_item(section, item, known, &seen_text, parts));
  if (!seen_text)
    return error(Code::kModelInvalid, section.where() + ": single: the text does not stand in it");
  return {};
}

// Numbers added tokens as the package does: by the vocabulary, else the next free id.
class AddedIds {
 public:
  explicit AddedIds(const WordPiece& model) : model_(model), next_(static_cast<int64_t>(model.size())) {}
  int64_t id_of(const std::string& content) {
    const auto known = given_.find(content);
    if (known != given_.end()) return known->second;
    int64_t id = model_.find(content);
    if (id < 0) id = next_;
    next_ = std::max(next_, id + 1);
    given_.emplace(content, id);
    return id;
  }

 private:
  const WordPiece& model_;
  int64_t next_;
  std::unordered_map<std::string, int64_t> given_;
};

Status read_added_token(const JsonFields& entry, AddedIds* numbers, BertTokenizerParts* parts) {
  AddedToken token;
  ANELANE_ASSIGN(token.content, entry.string("content"));
  if (token.content.empty()) return {};  // matches nothing
  ANELANE_ASSIGN(const int64_t id, entry.integer("id", 0, kMaxId));
  const int64_t numbered = numbers->id_of(token.content);
  if (id != numbered) return entry.wrong("id", "the id of this token, " + std::to_string(numbered));
  token.id = static_cast<int32_t>(id);
  ANELANE_ASSIGN(token.single_word, entry.boolean("single_word", false));
  ANELANE_ASSIGN(token.lstrip, entry.boolean("lstrip", false));
  ANELANE_ASSIGN(token.rstrip, entry.boolean("rstrip", false));
  ANELANE_ASSIGN(const bool special, entry.boolean("special", false));
  ANELANE_ASSIGN(const bool normalized, entry.boolean("normalized", !special));
  parts->vocab_size = std::max(parts->vocab_size, static_cast<uint32_t>(id) + 1);
  if (normalized) {
    token.content = parts->normalizer.normalize(token.content);
    parts->normalized.add(std::move(token));
  } else {
    parts->raw.add(std::move(token));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parse_tokenizer_json(const JsonFields& file) {
  BertTokenizerParts parts;
  ANELANE_ASSIGN(const JsonFields model, file.object("model"));
  ANELANE_ASSIGN(parts.model, read_model(model));
  parts.vocab_size = static_cast<uint32_t>(parts.model.highest_id()) + 1;
  ANELANE_ASSIGN(parts.normalizer, read_normalizer(file));
  ANELANE_ASSIGN(const JsonFields splitter, file.object("pre_tokenizer"));
  ANELANE_TRY(expect_type(splitter, "BertPreTokenizer", std::nullopt, "BertPreTokenizer"));
  ANELANE_TRY(read_post_processor(file, &parts));
  if (file.find("added_tokens") != nullptr) {
    ANELANE_ASSIGN(const Json::Array added, file.array("added_tokens"));
    AddedIds numbers(parts.model);
    for (size_t i = 0; i < added.size(); ++i) {
      const std::string where = file.where() + ": added_tokens[" + std::to_string(i) + "]";
      if (!added[i].is_object())
        return error(Code::kModelInvalid, where + ": expected an object, found " + describe(added[i]));
      ANELANE_TRY(read_added_token(JsonFields(where, added[i]), &numbers, &parts));
    }
  }
  for (const auto* list : {&parts.before, &parts.behind})
    for (const int32_t id : *list)
      if (static_cast<uint32_t>(id) >= parts.vocab_size)
        return error(Code::kModelInvalid, file.where() + ": post_processor: id " + std::to_string(id) +
                                              " is beyond the vocabulary of " +
                                              std::to_string(parts.vocab_size));
  return make_bert_tokenizer(std::move(parts));
}

}  // namespace anelane
