// The pipeline of one text: added tokens are cut out of the raw text; what is between them is normalised and
// searched for the added tokens that match normalised text; the rest is split into words. A word is a run
// without spaces and punctuation, or one punctuation character. Immutable, so threads share it freely.
#include "text/bert_tokenizer.h"

#include "text/unicode.h"

namespace anelane {
namespace {

class BertTokenizer final : public Tokenizer {
 public:
  explicit BertTokenizer(BertTokenizerParts parts) : parts_(std::move(parts)) {}

  Result<std::vector<int32_t>> encode(std::string_view utf8) const override {
    const size_t bad = find_invalid_utf8(utf8);
    if (bad != kValidUtf8)
      return error(Code::kInvalidArgument, "the text is not valid UTF-8 at byte " + std::to_string(bad))
          .with_limit(bad);
    std::vector<int32_t> ids(parts_.before);
    ids.reserve(utf8.size() / 3 + 16);
    for (const TextPiece& piece : parts_.raw.split(utf8)) {
      if (piece.id >= 0)
        ids.push_back(piece.id);
      else
        encode_between(piece.text, &ids);
    }
    ids.insert(ids.end(), parts_.behind.begin(), parts_.behind.end());
    return ids;
  }

  uint32_t vocab_size() const override { return parts_.vocab_size; }

 private:
  void encode_between(std::string_view text, std::vector<int32_t>* ids) const {
    const std::string normalized = parts_.normalizer.normalize(text);
    for (const TextPiece& piece : parts_.normalized.split(normalized)) {
      if (piece.id >= 0)
        ids->push_back(piece.id);
      else
        encode_words(piece.text, ids);
    }
  }

  void encode_words(std::string_view text, std::vector<int32_t>* ids) const {
    size_t word = 0;  // where the current word starts
    for (size_t at = 0; at < text.size();) {
      const size_t start = at;
      const uint8_t properties = properties_of(next_code_point(text, &at));
      if ((properties & (kSpace | kPunctuation)) == 0) continue;
      if (word < start) parts_.model.append_ids(text.substr(word, start - word), ids);
      if ((properties & kPunctuation) != 0) parts_.model.append_ids(text.substr(start, at - start), ids);
      word = at;
    }
    if (word < text.size()) parts_.model.append_ids(text.substr(word), ids);
  }

  BertTokenizerParts parts_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_bert_tokenizer(BertTokenizerParts parts) {
  return std::make_shared<const BertTokenizer>(std::move(parts));
}

}  // namespace anelane
