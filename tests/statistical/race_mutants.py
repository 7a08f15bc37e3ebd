"""Mistakes put into the source of the evidence on lists of items, to see them noticed."""

from pathlib import Path
from types import ModuleType

from surest.evidence import items


def mutant(*changes: tuple[str, str]) -> ModuleType:
    """The module with changes in its source, each of which must apply, not compiled."""
    source = Path(items.__file__).read_text()
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    module = ModuleType("mutant")
    exec(compile(source.replace("@compiled", ""), "mutant", "exec"), module.__dict__)
    return module
