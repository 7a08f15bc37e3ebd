"""The rivals' registry built anew from source, as plain Python instead of machine code, with at most one mistake in it.

Machine code cannot be patched function by function: a compiled function holds the code of those it calls. So all modules
that rivals are made of are imported once more under their own names, and the true ones are put back.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


class Rewritten:
    """Finds the modules to be built anew where they are, and loads them from source, with one passage replaced."""

    def __init__(self, files: dict[str, Path], mistake: tuple[str, str, str]) -> None:
        self.files, self.mistake = files, mistake

    def find_spec(self, fullname: str, path=None, target=None):
        return spec_from_file_location(fullname, self.files[fullname], loader=self) if fullname in self.files else None

    def is_package(self, fullname: str) -> bool:
        return self.files[fullname].name == "__init__.py"

    def create_module(self, spec) -> None:
        """As usual."""

    def exec_module(self, module) -> None:
        path = self.files[module.__name__]
        source, (name, right, wrong) = path.read_text(encoding="utf-8"), self.mistake
        if module.__name__ == name:
            assert source.count(right) == 1, f"{right!r} must be found once"
            source = source.replace(right, wrong)
        exec(compile(source, str(path), "exec"), vars(module))


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


def source_of(name: str) -> Path:
    """The source file of a module, which may be compiled."""
    path = Path(str(sys.modules[name].__file__))
    return path.with_name(path.name.partition(".")[0] + ".py")


def interpreted_rivals(module: str = "", right: str = "", wrong: str = "") -> dict[str, Entry]:
    """The registry; in the module of that name, if any, `right` is replaced by `wrong`."""
    assert module in ("", *MODULES)
    finder = Rewritten({name: source_of(name) for name in MODULES}, (module, right, wrong))
    with set_aside():
        sys.meta_path.insert(0, finder)
        try:
            fresh = {n: importlib.import_module(module).ENTRIES for n, module in PUBLISHED.items()}
        finally:
            sys.meta_path.remove(finder)
    return {name: next(e for e in entries if e.name == name) for name, entries in fresh.items()}
