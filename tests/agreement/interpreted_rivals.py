"""The rivals' registry built anew from source, as plain Python instead of machine code, with at most one mistake in it.

Machine code cannot be patched function by function: a compiled function holds the code of those it calls. So all modules
that rivals are made of are imported once more under their own names, and the true ones are put back.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

from surest.algorithms import MODULES as BY_NAME
from surest.algorithms import all_entries
from surest.algorithms.entry import Entry

FOLDER = "surest.lab.rivals"
PUBLISHED = {
    name: f"surest.{module}"
    for name, module in BY_NAME.items()
    if module.startswith("lab.rivals.") and not module.endswith(".on_items")
}
RIVALS = {entry.name: entry for entry in all_entries() if entry.name in PUBLISHED}
"""The published algorithms as they are."""
SHARED = ("surest.lab.stepwise", "surest.kernels.lab", "surest.kernels.")


BUILT = "surest.kernels._shared"  # by Cython alone
MODULES = [
    name for name in sys.modules if name == FOLDER or (name.startswith((f"{FOLDER}.", *SHARED)) and name != BUILT)
]


class Loader(SourceFileLoader):
    """Reads a module's source, with one passage replaced."""

    mistake: tuple[str, str, str] = ("", "", "")

    def get_code(self, fullname: str):
        source = self.get_source(fullname)
        module, right, wrong = self.mistake
        if fullname == module:
            assert source.count(right) == 1, f"{right!r} must be found once"
            source = source.replace(right, wrong)
        return compile(source, self.path, "exec")


class Finder:
    """Finds the modules to be built anew where they are."""

    def __init__(self, files: dict[str, str], mistake: tuple[str, str, str]) -> None:
        self.files, self.mistake = files, mistake

    def find_spec(self, fullname: str, path=None, target=None):
        if fullname not in self.files:
            return None
        loader = Loader(fullname, self.files[fullname])
        loader.mistake = self.mistake
        return spec_from_file_location(fullname, self.files[fullname], loader=loader)


@contextmanager
def set_aside() -> Iterator[None]:
    """Forget the modules, and remember them."""
    true = {name: sys.modules.pop(name) for name in MODULES}
    for name in MODULES:
        parent, _, child = name.rpartition(".")
        if parent not in true:  # else the old one would be found there
            delattr(sys.modules[parent], child)
    try:
        yield
    finally:
        sys.modules.update(true)
        for name, module in true.items():
            parent, _, child = name.rpartition(".")
            if parent not in true:  # the import has put the new one there
                setattr(sys.modules[parent], child, module)


def source_of(name: str) -> str:
    """The source file of a module, which may be compiled."""
    path = Path(str(sys.modules[name].__file__))
    return str(path.with_name(path.name.partition(".")[0] + ".py"))


def interpreted_rivals(module: str = "", right: str = "", wrong: str = "") -> dict[str, Entry]:
    """The registry; in the module of that name, if any, `right` is replaced by `wrong`."""
    assert module in ("", *MODULES)
    finder = Finder({name: source_of(name) for name in MODULES}, (module, right, wrong))
    with set_aside():
        sys.meta_path.insert(0, finder)
        try:
            fresh = {n: importlib.import_module(module).ENTRIES for n, module in PUBLISHED.items()}
        finally:
            sys.meta_path.remove(finder)
    return {name: next(e for e in entries if e.name == name) for name, entries in fresh.items()}
