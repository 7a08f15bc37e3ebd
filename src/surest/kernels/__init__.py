"""The inner loops: plain functions on arrays, compiled by Cython when surest is installed. Elsewhere no code is typed for C.

Each module is Python and runs as such. Its .pxd file beside it says the types in C; CONTRIBUTING.md has how to write, build and
debug one. Both ways give the same bits. Without compiled modules, or with ``SUREST_PURE_PYTHON=1`` in the environment, everything
runs as plain Python.
"""

import os
import sys
import warnings
from collections.abc import Iterable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader


def find_sources(folders: Iterable[str]) -> None:
    """Where that is asked for, let modules of these folders be sought as source files alone."""
    if os.environ.get("SUREST_PURE_PYTHON"):
        for folder in folders:
            sys.path_importer_cache[folder] = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))


find_sources(__path__)

from surest.kernels import bets  # noqa: E402

COMPILED = not str(bets.__file__).endswith(".py")
"""Whether the kernels run as machine code."""

if not COMPILED:  # what divides by 0 is infinite, or not a number, as in C
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"surest\.(lab\.)?kernels\.")
if not COMPILED and not os.environ.get("SUREST_PURE_PYTHON"):
    warnings.warn(
        "surest was installed without a C compiler and runs as plain Python, which is slow in long searches; "
        "`surest doctor` says how to change it",
        RuntimeWarning,
        stacklevel=2,
    )
