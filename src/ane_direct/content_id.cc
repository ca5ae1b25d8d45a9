// The content identifier is a pure function of the three parts of a program (L8.1):
//   SHA-256(MIL bytes) _ SHA-256(00 00 00 00 ‖ weight file bytes) _ SHA-256(options bytes)
// The four zero bytes stand in front of the weights even when there are none. Neither names nor lengths are
// mixed in. The daemon names its cache entry by exactly this text, so every byte of MIL counts: another
// constant order or float format is another program.
#include "ane_direct/content_id.h"

#include <array>

#include "ane_direct/sha256.h"

namespace anelane {
namespace {

constexpr size_t kHashDigits = 64;
constexpr size_t kIdLength = 3 * kHashDigits + 2;

std::string hash_text(std::string_view text) {
  return upper_hex(Sha256().update(text).finish());
}

std::string hash_weights(const std::vector<uint8_t>& weights) {
  constexpr std::array<uint8_t, 4> kPrefix{};
  return upper_hex(Sha256().update(kPrefix).update(weights).finish());
}

}  // namespace

std::string content_id(const Program& program) {
  return hash_text(program.mil) + "_" + hash_weights(program.weights) + "_" + hash_text(program.options);
}

bool is_content_id(std::string_view text) {
  if (text.size() != kIdLength) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool separator = i == kHashDigits || i == 2 * kHashDigits + 1;
    const bool digit = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
    if (separator ? c != '_' : !digit) return false;
  }
  return true;
}

}  // namespace anelane
