"""Algorithms from files: ``file.py:function``, as the command line and stored studies name them."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from surest.algorithms import Algorithm, lookup
from surest.algorithms.entry import Entry
from surest.errors import UsageError


def is_in_file(algorithm: Algorithm) -> bool:
    """Whether it is written as ``file.py:function``.

    >>> is_in_file("mine.py:race"), is_in_file("lucb")
    (True, False)
    """
    return isinstance(algorithm, str) and ".py:" in algorithm


def load_algorithm(text: str) -> Callable[..., Any]:
    """The function that ``file.py:function`` names; the file is executed once a process.

    >>> load_algorithm("nowhere.py:race")
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: algorithm nowhere.py:race: there is no file nowhere.py
    """
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not name:
        raise UsageError(f"algorithm {text!r}: write file.py:function")
    try:
        module = _module(path)
    except FileNotFoundError as error:
        if not str(error.filename).endswith(path):
            raise
        raise UsageError(f"algorithm {text}: there is no file {path}") from None
    except Exception as error:
        raise UsageError(f"algorithm {text}: {path} raised {type(error).__name__}: {error}") from error
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"algorithm {text}: {path} has no function {name}")
    return function


def entry_of(algorithm: Algorithm) -> Entry:
    """The entry of a name, of a function, or of ``file.py:function``."""
    if isinstance(algorithm, str) and is_in_file(algorithm):
        return Entry.of_function(load_algorithm(algorithm), algorithm)
    return lookup(algorithm)


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which an algorithm in a file is its entry; all else as it is."""
    algorithm = settings.get("algorithm")
    return {
        **settings,
        **({"algorithm": entry_of(algorithm)} if algorithm is not None and is_in_file(algorithm) else {}),
    }


@cache
def _module(path: str) -> ModuleType:
    """The file as a module; what stands beside it can be imported, as if it were run."""
    folder, _, file = path.rpartition("/")
    spec = spec_from_file_location(file.removesuffix(".py"), path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.path.append(folder or ".")
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module
