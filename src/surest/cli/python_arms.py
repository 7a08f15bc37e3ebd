"""Arms written in Python: ``module:attribute`` and ``file.py:attribute``."""

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from surest.arms.instances import KINDS
from surest.errors import SourceError, UsageError
from surest.search.loading import module_of_file, told

NAMES = re.compile(r"(?P<home>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
FORMS = "module:attribute or file.py:attribute, a mapping or sequence of callables, or a function that returns one"


def is_python(source: str) -> bool:
    """Whether a source names Python arms.

    >>> [is_python(s) for s in ("models.py:arms", "lab.models:arms", "example1:100", "bernoulli:a", "rewards.csv")]
    [True, True, False, False, False]
    """
    found = NAMES.fullmatch(source)
    return found is not None and found["home"] not in KINDS


def load(source: str) -> Any:
    """The arms that a source names."""
    found = NAMES.fullmatch(source)
    assert found is not None
    home = found["home"]
    thing: Any = _file(home, source) if home.endswith(".py") else _module(home, source)
    for name in found["attribute"].split("."):
        if not hasattr(thing, name):
            near = get_close_matches(name, [n for n in dir(thing) if not n.startswith("_")], 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise SourceError(f"{source!r}: {home} has no {name!r}{hint}")
        thing = getattr(thing, name)
    if callable(thing) and not isinstance(thing, Mapping | Sequence | np.ndarray):
        try:
            thing = thing()
        except Exception as error:
            raise SourceError(f"{source!r}: the function raised {told(error)}; allowed: {FORMS}") from error
    return thing


def _file(path: str, source: str) -> ModuleType:
    try:
        return module_of_file(path, repr(source), f"; allowed: {FORMS}")
    except UsageError as error:
        raise SourceError(str(error)) from error.__cause__


def _module(name: str, source: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))  # as with python -m
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise SourceError(f"{source!r}: importing {name} raised {told(error)}") from error
        near = get_close_matches(name, KINDS, 1)
        hint = f" (did you mean {near[0]}:…?)" if near else ""
        raise SourceError(f"{source!r}: there is no module {name}{hint}; allowed: {FORMS}") from None
    except Exception as error:
        raise SourceError(f"{source!r}: importing {name} raised {told(error)}") from error
