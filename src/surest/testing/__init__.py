"""What anybody's own part must pass: a store of studies."""

from surest.testing.stores import check_store

__all__ = ["check_store"]
