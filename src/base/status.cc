// The one table of codes: name, class, whether the same request may be sent again, default delay, advice.
// A code that is not in the table cannot be reported; status_test.cc checks that the numbers are dense.
#include "base/status.h"

#include <array>

namespace anelane {
namespace {

constexpr std::array kCodes = {
    CodeInfo{Code::kOk, "OK", false, true, 0, ""},
    CodeInfo{Code::kInvalidArgument, "INVALID_ARGUMENT", false, false, 0, "correct the argument"},
    CodeInfo{Code::kBadHandle, "BAD_HANDLE", false, false, 0,
             "use a handle that this library gave out and that was not released"},
    CodeInfo{Code::kClosed, "CLOSED", false, false, 0, "open the lane again"},
    CodeInfo{Code::kLaneBusy, "LANE_BUSY", true, true, 1000,
             "wait until the other program ends, or give a deadline to wait for it"},
    CodeInfo{Code::kUnsupported, "UNSUPPORTED", false, false, 0, "this build or system cannot do it"},
    CodeInfo{Code::kModelInvalid, "MODEL_INVALID", false, false, 0,
             "repair or download the checkpoint again"},
    CodeInfo{Code::kModelUnsupported, "MODEL_UNSUPPORTED", false, false, 0,
             "use a model of a supported architecture"},
    CodeInfo{Code::kInvalidSequence, "INVALID_SEQUENCE", false, false, 0,
             "give at least one token, all inside the vocabulary"},
    CodeInfo{Code::kSequenceTooLong, "SEQUENCE_TOO_LONG", false, false, 0,
             "split the text; nothing is truncated"},
    CodeInfo{Code::kShapeUnknown, "SHAPE_UNKNOWN", false, false, 0, "ask for a shape of the model's ladder"},
    CodeInfo{Code::kShapeCompiling, "SHAPE_COMPILING", true, true, 250, "ask again after retry_after_ms"},
    CodeInfo{Code::kResourcesExhausted, "RESOURCES_EXHAUSTED", true, true, 250,
             "ask again after retry_after_ms, or release leases"},
    CodeInfo{Code::kTempSpaceLow, "TEMP_SPACE_LOW", true, true, 60000, "free space in the temp folder"},
    CodeInfo{Code::kCompileFailed, "COMPILE_FAILED", false, false, 0,
             "the engine refuses this program; see the message"},
    CodeInfo{Code::kDeadlineExceeded, "DEADLINE_EXCEEDED", true, true, 250, "give a later deadline"},
    CodeInfo{Code::kCancelled, "CANCELLED", false, true, 0, "the caller cancelled it"},
    CodeInfo{Code::kRetired, "RETIRED", false, false, 0, "load the model again"},
    CodeInfo{Code::kPaused, "PAUSED", true, true, 1000, "resume the lane"},
    CodeInfo{Code::kEngineCrashed, "ENGINE_CRASHED", true, true, 1000,
             "ask again after retry_after_ms; the message says what happened"},
    CodeInfo{Code::kEngineUnavailable, "ENGINE_UNAVAILABLE", false, false, 0, "run `anelane selftest`"},
    CodeInfo{Code::kProtocol, "PROTOCOL", true, true, 1000, "library and worker must be of one build"},
    CodeInfo{Code::kIo, "IO", false, true, 0, "see the message for the file and the reason"},
    CodeInfo{Code::kOutOfMemory, "OUT_OF_MEMORY", true, true, 1000, "free memory, or use smaller shapes"},
    CodeInfo{Code::kInternal, "INTERNAL", false, false, 0,
             "this is a defect of anelane: please report the message"},
    CodeInfo{Code::kLeaseExpired, "LEASE_EXPIRED", false, true, 0, "take a new lease"},
    CodeInfo{Code::kForked, "FORKED", false, false, 0, "call exec, or open the lane in the parent only"},
    CodeInfo{Code::kWrongThread, "WRONG_THREAD", false, false, 0,
             "do not block inside a callback of this library"},
    CodeInfo{Code::kPending, "PENDING", true, true, 0, "it goes on; wait again"},
};

const ErrorDetail& no_detail() {
  static const ErrorDetail none;
  return none;
}

}  // namespace

const CodeInfo* find_code(int32_t number) {
  for (const CodeInfo& info : kCodes)
    if (static_cast<int32_t>(info.code) == number) return &info;
  return nullptr;
}

const CodeInfo* find_code(std::string_view name) {
  for (const CodeInfo& info : kCodes)
    if (name == info.name) return &info;
  return nullptr;
}

const CodeInfo& code_info(Code code) {
  const CodeInfo* info = find_code(static_cast<int32_t>(code));
  return info != nullptr ? *info : code_info(Code::kInternal);
}

Status::Status(Code code, std::string message) : code_(code) {
  if (code == Code::kOk) return;
  const CodeInfo& info = code_info(code);
  auto detail = std::make_shared<ErrorDetail>();
  detail->message = std::move(message);
  detail->transient = info.transient;
  detail->safe_to_retry = info.safe_to_retry;
  detail->retry_after_ms = info.retry_after_ms;
  detail_ = std::move(detail);
}

const std::string& Status::message() const {
  return detail().message;
}
const ErrorDetail& Status::detail() const {
  return detail_ ? *detail_ : no_detail();
}

ErrorDetail* Status::mutable_detail() {
  if (!detail_) return nullptr;
  auto copy = std::make_shared<ErrorDetail>(*detail_);
  ErrorDetail* raw = copy.get();
  detail_ = std::move(copy);
  return raw;
}

#define ANELANE_REFINE(name, type, field)                    \
  Status&& Status::name(type value)&& {                      \
    if (ErrorDetail* d = mutable_detail()) d->field = value; \
    return std::move(*this);                                 \
  }
ANELANE_REFINE(with_retry_after, uint64_t, retry_after_ms)
ANELANE_REFINE(with_item, int64_t, item)
ANELANE_REFINE(with_limit, uint64_t, limit)
ANELANE_REFINE(with_shape, uint32_t, shape)
ANELANE_REFINE(with_model, std::string, model)
ANELANE_REFINE(with_lane, uint64_t, lane_id)
ANELANE_REFINE(with_holder, uint32_t, holder_pid)
ANELANE_REFINE(with_class, bool, transient)
ANELANE_REFINE(with_safe_to_retry, bool, safe_to_retry)
#undef ANELANE_REFINE

Status&& Status::in(std::string_view where) && {
  if (ErrorDetail* d = mutable_detail()) d->message = std::string(where) + ": " + d->message;
  return std::move(*this);
}

}  // namespace anelane
