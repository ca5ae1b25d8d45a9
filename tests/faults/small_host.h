// What the programs here do with a lane when nothing is wrong yet: open it, load the tiny model, embed. Ends
// the program with the library's words when that fails.
#pragma once
#include <anelane.h>

#include <functional>
#include <vector>

#include "storm.h"

namespace faults {

inline constexpr uint64_t kBoundMs = 60'000;  // against hanging only
inline constexpr size_t kTinyDim = 64;
inline constexpr uint32_t kTinyRungs[] = {32, 64, 96, 128, 256};
inline constexpr uint32_t kTinyLayers = 2;

void require(anelane_status status, const char* what, const anelane_error& err);
anelane_lane open_lane(const anelane_lane_options& options);
anelane_model load_tiny(anelane_lane lane, const Place& place, const char* name = "tiny");
// One short sequence, for shape 32.
anelane_status embed_short(anelane_model model, uint64_t wait_ms, std::vector<float>* row,
                           anelane_error* err);
anelane_status start_embed_short(anelane_model model, uint64_t wait_ms, anelane_done_fn fn, void* user,
                                 anelane_op* op, anelane_error* err);
std::vector<float> embed_well(anelane_model model);
// Asks again until it is served, by the next worker after a fault.
std::vector<float> embed_after_fault(anelane_model model);
void close_lane(anelane_lane lane);
// False: not so in `wait_ms`.
bool becomes_true(uint64_t wait_ms, const std::function<bool()>& what);

}  // namespace faults
