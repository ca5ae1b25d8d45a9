// Entry points that need no lane: version, clock, names, error text, log hook.
#include "abi/entry.h"
#include "base/clock.h"
#include "base/log.h"
#include "worker/protocol.h"

using namespace anelane;
using namespace anelane::abi;

extern "C" {

ANELANE_API uint32_t anelane_abi_version(void) {
  return ANELANE_ABI_VERSION;
}

ANELANE_API const char* anelane_version(void) {
  return worker::build_id();
}

ANELANE_API uint64_t anelane_now_ns(void) {
  return now_ns();
}

ANELANE_API const char* anelane_status_name(anelane_status status) {
  const CodeInfo* info = find_code(status);
  return info != nullptr ? info->name : "UNKNOWN";
}

ANELANE_API size_t anelane_error_text(const anelane_error* e, char* buf, size_t cap) {
  std::string text;
  try {
    if (e != nullptr) {
      text = anelane_status_name(e->status);
      const std::string message(e->message, strnlen(e->message, sizeof e->message));
      if (!message.empty()) text += ": " + message;
      const auto add = [&text](const char* name, uint64_t value) {
        if (value != 0) text += std::string(" ") + name + "=" + std::to_string(value);
      };
      if (e->status != ANELANE_OK)
        text += e->error_class == ANELANE_TRANSIENT ? " [transient]" : " [permanent]";
      const std::string model(e->model, strnlen(e->model, sizeof e->model));
      if (!model.empty()) text += " model=" + model;
      add("shape", e->shape);
      if (e->item >= 0 && e->status != ANELANE_OK) text += " item=" + std::to_string(e->item);
      add("limit", e->limit);
      add("retry_after_ms", e->retry_after_ms);
      add("holder_pid", e->holder_pid);
      add("lane_id", e->lane_id);
    }
  } catch (...) {
    text.clear();
  }
  if (buf != nullptr && cap > 0) {
    const size_t n = text.size() < cap - 1 ? text.size() : cap - 1;
    std::memcpy(buf, text.data(), n);
    buf[n] = 0;
  }
  return text.size();
}

ANELANE_API anelane_status anelane_set_log(anelane_log_fn fn, void* user, anelane_log_level min_level) {
  return entry(nullptr, [&]() -> Status {
    if (tables().lane_was_opened.load())
      return error(Code::kInvalidArgument, "the log hook is set before the first lane is opened");
    if (min_level < ANELANE_LOG_DEBUG || min_level > ANELANE_LOG_OFF)
      return error(Code::kInvalidArgument, "min_level is one of ANELANE_LOG_DEBUG … ANELANE_LOG_OFF");
    set_log(fn, user, static_cast<LogLevel>(min_level));
    return {};
  });
}

}  // extern "C"
