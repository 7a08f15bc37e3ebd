"""Mistakes put into sources, to see them noticed."""

import re
from pathlib import Path
from types import ModuleType

from surest.evidence.lists import race as items
from surest.kernels import lists


def mistakes_in(path: Path) -> list[tuple[str, str, str, str]]:
    """Of each mistake in a file: its section, who sees it or its name, what stands there, and what stands there instead."""
    found, module = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            module = line[1:-1]
        elif line and not line.startswith("#"):
            who, right, wrong = re.fullmatch(r"([^:]+): (.*) => (.*)", line.replace("\\n", "\n"), re.DOTALL).groups()  # type: ignore[union-attr]
            found.append((module, who, right, "" if wrong == "(nothing)" else wrong))
    return found


def mistakes_of(section: str) -> dict[str, list[tuple[str, str]]]:
    """The mistakes of a section of tests/evidence/mistakes.txt by name, each as changes of the source."""
    found: dict[str, list[tuple[str, str]]] = {}
    for where, name, right, wrong in mistakes_in(Path(__file__).parents[1] / "evidence" / "mistakes.txt"):
        if where == section:
            found.setdefault(name, []).append((right, wrong))
    return found


def source_of(module: ModuleType) -> str:
    """The source of a module, which may be compiled."""
    path = Path(module.__file__ or "")
    return path.with_name(path.name.partition(".")[0] + ".py").read_text(encoding="utf-8")


def mutant(*changes: tuple[str, str]) -> ModuleType:
    """Bets on lists and the standings in one module, with changes in the source, each of which must apply, not compiled."""
    return _changed(source_of(lists) + re.sub(r"from surest.kernels.lists import .*", "", source_of(items)), changes)


def mutant_of(module: ModuleType, *changes: tuple[str, str]) -> ModuleType:
    """One module with changes in the source, each of which must apply, not compiled."""
    own = source_of(module)
    imported = re.search(r"^from surest.kernels.lists import .*\n", own, re.MULTILINE)
    return _changed(own if imported is None else source_of(lists) + own.replace(imported[0], ""), changes)


def _changed(source: str, changes: tuple[tuple[str, str], ...]) -> ModuleType:
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    module = ModuleType("mutant")
    exec(compile(source, "mutant", "exec"), module.__dict__)
    return module
