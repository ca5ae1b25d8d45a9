// One program on a lane: its text and weights become a model in memory (anelane_model_load_program), its
// inputs come from .npy files or are made up, its outputs go to .npy files and, in short, to stdout. Whatever
// is wrong with the command line or with a file is found before a lane is opened, but for what only the ports
// can tell. Main thread only.
#include <anelane.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "json_text.h"
#include "mil.h"
#include "npy.h"
#include "regular_file.h"
#include "report.h"

namespace anelane_tool {
namespace {

constexpr uint32_t kShape = 1;  // of the one rung
constexpr size_t kShown = 8;    // values of an output
// The library's bounds: what is larger need not be read.
constexpr uint64_t kMaxMilBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxWeightBytes = uint64_t{4} << 30;

struct Source {
  std::optional<Npy> array;
  std::optional<uint64_t> seed;  // neither: zeros
};

// "NAME=VALUE"
bool split(const std::string& text, std::string* name, std::string* value) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return false;
  *name = text.substr(0, equals);
  *value = text.substr(equals + 1);
  return true;
}

std::optional<Source> parse_source(const std::string& value, std::string* fault) {
  Source source;
  if (value == "zeros") return source;
  if (value.rfind("random:", 0) == 0) {
    uint64_t seed = 0;
    const char* end = value.data() + value.size();
    const auto [at, wrong] = std::from_chars(value.data() + 7, end, seed);
    if (wrong != std::errc() || at != end || value.size() == 7) {
      *fault = "'" + value + "': random: wants a whole number";
      return std::nullopt;
    }
    source.seed = seed;
    return source;
  }
  source.array = read_npy(value, fault);
  if (!source.array) return std::nullopt;
  return source;
}

// Uniform in ±1, the same for the same seed everywhere.
Npy made_up(const anelane_port& port, const std::vector<uint64_t>& shape, uint64_t seed) {
  Npy array{ANELANE_F32, shape, {}};
  const uint64_t count = element_count(shape);
  std::vector<uint8_t> data(count * 4);
  uint64_t state = seed;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;  // SplitMix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    const float value = static_cast<float>(static_cast<double>((z ^ (z >> 31)) >> 40) / 8388608.0 - 1.0);
    std::memcpy(data.data() + 4 * i, &value, 4);
  }
  array.data = std::move(data);
  if (!convert_to(port.dtype, &array)) {  // an integer port: 0 and 1
    std::vector<uint8_t> integers(count * dtype_bytes(port.dtype));
    for (uint64_t i = 0; i < count; ++i)
      integers[i * dtype_bytes(port.dtype)] = element_value(array, i) > 0 ? 1 : 0;
    array = {port.dtype, shape, std::move(integers)};
  }
  return array;
}

std::vector<uint64_t> shape_of(const anelane_port& port) {
  return {port.dims, port.dims + port.rank};
}

// Calls row(offset in the port's layout, offset in the dense array) for each row.
template <class Row>
void each_row(const anelane_port& port, Row row) {
  const uint64_t bytes = port.dims[port.rank - 1] * dtype_bytes(port.dtype);
  const uint64_t rows = element_count(shape_of(port)) / port.dims[port.rank - 1];
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t at = 0, rest = i;
    for (uint32_t axis = port.rank - 1; axis-- > 0;) {
      at += rest % port.dims[axis] * port.strides[axis];
      rest /= port.dims[axis];
    }
    row(at, i * bytes, bytes);
  }
}

// How many of all values are what "first" shows as null, as members of a JSON object.
std::string not_finite(const Npy& array) {
  uint64_t nans = 0, infinities = 0;
  for (uint64_t i = 0, count = element_count(array.shape); i < count; ++i) {
    const double value = element_value(array, i);
    nans += std::isnan(value) ? 1 : 0;
    infinities += std::isinf(value) ? 1 : 0;
  }
  return ",\"nan\":" + std::to_string(nans) + ",\"infinite\":" + std::to_string(infinities);
}

class MilRun {
 public:
  explicit MilRun(const MilRunFlags& flags) : flags_(flags), session_(flags.lane, &line_) {}
  int run();

 private:
  bool read_command_line();
  int usage(const std::string& what) {
    complain(what);
    return kExitUsage;
  }
  anelane_status load(anelane_error* err);
  bool fill_inputs();
  bool fill(const anelane_port& port, const Source& source, std::vector<uint8_t>* to);
  anelane_status evaluate(anelane_error* err);
  anelane_error with_own_names(anelane_error error) const;
  bool keep_outputs();
  int print();

  const MilRunFlags flags_;
  ProgressLine line_;
  Session session_;
  std::string mil_, weights_, fault_;
  bool fault_of_a_file_ = false;  // and not of the command line
  std::map<std::string, Source> sources_;
  std::map<std::string, std::string> targets_;
  anelane_model model_ = {};
  anelane_model_info info_ = {};
  std::vector<anelane_port> ports_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::map<std::string, Npy> results_;
  std::vector<std::string> order_;  // of the outputs
  double admit_ms_ = 0, run_ms_ = 0;
};

