#include "abi/entry.h"

#include <algorithm>

#include "base/fit_message.h"
#include "lane/model_core.h"

namespace anelane::abi {

Tables& tables() {
  static Tables* all = new Tables;
  return *all;
}

anelane_status report(const Status& status, anelane_error* err) {
  const auto code = static_cast<anelane_status>(status.code());
  if (err == nullptr || err->struct_size < sizeof(uint32_t) + sizeof(anelane_status)) return code;
  const ErrorDetail& d = status.detail();
  anelane_error e{};
  e.status = code;
  e.error_class = d.transient ? ANELANE_TRANSIENT : ANELANE_PERMANENT;
  e.safe_to_retry = d.safe_to_retry ? 1 : 0;
  e.retry_after_ms = d.retry_after_ms;
  e.lane_id = d.lane_id;
  e.limit = d.limit;
  e.item = d.item;
  e.shape = d.shape;
  e.holder_pid = d.holder_pid;
  copy_text(e.model, d.model);
  copy_text(e.message, fit_message(d.message, sizeof e.message - 1));
  write_struct(err, e);
  return code;
}

Status check_may_block() {
  if (!Completions::in_callback()) return {};
  return error(Code::kWrongThread,
               "this call blocks and was made in a callback; start the asynchronous form, or call from "
               "another thread");
}

Result<std::shared_ptr<Lane>> find_lane(anelane_lane handle) {
  const auto open = tables().lanes.find(handle.bits);
  if (!open) return error(Code::kBadHandle, "this is no open lane");
  if (open->lane->closing()) return open->lane->closed_status();
  return open->lane;
}

Result<std::shared_ptr<LaneModel>> find_model(anelane_model handle) {
  ModelCore* core = find_core(handle);
  auto model = core != nullptr ? core->lock_model() : nullptr;
  if (!model || (model->core_generation & kGenerationMask) != generation_of(handle.bits))
    return error(Code::kBadHandle, "this is no loaded model");
  if (model->lane->closing()) return model->lane->closed_status();
  return model;
}

anelane_model model_handle(const LaneModel& model) {
  return {make_bits(Kind::kModel, model.core_generation, model.core->index)};
}

Result<uint32_t> find_rung(const LaneModel& model, uint32_t shape) {
  for (uint32_t i = 0; i < model.summary.ladder.size(); ++i)
    if (model.summary.ladder[i] == shape) return i;
  std::string ladder;
  for (const uint32_t s : model.summary.ladder) ladder += (ladder.empty() ? "" : ", ") + std::to_string(s);
  return error(Code::kShapeUnknown,
               "shape " + std::to_string(shape) + " is not on the ladder of " + model.name + ": " + ladder)
      .with_shape(shape)
      .with_model(model.name);
}

Status start_announced(const std::shared_ptr<Operation>& op, anelane_done_fn fn, void* user,
                       anelane_op* out) {
  if (fn != nullptr) ANELANE_TRY(op->lane()->completions().ensure_thread());
  const uint64_t bits = tables().ops.insert(op);
  if (bits == 0) return error(Code::kResourcesExhausted, "too many operations; release some");
  out->bits = bits;  // before the callback can run
  Operation::DoneFn done;
  if (fn != nullptr)
    done = [fn, user](uint64_t op_bits, int32_t status) { fn(user, anelane_op{op_bits}, status); };
  op->announce(std::move(done), user, bits);
  if (op->start()) return {};
  tables().ops.remove(bits);
  out->bits = 0;
  return op->lane()->closed_status();
}

Status start_and_wait(const std::shared_ptr<Operation>& op) {
  if (!op->start()) return op->lane()->closed_status();
  op->wait(UINT64_MAX);  // bounded: every operation ends by its own deadline or the lane's bounds
  return op->status();
}

void give_text(const std::string& text, char* buf, size_t cap, size_t* len) {
  if (len != nullptr) *len = text.size();
  if (cap == 0) return;
  const size_t n = std::min(text.size(), cap - 1);
  std::memcpy(buf, text.data(), n);
  buf[n] = 0;
}

}  // namespace anelane::abi
