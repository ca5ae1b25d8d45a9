// SHA-256 from libcrypto. The low-level calls are used on purpose: the high-level ones (EVP) initialise the
// whole library on first use and register an exit handler in the host process, which an embedded library
// must not do. They are marked deprecated since OpenSSL 3.0, hence the macro; the functions themselves are
// part of the stable ABI of libcrypto 3.
// Threads: an object belongs to one thread at a time; there is no shared state.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "ane_direct/sha256.h"

#include <openssl/sha.h>

namespace anelane {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SHA256_Init(&state_->context);
}
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const uint8_t> bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  SHA256_Update(&state_->context, text.data(), text.size());
  return *this;
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  SHA256_Final(digest.data(), &state_->context);
  return digest;
}

}  // namespace anelane
