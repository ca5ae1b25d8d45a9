// The room is divided evenly; a cut that falls into a UTF-8 sequence gives the sequence up. Pure, any thread.
#include "base/fit_message.h"

namespace anelane {

std::string fit_message(std::string_view message, size_t most) {
  constexpr std::string_view kGap = " … ";
  if (message.size() <= most) return std::string(message);
  if (most <= kGap.size()) return {};
  const auto inside = [&](size_t at) { return (static_cast<unsigned char>(message[at]) & 0xc0u) == 0x80u; };
  const size_t room = most - kGap.size();
  size_t head = room / 2;
  size_t tail = message.size() - (room - head);
  while (head > 0 && inside(head)) --head;
  while (tail < message.size() && inside(tail)) ++tail;
  return std::string(message.substr(0, head)).append(kGap).append(message.substr(tail));
}

}  // namespace anelane
