// The fixed binary bodies of the frames of inference: EMBED, EMBEDDED and RUN. Little endian, packed in the
// order of the fields; a list is a u32 count and its items. A body must be used up exactly: one byte too few
// or too many is PROTOCOL. Counts are checked against the bytes that are there before anything is allocated.
#include "worker/little_endian.h"
#include "worker/protocol.h"

namespace anelane::worker {
namespace {

class Bytes {
 public:
  Bytes(std::string_view frame, std::string_view body) : frame_(frame), rest_(body) {}

  uint32_t u32() { return take(4) ? read_u32(at_) : 0; }
  uint64_t u64() { return take(8) ? read_u64(at_) : 0; }
  // The count of a list whose items have `item_bytes` each; 0 when they cannot all be there.
  uint32_t count(size_t item_bytes) {
    const uint32_t n = u32();
    if (n <= rest_.size() / item_bytes) return n;
    failed_ = true;
    return 0;
  }
  Status finish() const {
    if (failed_) return error(Code::kProtocol, std::string(frame_) + ": the body is cut short");
    if (!rest_.empty())
      return error(Code::kProtocol,
                   std::string(frame_) + ": " + std::to_string(rest_.size()) + " bytes follow the body");
    return {};
  }

 private:
  bool take(size_t n) {
    if (failed_ || rest_.size() < n) {
      failed_ = true;
      return false;
    }
    at_ = rest_.data();
    rest_.remove_prefix(n);
    return true;
  }
  std::string_view frame_;
  std::string_view rest_;
  const char* at_ = nullptr;
  bool failed_ = false;
};

void append_offsets(std::string* out, const std::vector<uint64_t>& offsets) {
  append_u32(out, static_cast<uint32_t>(offsets.size()));
  for (const uint64_t offset : offsets) append_u64(out, offset);
}

std::vector<uint64_t> take_offsets(Bytes* bytes) {
  std::vector<uint64_t> offsets(bytes->count(8));
  for (uint64_t& offset : offsets) offset = bytes->u64();
  return offsets;
}

}  // namespace

std::string encode(const EmbedBody& body) {
  std::string out;
  out.reserve(24 + 4 * body.lengths.size());
  append_u32(&out, body.shape);
  append_u64(&out, body.ids_offset);
  append_u64(&out, body.out_offset);
  append_u32(&out, static_cast<uint32_t>(body.lengths.size()));
  for (const uint32_t length : body.lengths) append_u32(&out, length);
  return out;
}

std::string encode(const EmbeddedBody& body) {
  std::string out;
  append_u32(&out, body.count);
  append_u32(&out, body.dim);
  return out;
}

std::string encode(const RunBody& body) {
  std::string out;
  out.reserve(12 + 8 * (body.in_offsets.size() + body.out_offsets.size()));
  append_u32(&out, body.shape);
  append_offsets(&out, body.in_offsets);
  append_offsets(&out, body.out_offsets);
  return out;
}

Result<EmbedBody> decode_embed(std::string_view text) {
  Bytes bytes("EMBED", text);
  EmbedBody body;
  body.shape = bytes.u32();
  body.ids_offset = bytes.u64();
  body.out_offset = bytes.u64();
  body.lengths.resize(bytes.count(4));
  for (uint32_t& length : body.lengths) length = bytes.u32();
  ANELANE_TRY(bytes.finish());
  return body;
}

Result<EmbeddedBody> decode_embedded(std::string_view text) {
  Bytes bytes("EMBEDDED", text);
  EmbeddedBody body;
  body.count = bytes.u32();
  body.dim = bytes.u32();
  ANELANE_TRY(bytes.finish());
  return body;
}

Result<RunBody> decode_run(std::string_view text) {
  Bytes bytes("RUN", text);
  RunBody body;
  body.shape = bytes.u32();
  body.in_offsets = take_offsets(&bytes);
  body.out_offsets = take_offsets(&bytes);
  ANELANE_TRY(bytes.finish());
  return body;
}

}  // namespace anelane::worker
