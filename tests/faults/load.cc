// Calls go to models by number; a number may get another model at any time (renew), and then a call may be
// told that the old one is retired. What else a call may be told is in may_be_told.
#include "load.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "host.h"
#include "storm.h"

namespace faults {
namespace {

constexpr uint64_t kBoundMs = 30'000;
constexpr size_t kLengths[] = {1, 5, 30, 33, 60, 130, 200};
constexpr size_t kDim = 64;

std::vector<int32_t> ids_of(size_t length) {
  std::vector<int32_t> ids(length);
  for (size_t i = 0; i < length; ++i) ids[i] = static_cast<int32_t>(20 + (i * 7 + length) % 60);
  return ids;
}

anelane_status embed(anelane_model model, size_t length, std::vector<float>* row, anelane_error* err) {
  const std::vector<int32_t> ids = ids_of(length);
  const anelane_tokens item = {ids.data(), ids.size()};
  row->assign(kDim, 0);
  return anelane_embed(model, &item, 1, row->data(), 0, nullptr, in_ms(kBoundMs), err);
}

[[noreturn]] void give_up(const char* doing, const anelane_error& err) {
  std::printf("%s: %s\n", doing, text_of(err).c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

bool may_be_told(anelane_status status) {
  return status == ANELANE_ENGINE_CRASHED || status == ANELANE_RETIRED;
}

}  // namespace

Load::Load(anelane_lane lane, const std::string& model) : lane_(lane), path_(model) {
  for (size_t i = 0; i < kModels; ++i) {
    anelane_error err = new_error();
    const anelane_model loaded = load(i, &err);
    if (loaded.bits == 0) give_up("load", err);
    models_[i] = loaded.bits;
  }
  for (const size_t length : kLengths) {
    anelane_error err = new_error();
    if (embed({models_[0]}, length, &vectors_[length], &err) != ANELANE_OK) give_up("embed", err);
  }
}

std::string Load::name(size_t i) const {
  return "m" + std::to_string(i) + "." + std::to_string(lives_[i].load());
}

anelane_model Load::load(size_t i, anelane_error* err) const {
  static constexpr uint32_t kRungs[] = {32, 64, 256};
  const std::string called = name(i);
  anelane_model_options options = {};
  anelane_model_options_init(&options, sizeof options);
  options.rungs = kRungs;
  options.rung_count = 3;
  options.name = called.c_str();
  anelane_model model = {};
  anelane_model_load(lane_, path_.c_str(), &options, in_ms(kBoundMs), &model, err);
  return model;
}

bool Load::renew(size_t i) {
  anelane_error err = new_error();
  ++lives_[i];
  const anelane_model next = load(i, &err);
  if (next.bits == 0) {
    std::printf("a model could not be loaded again: %s\n", text_of(err).c_str());
    return false;
  }
  const anelane_model old = {models_[i].exchange(next.bits)};
  if (anelane_model_retire(old, in_ms(kBoundMs), &err) == ANELANE_OK) return true;
  std::printf("a model could not be retired: %s\n", text_of(err).c_str());
  return false;
}

void Load::start() {
  for (size_t i = 0; i < kLoadThreads; ++i) threads_.emplace_back([this, i] { embed_on_and_on(i); });
}

void Load::stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::embed_on_and_on(uint64_t seed) {
  Random random(seed);
  while (!stop_) embed_one(below(random, kModels), kLengths[below(random, std::size(kLengths))]);
}

void Load::embed_one(size_t slot, size_t length) {
  anelane_error err = new_error();
  std::vector<float> row;
  const uint64_t start = anelane_now_ns();
  const anelane_status status = embed({models_[slot]}, length, &row, &err);
  const uint64_t ms = ms_since(start);
  uint64_t slowest = slowest_ms_;
  while (ms > slowest && !slowest_ms_.compare_exchange_weak(slowest, ms)) {
  }
  if (status == ANELANE_OK && row == vectors_.at(length)) {
    ++right_;
    return;
  }
  if (may_be_told(status)) {
    {
      const std::lock_guard lock(mutex_);
      ++told_[anelane_status_name(status)];
    }
    // What a caller does who reads retry_after_ms, but sooner.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return;
  }
  ++wrong_;
  std::printf("%zu tokens: %s\n", length, status == ANELANE_OK ? "a wrong vector" : text_of(err).c_str());
}

std::string Load::told() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [status, count] : told_)
    out += (out.empty() ? "" : ", ") + status + ' ' + std::to_string(count);
  return out.empty() ? "nothing" : out;
}

}  // namespace faults
