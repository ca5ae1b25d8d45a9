// What every entry point shares: the tables of handles, filling in errors, and the fences that keep
// exceptions inside and forked children out.
#pragma once
#include <anelane.h>

#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "abi/core_handles.h"
#include "abi/handle_table.h"
#include "base/fork_guard.h"
#include "base/status.h"
#include "lane/lane.h"
#include "lane/lease_operation.h"
#include "text/tokenizer.h"

namespace anelane::abi {

// An open of a lane: several may stand for one Lane.
struct OpenLane {
  std::shared_ptr<Lane> lane;
};
struct LoadedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
};

struct Tables {
  HandleTable<OpenLane, Kind::kLane> lanes;
  HandleTable<Operation, Kind::kOp> ops;
  HandleTable<LoadedTokenizer, Kind::kTokenizer> tokenizers;
  std::atomic<bool> lane_was_opened{false};  // anelane_set_log is closed from then on
};
// Never destroyed: exit() may come at any time.
Tables& tables();

// Writes `status` into *err (may be null) and returns its code.
anelane_status report(const Status& status, anelane_error* err);

// Runs the body of an entry point: refuses in a forked child, turns what is thrown into a status.
template <class Fn>
anelane_status entry(anelane_error* err, Fn&& body) noexcept {
  try {
    if (fork_guard::forked()) return report(fork_guard::check(), err);
    return report(body(), err);
  } catch (const std::bad_alloc&) {
    return report(error(Code::kOutOfMemory, "memory ran out during the call"), err);
  } catch (const std::exception& e) {
    return report(error(Code::kInternal, std::string("unexpected: ") + e.what()), err);
  }
}

inline Status null_argument(const char* name) {
  return error(Code::kInvalidArgument, std::string(name) + " must not be NULL");
}
// Blocking calls are refused inside a callback of the library: they would wait for their own thread.
Status check_may_block();

Result<std::shared_ptr<Lane>> find_lane(anelane_lane handle);
Result<std::shared_ptr<LaneModel>> find_model(anelane_model handle);
anelane_model model_handle(const LaneModel& model);
Result<uint32_t> find_rung(const LaneModel& model, uint32_t shape);

// Copies a C string into a fixed array, cut at its size.
template <size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  const size_t n = from.size() < N - 1 ? from.size() : N - 1;
  std::memcpy(to, from.data(), n);
  std::memset(to + n, 0, N - n);
}

// Structs of the caller may be of an older, shorter version: read and write min(theirs, ours) bytes.
template <class T>
Status check_struct(const T* s, const char* name, size_t least) {
  if (s->struct_size < least || s->struct_size > 4096)
    return error(Code::kInvalidArgument, std::string(name) + ".struct_size is " +
                                             std::to_string(s->struct_size) +
                                             "; set it to sizeof, or use the _init function");
  return {};
}
template <class T>
void write_struct(T* to, T from) {
  const uint32_t size = to->struct_size;
  from.struct_size = size;
  std::memcpy(to, &from, size < sizeof(T) ? size : sizeof(T));
}
template <class T>
T read_struct(const T* from, T defaults) {
  const size_t size = from->struct_size < sizeof(T) ? from->struct_size : sizeof(T);
  std::memcpy(&defaults, from, size);
  return defaults;
}

// The whole text, or the beginning that fits, with a NUL.
void give_text(const std::string& text, char* buf, size_t cap, size_t* len);

// Starts an operation whose end is announced; gives out its handle.
Status start_announced(const std::shared_ptr<Operation>& op, anelane_done_fn fn, void* user, anelane_op* out);
// Starts it, waits for its end, returns its status.
Status start_and_wait(const std::shared_ptr<Operation>& op);

}  // namespace anelane::abi
