// Entry points of residency: predict, admit, lease, map, release, run.
#include "abi/calls.h"

using namespace anelane;
using namespace anelane::abi;

namespace {

// Apart from the fast path, so that its many variables cost that nothing.
[[gnu::noinline]] anelane_status acquire_queued(anelane_model handle, uint32_t shape, uint64_t deadline,
                                                anelane_lease* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_ready_model(handle));
    ANELANE_ASSIGN(const uint32_t rung, find_rung(*model, shape));
    const auto op = std::make_shared<LeaseOperation>(model, rung, true, deadline);
    ANELANE_TRY(start_and_wait(op));
    LeaseId id;
    if (!op->take(&id)) return error(Code::kInternal, "a granted lease was lost");
    *out = lease_handle(id);
    return {};
  });
}

}  // namespace

extern "C" {

ANELANE_API anelane_status anelane_predict(anelane_model handle, uint32_t shape, uint64_t* ready_in_ms,
                                           anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (ready_in_ms == nullptr) return null_argument("ready_in_ms");
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_ready_model(handle));
    ANELANE_ASSIGN(const uint32_t rung, find_rung(*model, shape));
    uint64_t ms = 0;
    ANELANE_TRY(model->lane->on_lane_thread([&] { ms = model->lane->driver().predict_ms(*model, rung); }));
    *ready_in_ms = ms;
    return {};
  });
}

ANELANE_API anelane_status anelane_admit(anelane_model handle, uint32_t shape, uint64_t deadline,
                                         anelane_error* err) {
  return entry(err, [&]() -> Status {
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_ready_model(handle));
    ANELANE_ASSIGN(const uint32_t rung, find_rung(*model, shape));
    return start_and_wait(std::make_shared<LeaseOperation>(model, rung, false, deadline));
  });
}

ANELANE_API anelane_status anelane_lease_acquire(anelane_model handle, uint32_t shape, uint64_t deadline,
                                                 anelane_lease* out, anelane_error* err) {
  if (out != nullptr && !fork_guard::forked()) {
    // The fast path, with nothing around it.
    if (ModelCore* core = find_core(handle)) {
      const uint32_t rung = core->rung_of(shape);
      LeaseId id;
      if (rung != ModelCore::kNoRung && lease_resident(*core, rung, &id)) {
        // The core may have changed hands since it was found; then the lease is of somebody else's shape.
        if (means(*core, handle)) {
          *out = lease_handle(id);
          report_ok(err);
          return ANELANE_OK;
        }
        release_lease(id);
      }
    }
  }
  return acquire_queued(handle, shape, deadline, out, err);
}

ANELANE_API anelane_status anelane_lease_map(anelane_lease handle, uint32_t port, anelane_tensor* out,
                                             anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    LeaseId id;
    if (!parse_lease(handle, &id)) return error(Code::kBadHandle, "this is no lease");
    ANELANE_ASSIGN(const RunTensor mapped, map_port(id, port));
    *out = {mapped.data, mapped.bytes, mapped.port, 0};
    return {};
  });
}

ANELANE_API void anelane_lease_release(anelane_lease handle) {
  LeaseId id;
  if (parse_lease(handle, &id) && !fork_guard::forked()) release_lease(id);
}

ANELANE_API anelane_status anelane_run(anelane_lease handle, const anelane_tensor* in, size_t n_in,
                                       const anelane_tensor* out, size_t n_out, uint64_t deadline,
                                       anelane_error* err) {
  return entry(err, [&]() -> Status {
    ANELANE_TRY(check_may_block());
    LeaseId id;
    if (!parse_lease(handle, &id)) return error(Code::kBadHandle, "this is no lease");
    ANELANE_ASSIGN(const std::vector<RunTensor> inputs, read_tensors(in, n_in, "in"));
    ANELANE_ASSIGN(const std::vector<RunTensor> outputs, read_tensors(out, n_out, "out"));
    ANELANE_ASSIGN(const std::shared_ptr<PinnedRun> run, PinnedRun::make(id));
    if (run->model()->lane->closing()) return run->model()->lane->closed_status();
    ANELANE_TRY(check_tensors(*run, inputs, outputs));
    return run_here(run, inputs, outputs, deadline);
  });
}

}  // extern "C"
