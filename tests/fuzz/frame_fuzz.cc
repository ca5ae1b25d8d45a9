// The frames of both sides from a peer that has gone mad: whatever is accepted comes out the same again,
// however the bytes were cut, and every body parser lives through every body.
#include <algorithm>
#include <cstdlib>

#include "base/limits.h"
#include "worker/protocol.h"

namespace {

using namespace anelane;
using namespace anelane::worker;

// What was accepted must survive being written and read once more.
template <class Body>
void check_json(const Result<Body>& body, Result<Body> (*parse)(std::string_view)) {
  if (!body.ok()) return;
  const std::string text = to_json(*body).dump();
  const Result<Body> again = parse(text);
  if (!again.ok() || to_json(*again).dump() != text) std::abort();
}

template <class Body>
void check_binary(const Result<Body>& body, std::string_view text) {
  if (body.ok() && encode(*body) != text) std::abort();
}

void check_body(const std::string& text) {
  check_json(parse_init(text), parse_init);
  check_json(parse_hello(text), parse_hello);
  check_json(parse_load(text), parse_load);
  check_json(parse_loaded(text), parse_loaded);
  check_json(parse_admitted(text), parse_admitted);
  check_json(parse_progress(text), parse_progress);
  check_json(parse_pong(text), parse_pong);
  const Result<uint32_t> shape = parse_shape(text);
  if (shape.ok() && *parse_shape(shape_json(*shape).dump()) != *shape) std::abort();
  check_binary(decode_embed(text), text);
  check_binary(decode_embedded(text), text);
  check_binary(decode_run(text), text);
  Status failed;
  if (parse_failed(text, &failed).ok() == failed.ok()) std::abort();
}

std::vector<Frame> read_all(std::span<const uint8_t> bytes, size_t piece, bool* broken) {
  FrameReader reader;
  std::vector<Frame> frames;
  *broken = false;
  for (size_t at = 0; at < bytes.size() && !*broken; at += piece) {
    reader.feed(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    for (;;) {
      Result<std::optional<Frame>> next = reader.next();
      *broken = !next.ok();
      if (*broken || !next->has_value()) break;
      frames.push_back(**std::move(next));
    }
  }
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  bool broken = false, broken_too = false;
  const std::vector<Frame> frames = read_all(bytes, size == 0 ? 1 : size, &broken);
  const std::vector<Frame> pieces = read_all(bytes, 3, &broken_too);
  if (frames.size() != pieces.size() || broken != broken_too) std::abort();
  std::string wire;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].type != pieces[i].type || frames[i].request != pieces[i].request ||
        frames[i].body != pieces[i].body)
      std::abort();
    wire += encode_frame(frames[i]);
    check_body(frames[i].body);
  }
  if (wire.size() > size || std::string_view(reinterpret_cast<const char*>(data), wire.size()) != wire)
    std::abort();
  return 0;
}
