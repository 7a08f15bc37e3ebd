"""The one place that knows the compiler: `compiled` turns a plain function on arrays into machine code."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function with numba, keeping its machine code on disk for the next process."""
    return cast(F, _stamped(njit(cache=True, nogil=True, error_model="numpy")(function)))


def compiled_as(function: F, signature: Any) -> F:
    """Compile a function for one signature only, so that other compiled functions can be passed to it as values."""
    dispatcher = _stamped(njit(cache=True, nogil=True, error_model="numpy")(function))
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return cast(F, dispatcher)


def _stamped(dispatcher: Any) -> Any:
    """Let kept machine code be out of date when any file that may hold compiled functions changes.

    Numba looks at a function's own file only, although the machine code holds that of the functions it calls as well.
    """
    dispatcher._cache._cache_file._source_stamp = stamp_of(Path(__file__).parent)
    return dispatcher


@lru_cache(maxsize=1)
def stamp_of(folder: Path) -> tuple[float, int]:
    """When a folder's Python files last changed, and how large they are."""
    files = [path.stat() for path in folder.rglob("*.py")]
    return max(file.st_mtime for file in files), sum(file.st_size for file in files)
