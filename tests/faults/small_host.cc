// std::_Exit on failure: these programs have workers and threads that an orderly exit would have to get past.
#include "small_host.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "host.h"

namespace faults {
namespace {
constexpr int32_t kIds[] = {2, 40, 41, 42, 3};
constexpr anelane_tokens kItem = {kIds, 5};
}  // namespace

void require(anelane_status status, const char* what, const anelane_error& err) {
  if (status == ANELANE_OK) return;
  std::printf("%s: %s\n", what, text_of(err).c_str());
  std::fflush(stdout);
  std::_Exit(99);
}

anelane_lane open_lane(const anelane_lane_options& options) {
  anelane_lane lane = {};
  anelane_error err = new_error();
  require(anelane_lane_open(&options, in_ms(kBoundMs), &lane, &err), "open", err);
  return lane;
}

anelane_model load_tiny(anelane_lane lane, const Place& place, const char* name) {
  anelane_model_options options = {};
  anelane_model_options_init(&options, sizeof options);
  options.rungs = kTinyRungs;
  options.rung_count = std::size(kTinyRungs);
  options.name = name;
  anelane_model model = {};
  anelane_error err = new_error();
  require(anelane_model_load(lane, place.model.c_str(), &options, in_ms(kBoundMs), &model, &err), "load",
          err);
  return model;
}

anelane_status embed_short(anelane_model model, uint64_t wait_ms, std::vector<float>* row,
                           anelane_error* err) {
  row->assign(kTinyDim, 0);
  return anelane_embed(model, &kItem, 1, row->data(), 0, nullptr, in_ms(wait_ms), err);
}

anelane_status start_embed_short(anelane_model model, uint64_t wait_ms, anelane_done_fn fn, void* user,
                                 anelane_op* op, anelane_error* err) {
  return anelane_start_embed(model, &kItem, 1, in_ms(wait_ms), fn, user, op, err);
}

std::vector<float> embed_well(anelane_model model) {
  std::vector<float> row;
  anelane_error err = new_error();
  require(embed_short(model, kBoundMs, &row, &err), "embed", err);
  return row;
}

std::vector<float> embed_after_fault(anelane_model model) {
  std::vector<float> row;
  anelane_error err = new_error();
  const auto served = [&] { return embed_short(model, kBoundMs, &row, &err) != ANELANE_ENGINE_CRASHED; };
  becomes_true(kBoundMs, served);
  require(err.status, "embed after a fault", err);
  return row;
}

void close_lane(anelane_lane lane) {
  anelane_error err = new_error();
  require(anelane_lane_close(lane, in_ms(kBoundMs), &err), "close", err);
}

bool becomes_true(uint64_t wait_ms, const std::function<bool()>& what) {
  const uint64_t start = anelane_now_ns();
  while (!what()) {
    if (ms_since(start) > wait_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace faults
