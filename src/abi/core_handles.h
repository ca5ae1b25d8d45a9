// Handles of models and leases: their index leads to a ModelCore, which outlives every handle and tells by
// its generation whether it is meant. Inline, for the fast path.
#pragma once
#include <anelane.h>

#include <cstddef>

#include "abi/handle_bits.h"
#include "lane/lease_fast_path.h"

namespace anelane::abi {

inline bool means(const ModelCore& core, anelane_model handle) {
  const uint64_t generation = core.generation.load(std::memory_order_acquire) & kGenerationMask;
  return (generation & 1) != 0 && generation == generation_of(handle.bits);
}
// What report() writes for a call that went well, as far as anybody looks at it then.
inline void report_ok(anelane_error* err) {
  if (err == nullptr || err->struct_size < offsetof(anelane_error, message) + 1) return;
  err->status = ANELANE_OK;
  err->message[0] = '\0';
}
// The core a model handle means; nullptr: stale or forged.
inline ModelCore* find_core(anelane_model handle) {
  if (!is_kind(handle.bits, Kind::kModel)) return nullptr;
  ModelCore* core = core_at(static_cast<uint32_t>(index_of(handle.bits)));
  return core != nullptr && means(*core, handle) ? core : nullptr;
}

// The index of a lease: core 12 | rung 4 | record 8.
static_assert(kMaxCores == 1u << 12 && limits::kMaxRungs == 16 && LeaseBook::kRecords == 256);
static_assert(LeaseBook::kGenerationMask == kGenerationMask);

inline anelane_lease lease_handle(const LeaseId& id) {
  return {make_bits(Kind::kLease, id.generation,
                    (static_cast<uint64_t>(id.core) << 12) | (id.rung << 8) | id.record)};
}
inline bool parse_lease(anelane_lease handle, LeaseId* out) {
  if (!is_kind(handle.bits, Kind::kLease)) return false;
  const uint64_t index = index_of(handle.bits);
  out->core = static_cast<uint32_t>(index >> 12);
  out->rung = static_cast<uint32_t>(index >> 8) & 15u;
  out->record = static_cast<uint32_t>(index & 255u);
  out->generation = generation_of(handle.bits);
  return true;
}

}  // namespace anelane::abi
