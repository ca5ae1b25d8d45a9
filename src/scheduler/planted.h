// The deliberate faults of the build that tests the simulator, by number. In any other build there are none.
#pragma once

namespace anelane::sched {

inline constexpr const char* kPlantedBugs[] = {
    "none",
    "entries overtake at an accepted request's cost",
    "a start past a waiting ticket costs it its bound",
    "a shape is evicted while its cohort may come",
    "a head of the other gate starts past a starved one",
    "a starved head holds nobody back",
    "a long load is never repriced",
    "the hand-off timer is not armed",
    "the gate of a lost admission opens at the fault",
    "the charge of a lost admission returns at the fault",
    "a completion of an older generation is accepted",
    "a cancel answers all that joined the admission",
    "a lease is revived on an evicting slot",
    "nothing settles",
    "a ticket's bound has no timer",
    "the most recently used shape is evicted first",
    "a repriced load does not take the compile gate",
    "retry_after_ms is rounded down",
    "a promise ends after one delay, not two",
    "a refused admission is learned",
    "a replacement starts before the exit is confirmed",
    "a cancelled ticket stays in the lane",
    "the queue is in order of arrival",
    "a retirement forgets the tickets of a running admission",
    "the budget is off by one",
    "an error is remembered for too long",
    "a promise has no timer",
    "an overdue exit closes nothing",
    "the gate of a lost admission is held for ever",
    "the head is not checked before it starts",
    "nobody is told early",
    "the last release is not told",
    "prewarm starts while tickets wait",
    "a deterministic error is forgotten at once",
};

}  // namespace anelane::sched
