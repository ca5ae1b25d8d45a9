// Little endian: magic, format version, sizes, ports, steps; the weights at the next multiple of 64; a footer
// with the XXH3 hash of everything before it. A changed format gets a new version, and an old entry is then
// simply compiled anew: there is no reader of older versions.
//
// The reader first compares the hash (damage), then bounds every count by the bytes that are left (forgery),
// then has check_plan look at every step.
#include "ane_direct/soft/plan_codec.h"

#include <bit>
#include <cstring>

#include "base/limits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace anelane::soft {
namespace {

constexpr std::array<uint8_t, 8> kMagic = {'A', 'N', 'E', 'L', 'P', 'L', 'A', 'N'};
constexpr uint32_t kVersion = 1;
constexpr size_t kFooter = 8;
constexpr size_t kMaxName = 4096;

class Writer {
 public:
  template <class T>
  void number(T value) {
    const uint64_t wide = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<uint8_t>(wide >> (8 * i)));
  }
  void text(std::string_view value) {
    number<uint32_t>(static_cast<uint32_t>(value.size()));
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  void view(const View& view) {
    number<uint8_t>(static_cast<uint8_t>(view.space));
    number<uint64_t>(view.offset);
  }
  std::vector<uint8_t> bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  size_t left() const { return bytes_.size() - at_; }
  size_t at() const { return at_; }
  template <class T>
  T number() {
    if (left() < sizeof(T)) good_ = false;
    if (!good_) return T{};
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(bytes_[at_ + i]) << (8 * i);
    at_ += sizeof(T);
    return static_cast<T>(value);
  }
  // A count of things that take at least `each` bytes.
  size_t count(size_t each, size_t limit) {
    const uint32_t n = number<uint32_t>();
    if (n > limit || n > left() / each) good_ = false;
    return good_ ? n : 0;
  }
  std::string text() {
    const size_t n = count(1, kMaxName);
    std::string value(reinterpret_cast<const char*>(bytes_.data() + at_), n);
    at_ += n;
    return value;
  }
  View view() {
    View view;
    view.space = static_cast<Space>(number<uint8_t>());
    view.offset = number<uint64_t>();
    return view;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

void write_port(Writer& out, const PlanPort& port) {
  out.text(port.name);
  out.number<uint32_t>(static_cast<uint32_t>(port.dtype));
  out.number<uint8_t>(static_cast<uint8_t>(port.shape.size()));
  for (const uint64_t axis : port.shape) out.number<uint64_t>(axis);
  out.number<uint64_t>(port.offset);
}

PlanPort read_port(Reader& in) {
  PlanPort port;
  port.name = in.text();
  port.dtype = static_cast<Dtype>(in.number<uint32_t>());
  const size_t rank = in.number<uint8_t>();
  for (size_t i = 0; i < rank && in.good(); ++i) port.shape.push_back(in.number<uint64_t>());
  port.offset = in.number<uint64_t>();
  return port;
}

void write_step(Writer& out, const Step& step) {
  out.number<uint8_t>(static_cast<uint8_t>(step.kind));
  out.number<uint8_t>(step.fn);
  out.number<uint8_t>(step.flags);
  for (const View* view : {&step.a, &step.b, &step.c, &step.d, &step.out}) out.view(*view);
  out.number<uint8_t>(step.nest.rank);
  for (size_t i = 0; i < step.nest.rank; ++i) {
    out.number<uint64_t>(step.nest.extent[i]);
    for (const auto* strides : {&step.nest.a, &step.nest.b, &step.nest.c, &step.nest.out})
      out.number<int64_t>((*strides)[i]);
  }
  for (const uint64_t dim : step.dims) out.number<uint64_t>(dim);
  for (const float scalar : step.scalars) out.number<uint32_t>(std::bit_cast<uint32_t>(scalar));
}

bool read_step(Reader& in, Step* step) {
  step->kind = static_cast<StepKind>(in.number<uint8_t>());
  step->fn = in.number<uint8_t>();
  step->flags = in.number<uint8_t>();
  for (View* view : {&step->a, &step->b, &step->c, &step->d, &step->out}) *view = in.view();
  step->nest.rank = in.number<uint8_t>();
  if (step->nest.rank > kNestRank) return false;
  for (size_t i = 0; i < step->nest.rank; ++i) {
    step->nest.extent[i] = in.number<uint64_t>();
    for (auto* strides : {&step->nest.a, &step->nest.b, &step->nest.c, &step->nest.out})
      (*strides)[i] = in.number<int64_t>();
  }
  for (uint64_t& dim : step->dims) dim = in.number<uint64_t>();
  for (float& scalar : step->scalars) scalar = std::bit_cast<float>(in.number<uint32_t>());
  return in.good();
}

size_t align(size_t at) {
  return (at + 63) / 64 * 64;
}

Status unusable(std::string_view why) {
  return error(Code::kIo, "compiled plan is unusable: " + std::string(why));
}

}  // namespace

std::vector<uint8_t> encode_plan(const Plan& plan) {
  Writer out;
  out.bytes.assign(kMagic.begin(), kMagic.end());
  out.number<uint32_t>(kVersion);
  out.number<uint64_t>(plan.arena_bytes);
  out.number<uint64_t>(plan.weights.size());
  for (const auto* ports : {&plan.inputs, &plan.outputs}) {
    out.number<uint32_t>(static_cast<uint32_t>(ports->size()));
    for (const PlanPort& port : *ports) write_port(out, port);
  }
  out.number<uint32_t>(static_cast<uint32_t>(plan.steps.size()));
  for (const Step& step : plan.steps) write_step(out, step);
  out.bytes.resize(align(out.bytes.size()));
  out.bytes.insert(out.bytes.end(), plan.weights.begin(), plan.weights.end());
  out.number<uint64_t>(XXH3_64bits(out.bytes.data(), out.bytes.size()));
  return std::move(out.bytes);
}

Result<DecodedPlan> decode_plan(std::span<const uint8_t> bytes) {
  if (bytes.size() < kMagic.size() + 4 + kFooter)
    return unusable("it has " + std::to_string(bytes.size()) + " bytes");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return unusable("it does not start like a plan");
  Reader in(bytes.subspan(0, bytes.size() - kFooter));
  in.number<uint64_t>();
  const uint32_t version = in.number<uint32_t>();
  if (version != kVersion) return unusable("it has format version " + std::to_string(version));
  Reader footer(bytes.subspan(bytes.size() - kFooter));
  if (footer.number<uint64_t>() != XXH3_64bits(bytes.data(), bytes.size() - kFooter))
    return unusable("its hash is wrong");

  DecodedPlan out;
  out.plan.arena_bytes = in.number<uint64_t>();
  const uint64_t weight_bytes = in.number<uint64_t>();
  for (auto* ports : {&out.plan.inputs, &out.plan.outputs}) {
    const size_t count = in.count(17, limits::kMaxPorts);
    for (size_t i = 0; i < count && in.good(); ++i) ports->push_back(read_port(in));
  }
  const size_t steps = in.count(3 + 5 * 9 + 1 + kStepDims * 8 + 8, limits::kMaxPlanSteps);
  out.plan.steps.resize(steps);
  for (Step& step : out.plan.steps)
    if (!read_step(in, &step)) return unusable("a step is cut off");
  if (!in.good()) return unusable("it is cut off");
  const size_t start = align(in.at());
  const size_t end = bytes.size() - kFooter;
  if (start > end || weight_bytes != end - start) return unusable("its weights have the wrong size");
  out.weights = bytes.subspan(start, weight_bytes);
  Status status = check_plan(out.plan, weight_bytes);
  if (!status.ok()) return unusable(status.message());
  return out;
}

}  // namespace anelane::soft
