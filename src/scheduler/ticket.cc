// The ticket table: a pool with stable addresses and an open-addressing index with linear probing and
// backward-shift removal, so that it never fills with tombstones. At most half full.
#include "scheduler/ticket.h"

namespace anelane::sched {
namespace {
constexpr int kFirstBits = 8;
}

TicketTable::TicketTable() : slots_(size_t{1} << kFirstBits, nullptr), shift_(64 - kFirstBits) {}

Ticket* TicketTable::find(TicketId id) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = home(id); slots_[i] != nullptr; i = (i + 1) & mask)
    if (slots_[i]->id == id) return slots_[i];
  return nullptr;
}

Ticket* TicketTable::add(TicketId id) {
  if (find(id) != nullptr) return nullptr;
  if ((used_ + 1) * 2 > slots_.size()) grow();
  Ticket* t = nullptr;
  if (free_.empty()) {
    t = &pool_.emplace_back();
  } else {
    t = free_.back();
    free_.pop_back();
    *t = Ticket{};
  }
  t->id = id;
  const size_t mask = slots_.size() - 1;
  size_t i = home(id);
  while (slots_[i] != nullptr) i = (i + 1) & mask;
  slots_[i] = t;
  ++used_;
  return t;
}

void TicketTable::remove(Ticket* ticket) {
  const size_t mask = slots_.size() - 1;
  size_t hole = home(ticket->id);
  while (slots_[hole] != ticket) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; slots_[i] != nullptr; i = (i + 1) & mask) {
    const size_t wanted = home(slots_[i]->id);
    if (((i - wanted) & mask) < ((i - hole) & mask)) continue;  // it would stand before its home
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = nullptr;
  free_.push_back(ticket);
  --used_;
}

void TicketTable::grow() {
  std::vector<Ticket*> old(slots_.size() * 2, nullptr);
  old.swap(slots_);
  --shift_;
  const size_t mask = slots_.size() - 1;
  for (Ticket* t : old) {
    if (t == nullptr) continue;
    size_t i = home(t->id);
    while (slots_[i] != nullptr) i = (i + 1) & mask;
    slots_[i] = t;
  }
}

void TicketList::push_back(Ticket* t) {
  t->previous = last_;
  t->next = nullptr;
  (last_ != nullptr ? last_->next : first_) = t;
  last_ = t;
  ++size_;
}

void TicketList::remove(Ticket* t) {
  (t->previous != nullptr ? t->previous->next : first_) = t->next;
  (t->next != nullptr ? t->next->previous : last_) = t->previous;
  t->previous = t->next = nullptr;
  --size_;
}

}  // namespace anelane::sched
