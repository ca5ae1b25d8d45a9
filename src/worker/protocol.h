// Worker protocol v3. One stream of frames each way between the lane and a worker:
//
//   u32 length (little endian, of what follows, at most 1 MiB) · u8 type · u64 request id · body
//
// Rare frames carry JSON, the frames of inference a fixed binary body. Tensors never travel in frames: they
// lie in the arena (arena.h), at offsets that the host chose; offsets in replies do not exist. Every request
// gets exactly one reply with its id (LOADED, ADMITTED, EVICTED, EMBEDDED, RAN or FAILED); PROGRESS frames
// may come before the reply of an ADMIT. Unknown JSON members are ignored, missing optional ones have
// defaults (L8.5).
//
// A second socket, the control channel, carries PING → PONG and STOP while the stream is busy, and its end
// tells the worker that the owner is gone.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace anelane::worker {

enum class FrameType : uint8_t {
  kInit = 1,       // host → worker, JSON InitBody: first frame
  kHello = 2,      // worker → host, JSON HelloBody: answers INIT
  kLoad = 3,       // JSON LoadBody
  kLoaded = 4,     // JSON LoadedBody
  kAdmit = 5,      // JSON {"shape"}
  kProgress = 6,   // JSON {"shape", "layer", "layers", "ms_left"?}
  kAdmitted = 7,   // JSON AdmittedBody
  kEvict = 8,      // JSON {"shape"}
  kEvicted = 9,    // JSON {"shape"}
  kEmbed = 10,     // binary EmbedBody
  kEmbedded = 11,  // binary EmbeddedBody
  kRun = 12,       // binary RunBody
  kRan = 13,       // empty
  kFailed = 14,    // JSON of a Status: the worker's answer is an error; nothing is unknown
  kPing = 15,      // control channel, empty
  kPong = 16,      // control channel, JSON PongBody
  kStop = 17,      // either channel, empty: end in good order
};

struct Frame {
  FrameType type = FrameType::kPing;
  uint64_t request = 0;
  std::string body;
};

// The bytes of a frame on the wire.
std::string encode_frame(const Frame& frame);
// INVALID_ARGUMENT when the body is too large for a frame.
Status check_frame_size(const Frame& frame);

// Takes bytes as they come, gives frames. A length beyond the limit, or below the header's, or an unknown
// type is PROTOCOL; after an error the stream is of no further use.
class FrameReader {
 public:
  void feed(std::span<const uint8_t> bytes);
  // The next whole frame; nullopt: more bytes are needed.
  Result<std::optional<Frame>> next();
  bool empty() const { return buffer_.size() == begin_; }

 private:
  std::string buffer_;
  size_t begin_ = 0;
};

// ---- JSON bodies ----
struct InitBody {
  uint32_t version = 0;  // protocol version
  std::string nonce;     // HELLO must repeat it
  std::string build;     // HELLO must be of the same build
  std::string engine;    // "soft", "apple" or "auto"
  std::string cache_dir, temp_dir, numerics, signing_identifier, profile_dir;
  std::string apple_route, mil_dialect;  // of the Neural Engine; "": by the system
  bool in_host = false;                  // thread mode: the worker is no process of its own
  uint32_t soft_threads = 0;
  uint64_t arena_bytes = 0;
};
struct HelloBody {
  uint32_t version = 0;
  std::string nonce, build;
  std::string engine;  // the one that really runs
  std::string numerics, dispatch, os_build;
  uint32_t pool_limit = 0;
  int64_t pid = 0;
};
struct LoadBody {
  std::string path, name;
  std::vector<uint32_t> rungs;    // empty: default ladder
  uint32_t shapes_per_model = 0;  // how many may be resident at once (L2.4); 0: the host did not say
  // A packed program (models/program_pack.h) at the arena's beginning; 0: `path` is it.
  uint64_t pack_bytes = 0;
};
struct LoadedBody {
  int32_t kind = 0;  // ModelKind
  std::string architecture;
  uint32_t dim = 0, width = 0, ceiling = 0, layers = 0, vocab = 0;
  std::vector<uint32_t> ladder;
  std::optional<std::vector<uint32_t>>
      cached_shapes;  // "ane_cached_shapes"; absent: the worker does not know
  std::string checkpoint_digest, conversion;
  uint64_t host_bytes = 0;
  double check_ms = 0;  // of the compile cache check (L8.4)
};
struct AdmittedBody {
  uint32_t shape = 0;
  std::optional<uint32_t> cache_hit_layers, compiled_layers;  // absent: the worker does not know
  double total_ms = 0;
};

Json to_json(const InitBody& body);
Json to_json(const HelloBody& body);
Json to_json(const LoadBody& body);
Json to_json(const LoadedBody& body);
Json to_json(const AdmittedBody& body);
Json to_json(const Status& status);  // FAILED
Json shape_json(uint32_t shape);     // ADMIT, EVICT, EVICTED
// Wrong or missing members are PROTOCOL errors that name the frame and the member.
Result<InitBody> parse_init(std::string_view body);
Result<HelloBody> parse_hello(std::string_view body);
Result<LoadBody> parse_load(std::string_view body);
Result<LoadedBody> parse_loaded(std::string_view body);
Result<AdmittedBody> parse_admitted(std::string_view body);
Result<uint32_t> parse_shape(std::string_view body);  // ADMIT, EVICT, EVICTED
struct ProgressBody {
  uint32_t shape = 0, layer = 0, layers = 0;
};
Json to_json(const ProgressBody& body);
Result<ProgressBody> parse_progress(std::string_view body);
// What the engine thread does while a PING is answered: how long it has been at it (0: idle), for which
// request, and how many layers it has run for it.
struct PongBody {
  uint64_t busy_ms = 0, request = 0, steps = 0;
};
Json to_json(const PongBody& body);
Result<PongBody> parse_pong(std::string_view body);
// Puts the error that FAILED carries into *failed; the return value is about the frame itself.
Status parse_failed(std::string_view body, Status* failed);

// ---- binary bodies (little endian, packed in the order of the fields) ----
// A group of sequences of one rung. The ids lie one after the other as int32 from ids_offset; sequence i has
// lengths[i] of them. The results go to out_offset: count rows of dim floats.
struct EmbedBody {
  uint32_t shape = 0;
  uint64_t ids_offset = 0, out_offset = 0;
  std::vector<uint32_t> lengths;
};
struct EmbeddedBody {
  uint32_t count = 0, dim = 0;
};
// One evaluation of all layers at a shape: the input ports (activations, mask) and the output port in the
// engine's layout, at these arena offsets.
struct RunBody {
  uint32_t shape = 0;
  std::vector<uint64_t> in_offsets, out_offsets;
};
std::string encode(const EmbedBody& body);
std::string encode(const EmbeddedBody& body);
std::string encode(const RunBody& body);
Result<EmbedBody> decode_embed(std::string_view body);
Result<EmbeddedBody> decode_embedded(std::string_view body);
Result<RunBody> decode_run(std::string_view body);

// "0.1.0+<hash>": library and worker must carry the same one.
const char* build_id();

}  // namespace anelane::worker
