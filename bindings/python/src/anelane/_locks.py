"""Locks that whoever comes in the middle may take: a signal handler or a finalizer in the thread that holds one, and a forked
child, in which the thread that held it is gone."""
from __future__ import annotations

import os
import threading
from typing import Any


def module_lock() -> Any:
    """For a lock that lives as long as the process."""
    lock: Any = threading.RLock()
    os.register_at_fork(after_in_child=lock._at_fork_reinit)
    return lock
