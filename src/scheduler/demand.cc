// The order of bounds is a treap through the tickets themselves: no allocation, O(log n) expected, and the
// same shape for the same history, because a ticket's priority is a fixed mix of its order of arrival.
// Invariant: in-order by (bound, order), every parent's priority is at least its children's.
#include "scheduler/demand.h"

namespace anelane::sched {
namespace {

uint64_t priority(const Ticket* t) {
  uint64_t x = t->order + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

bool before(const Ticket* a, const Ticket* b) {
  return a->bound != b->bound ? a->bound < b->bound : a->order < b->order;
}

// Parts `tree` into what is before `t` and the rest.
void split(Ticket* tree, const Ticket* t, Ticket** low, Ticket** high) {
  while (tree != nullptr) {
    if (before(tree, t)) {
      *low = tree;
      low = &tree->below[1];
      tree = tree->below[1];
    } else {
      *high = tree;
      high = &tree->below[0];
      tree = tree->below[0];
    }
  }
  *low = *high = nullptr;
}

Ticket* merge(Ticket* low, Ticket* high) {
  Ticket* root = nullptr;
  Ticket** at = &root;
  while (low != nullptr && high != nullptr) {
    if (priority(low) >= priority(high)) {
      *at = low;
      at = &low->below[1];
      low = low->below[1];
    } else {
      *at = high;
      at = &high->below[0];
      high = high->below[0];
    }
  }
  *at = low != nullptr ? low : high;
  return root;
}

}  // namespace

void Demand::join(Ticket* t) {
  list_.push_back(t);
  const uint64_t p = priority(t);
  Ticket** at = &root_;
  while (*at != nullptr && priority(*at) >= p) at = &(*at)->below[before(*at, t) ? 1 : 0];
  Ticket* rest = *at;
  *at = t;
  split(rest, t, &t->below[0], &t->below[1]);
}

void Demand::leave(Ticket* t) {
  list_.remove(t);
  Ticket** at = &root_;
  while (*at != t) at = &(*at)->below[before(*at, t) ? 1 : 0];
  *at = merge(t->below[0], t->below[1]);
  t->below[0] = t->below[1] = nullptr;
}

Ticket* Demand::bound_before(Time time) const {
  Ticket* t = root_;
  if (t == nullptr) return nullptr;
  while (t->below[0] != nullptr) t = t->below[0];
  return t->bound < time ? t : nullptr;
}

bool Demand::bound_within(Time from, Time to) const {
  const Ticket* least = nullptr;
  for (const Ticket* t = root_; t != nullptr;) {
    if (t->bound >= from) {
      least = t;
      t = t->below[0];
    } else {
      t = t->below[1];
    }
  }
  return least != nullptr && least->bound < to;
}

}  // namespace anelane::sched
