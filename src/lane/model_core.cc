// The pool is a fixed table of pointers, filled as cores are needed, and a list of free ones. It is one of
// the few process-wide objects; it has no destructor, so exit() with a lane open frees nothing under anybody.
#include "lane/model_core.h"

#include <vector>

namespace anelane {

std::array<std::atomic<ModelCore*>, kMaxCores> g_cores{};

namespace {

std::mutex g_mutex;
std::vector<uint32_t>* g_free = nullptr;  // guarded by g_mutex; never destroyed
uint32_t g_made = 0;                      // guarded by g_mutex

}  // namespace

ModelCore* claim_core() {
  std::lock_guard lock(g_mutex);
  if (g_free == nullptr) g_free = new std::vector<uint32_t>;
  ModelCore* core = nullptr;
  if (!g_free->empty()) {
    core = core_at(g_free->back());
    g_free->pop_back();
  } else {
    if (g_made == kMaxCores) return nullptr;
    core = new ModelCore;
    core->index = g_made;
    g_cores[g_made++].store(core, std::memory_order_release);
  }
  core->generation.fetch_add(1, std::memory_order_acq_rel);
  return core;
}

void return_core(ModelCore* core) {
  core->generation.fetch_add(1, std::memory_order_acq_rel);
  std::lock_guard lock(g_mutex);
  g_free->push_back(core->index);
}

}  // namespace anelane
