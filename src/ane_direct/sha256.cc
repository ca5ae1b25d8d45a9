// Digests as text. The sums themselves come from the system: sha256_libcrypto.cc, sha256_macos.cc.
#include "ane_direct/sha256.h"

namespace anelane {

std::string upper_hex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(digest.size() * 2);
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace anelane
