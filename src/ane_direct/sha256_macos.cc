// SHA-256 from CommonCrypto, which is part of libSystem, so that the library needs nothing else on a Mac.
// Its lengths are 32 bits wide, and a length of 2^32 would be one of zero: larger inputs go in pieces.
// Threads: an object belongs to one thread at a time; there is no shared state.
#include <CommonCrypto/CommonDigest.h>

#include <algorithm>

#include "ane_direct/sha256.h"

namespace anelane {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 30;

void feed(CC_SHA256_CTX* context, const void* data, size_t bytes) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t piece = std::min(bytes, kPieceBytes);
    CC_SHA256_Update(context, at, static_cast<CC_LONG>(piece));
    at += piece;
    bytes -= piece;
  }
}

}  // namespace

struct Sha256::State {
  CC_SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  CC_SHA256_Init(&state_->context);
}
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const uint8_t> bytes) {
  feed(&state_->context, bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  feed(&state_->context, text.data(), text.size());
  return *this;
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  CC_SHA256_Final(digest.data(), &state_->context);
  return digest;
}

}  // namespace anelane
