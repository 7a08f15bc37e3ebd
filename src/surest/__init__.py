"""Find the best of n noisy options with few evaluations and a guarantee on the answer.

>>> import random, surest
>>> rng = random.Random(0)
>>> surest.identify({"old": lambda: rng.random() < 0.3, "new": lambda: rng.random() < 0.6}).best
'new'
"""

import importlib
from typing import TYPE_CHECKING

from surest.errors import SurestError

if TYPE_CHECKING:
    from surest.api import identify
    from surest.core.session import Session
    from surest.drivers.asynchronous import aidentify
    from surest.result.data import Result
    from surest.study.study import open_study

__version__ = "0.1.0"
__all__ = ["Result", "Session", "SurestError", "__version__", "aidentify", "identify", "open_study"]

_HOMES = {
    "aidentify": "surest.drivers.asynchronous",
    "identify": "surest.api",
    "open_study": "surest.study.study",
    "Result": "surest.result.data",
    "Session": "surest.core.session",
}


def __getattr__(name: str) -> object:
    """Import the rest when it is used: the command line's help should not wait for SciPy and numba."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'surest' has no attribute {name!r}")
