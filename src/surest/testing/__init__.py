"""Conformance checks: `check_algorithm` for an algorithm, `check_store` for a store of studies."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surest.testing.algorithms import check_algorithm
    from surest.testing.stores import check_store

__all__ = ["check_algorithm", "check_store"]

_HOMES = {"check_algorithm": "surest.testing.algorithms", "check_store": "surest.testing.stores"}


def __getattr__(name: str) -> object:
    """Import what is used, and nothing else."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'surest.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
