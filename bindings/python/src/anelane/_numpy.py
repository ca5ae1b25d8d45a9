"""NumPy, where it is installed. Nothing of this package needs it to be imported."""
from __future__ import annotations

from typing import Any

from . import errors

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None


def need_numpy(what: str) -> Any:
    if numpy is None:
        raise errors.make(errors.UNSUPPORTED, f"{what} needs NumPy, which is not installed")
    return numpy
