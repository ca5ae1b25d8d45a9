// Runs the whole way from token ids to vectors in a temporary folder of its own, with lane, lock and cache
// apart from the user's, so it disturbs no lane in use and always starts cold. Steps run in order, each
// prints one line
// ("ok" or "FAILED" with the reason), and the first failure ends the test. With the tiny model the vectors
// are compared with a computation in double precision; a checkpoint of the user's has no known vectors, so
// there the test is that they are unit vectors, the same alone and in company, and the same from the cache.
// Main thread only.
#include "selftest.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>

#include "reference_encoder.h"
#include "report.h"
#include "temp_folder.h"
#include "tiny_model.h"

namespace anelane_tool {
namespace {

using Fault = std::optional<std::string>;

constexpr uint64_t kStepMs = 600'000;  // bounds every wait; a wide model may compile for minutes
constexpr double kCosineLeast = 0.9999;

Fault fault_of(const anelane_error& err) {
  char text[1024];
  anelane_error_text(&err, text, sizeof text);
  return std::string(text);
}

class Selftest {
 public:
  explicit Selftest(const SelftestFlags& flags) : flags_(flags) {
    lane_.engine = flags.engine;
    lane_.worker_mode = flags.worker_mode;
  }
  int run();

 private:
  Fault check_library();
  Fault prepare();
  Fault embed_cold();
  Fault compare();
  Fault embed_alone();
  Fault refuse_too_long();
  Fault close();
  Fault embed_cached();
  Fault embed(const std::vector<std::vector<int32_t>>& sequences, std::vector<float>* out);
  Fault open_and_load();
  bool step(const char* name, const std::function<Fault()>& action);

