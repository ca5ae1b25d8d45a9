// Frames on the wire: u32 length (of what follows) · u8 type · u64 request id · body, little endian.
//
// The reader keeps what it was fed in one buffer, [begin_, end) not yet handed out. It judges a frame as soon
// as the bytes that condemn it are there: a length that is too long or too short after four bytes, an unknown
// type after five. So a peer that sends garbage never makes us wait for, or hold, a megabyte of it.
// Values: one reader per stream, one thread per reader.
#include <cstring>

#include "base/limits.h"
#include "worker/little_endian.h"
#include "worker/protocol.h"

namespace anelane::worker {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kHeaderBytes = 1 + 8;  // type and request id, counted by the length

bool known_type(uint8_t type) {
  return type >= static_cast<uint8_t>(FrameType::kInit) && type <= static_cast<uint8_t>(FrameType::kStop);
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  std::string wire;
  wire.reserve(kLengthBytes + kHeaderBytes + frame.body.size());
  append_u32(&wire, static_cast<uint32_t>(kHeaderBytes + frame.body.size()));
  wire.push_back(static_cast<char>(frame.type));
  append_u64(&wire, frame.request);
  wire += frame.body;
  return wire;
}

Status check_frame_size(const Frame& frame) {
  if (frame.body.size() <= limits::kFrameMax - kHeaderBytes) return {};
  return error(Code::kInvalidArgument,
               "a frame of type " + std::to_string(static_cast<int>(frame.type)) + " would carry " +
                   std::to_string(frame.body.size()) + " bytes, at most " +
                   std::to_string(limits::kFrameMax - kHeaderBytes) + " fit: send fewer items at a time")
      .with_limit(limits::kFrameMax - kHeaderBytes);
}

void FrameReader::feed(std::span<const uint8_t> bytes) {
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ > limits::kFrameMax) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kLengthBytes) return std::optional<Frame>();
  const uint32_t length = read_u32(rest.data());
  if (length < kHeaderBytes || length > limits::kFrameMax)
    return error(Code::kProtocol, "a frame announces " + std::to_string(length) + " bytes; " +
                                      std::to_string(kHeaderBytes) + " to " +
                                      std::to_string(limits::kFrameMax) + " are possible");
  if (rest.size() == kLengthBytes) return std::optional<Frame>();
  const uint8_t type = static_cast<uint8_t>(rest[kLengthBytes]);
  if (!known_type(type))
    return error(Code::kProtocol, "a frame has the unknown type " + std::to_string(type));
  if (rest.size() < kLengthBytes + length) return std::optional<Frame>();
  Frame frame;
  frame.type = static_cast<FrameType>(type);
  frame.request = read_u64(rest.data() + kLengthBytes + 1);
  frame.body.assign(rest.substr(kLengthBytes + kHeaderBytes, length - kHeaderBytes));
  begin_ += kLengthBytes + length;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace anelane::worker