bool MilRun::read_command_line() {
  std::string why;
  const auto read = [&](const std::string& path, uint64_t limit, std::string* to) {
    if (read_regular(path, limit, to, &why)) return true;
    fault_ = "cannot read " + path + ": " + why;
    fault_of_a_file_ = true;
    return false;
  };
  if (!read(flags_.mil, kMaxMilBytes, &mil_)) return false;
  if (!flags_.weights.empty() && !read(flags_.weights, kMaxWeightBytes, &weights_)) return false;
  for (const std::string& text : flags_.inputs) {
    std::string name, value;
    if (!split(text, &name, &value)) {
      fault_ = "--input '" + text + "': expected NAME=FILE.npy, NAME=zeros or NAME=random:SEED";
      return false;
    }
    std::optional<Source> source = parse_source(value, &fault_);
    if (!source) {
      fault_of_a_file_ = value.rfind("random:", 0) != 0;
      return false;
    }
    if (!sources_.emplace(name, *std::move(source)).second) {
      fault_ = "--input " + name + " is given twice";
      return false;
    }
  }
  for (const std::string& text : flags_.outputs) {
    std::string name, value;
    if (!split(text, &name, &value) || !targets_.emplace(name, value).second) {
      fault_ = "--output '" + text + "': expected NAME=FILE.npy, each name once";
      return false;
    }
  }
  return true;
}

anelane_status MilRun::load(anelane_error* err) {
  const uint64_t deadline = deadline_after_ms(flags_.deadline_ms);
  anelane_status status = session_.open(deadline, err);
  if (status != ANELANE_OK) return status;
  anelane_layer layer = {};
  layer.mil = mil_.data();
  layer.mil_bytes = mil_.size();
  layer.weights = flags_.weights.empty() ? nullptr : weights_.data();
  layer.weight_bytes = weights_.size();
  const anelane_program_rung rung = {kShape, 1, &layer};
  anelane_program program = {};
  program.struct_size = sizeof program;
  program.rung_count = 1;
  program.rungs = &rung;
  anelane_model_options options;
  anelane_model_options_init(&options, sizeof options);
  options.progress = ProgressLine::on_progress;
  options.progress_user = &line_;
  status = anelane_model_load_program(session_.lane(), &program, &options, deadline, &model_, err);
  if (status != ANELANE_OK) return status;
  info_.struct_size = sizeof info_;
  status = anelane_model_get_info(model_, &info_, err);
  if (status != ANELANE_OK) return status;
  size_t count = 0;
  status = anelane_model_ports(model_, kShape, nullptr, 0, &count, err);
  if (status != ANELANE_OK) return status;
  ports_.resize(count);
  for (anelane_port& port : ports_) port.struct_size = sizeof port;
  return anelane_model_ports(model_, kShape, ports_.data(), ports_.size(), &count, err);
}

bool MilRun::fill(const anelane_port& port, const Source& source, std::vector<uint8_t>* to) {
  if (!source.array && !source.seed) return true;
  const std::vector<uint64_t> shape = shape_of(port);
  Npy array = source.array ? *source.array : made_up(port, shape, *source.seed);
  const std::string what = "input " + std::string(port.name);
  if (array.shape != shape) {
    fault_ = what + " is " + shape_text(shape) + ", the file has " + shape_text(array.shape);
    return false;
  }
  if (!convert_to(port.dtype, &array)) {
    fault_ = what + " is " + dtype_text(port.dtype) + ", the file has " + dtype_text(array.dtype);
    return false;
  }
  each_row(port, [&](uint64_t at, uint64_t dense, uint64_t bytes) {
    std::memcpy(to->data() + at, array.data.data() + dense, bytes);
  });
  return true;
}

bool MilRun::fill_inputs() {
  std::string inputs, outputs;
  for (const anelane_port& port : ports_) {
    std::string& names = port.is_output != 0 ? outputs : inputs;
    names += (names.empty() ? "" : ", ") + std::string(port.name);
  }
  for (const auto& given : sources_) {
    bool known = false;
    for (const anelane_port& port : ports_) known |= port.is_output == 0 && given.first == port.name;
    if (known) continue;
    fault_ = "the program has no input " + given.first + ": it takes " + inputs;
    return false;
  }
  for (const anelane_port& port : ports_) {
    buffers_.emplace_back(port.bytes);
    if (port.is_output != 0) {
      order_.push_back(port.name);
      continue;
    }
    const auto found = sources_.find(port.name);
    if (found == sources_.end()) {
      fault_ = "--input " + std::string(port.name) + "=… is missing: the program takes " + inputs;
      return false;
    }
    if (!fill(port, found->second, &buffers_.back())) return false;
  }
  for (const auto& [name, file] : targets_) {
    bool known = false;
    for (const std::string& output : order_) known |= output == name;
    if (known) continue;
    fault_ = "the program has no output " + name + ": it gives " + outputs;
    return false;
  }
  return true;
}

