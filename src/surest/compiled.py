"""The one place that knows the compiler: `compiled` turns a plain function on arrays into machine code."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function with numba, keeping its machine code on disk for the next process."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_as(signature: Any) -> Callable[[F], F]:
    """Compile a function for one signature only, so that other compiled functions can be passed to it as values."""
    return lambda function: cast(F, njit(signature, cache=True, nogil=True, error_model="numpy")(function))
