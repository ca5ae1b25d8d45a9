// The legal ways of a slot (L3.1), in one table.
#include "scheduler/shape.h"

namespace anelane::sched {

const char* slot_state_name(SlotState state) {
  switch (state) {
    case SlotState::kAbsent:
      return "absent";
    case SlotState::kAdmitting:
      return "admitting";
    case SlotState::kResident:
      return "resident";
    case SlotState::kEvicting:
      return "evicting";
    case SlotState::kFailed:
      return "failed";
  }
  return "?";
}

bool slot_may_become(SlotState from, SlotState to) {
  switch (from) {
    case SlotState::kAbsent:
      return to == SlotState::kAdmitting;
    case SlotState::kAdmitting:
      return to == SlotState::kResident || to == SlotState::kAbsent || to == SlotState::kFailed;
    // Absent: the process is gone.
    case SlotState::kResident:
      return to == SlotState::kEvicting || to == SlotState::kAbsent;
    // Resident: the eviction was withdrawn before it was sent.
    case SlotState::kEvicting:
      return to == SlotState::kAbsent || to == SlotState::kFailed || to == SlotState::kResident;
    case SlotState::kFailed:
      return to == SlotState::kAbsent;
  }
  return false;
}

}  // namespace anelane::sched
