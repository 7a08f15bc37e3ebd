"""The inner loops: plain functions on arrays, compiled by Cython when surest is installed. Elsewhere no code is typed for C.

Each module is Python and runs as such. Its .pxd file beside it says the types in C; CONTRIBUTING.md has how to write, build and
debug one. Both ways give the same bits. Everything runs as plain Python with ``SUREST_PURE_PYTHON=1`` in the environment, and
where a module was not compiled: they call each other in C.
"""

import os
import sys
import warnings
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType

_typed = [path for path in sorted(Path(__path__[0]).rglob("*.pxd")) if path.stem != "libm"]
_found = [(path.stem, PathFinder.find_spec(path.stem, [str(path.parent)])) for path in _typed]
MISSING = tuple(name for name, spec in _found if spec is None or str(spec.origin).endswith(".py"))
"""The modules that were not compiled."""
_asked = bool(os.environ.get("SUREST_PURE_PYTHON"))
COMPILED = not MISSING and not _asked
"""Whether the kernels run as machine code."""


def _warn(message: str) -> None:
    """Warn at the line that led here from outside: a user's, or that of the script `surest`."""
    frame: FrameType | None = sys._getframe()
    caller, ours = sys._getframe(), True
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "surest":
            ours = True
        elif ours and package != "importlib":
            caller, ours = frame, False
        frame = frame.f_back
    warnings.warn_explicit(message, RuntimeWarning, caller.f_code.co_filename, caller.f_lineno)


if not COMPILED:
    for folder in {str(path.parent) for path in _typed}:
        sys.path_importer_cache[folder] = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
    # What divides by 0 is infinite, or not a number, as in C.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"surest\.kernels\.")
if MISSING and not _asked:
    without = "a C compiler" if len(MISSING) == len(_typed) else f"compiled modules ({', '.join(MISSING)} missing)"
    _warn(
        f"surest was installed without {without} and runs as plain Python, which is slow in long searches; "
        "`surest doctor` says how to change it"
    )
