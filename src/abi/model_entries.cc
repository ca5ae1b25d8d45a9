// Entry points of models: inspect, load, retire, info, ports.
#include <algorithm>

#include "abi/entry.h"
#include "abi/model_options.h"
#include "lane/load_operation.h"
#include "lane/port_layout.h"

using namespace anelane;
using namespace anelane::abi;

namespace anelane::abi {
namespace {

constexpr size_t kModelOptionsV1 = offsetof(anelane_model_options, reserved);

void fill_info(const ModelSummary& m, anelane_model_info* to) {
  to->kind = static_cast<anelane_model_kind>(m.kind);
  to->dim = m.dim;
  to->ceiling = m.ceiling;
  to->layers = m.layers;
  to->rung_count = static_cast<uint32_t>(m.ladder.size());
  std::copy(m.ladder.begin(), m.ladder.end(), to->rungs);
  to->host_bytes = m.host_bytes;
  copy_text(to->architecture, m.architecture);
}

}  // namespace

Result<ModelOptions> read_model_options(const anelane_model_options* from) {
  ModelOptions to;
  if (from == nullptr) return to;
  ANELANE_TRY(check_struct(from, "options", kModelOptionsV1));
  const anelane_model_options o = read_struct(from, anelane_model_options{});
  if (o.flags != 0 || o.reserved0 != 0) return error(Code::kInvalidArgument, "flags and reserved0 must be 0");
  for (const uint64_t r : o.reserved)
    if (r != 0)
      return error(Code::kInvalidArgument, "reserved members must be 0; use anelane_model_options_init");
  if (o.rung_count > limits::kMaxRungs)
    return error(Code::kInvalidArgument, "rung_count is " + std::to_string(o.rung_count) + "; at most " +
                                             std::to_string(limits::kMaxRungs) + " rungs are served")
        .with_limit(limits::kMaxRungs);
  if (o.rung_count > 0 && o.rungs == nullptr) return null_argument("options.rungs");
  if (o.rung_count > 0) to.rungs.assign(o.rungs, o.rungs + o.rung_count);
  if (o.name != nullptr) to.name = o.name;
  if (o.numerics != nullptr) to.numerics = o.numerics;
  if (!to.numerics.empty() && to.numerics != "fast" && to.numerics != "lattice")
    return error(Code::kInvalidArgument,
                 "numerics is \"" + to.numerics + "\"; it must be \"fast\" or \"lattice\"");
  to.progress = o.progress;
  to.progress_user = o.progress_user;
  return to;
}

Result<std::shared_ptr<LoadOperation>> make_load(anelane_lane handle, const char* path,
                                                 const anelane_model_options* options, uint64_t deadline) {
  if (path == nullptr) return null_argument("path");
  ANELANE_ASSIGN(std::shared_ptr<Lane> lane, find_lane(handle));
  ANELANE_ASSIGN(ModelOptions wanted, read_model_options(options));
  if (wanted.progress != nullptr) ANELANE_TRY(lane->completions().ensure_thread());
  return LoadOperation::make(std::move(lane), path, wanted, deadline);
}

}  // namespace anelane::abi

extern "C" {

ANELANE_API void anelane_model_options_init(anelane_model_options* options, size_t size) {
  if (options == nullptr) return;
  std::memset(static_cast<void*>(options), 0, size);
  if (size >= sizeof(uint32_t)) options->struct_size = static_cast<uint32_t>(size);
}

ANELANE_API anelane_status anelane_model_inspect(const char* path, anelane_model_info* out,
                                                 anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (path == nullptr) return null_argument("path");
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_struct(out, "out", sizeof(uint32_t)));
    ANELANE_ASSIGN(const ModelSummary summary, inspect_model(path, {}));
    anelane_model_info info{};
    fill_info(summary, &info);
    info.engine = ANELANE_ENGINE_AUTO;
    write_struct(out, info);
    return {};
  });
}

ANELANE_API anelane_status anelane_model_load(anelane_lane lane, const char* path,
                                              const anelane_model_options* options, uint64_t deadline,
                                              anelane_model* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(const std::shared_ptr<LoadOperation> op, make_load(lane, path, options, deadline));
    ANELANE_TRY(start_and_wait(op));
    *out = model_handle(*op->take());
    return {};
  });
}

ANELANE_API anelane_status anelane_model_retire(anelane_model handle, uint64_t deadline, anelane_error* err) {
  return entry(err, [&]() -> Status {
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_model(handle));
    return start_and_wait(std::make_shared<RetireOperation>(model, deadline));
  });
}

ANELANE_API anelane_status anelane_model_get_info(anelane_model handle, anelane_model_info* out,
                                                  anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_struct(out, "out", sizeof(uint32_t)));
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_model(handle));
    anelane_model_info info{};
    fill_info(model->summary, &info);
    info.engine = model->engine == "apple" ? ANELANE_ENGINE_APPLE : ANELANE_ENGINE_SOFT;
    info.cached_rungs = model->cached_rungs.load();
    copy_text(info.vector_space, model->vector_space);
    ANELANE_TRY(model->lane->on_lane_thread(
        [&] { info.first_ready_ms = model->lane->driver().predict_ms(*model, 0); }));
    write_struct(out, info);
    return {};
  });
}

ANELANE_API anelane_status anelane_model_ports(anelane_model handle, uint32_t shape, anelane_port* out,
                                               size_t cap, size_t* count, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (count == nullptr) return null_argument("count");
    if (out == nullptr && cap > 0) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<LaneModel> model, find_model(handle));
    ANELANE_TRY(find_rung(*model, shape).status());
    const std::vector<PortLayout> ports = port_layouts(model->summary, shape);
    for (size_t i = 0; i < std::min(cap, ports.size()); ++i)
      ANELANE_TRY(check_struct(&out[i], ("out[" + std::to_string(i) + "]").c_str(), sizeof(uint32_t)));
    for (size_t i = 0; i < std::min(cap, ports.size()); ++i) {
      const PortLayout& p = ports[i];
      anelane_port to{};
      to.dtype = static_cast<anelane_dtype>(p.dtype);
      to.rank = static_cast<uint32_t>(p.dims.size());
      to.is_output = p.output ? 1 : 0;
      std::copy(p.dims.begin(), p.dims.end(), to.dims);
      std::copy(p.strides.begin(), p.strides.end(), to.strides);
      to.bytes = p.bytes;
      copy_text(to.name, p.name);
      write_struct(&out[i], to);
    }
    *count = ports.size();
    return {};
  });
}

}  // extern "C"
