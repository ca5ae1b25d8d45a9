// Thousands of broken variants of good files through the fuzzers' entry points (tests/fuzz): nothing may
// crash, hang or be accepted that breaks a promise. The same every time; under a sanitizer every read is
// checked too.
#include <gtest/gtest.h>

#include "support/tiny_checkpoint.h"

extern "C" int fuzz_safetensors(const uint8_t* data, size_t size);
extern "C" int fuzz_config(const uint8_t* data, size_t size);
extern "C" int fuzz_tokenizer(const uint8_t* data, size_t size);

namespace anelane {
namespace {

class Mutator {
 public:
  // One to eight small changes of any kind.
  std::string mutate(std::string bytes) {
    for (uint64_t n = 1 + next(8); n > 0; --n) {
      const size_t at = next(bytes.size() + 1);
      switch (next(6)) {
        case 0:
          if (at < bytes.size()) bytes[at] = static_cast<char>(next(256));
          break;
        case 1:
          bytes.resize(at);
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(next(256)));
          break;
        case 3:
          bytes.erase(at, next(16));
          break;
        case 4:
          bytes.insert(at, bytes.substr(next(bytes.size() + 1), next(64)));
          break;
        default:
          bytes.insert(at, kPieces[next(std::size(kPieces))]);
          break;
      }
    }
    return bytes;
  }

 private:
  static constexpr const char* kPieces[] = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ",",
                                            "-1",
                                            "18446744073709551615",
                                            "9223372036854775807",
                                            "1e400",
                                            "null",
                                            "\"\"",
                                            "\\ud800",
                                            "\xed\xa0\x80",
                                            "0",
                                            "999999999",
                                            ":[0,0]"};
  uint64_t next(uint64_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % below;
  }
  uint64_t state_ = 0x2545f4914f6cdd1d;
};

void run(int (*entry)(const uint8_t*, size_t), const std::string& good, int rounds) {
  Mutator mutator;
  EXPECT_EQ(entry(reinterpret_cast<const uint8_t*>(good.data()), good.size()), 0);
  for (int i = 0; i < rounds; ++i) {
    const std::string bad = mutator.mutate(good);
    ASSERT_EQ(entry(reinterpret_cast<const uint8_t*>(bad.data()), bad.size()), 0);
  }
}

TEST(HostileFiles, Safetensors) {
  run(fuzz_safetensors,
      safetensors_bytes({{"a", "F32", {2, 2}, std::vector<uint8_t>(16, 1)},
                         {"b.weight", "BF16", {4}, std::vector<uint8_t>(8, 2)},
                         {"c", "I64", {1}, std::vector<uint8_t>(8, 3)}}),
      20000);
}

TEST(HostileFiles, Config) {
  run(fuzz_config, TinyCheckpoint().config.dump(), 20000);
}

TEST(HostileFiles, VocabText) {
  std::string file;
  for (const std::string& token : TinyCheckpoint().vocab) file += token + "\n";
  run(fuzz_tokenizer, file + std::string(1, '\0') + "Hello, wörld 中国 [MASK]", 5000);
}

TEST(HostileFiles, TokenizerJson) {
  run(fuzz_tokenizer,
      std::string(
          R"({"added_tokens":[{"id":1,"content":"[CLS]","special":true}],"normalizer":{"type":"BertNormalizer",)"
          R"("clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},)"
          R"("pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing",)"
          R"("sep":["[SEP]",2],"cls":["[CLS]",1]},"model":{"type":"WordPiece","unk_token":"[UNK]",)"
          R"("continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,)"
          R"("[SEP]":2,"a":3,"##b":4}}})") +
          std::string(1, '\0') + "ab [CLS] é中\xcc\x81",
      20000);
}

}  // namespace
}  // namespace anelane
