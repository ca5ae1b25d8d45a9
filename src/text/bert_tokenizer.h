// The tokenizer of BERT-like checkpoints: normalise, split at spaces and punctuation, WordPiece, special
// tokens around. Same ids as the tokenizers package.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "text/added_tokens.h"
#include "text/bert_normalizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

namespace anelane {

struct BertTokenizerParts {
  WordPiece model;
  BertNormalizer normalizer;
  AddedTokens raw;                      // matched in the text as it is given
  AddedTokens normalized;               // matched after normalisation; contents normalised too
  std::vector<int32_t> before, behind;  // special tokens around every text
  uint32_t vocab_size = 0;              // highest id + 1, added tokens included
};

std::shared_ptr<const Tokenizer> make_bert_tokenizer(BertTokenizerParts parts);

}  // namespace anelane