  const SelftestFlags flags_;
  LaneFlags lane_;
  TempFolder folder_{"anelane-selftest"};
  TinyModel tiny_;
  ProgressLine line_;
  std::optional<Session> session_;
  std::string model_dir_;
  std::string detail_;  // what a good step has to tell
  std::vector<std::vector<int32_t>> sequences_;
  std::vector<float> cold_;
  int steps_ = 0;
};

bool Selftest::step(const char* name, const std::function<Fault()>& action) {
  detail_.clear();
  const Fault fault = action();
  line_.erase();
  ++steps_;
  if (fault)
    std::printf("FAILED  %s: %s\n", name, fault->c_str());
  else
    std::printf("ok      %s%s%s\n", name, detail_.empty() ? "" : ": ", detail_.c_str());
  std::fflush(stdout);
  return !fault;
}

Fault Selftest::check_library() {
  if (anelane_abi_version() != ANELANE_ABI_VERSION)
    return "the library has interface " + std::to_string(anelane_abi_version()) + ", this tool needs " +
           std::to_string(ANELANE_ABI_VERSION);
  detail_ = anelane_version();
  return std::nullopt;
}

Fault Selftest::prepare() {
  if (folder_.path().empty()) return std::string("cannot create a temporary folder: ") + std::strerror(errno);
  lane_.lock_dir = folder_.path() + "/lane";
  lane_.cache_dir = folder_.path() + "/cache";
  std::error_code failed;
  for (const std::string& dir : {lane_.lock_dir, lane_.cache_dir}) {
    std::filesystem::create_directories(dir, failed);
    if (failed) return "cannot create " + dir + ": " + failed.message();
  }
  model_dir_ = flags_.model_dir;
  if (model_dir_.empty()) {
    model_dir_ = folder_.path() + "/tiny";
    if (auto fault = tiny_.write(model_dir_)) return fault;
  }
  detail_ = flags_.model_dir.empty() ? "the tiny model of the test itself" : model_dir_;
  return std::nullopt;
}

Fault Selftest::open_and_load() {
  session_.emplace(lane_, &line_);
  anelane_error err = new_error();
  if (session_->open(deadline_after_ms(kStepMs), &err) != ANELANE_OK) return fault_of(err);
  if (session_->load(model_dir_, deadline_after_ms(kStepMs), &err) != ANELANE_OK) return fault_of(err);
  return std::nullopt;
}

Fault Selftest::embed(const std::vector<std::vector<int32_t>>& sequences, std::vector<float>* out) {
  std::vector<anelane_tokens> items;
  for (const auto& ids : sequences) items.push_back({ids.data(), ids.size()});
  out->assign(items.size() * session_->info().dim, 0);
  anelane_error err = new_error();
  if (anelane_embed(session_->model(), items.data(), items.size(), out->data(), 0, nullptr,
                    deadline_after_ms(kStepMs), &err) != ANELANE_OK)
    return fault_of(err);
  return std::nullopt;
}

Fault Selftest::embed_cold() {
  if (auto fault = open_and_load()) return fault;
  // Both sides of the first rungs' borders. Ids 5 … 56 are letters of the tiny model and exist in any
  // vocabulary.
  const uint32_t ceiling = session_->info().ceiling;
  for (const uint32_t length : {3u, 17u, 128u, 129u, 200u}) {
    if (length > ceiling) continue;
    std::vector<int32_t> ids(length);
    for (uint32_t i = 0; i < length; ++i) ids[i] = static_cast<int32_t>(5 + (i * 7 + length) % 52);
    sequences_.push_back(ids);
  }
  if (auto fault = embed(sequences_, &cold_)) return fault;
  detail_ = std::to_string(sequences_.size()) + " sequences on the " + engine_name(session_->info().engine) +
            " engine";
  return std::nullopt;
}

Fault Selftest::compare() {
  const size_t dim = session_->info().dim;
  const bool known = flags_.model_dir.empty();
  if (known && dim != TinyModel::kWidth) return "vectors of " + std::to_string(dim) + " numbers";
  double worst = 1;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const float* row = cold_.data() + i * dim;
    double squares = 0;
    for (size_t k = 0; k < dim; ++k) squares += double{row[k]} * row[k];
    if (!(squares > 0) || !std::isfinite(squares))
      return "vector " + std::to_string(i) + " is zero or not finite";
    if (!known) continue;
    const std::vector<double> right = reference_vector(tiny_, sequences_[i]);
    double dot = 0;
    for (size_t k = 0; k < dim; ++k) dot += row[k] * right[k];
    worst = std::min(worst, dot / std::sqrt(squares));
  }
  char text[64];
  std::snprintf(text, sizeof text, "least cosine %.7f", worst);
  if (worst < kCosineLeast) return std::string(text) + " against the computation in double precision";
  if (known) detail_ = text;
  return std::nullopt;
}

Fault Selftest::embed_alone() {
  std::vector<float> alone;
  if (auto fault = embed({sequences_.back()}, &alone)) return fault;
  const size_t dim = alone.size();
  if (std::memcmp(alone.data(), cold_.data() + cold_.size() - dim, dim * sizeof(float)) != 0)
    return "the last sequence alone gives another vector than in company";
  return std::nullopt;
}

Fault Selftest::refuse_too_long() {
  const uint32_t ceiling = session_->info().ceiling;
  const std::vector<int32_t> ids(size_t{ceiling} + 1, 5);
  const anelane_tokens item = {ids.data(), ids.size()};
  std::vector<float> row(session_->info().dim);
  anelane_error err = new_error();
  const anelane_status status =
      anelane_embed(session_->model(), &item, 1, row.data(), 0, nullptr, deadline_after_ms(kStepMs), &err);
  if (status != ANELANE_SEQUENCE_TOO_LONG || err.item != 0 || err.limit != ceiling)
    return std::string("expected SEQUENCE_TOO_LONG with item 0 and the limit, got ") +
           anelane_status_name(status);
  return std::nullopt;
}

Fault Selftest::close() {
  anelane_error err = new_error();
  const anelane_status status = session_->close(&err);
  session_.reset();
  return status == ANELANE_OK ? std::nullopt : fault_of(err);
}

Fault Selftest::embed_cached() {
  if (auto fault = open_and_load()) return fault;
  std::vector<float> cached;
  if (auto fault = embed(sequences_, &cached)) return fault;
  if (std::memcmp(cached.data(), cold_.data(), cold_.size() * sizeof(float)) != 0)
    return std::string("the cached programs give other vectors");
  anelane_lane_stats stats = {};
  stats.struct_size = sizeof stats;
  anelane_error err = new_error();
  if (anelane_lane_get_stats(session_->lane(), &stats, &err) != ANELANE_OK) return fault_of(err);
  if (stats.compiled != 0) return "compiled " + std::to_string(stats.compiled) + " shapes again";
  detail_ = std::to_string(stats.loaded) + " shapes loaded, none compiled";
  return std::nullopt;
}

int Selftest::run() {
  const bool good = step("library and tool fit together", [this] { return check_library(); }) &&
                    step("checkpoint and folders", [this] { return prepare(); }) &&
                    step("vectors from a cold lane", [this] { return embed_cold(); }) &&
                    step("vectors are right", [this] { return compare(); }) &&
                    step("the same vector alone", [this] { return embed_alone(); }) &&
                    step("a sequence that is too long is refused", [this] { return refuse_too_long(); }) &&
                    step("lane closes", [this] { return close(); }) &&
                    step("the same vectors from the cache", [this] { return embed_cached(); }) &&
                    step("lane closes again", [this] { return close(); });
  session_.reset();
  std::printf("selftest %s after %d steps\n", good ? "passed" : "FAILED", steps_);
  return good ? finish_output() : kExitRefused;
}

}  // namespace

int run_selftest(const SelftestFlags& flags) {
  return Selftest(flags).run();
}

}  // namespace anelane_tool
