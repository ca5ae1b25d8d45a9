// Entry points of asynchronous operations.
#include <map>
#include <vector>

#include "abi/calls.h"
#include "abi/model_options.h"

using namespace anelane;
using namespace anelane::abi;

namespace {

// The operation behind a handle, if it is of this kind and has ended well.
template <class Op>
Result<std::shared_ptr<Op>> find_ended(anelane_op handle) {
  const std::shared_ptr<Operation> op = tables().ops.find(handle.bits);
  if (!op) return error(Code::kBadHandle, "this is no operation");
  auto wanted = std::dynamic_pointer_cast<Op>(op);
  if (!wanted) return error(Code::kInvalidArgument, "this operation has no result of this kind");
  if (!op->ended()) return error(Code::kPending, "the operation has not ended yet");
  if (!op->status().ok()) return op->status();
  return wanted;
}

}  // namespace

extern "C" {

ANELANE_API anelane_status anelane_start_load(anelane_lane lane, const char* path,
                                              const anelane_model_options* options, uint64_t deadline,
                                              anelane_done_fn fn, void* user, anelane_op* out,
                                              anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LoadOperation> op, make_load(lane, path, options, deadline));
    return start_announced(op, fn, user, out);
  });
}

ANELANE_API anelane_status anelane_start_lease(anelane_model handle, uint32_t shape, uint64_t deadline,
                                               anelane_done_fn fn, void* user, anelane_op* out,
                                               anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_ready_model(handle));
    ANELANE_ASSIGN(const uint32_t rung, find_rung(*model, shape));
    return start_announced(std::make_shared<LeaseOperation>(model, rung, true, deadline), fn, user, out);
  });
}

ANELANE_API anelane_status anelane_start_run(anelane_lease handle, const anelane_tensor* in, size_t n_in,
                                             uint64_t deadline, anelane_done_fn fn, void* user,
                                             anelane_op* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    LeaseId id;
    if (!parse_lease(handle, &id)) return error(Code::kBadHandle, "this is no lease");
    ANELANE_ASSIGN(const std::vector<RunTensor> inputs, read_tensors(in, n_in, "in"));
    ANELANE_ASSIGN(const std::shared_ptr<PinnedRun> run, PinnedRun::make(id));
    if (run->model()->lane->closing()) return run->model()->lane->closed_status();
    ANELANE_TRY(check_tensors(*run, inputs, {}));
    return start_announced(std::make_shared<RunOperation>(run, inputs, true, deadline), fn, user, out);
  });
}

ANELANE_API anelane_status anelane_start_embed(anelane_model model, const anelane_tokens* items, size_t count,
                                               uint64_t deadline, anelane_done_fn fn, void* user,
                                               anelane_op* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<EmbedOperation> op, make_embed(model, items, count, deadline));
    return start_announced(op, fn, user, out);
  });
}

ANELANE_API anelane_status anelane_start_embed_texts(anelane_model model, const char* const* utf8,
                                                     size_t count, uint64_t deadline, anelane_done_fn fn,
                                                     void* user, anelane_op* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<EmbedOperation> op, make_embed_texts(model, utf8, count, deadline));
    return start_announced(op, fn, user, out);
  });
}

ANELANE_API anelane_status anelane_start_retire(anelane_model handle, uint64_t deadline, anelane_done_fn fn,
                                                void* user, anelane_op* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_model(handle));
    return start_announced(std::make_shared<RetireOperation>(model, deadline), fn, user, out);
  });
}

ANELANE_API anelane_status anelane_op_wait(anelane_op handle, uint64_t deadline, anelane_error* err) {
  return entry(err, [&]() -> Status {
    const std::shared_ptr<Operation> op = tables().ops.find(handle.bits);
    if (!op) return error(Code::kBadHandle, "this is no operation");
    if (!op->ended()) ANELANE_TRY(check_may_block());
    if (!op->wait(deadline)) return error(Code::kPending, "the operation goes on; wait again or cancel it");
    return op->status();
  });
}

ANELANE_API anelane_status anelane_op_cancel(anelane_op handle) {
  return entry(nullptr, [&]() -> Status {
    const std::shared_ptr<Operation> op = tables().ops.find(handle.bits);
    if (!op) return error(Code::kBadHandle, "this is no operation");
    op->lane()->cancel({op});
    return {};
  });
}

ANELANE_API anelane_status anelane_op_cancel_many(const anelane_op* handles, size_t count) {
  return entry(nullptr, [&]() -> Status {
    if (handles == nullptr && count != 0) return null_argument("ops");
    std::map<Lane*, std::vector<std::shared_ptr<Operation>>> of_lane;
    for (size_t i = 0; i < count; ++i)
      if (std::shared_ptr<Operation> op = tables().ops.find(handles[i].bits); op && !op->ended())
        of_lane[op->lane().get()].push_back(std::move(op));
    for (auto& [lane, ops] : of_lane) {
      const std::shared_ptr<Lane> kept = ops.front()->lane();
      kept->cancel(std::move(ops));
    }
    return {};
  });
}

ANELANE_API anelane_status anelane_op_model(anelane_op handle, anelane_model* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LoadOperation> op, find_ended<LoadOperation>(handle));
    const std::shared_ptr<LaneModel> model = op->take();
    if (!model) return error(Code::kInvalidArgument, "the model of this operation was taken already");
    *out = model_handle(*model);
    return {};
  });
}

ANELANE_API anelane_status anelane_op_lease(anelane_op handle, anelane_lease* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LeaseOperation> op, find_ended<LeaseOperation>(handle));
    LeaseId id;
    if (!op->take(&id)) return error(Code::kInvalidArgument, "the lease of this operation was taken already");
    *out = lease_handle(id);
    return {};
  });
}

ANELANE_API anelane_status anelane_op_floats(anelane_op handle, const float** data, size_t* rows,
                                             size_t* cols, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (data == nullptr) return null_argument("data");
    ANELANE_ASSIGN(const std::shared_ptr<EmbedOperation> op, find_ended<EmbedOperation>(handle));
    *data = op->floats().data();
    if (rows != nullptr) *rows = op->rows();
    if (cols != nullptr) *cols = op->dim();
    return {};
  });
}

ANELANE_API anelane_status anelane_op_output(anelane_op handle, uint32_t port, const void** data,
                                             size_t* bytes, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (data == nullptr) return null_argument("data");
    ANELANE_ASSIGN(const std::shared_ptr<RunOperation> op, find_ended<RunOperation>(handle));
    const std::vector<uint8_t>* output = op->output(port);
    if (output == nullptr)
      return error(Code::kInvalidArgument, "port " + std::to_string(port) + " is not an output of this run");
    *data = output->data();
    if (bytes != nullptr) *bytes = output->size();
    return {};
  });
}

ANELANE_API void anelane_op_release(anelane_op handle) {
  try {
    if (fork_guard::forked()) return;
    if (const std::shared_ptr<Operation> op = tables().ops.remove(handle.bits)) {
      op->drop();
      op->abandon();
    }
  } catch (...) {
    // Out of memory while dropping: the results go with the lane.
  }
}

}  // extern "C"
