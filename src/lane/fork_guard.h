// After fork() the child must not touch the lane: its copies of lock and streams are closed there at once,
// and every call answers FORKED. One registry for the process; descriptors that matter are entered while they
// are open.
#pragma once

#include "base/status.h"

namespace anelane::fork_guard {

void install();  // idempotent; registers the fork handler
bool forked();   // true in a child of a process that used the library
Status check();  // FORKED in such a child, with advice
void enter(int fd);
void leave(int fd);

}  // namespace anelane::fork_guard
