// BERT's text normalisation, as the tokenizers package's BertNormalizer does it. A pure value.
#pragma once
#include <string>
#include <string_view>

namespace anelane {

struct BertNormalizer {
  bool clean_text = true;            // drop control characters, make every space a blank
  bool handle_chinese_chars = true;  // blanks around ideographs
  bool strip_accents = true;         // canonical decomposition, without its non-spacing marks
  bool lowercase = true;

  // `text` must be well-formed UTF-8.
  std::string normalize(std::string_view text) const;
};

}  // namespace anelane
