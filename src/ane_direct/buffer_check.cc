// What every engine refuses before it touches a buffer.
#include "ane_direct/buffer_check.h"

namespace anelane {

Status check_buffers(std::span<const Port> ports, std::span<const Buffer> buffers, const char* what) {
  if (ports.size() != buffers.size())
    return error(Code::kInvalidArgument, std::to_string(buffers.size()) + " " + what +
                                             " buffers, the program has " + std::to_string(ports.size()));
  for (size_t i = 0; i < ports.size(); ++i)
    if (buffers[i].data == nullptr || buffers[i].bytes < ports[i].bytes)
      return error(Code::kInvalidArgument,
                   std::string(what) + " " + ports[i].name + ": the buffer has " +
                       std::to_string(buffers[i].data == nullptr ? 0 : buffers[i].bytes) +
                       " bytes, the program needs " + std::to_string(ports[i].bytes))
          .with_item(static_cast<int64_t>(i))
          .with_limit(ports[i].bytes);
  return {};
}

}  // namespace anelane
