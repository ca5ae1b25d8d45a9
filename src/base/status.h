// Errors as values. A Status is a code and, when it is not OK, the details that the user needs: what
// happened, what to do, and which model, shape, item or limit it is about. Cheap when OK (one word).
// Values: copyable, no lifetimes. Threads: a Status belongs to whoever holds it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace anelane {

// The numbers are the ABI's (include/anelane.h) and never reused.
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kBadHandle = 2,
  kClosed = 3,
  kLaneBusy = 4,
  kUnsupported = 5,
  kModelInvalid = 6,
  kModelUnsupported = 7,
  kInvalidSequence = 8,
  kSequenceTooLong = 9,
  kShapeUnknown = 10,
  kShapeCompiling = 11,
  kResourcesExhausted = 12,
  kTempSpaceLow = 13,
  kCompileFailed = 14,
  kDeadlineExceeded = 15,
  kCancelled = 16,
  kRetired = 17,
  kPaused = 18,
  kEngineCrashed = 19,
  kEngineUnavailable = 20,
  kProtocol = 21,
  kIo = 22,
  kOutOfMemory = 23,
  kInternal = 24,
  kLeaseExpired = 25,
  kForked = 26,
  kWrongThread = 27,
  kPending = 28,
};

// What every code means by default; one table (status.cc).
struct CodeInfo {
  Code code;
  const char* name;
  bool transient;
  bool safe_to_retry;
  uint32_t retry_after_ms;
  const char* advice;  // what the user can do
};
const CodeInfo& code_info(Code code);
const CodeInfo* find_code(int32_t number);         // nullptr: not a code of this build
const CodeInfo* find_code(std::string_view name);  // "SHAPE_COMPILING"; nullptr: unknown

struct ErrorDetail {
  std::string message;
  bool transient = false;
  bool safe_to_retry = false;
  uint64_t retry_after_ms = 0;
  uint64_t lane_id = 0;
  uint64_t limit = 0;
  int64_t item = -1;  // -1: none
  uint32_t shape = 0;
  uint32_t holder_pid = 0;
  std::string model;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const;
  const ErrorDetail& detail() const;  // of an OK status: all defaults

  // Chainable refinements; no-ops on OK.
  Status&& with_retry_after(uint64_t ms) &&;
  Status&& with_item(int64_t item) &&;
  Status&& with_limit(uint64_t limit) &&;
  Status&& with_shape(uint32_t shape) &&;
  Status&& with_model(std::string model) &&;
  Status&& with_lane(uint64_t lane_id) &&;
  Status&& with_holder(uint32_t pid) &&;
  Status&& with_class(bool transient) &&;
  Status&& with_safe_to_retry(bool safe) &&;
  // "reading config.json: …": puts the place in front of the message.
  Status&& in(std::string_view where) &&;

 private:
  ErrorDetail* mutable_detail();  // copies on write
  Code code_ = Code::kOk;
  std::shared_ptr<const ErrorDetail> detail_;
};

inline Status error(Code code, std::string message) {
  return Status(code, std::move(message));
}

// A T or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok())
      status_ = Status(Code::kInternal, "a Result was made from an OK status without a value");
  }
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

// Leaves the function with the error of `expr`, if it has one.
#define ANELANE_TRY(expr)                                    \
  do {                                                       \
    ::anelane::Status anelane_try_status = (expr);           \
    if (!anelane_try_status.ok()) return anelane_try_status; \
  } while (0)
#define ANELANE_JOIN2(a, b) a##b
#define ANELANE_JOIN(a, b) ANELANE_JOIN2(a, b)
// ANELANE_ASSIGN(auto x, f()): x is the value of f(), or the function returns its error.
#define ANELANE_ASSIGN(lhs, expr)                                       \
  auto ANELANE_JOIN(anelane_result_, __LINE__) = (expr);                \
  if (!ANELANE_JOIN(anelane_result_, __LINE__).ok())                    \
    return std::move(ANELANE_JOIN(anelane_result_, __LINE__)).status(); \
  lhs = *std::move(ANELANE_JOIN(anelane_result_, __LINE__))

}  // namespace anelane
