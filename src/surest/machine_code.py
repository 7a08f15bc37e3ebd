"""Machine code on disk: what it was made from, and where numba keeps it. Nothing here needs the compiler."""

import builtins
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def fingerprint(function: FunctionType) -> str:
    """A digest of all that a function's machine code is made from: its code, constants, and the kernels that it calls.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    digest = hashlib.sha256(function.__module__.encode())  # kept machine code imports the modules it came from
    for code in _codes(function.__code__):
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        digest.update(repr((code.co_code, constants, code.co_names, code.co_varnames)).encode())
    for name, value in globals_of(function).items():
        digest.update(f"{name}={_described(value)};".encode())
    return digest.hexdigest()


def _described(value: Any) -> str:
    if hasattr(value, "dispatcher"):  # a kernel
        return fingerprint(value._function)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        return f"{value.__qualname__}{getattr(value, '_fields', '')}"
    is_plain = isinstance(value, int | float | str | tuple | np.generic)
    return repr(value) if is_plain else str(getattr(value, "__name__", type(value)))


def globals_of(function: FunctionType) -> dict[str, Any]:
    """The global names that a function uses, with their values."""
    used = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    found = {**vars(builtins), **function.__globals__}
    return {name: found[name] for name in used if name in found}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def is_kept(function: FunctionType) -> bool:
    """Whether there is machine code of a kernel's function on disk."""
    name = f"*{function.__name__}_{fingerprint(function)[:16]}-*.nbi"
    folders = cache_folders(Path(function.__code__.co_filename))
    return any(True for folder in folders for _ in folder.rglob(name))


def is_first() -> bool:
    """Whether no process has gone on as plain Python before; a file remembers it, where one can be written."""
    mark = cache_folders(Path(__file__))[0] / "surest.plain"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        pass
    return True


def cache_folders(source: Path) -> list[Path]:
    """Where numba keeps the machine code of a file: beside it, in the user's cache, or where NUMBA_CACHE_DIR says."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return [Path(os.environ["NUMBA_CACHE_DIR"])]
    return [source.parent / "__pycache__", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"]