anelane_status MilRun::evaluate(anelane_error* err) {
  const uint64_t deadline = deadline_after_ms(flags_.deadline_ms);
  anelane_lease lease = {};
  const uint64_t start = anelane_now_ns();
  anelane_status status = anelane_lease_acquire(model_, kShape, deadline, &lease, err);
  admit_ms_ = static_cast<double>(anelane_now_ns() - start) / 1e6;
  if (status != ANELANE_OK) return status;
  std::vector<anelane_tensor> in, out;
  for (uint32_t i = 0; i < ports_.size(); ++i)
    (ports_[i].is_output != 0 ? out : in).push_back({buffers_[i].data(), buffers_[i].size(), i, 0});
  // The shortest of them: the first has caches to fill.
  for (uint32_t i = 0; i < flags_.repeat && status == ANELANE_OK; ++i) {
    const uint64_t begin = anelane_now_ns();
    status = anelane_run(lease, in.data(), in.size(), out.data(), out.size(), deadline, err);
    const double ms = static_cast<double>(anelane_now_ns() - begin) / 1e6;
    run_ms_ = i == 0 ? ms : std::min(run_ms_, ms);
  }
  anelane_lease_release(lease);
  return status;
}

bool MilRun::keep_outputs() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const anelane_port& port = ports_[i];
    if (port.is_output == 0) continue;
    Npy array{port.dtype, shape_of(port), {}};
    array.data.resize(element_count(array.shape) * dtype_bytes(port.dtype));
    each_row(port, [&](uint64_t at, uint64_t dense, uint64_t bytes) {
      std::memcpy(array.data.data() + dense, buffers_[i].data() + at, bytes);
    });
    const auto target = targets_.find(port.name);
    if (target != targets_.end() && !write_npy(target->second, array, &fault_)) return false;
    results_.emplace(port.name, std::move(array));
  }
  return true;
}

int MilRun::print() {
  line_.erase();
  const auto values = [](const Npy& array, const char* between, std::string (*number)(float)) {
    std::string text;
    for (uint64_t k = 0; k < std::min<uint64_t>(kShown, element_count(array.shape)); ++k)
      text += (k > 0 ? between : "") + number(static_cast<float>(element_value(array, k)));
    return text;
  };
  if (flags_.json) {
    std::string outputs;
    for (const std::string& name : order_) {
      const Npy& array = results_.at(name);
      outputs += (outputs.empty() ? "" : ",") + ("{\"name\":" + json_string(name)) + ",\"dtype\":\"" +
                 dtype_text(array.dtype) + "\",\"dims\":" + shape_text(array.shape) + ",\"first\":[" +
                 values(array, ",", json_number) + "]" + not_finite(array) + "}";
    }
    std::printf("{\"engine\":\"%s\",\"admit_ms\":%.3f,\"run_ms\":%.3f,\"repeat\":%u,\"outputs\":[%s]}\n",
                engine_name(info_.engine), admit_ms_, run_ms_, unsigned{flags_.repeat}, outputs.c_str());
    return finish_output();
  }
  for (const std::string& name : order_) {
    const Npy& array = results_.at(name);
    std::printf("%s %s %s: %s%s\n", name.c_str(), dtype_text(array.dtype), shape_text(array.shape).c_str(),
                values(array, " ", number_text).c_str(), element_count(array.shape) > kShown ? " …" : "");
  }
  const std::string of = flags_.repeat > 1 ? ", the shortest of " + std::to_string(flags_.repeat) : "";
  std::printf("on the %s engine: ready after %.1f ms, run in %.3f ms%s\n", engine_name(info_.engine),
              admit_ms_, run_ms_, of.c_str());
  return finish_output();
}

// The library was given bytes and made up names for them.
anelane_error MilRun::with_own_names(anelane_error error) const {
  std::string text = error.message;
  for (const auto& [made_up, name] :
       {std::pair{"rung_1_layer_0.mil", &flags_.mil}, std::pair{"rung_1_layer_0.bin", &flags_.weights}})
    for (const std::string& word : {std::string("(memory)/") + made_up, std::string(made_up)})
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + name->size()))
        text.replace(at, word.size(), *name);
  std::snprintf(error.message, sizeof error.message, "%s", text.c_str());
  return error;
}

int MilRun::run() {
  anelane_error err = new_error();
  if (!read_command_line()) {
    if (!fault_of_a_file_) return usage(fault_);
    complain("mil run: " + fault_);
    return kExitRefused;
  }
  if (load(&err) != ANELANE_OK) return report(with_own_names(err));
  if (!fill_inputs()) return usage(fault_);
  if (evaluate(&err) != ANELANE_OK) return report(err);
  if (!keep_outputs()) {
    complain(fault_);
    return kExitRefused;
  }
  return print();
}

}  // namespace

int run_mil(const MilRunFlags& flags) {
  return MilRun(flags).run();
}

}  // namespace anelane_tool
