// SHA-256 as a value: feed bytes, take the digest once.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace anelane {

using Sha256Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256& update(std::span<const uint8_t> bytes);
  Sha256& update(std::string_view text);
  Sha256Digest finish();  // the object takes no more bytes afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string upper_hex(const Sha256Digest& digest);  // 64 digits, as the daemon writes them

}  // namespace anelane
