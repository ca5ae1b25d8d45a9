// The hook is published once as a whole: a reader sees the old one or the new one, never a mix.
#include "base/log.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace anelane {
namespace {

struct Hook {
  LogFn fn = nullptr;
  void* user = nullptr;
  LogLevel min_level = LogLevel::kOff;
};

std::mutex g_mutex;
Hook g_hook;
std::atomic<int32_t> g_min_level{static_cast<int32_t>(LogLevel::kOff)};

}  // namespace

void set_log(LogFn fn, void* user, LogLevel min_level) {
  std::lock_guard lock(g_mutex);
  g_hook = {fn, user, fn == nullptr ? LogLevel::kOff : min_level};
  g_min_level.store(static_cast<int32_t>(g_hook.min_level), std::memory_order_release);
}

bool log_enabled(LogLevel level) {
  return static_cast<int32_t>(level) >= g_min_level.load(std::memory_order_acquire) &&
         level != LogLevel::kOff;
}

void log_line(LogLevel level, std::string_view line) {
  if (!log_enabled(level)) return;
  Hook hook;
  {
    std::lock_guard lock(g_mutex);
    hook = g_hook;
  }
  if (hook.fn == nullptr || level < hook.min_level) return;
  const std::string text(line);
  hook.fn(hook.user, static_cast<int32_t>(level), text.c_str());
}

}  // namespace anelane
