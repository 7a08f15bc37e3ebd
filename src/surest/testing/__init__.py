"""Conformance checks: `check_algorithm` for an algorithm, `check_store` for a store of studies."""

from surest.testing.algorithms import check_algorithm as check_algorithm
from surest.testing.stores import check_store as check_store
