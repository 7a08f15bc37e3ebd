"""Python files of users: algorithms as ``file.py:function``, as the command line and stored studies name them, and arms."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, wraps
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeGuard

from surest.algorithms import Algorithm, lookup
from surest.algorithms.entry import Entry
from surest.errors import SurestError, UsageError
from surest.text import shell_line


def is_in_file(algorithm: Algorithm | None) -> TypeGuard[str]:
    """Whether it is written as ``file.py:function``."""
    return isinstance(algorithm, str) and ".py:" in algorithm


def load_algorithm(text: str) -> Callable[..., Any]:
    """The function that ``file.py:function`` names; the file is executed once per process. Its errors are reported as its own."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not name:
        raise UsageError(f"algorithm {text!r}: write file.py:function")
    module = module_of_file(path, f"algorithm {text}")
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        near = get_close_matches(name, [n for n in vars(module) if not n.startswith("_")], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"algorithm {text}: {path} has no function {name}{hint}")
    return _telling(function, text)


def module_of_file(path: str, what: str, more: str = "") -> ModuleType:
    """A Python file as a module, executed once as long as it does not change. What stands beside it can be imported.

    A message about a mistake begins with `what`, and one about a missing file ends with `more`.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise UsageError(f"{what}: there is no file {path}{more}")
    facts = file.stat()
    try:
        return _executed(file, facts.st_mtime_ns, facts.st_size)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{what}: {path} raised {told(error, file)}") from error


def told(error: BaseException, file: Path | None = None) -> str:
    """What was raised, and in which line of a file, for a message."""
    said = f"{type(error).__name__}: {str(error).strip()}".removesuffix(": ")
    frames = [f for f in extract_tb(error.__traceback__) if file is not None and f.filename == str(file)]
    where = f" (line {frames[-1].lineno} of {file.name})" if frames and file is not None else ""
    return f"{said}{where}"


def entry_of(algorithm: Algorithm) -> Entry:
    """The entry of a name, of a function, or of ``file.py:function``."""
    if is_in_file(algorithm):
        return Entry.of_function(load_algorithm(algorithm), algorithm)
    return lookup(algorithm)


def permitted(stored: Algorithm, named: Algorithm | None) -> Algorithm:
    """An algorithm that data names: a study, an export, what a service sent. One in a file runs only if this call `named` it.

    Whatever runs an algorithm by a stored setting comes through here. Data never runs code: whoever wrote a study's settings is
    not whoever opens it.

    >>> permitted("lucb", None)
    'lucb'
    >>> permitted("mine.py:race", None)
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: its algorithm is in a file, 'mine.py:race', which runs only if you name it: if you trust that \
file, give --algorithm mine.py:race (in Python algorithm='mine.py:race')
    """
    if not is_in_file(stored):
        return stored
    if named != stored:
        raise UsageError(
            f"its algorithm is in a file, {stored!r:.200}, which runs only if you name it: if you trust that file, give "
            f"{shell_line(['--algorithm', str(stored)])} (in Python algorithm={stored!r:.200})"
        )
    return entry_of(stored)


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which an algorithm in a file is its entry; all else as it is."""
    algorithm = settings.get("algorithm")
    return {**settings, "algorithm": entry_of(algorithm)} if is_in_file(algorithm) else dict(settings)


def _telling(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """An algorithm whose errors name it: whoever runs a command sees no traceback."""
    file = Path(text.rpartition(":")[0]).resolve()

    @contextmanager
    def naming() -> Iterator[None]:
        try:
            yield
        except SurestError:
            raise
        except Exception as error:
            raise UsageError(f"algorithm {text} raised {told(error, file)}") from error

    def going_on(procedure: Any) -> Any:
        with naming():
            return (yield from procedure)

    @wraps(function)
    def begin(*arguments: Any, **options: Any) -> Any:
        with naming():
            procedure = function(*arguments, **options)
        return going_on(procedure) if hasattr(procedure, "send") else procedure

    return begin


@cache
def _executed(file: Path, changed: int, size: int) -> ModuleType:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # dataclasses and pickle look there
    try:
        exec(compile(file.read_bytes(), file, "exec"), vars(module))  # bytecode that is kept may be of an earlier text
    except BaseException:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
        raise
    return module
