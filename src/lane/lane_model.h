// A model of the lane. What callers need is immutable after the load or behind `mutex`; the rest belongs to
// the lane thread and is marked so.
//
// States: loading → ready → retiring → retired. A worker that dies leaves the model `ready`: its requests
// wait or are answered by the scheduler's rules until the replacement is up.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "lane/model_core.h"
#include "lane/options.h"
#include "lane/worker_link.h"
#include "lane/worker_stream.h"
#include "models/model.h"
#include "text/tokenizer.h"
#include "worker/protocol.h"

namespace anelane {

class Lane;

class LaneModel {
 public:
  enum class Phase { kLoading, kReady, kRetiring, kRetired };

  LaneModel(std::shared_ptr<Lane> owner, std::string folder, ModelOptions opts)
      : lane(std::move(owner)), path(std::move(folder)), options(std::move(opts)) {}

  const std::shared_ptr<Lane> lane;
  const std::string path;
  const ModelOptions options;

  // ---- set by the load, immutable afterwards ----
  ModelCore* core = nullptr;
  uint64_t core_generation = 0;
  std::string name;
  ModelSummary summary;  // from the headers; the worker's report must agree
  std::string engine, vector_space;
  uint64_t bay_bytes = 0;
  std::shared_ptr<const std::string> pack;  // of a model that was given in memory; for every worker anew

  // What the files say, read by the thread that launches the first worker, which takes as long as the files
  // are large; looks at `abort` meanwhile. take_headers (lane thread) makes it the model's.
  struct Headers {
    ModelSummary summary;
    uint64_t bay_bytes = 0;
  };
  using ReadHeaders = std::function<Result<Headers>(const std::atomic<bool>& abort)>;
  ReadHeaders read_headers;  // gone with the first launch
  void take_headers(Headers headers);

  // ---- any thread ----
  std::atomic<Phase> phase{Phase::kLoading};
  std::atomic<uint32_t> cached_rungs{0};
  std::shared_ptr<WorkerStream> stream() const {
    std::lock_guard lock(mutex_);
    return stream_;
  }
  void set_stream(std::shared_ptr<WorkerStream> stream) {
    std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
  }
  // The checkpoint's tokenizer, loaded by the first caller.
  Result<std::shared_ptr<const Tokenizer>> tokenizer();
  void drop_tokenizer();
  // L2.3 on the host, before anything is admitted or sent.
  Status check_sequence(std::span<const int32_t> ids, int64_t item) const;
  Status with_names(Status status, uint32_t rung) const;  // adds model, shape, lane

  // ---- lane thread ----
  sched::WorkerId worker = 0;
  sched::Generation generation = 0;  // of the link
  std::shared_ptr<WorkerLink> link;
  std::vector<std::function<void(Status)>> on_retired;
  bool asked_for_idle = false;       // of the present stream
  std::vector<Status> last_failure;  // one for each rung: the worker's own words
  std::string last_fault;            // why the last worker broke off, or its replacement did not start
  bool files_changed = false;        // the last replacement read another model than the first worker did
  std::string crash_key;             // in the crash book; "": it is not kept there
  struct Admission {                 // what is on its way to the worker or running there
    uint64_t exchange = 0;
    sched::Time predicted = sched::kUnknown;
    uint64_t sent_ns = 0;
  };
  std::vector<Admission> admissions;  // one for each rung
  std::vector<uint64_t> evictions;    // exchange ids, one for each rung; 0: none

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<WorkerStream> stream_;
  std::mutex tokenizer_mutex_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace anelane
