"""Mistakes put into the source of the evidence on lists of items, to see them noticed."""

import re
from pathlib import Path
from types import ModuleType

from surest.evidence import item_bets, items


def mutant(*changes: tuple[str, str]) -> ModuleType:
    """Both modules in one, with changes in the source, each of which must apply, not compiled."""
    sources = [Path(module.__file__ or "").read_text() for module in (item_bets, items)]
    source = "\n".join(re.sub(r"from surest.evidence.item_bets import .*", "", text) for text in sources)
    return _changed(source, changes)


def mutant_of(module: ModuleType, *changes: tuple[str, str]) -> ModuleType:
    """One module with changes in the source, each of which must apply, not compiled."""
    return _changed(Path(module.__file__ or "").read_text(), changes)


def _changed(source: str, changes: tuple[tuple[str, str], ...]) -> ModuleType:
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    module = ModuleType("mutant")
    exec(compile(source.replace("@compiled", ""), "mutant", "exec"), module.__dict__)
    return module
