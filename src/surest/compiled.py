"""The one place that knows the compiler: `compiled` turns a plain function on arrays into machine code."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function with numba, keeping its machine code on disk for the next process."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))
