// A name for everything in a checkpoint that decides its vectors (L10.4).
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "ane_direct/sha256.h"
#include "base/status.h"

namespace anelane {

// SHA-256, in lower-case hexadecimal, over these parts in this order, each as its name, a NUL, its length as
// 8 bytes little endian, and its bytes: config.json, the tokenizer's files that are there (tokenizer.json;
// vocab.txt, tokenizer_config.json), `pooling` (the settings in effect), model.safetensors (`weights`, its
// bytes).
Result<std::string> checkpoint_digest(const std::string& folder, const std::string& pooling,
                                      std::span<const uint8_t> weights);

// The same for others: one part, and the digest's text.
void add_digest_part(Sha256* sha, std::string_view name, std::span<const uint8_t> bytes);
void add_digest_part(Sha256* sha, std::string_view name, std::string_view bytes);
std::string lower_hex(const Sha256Digest& digest);

}  // namespace anelane
