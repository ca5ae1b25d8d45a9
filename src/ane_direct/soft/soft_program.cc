// Loading decodes and checks the plan, takes a place in the machine's pool, and finds everything that run()
// needs, so that run() allocates nothing. run() copies inputs from the port's padded rows into the dense
// arena (NaN becomes +inf there, numerics N20), runs the steps, and copies outputs back with zeroed padding;
// so a caller may give the same buffer as input and output.
#include "ane_direct/soft/soft_program.h"

#include <cstring>

#include "ane_direct/buffer_check.h"
#include "ane_direct/soft/float_environment.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace anelane::soft {
namespace {

constexpr uint64_t kRowAlign = 64;

// Calls row(offset in the padded buffer, offset in the dense arena) for each row.
template <class Row>
void each_row(const Port& port, Row row) {
  const uint64_t dense = port.dims.back() * dtype_size(port.dtype);
  const uint64_t padded = (dense + kRowAlign - 1) / kRowAlign * kRowAlign;
  for (uint64_t i = 0; i < port.bytes / padded; ++i) row(i * padded, i * dense, dense, padded);
}

class SoftProgram : public LoadedProgram {
 public:
  SoftProgram(std::shared_ptr<SoftCore> core, Plan plan, std::shared_ptr<const std::vector<uint8_t>> weights,
              ProgramPool::Slot slot)
      : core_(std::move(core)), plan_(std::move(plan)), weights_(std::move(weights)), slot_(std::move(slot)) {
    for (const PlanPort& port : plan_.inputs) inputs_.push_back(make_port(port.name, port.dtype, port.shape));
    for (const PlanPort& port : plan_.outputs)
      outputs_.push_back(make_port(port.name, port.dtype, port.shape));
    const uintptr_t at = reinterpret_cast<uintptr_t>(weights_->data());
    prepared_ = prepare_plan(plan_, weights_->data() + (64 - at % 64) % 64, *core_->kernels, &core_->tables);
    core_->workspace.reserve(plan_.arena_bytes, prepared_.scratch_floats, core_->threads->threads());
  }
  std::span<const Port> inputs() const override { return inputs_; }
  std::span<const Port> outputs() const override { return outputs_; }
  Status run(std::span<const Buffer> in, std::span<const Buffer> out) override;

 private:
  void read_input(const Port& port, const Buffer& buffer, uint64_t offset);
  void write_output(const Port& port, const Buffer& buffer, uint64_t offset);

  std::shared_ptr<SoftCore> core_;
  Plan plan_;
  std::shared_ptr<const std::vector<uint8_t>> weights_;
  PreparedPlan prepared_;
  std::vector<Port> inputs_, outputs_;
  ProgramPool::Slot slot_;
};

void SoftProgram::read_input(const Port& port, const Buffer& buffer, uint64_t offset) {
  const uint8_t* from = static_cast<const uint8_t*>(buffer.data);
  uint8_t* to = core_->workspace.arena() + offset;
  each_row(port, [&](uint64_t padded_at, uint64_t dense_at, uint64_t bytes, uint64_t) {
    std::memcpy(to + dense_at, from + padded_at, bytes);
    if (port.dtype != Dtype::kF16) return;
    Half* values = reinterpret_cast<Half*>(to + dense_at);
    for (uint64_t i = 0; i < bytes / 2; ++i)
      values[i] = (values[i] & 0x7fffu) > 0x7c00u ? Half{0x7c00} : values[i];
  });
}

void SoftProgram::write_output(const Port& port, const Buffer& buffer, uint64_t offset) {
  const uint8_t* from = core_->workspace.arena() + offset;
  uint8_t* to = static_cast<uint8_t*>(buffer.data);
  each_row(port, [&](uint64_t padded_at, uint64_t dense_at, uint64_t bytes, uint64_t padded) {
    std::memcpy(to + padded_at, from + dense_at, bytes);
    std::memset(to + padded_at + bytes, 0, padded - bytes);
  });
}

Status SoftProgram::run(std::span<const Buffer> in, std::span<const Buffer> out) {
  ANELANE_TRY(check_buffers(inputs_, in, "input"));
  ANELANE_TRY(check_buffers(outputs_, out, "output"));
  const FloatEnvironment environment;
  for (size_t i = 0; i < inputs_.size(); ++i) read_input(inputs_[i], in[i], plan_.inputs[i].offset);
  run_plan(prepared_, {*core_->kernels, core_->numerics, *core_->threads, core_->workspace});
  for (size_t i = 0; i < outputs_.size(); ++i) write_output(outputs_[i], out[i], plan_.outputs[i].offset);
  return {};
}

}  // namespace

std::shared_ptr<const std::vector<uint8_t>> SoftCore::share_weights(std::span<const uint8_t> bytes) {
  const uint64_t key = XXH3_64bits(bytes.data(), bytes.size());
  const auto aligned = [](const std::vector<uint8_t>& padded) {
    return padded.data() + (64 - reinterpret_cast<uintptr_t>(padded.data()) % 64) % 64;
  };
  std::erase_if(weights, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = weights.find(key); found != weights.end()) {
    std::shared_ptr<const std::vector<uint8_t>> known = found->second.lock();
    if (known != nullptr && known->size() == bytes.size() + 64 &&
        (bytes.empty() || std::memcmp(aligned(*known), bytes.data(), bytes.size()) == 0))
      return known;
  }
  auto fresh = std::make_shared<std::vector<uint8_t>>(bytes.size() + 64);
  if (!bytes.empty()) std::memcpy(const_cast<uint8_t*>(aligned(*fresh)), bytes.data(), bytes.size());
  weights[key] = fresh;
  return fresh;
}

Result<std::unique_ptr<LoadedProgram>> load_plan(const std::shared_ptr<SoftCore>& core,
                                                 std::span<const uint8_t> bytes) {
  ANELANE_ASSIGN(DecodedPlan decoded, decode_plan(bytes));
  ANELANE_ASSIGN(ProgramPool::Slot slot, core->pool->take());
  return std::unique_ptr<LoadedProgram>(std::make_unique<SoftProgram>(
      core, std::move(decoded.plan), core->share_weights(decoded.weights), std::move(slot)));
}

}  // namespace anelane::soft
