// A request to the engine's service: a method that returns BOOL and leaves an NSError.
#pragma once
#include "ane_direct/apple/engine_error.h"
#include "ane_direct/apple/framework.h"
#include "base/log.h"

namespace anelane::apple {

// In a pool of its own; the error's words are copied out before the pool ends. *kept: the error as it came.
template <class Call>
Status ask(const Framework& fw, Stage stage, const char* what, Call call, EngineError* kept = nullptr) {
  return fw.guarded(what, [&]() -> Status {
    Id problem = nullptr;
    if (call(&problem) != 0) return {};
    const EngineError found = read_error(Foundation(fw), problem);
    if (kept != nullptr) *kept = found;
    return classify(stage, found);
  });
}

// A program that stays loaded keeps its place on the engine until this process ends: an unload that fails is
// tried once more, and then only reported.
template <class Unload>
void unload_twice(Unload unload) {
  Status status = unload();
  if (!status.ok()) status = unload();
  if (!status.ok()) log_line(LogLevel::kWarn, status.message());
}

}  // namespace anelane::apple
