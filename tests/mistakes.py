"""Mistakes put into sources, to see them noticed: rows of text files, each with what stands there and what stands there instead.

A module with a mistake is built anew as plain Python, as machine code cannot be changed, and takes the place of the true one.
"""

import importlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

import pytest

import surest
from surest.algorithms import all_entries

Change = tuple[str, str]
"""What stands there, and what stands there instead."""
OURS = tuple(str(Path(__file__).parents[1] / folder) for folder in ("tests", "src"))


def mistakes_in(path: Path) -> list[tuple[str, str, str, str]]:
    """Of each mistake in a file: its section, its name or who sees it, and the change."""
    found, section = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            who, right, wrong = re.fullmatch(r"([^:]+): (.*) => (.*)", line.replace("\\n", "\n"), re.DOTALL).groups()  # type: ignore[union-attr]
            found.append((section, who, right, "" if wrong == "(nothing)" else wrong))
    return found


def source_of(module: ModuleType) -> Path:
    """The source file of a module, which may be compiled."""
    path = Path(str(module.__file__))
    return path.with_name(path.name.partition(".")[0] + ".py")


@cache
def compiled(text: str, path: str) -> CodeType:
    """Kept, as a mistake is in one module of many."""
    return compile(text, path, "exec")


class Loader(SourceFileLoader):
    """Loads some modules from their sources, changed; it also finds them."""

    files: dict[str, Path]
    texts: dict[str, str]

    def get_code(self, fullname: str) -> CodeType:
        return compiled(self.texts[fullname], self.path)

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in cls.texts:
            return None
        return spec_from_file_location(name, cls.files[name], loader=cls(name, str(cls.files[name])))


def rebuilt(names: Iterable[str], *changes: Change, into: str = "") -> dict[str, ModuleType]:
    """Modules once more, in plain Python, each using the others; each change applies in one place, `into` a module if told so.

    All are imported under their own names, and the true ones are put back.
    """
    files = {name: source_of(sys.modules[name]) for name in names}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    for right, wrong in changes:
        (place,) = [name for name, text in texts.items() if right in text and into in ("", name)]
        assert texts[place].count(right) == 1, f"{right!r} must be found once"
        texts[place] = texts[place].replace(right, wrong)
    with pytest.MonkeyPatch.context() as patch:
        finder = type("Finder", (Loader,), {"files": files, "texts": texts})
        patch.setattr(sys, "meta_path", [finder, *sys.meta_path])
        for name in files:
            parent, _, child = name.rpartition(".")
            patch.delattr(sys.modules[parent], child)  # else the true one would be found there
        for name in files:
            patch.delitem(sys.modules, name)
        return {name: importlib.import_module(name) for name in files}


def put(patch: pytest.MonkeyPatch, fresh: dict[str, ModuleType]) -> None:
    """Use modules, and all that they define, wherever the true ones are used."""
    _ = (
        all_entries(),
        [getattr(surest, name) for name in surest.__all__],
    )  # what is imported later would keep the mistake
    instead: dict[int, object] = {}
    for name, module in fresh.items():
        true = sys.modules[name]
        instead[id(true)] = module
        own = [(key, value) for key, value in vars(true).items() if not isinstance(value, int | str | None)]
        instead |= {id(value): vars(module)[key] for key, value in own if not key.startswith("__")}
    for user in [module for module in sys.modules.values() if str(getattr(module, "__file__", "")).startswith(OURS)]:
        for key, value in list(vars(user).items()):
            if id(value) in instead and instead[id(value)] is not value and user not in fresh.values():
                patch.setattr(user, key, instead[id(value)])
