"""What anybody's own must pass: `check_store` for a place to keep studies."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surest.testing.stores import check_store

__all__ = ["check_store"]

_HOMES = {"check_store": "surest.testing.stores"}


def __getattr__(name: str) -> object:
    """Import what is used, and nothing else."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'surest.testing' has no attribute {name!r}")
