// Text files are read anew: they are small, and the digest is made once for each start of a worker. Length
// and name stand before each part, so that bytes cannot move between parts unseen.
#include "models/checkpoint_digest.h"

#include "ane_direct/sha256.h"
#include "base/file.h"
#include "base/limits.h"

namespace anelane {
void add_digest_part(Sha256* sha, std::string_view name, std::span<const uint8_t> bytes) {
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(uint64_t{bytes.size()} >> (8 * i));
  sha->update(name);
  sha->update(std::string_view("\0", 1));
  sha->update(std::span<const uint8_t>(length));
  sha->update(bytes);
}

void add_digest_part(Sha256* sha, std::string_view name, std::string_view bytes) {
  add_digest_part(sha, name, std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

std::string lower_hex(const Sha256Digest& digest) {
  std::string hex;
  for (const uint8_t byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Result<std::string> checkpoint_digest(const std::string& folder, const std::string& pooling,
                                      std::span<const uint8_t> weights) {
  Sha256 sha;
  for (const char* name : {"config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json"}) {
    const std::string path = join_path(folder, name);
    if (!is_regular_file(path)) continue;
    ANELANE_ASSIGN(const std::string text, read_file(path, limits::kMaxTokenizerBytes));
    add_digest_part(&sha, name, std::string_view(text));
  }
  add_digest_part(&sha, "pooling", std::string_view(pooling));
  add_digest_part(&sha, "model.safetensors", weights);
  return lower_hex(sha.finish());
}

}  // namespace anelane
