// Looks code points up in the generated tables (unicode_data.inc): one property byte through a two-level
// table, and sorted arrays behind the bits that say there is something to find. Also UTF-8 in and out: text
// is validated once, where it enters, so that everything behind may decode without checks.
#include "text/unicode.h"

#include <algorithm>
#include <iterator>

namespace anelane {
namespace {

#include "text/unicode_data.inc"

constexpr uint32_t kBlockShift = 7;
static_assert(std::size(kBlockOf) << kBlockShift == 0x110000);
static_assert(std::size(kBlocks) % (1u << kBlockShift) == 0);

constexpr uint32_t kHangulFirst = 0xac00;
constexpr uint32_t kHangulCount = 11172;

// The values that belong to `c` in a keyed pool.
std::span<const uint32_t> find_mapping(std::span<const uint32_t> keys, std::span<const uint16_t> starts,
                                       std::span<const uint32_t> pool, char32_t c) {
  const auto found = std::lower_bound(keys.begin(), keys.end(), static_cast<uint32_t>(c));
  if (found == keys.end() || *found != c) return {};
  const size_t i = static_cast<size_t>(found - keys.begin());
  return pool.subspan(starts[i], starts[i + 1] - starts[i]);
}

// Bytes that a well-formed sequence has by its first byte, 0 for a byte that starts none; and the range of
// its second byte, which is where overlong forms, surrogates and too large values show (Unicode, table 3-7).
struct Lead {
  int length;
  uint8_t second_min, second_max;
};
Lead lead_of(uint8_t b) {
  if (b < 0x80) return {1, 0, 0};
  if (b < 0xc2) return {0, 0, 0};
  if (b < 0xe0) return {2, 0x80, 0xbf};
  if (b < 0xf0)
    return {3, b == 0xe0 ? uint8_t{0xa0} : uint8_t{0x80}, b == 0xed ? uint8_t{0x9f} : uint8_t{0xbf}};
  if (b < 0xf5)
    return {4, b == 0xf0 ? uint8_t{0x90} : uint8_t{0x80}, b == 0xf4 ? uint8_t{0x8f} : uint8_t{0xbf}};
  return {0, 0, 0};
}

}  // namespace

uint8_t properties_of(char32_t c) {
  if (c >= 0x110000) return 0;
  const size_t block = kBlockOf[c >> kBlockShift];
  return kBlocks[(block << kBlockShift) + (c & ((1u << kBlockShift) - 1))];
}

bool is_cjk_ideograph(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4e00 && c <= 0x9fff) || c <= 0x4dbf || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0x2f800 && c <= 0x2fa1f);
}

uint8_t combining_class(char32_t c) {
  const auto found = std::lower_bound(std::begin(kClassKeys), std::end(kClassKeys), static_cast<uint32_t>(c));
  if (found == std::end(kClassKeys) || *found != c) return 0;
  return kClasses[found - std::begin(kClassKeys)];
}

std::span<const uint32_t> lower_case(char32_t c) {
  return find_mapping(kLowerKeys, kLowerStarts, kLowerPool, c);
}

void append_decomposition(char32_t c, std::u32string* out) {
  if (c >= kHangulFirst && c < kHangulFirst + kHangulCount) {  // by rule (Unicode, section 3.12)
    const uint32_t index = c - kHangulFirst;
    *out += static_cast<char32_t>(0x1100 + index / 588);
    *out += static_cast<char32_t>(0x1161 + index % 588 / 28);
    if (index % 28 != 0) *out += static_cast<char32_t>(0x11a7 + index % 28);
    return;
  }
  const auto parts = find_mapping(kDecompositionKeys, kDecompositionStarts, kDecompositionPool, c);
  for (const uint32_t part : parts) *out += static_cast<char32_t>(part);
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const uint8_t first = static_cast<uint8_t>(text[at]);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const Lead lead = lead_of(first);
    if (lead.length == 0) return at;
    for (int i = 1; i < lead.length; ++i) {
      if (at + static_cast<size_t>(i) >= text.size()) return at;
      const uint8_t b = static_cast<uint8_t>(text[at + static_cast<size_t>(i)]);
      const uint8_t low = i == 1 ? lead.second_min : uint8_t{0x80};
      const uint8_t high = i == 1 ? lead.second_max : uint8_t{0xbf};
      if (b < low || b > high) return at;
    }
    at += static_cast<size_t>(lead.length);
  }
  return kValidUtf8;
}

char32_t next_code_point(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[*at + i])); };
  const char32_t first = byte(0);
  char32_t c = first;
  size_t length = 1;
  if (first >= 0xf0) {
    c = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    length = 4;
  } else if (first >= 0xe0) {
    c = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    length = 3;
  } else if (first >= 0xc0) {
    c = (first & 0x1f) << 6 | (byte(1) & 0x3f);
    length = 2;
  }
  *at += length;
  return c;
}

void append_utf8(char32_t c, std::string* out) {
  const auto put = [out](char32_t b) { out->push_back(static_cast<char>(static_cast<uint8_t>(b))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace anelane
