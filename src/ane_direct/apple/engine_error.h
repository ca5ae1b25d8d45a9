// What the framework's errors mean. One table (engine_error.cc) for both generations of the system.
#pragma once
#include <cstdint>
#include <string>

#include "ane_direct/apple/foundation.h"
#include "base/status.h"

namespace anelane::apple {

enum class Stage : uint8_t { kCompile, kLoad, kRun, kUnload };

// An NSError as text, copied out while its pool was alive.
struct EngineError {
  std::string domain;
  int64_t code = 0;
  std::string text;  // its own words and those of the errors below it
};

// nil: the framework refused without a reason.
EngineError read_error(const Foundation& foundation, Id error);
// Our code, with a hint at what to do, and the original behind it.
Status classify(Stage stage, const EngineError& error);
// The system's file check refused what was staged (in-memory route: code 10).
bool is_staging_refusal(const EngineError& error);

}  // namespace anelane::apple
