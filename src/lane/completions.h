// Ends of operations on their way to the user: callbacks on one completion thread, made when it is first
// needed, and a queue with an event descriptor for event loops. User code runs only here, never on the lane
// thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/status.h"

namespace anelane {

class Operation;

class Completions {
 public:
  static Result<std::unique_ptr<Completions>> create();
  ~Completions();

  // True on the completion thread of any lane: blocking calls must refuse.
  static bool in_callback();

  // Makes the thread; call before anything is started that will need it.
  Status ensure_thread();
  // Runs `call` on the completion thread, or tells there that `op` has ended; in order. Any thread.
  void call(std::function<void()> call);
  void tell(std::shared_ptr<Operation> op);
  // While one lives, calls do not wake the completion thread one by one; it is woken once at the end.
  class Batch {
   public:
    explicit Batch(Completions& completions);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    Completions& completions_;
  };
  // Queues an ended operation for next_completion; the number is for forget(), 0 when it was not queued. Any
  // thread.
  uint64_t queue(std::shared_ptr<Operation> op);
  void forget(uint64_t number);                       // nobody will ask for it any more
  std::shared_ptr<Operation> take();                  // nullptr: none
  int event_fd() const { return event_read_.get(); }  // until stop()
  // Runs the calls that are left, ends the thread, drops what nobody fetched. Any thread but this one, once.
  void stop();

 private:
  Completions() = default;
  // One of the two.
  struct Call {
    std::shared_ptr<Operation> op;
    std::function<void()> call;
  };
  void add(Call call);
  void serve();
  void mark_empty();  // with mutex_ held

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call> calls_;
  int batches_ = 0;
  std::map<uint64_t, std::shared_ptr<Operation>> queued_;
  uint64_t last_number_ = 0;
  std::thread thread_;
  bool stopping_ = false;
  UniqueFd event_read_, event_write_;  // a pipe that holds one byte while queued_ is not empty
};

}  // namespace anelane
