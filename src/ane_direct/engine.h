// The seam between the lane and any hardware: identify · probe · compile · load · run · unload.
// Two implementations: soft/ (in software) and apple/ (the private framework). An Engine belongs to one
// worker; all calls come from that worker's engine thread, one at a time. Every call may block: compile
// for seconds, waiting for the machine-wide compiler included. Nothing here throws.
//
// Errors: COMPILE_FAILED (deterministic: bad program, unsupported op), RESOURCES_EXHAUSTED (no room for one
// more live program on the machine), TEMP_SPACE_LOW, ENGINE_UNAVAILABLE, IO, OUT_OF_MEMORY.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ane_direct/mil_dialect.h"
#include "ane_direct/program.h"
#include "ane_direct/shape.h"
#include "base/status.h"

namespace anelane {

enum class Dtype : int32_t { kF16 = 1, kF32 = 2, kI32 = 3, kI8 = 4, kU8 = 5 };
size_t dtype_size(Dtype dtype);

// One input or output of a loaded program, in the engine's own layout: element (n,c,h,w) at the sum of
// index × stride; the last axis is padded so that each row starts at a multiple of 64 bytes.
struct Port {
  std::string name;
  Dtype dtype = Dtype::kF16;
  std::vector<uint64_t> dims;     // elements, at most 5
  std::vector<uint64_t> strides;  // bytes, one for each dim
  uint64_t bytes = 0;             // of the whole buffer
};

// A dense port of this shape (rank 1 at least) in that layout.
Port make_port(std::string name, Dtype dtype, const Shape& shape);
const char* dtype_name(Dtype dtype);      // "fp16", as MIL text has it
std::string port_text(const Port& port);  // "fp16 [1, 64, 1, 128]"
// Zeroes what lies between the elements of a row and the next row, in a buffer of this port.
void clear_padding(const Port& port, void* data);

class EngineMemory;

// A buffer in the port's layout. It must stay valid for the call only.
struct Buffer {
  void* data = nullptr;
  uint64_t bytes = 0;
  EngineMemory* memory = nullptr;  // whose it is; nullptr: anybody's, which an engine may have to copy
};

// Memory that an engine reads and writes where it lies (Engine::allocate): 64-byte aligned, zero at first.
// The CPU touches it between begin_access and end_access only, and no program runs on it meanwhile.
class EngineMemory {
 public:
  enum class Access : uint8_t { kRead, kWrite };
  virtual ~EngineMemory() = default;
  virtual Buffer buffer() = 0;
  virtual Status begin_access(Access access) = 0;
  virtual Status end_access(Access access) = 0;
};

// A program that occupies the engine. Destroying it unloads.
class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  virtual std::span<const Port> inputs() const = 0;   // sorted by name, as the engine binds them
  virtual std::span<const Port> outputs() const = 0;  // sorted by name
  // One evaluation. Buffers in the order of inputs() and outputs(); sizes are checked.
  virtual Status run(std::span<const Buffer> in, std::span<const Buffer> out) = 0;
};

struct EngineInfo {
  std::string name;         // "soft", "apple": the one that really runs
  std::string os_build;     // part of the daemon's cache key
  std::string numerics;     // profile that ran: "fast", "lattice", "hardware"
  std::string dispatch;     // CPU kernels in use where that matters for bits ("avx512", …); "" else
  uint32_t pool_limit = 0;  // live programs that fit on the machine
  MilDialect dialect = MilDialect::kIos18;  // what its compiler is to be given
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineInfo info() const = 0;
  // The daemon's name for the program (content_id.h).
  virtual std::string identify(const Program& program) const = 0;
  // What the compiler would say of the program, as far as that can be known without compiling it: an engine
  // that cannot know says OK.
  virtual Status check(const Program&) const { return {}; }
  // Does the daemon hold it compiled? Never compiles, never fails: an unusable entry is "no".
  virtual bool probe(const std::string& id) = 0;
  // Compiles and leaves the result with the daemon. Needs temp space.
  virtual Status compile(const std::string& id, const Program& program) = 0;
  // Loads what the daemon holds under `id`; IO if it holds nothing usable (the caller then compiles).
  virtual Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) = 0;
  // The same two for a caller that has the program at hand, which some daemons want to see again.
  virtual bool probe_program(const std::string& id, const Program&) { return probe(id); }
  virtual Result<std::unique_ptr<LoadedProgram>> load_program(const std::string& id, const Program&) {
    return load(id);
  }
  // Memory for ports of at most this size. Plain memory, unless the engine wants its own.
  virtual Result<std::unique_ptr<EngineMemory>> allocate(uint64_t bytes);
  // True: run() copies buffers that are not from allocate().
  virtual bool copies_foreign_memory() const { return false; }
  // Free bytes where compiles put their temporary files (L8.2).
  virtual Result<uint64_t> temp_space() = 0;
};

}  // namespace anelane
