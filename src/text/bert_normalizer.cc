// One pass over the text, code point by code point, in the package's order: clean, ideographs, decompose and
// strip, lower case. Only the decomposition needs to look around: marks are put into canonical order, so a
// run of code points with a combining class is held back until one without follows. Linear, but for the sort
// of such a run.
#include "text/bert_normalizer.h"

#include <algorithm>
#include <vector>

#include "text/unicode.h"

namespace anelane {
namespace {

class Stages {
 public:
  Stages(const BertNormalizer& steps, size_t expected_bytes) : steps_(steps) {
    out_.reserve(expected_bytes + 16);
  }

  void feed(char32_t c) {
    const uint8_t properties = properties_of(c);
    if (steps_.clean_text) {
      if ((properties & kDropped) != 0) return;
      if ((properties & kSpace) != 0) return spread(U' ', 0);
    }
    if (steps_.handle_chinese_chars && is_cjk_ideograph(c)) {
      spread(U' ', 0);
      spread(c, properties);
      return spread(U' ', 0);
    }
    spread(c, properties);
  }

  std::string take() {
    flush_run();
    return std::move(out_);
  }

 private:
  // Decomposes.
  void spread(char32_t c, uint8_t properties) {
    if (!steps_.strip_accents) return put(c, properties);
    if ((properties & kDecomposes) == 0) return order(c, properties);
    parts_.clear();
    append_decomposition(c, &parts_);
    for (const char32_t part : parts_) order(part, properties_of(part));
  }

  void order(char32_t c, uint8_t properties) {
    if ((properties & kReorders) != 0) {
      run_.push_back({combining_class(c), c});
      return;
    }
    flush_run();
    put(c, properties);
  }

  void flush_run() {
    if (run_.empty()) return;
    std::stable_sort(run_.begin(), run_.end(),
                     [](const Held& a, const Held& b) { return a.order < b.order; });
    for (const Held& held : run_) put(held.c, properties_of(held.c));
    run_.clear();
  }

  void put(char32_t c, uint8_t properties) {
    if (steps_.strip_accents && (properties & kMark) != 0) return;
    if (!steps_.lowercase || (properties & kLowers) == 0) return append_utf8(c, &out_);
    for (const uint32_t lower : lower_case(c)) append_utf8(static_cast<char32_t>(lower), &out_);
  }

  struct Held {
    uint8_t order;
    char32_t c;
  };
  const BertNormalizer& steps_;
  std::string out_;
  std::u32string parts_;
  std::vector<Held> run_;
};

}  // namespace

std::string BertNormalizer::normalize(std::string_view text) const {
  Stages stages(*this, text.size());
  for (size_t at = 0; at < text.size();) stages.feed(next_code_point(text, &at));
  return stages.take();
}

}  // namespace anelane
