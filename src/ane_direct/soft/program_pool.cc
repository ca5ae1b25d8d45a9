// Place i of the pool is byte i of <cache_dir>/programs.pool, taken by an open-file-description lock on that
// byte: the kernel keeps the count and takes back what a dead process held, at once and without a sweep. Such
// locks of one description never conflict with each other, so our own places are also kept in a list.
// (Plain record locks would be dropped when anybody in the process closes the file.)
//
// Threads: programs may be unloaded on another thread than the one that loads; a mutex guards the list.
#include "ane_direct/soft/program_pool.h"

#include <fcntl.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/log.h"

namespace anelane::soft {

struct ProgramPool::State {
  std::mutex mutex;
  std::vector<bool> mine;  // places that this engine holds
  UniqueFd file;           // none: only our own programs are counted
  std::string path;

  // True: the byte is ours now. False: another description holds it.
  bool lock(uint32_t index) {
    if (!file) return true;
#if defined(F_OFD_SETLK)
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = index;
    range.l_len = 1;
    if (::fcntl(file.get(), F_OFD_SETLK, &range) == 0) return true;
    if (errno == EAGAIN || errno == EACCES) return false;
    log_line(LogLevel::kWarn,
             io_error("lock", path, errno).message() + "; programs of other processes are not counted");
    file.reset();
#endif
    return true;
  }
  void unlock(uint32_t index) {
    if (!file) return;
#if defined(F_OFD_SETLK)
    struct flock range {};
    range.l_type = F_UNLCK;
    range.l_whence = SEEK_SET;
    range.l_start = index;
    range.l_len = 1;
    (void)::fcntl(file.get(), F_OFD_SETLK, &range);
#endif
  }
};

ProgramPool::ProgramPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProgramPool::~ProgramPool() = default;

std::shared_ptr<ProgramPool> ProgramPool::open(const std::string& cache_dir, uint32_t limit) {
  auto state = std::make_unique<State>();
  state->mine.resize(limit);
  state->path = join_path(cache_dir, "programs.pool");
  state->file = above_stdio(
      UniqueFd(::open(state->path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)));
  if (!state->file)
    log_line(LogLevel::kWarn, io_error("open", state->path, errno).message() +
                                  "; programs of other processes are not counted");
  return std::shared_ptr<ProgramPool>(new ProgramPool(std::move(state)));
}

uint32_t ProgramPool::limit() const {
  return static_cast<uint32_t>(state_->mine.size());
}

Result<ProgramPool::Slot> ProgramPool::take() {
  const std::lock_guard lock(state_->mutex);
  for (uint32_t i = 0; i < state_->mine.size(); ++i) {
    if (state_->mine[i] || !state_->lock(i)) continue;
    state_->mine[i] = true;
    return Slot(shared_from_this(), i);
  }
  return error(Code::kResourcesExhausted, "program load failure: no ANE resources, all " +
                                              std::to_string(limit()) +
                                              " programs of this machine are in use (underlying=0x5)")
      .with_limit(limit());
}

void ProgramPool::give(uint32_t index) {
  const std::lock_guard lock(state_->mutex);
  state_->mine[index] = false;
  state_->unlock(index);
}

ProgramPool::Slot::~Slot() {
  if (pool_ != nullptr) pool_->give(index_);
}

}  // namespace anelane::soft
