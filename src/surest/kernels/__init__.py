"""The inner loops: plain functions on arrays, compiled by Cython when surest is installed. Elsewhere no code is typed for C.

Each module is Python and runs as such. Its .pxd file beside it says the types in C; CONTRIBUTING.md has how to write, build and
debug one. Both ways give the same bits. Without compiled modules, or with ``SUREST_PURE_PYTHON=1`` in the environment, everything
runs as plain Python.
"""

import os
import sys
import warnings
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

if os.environ.get("SUREST_PURE_PYTHON"):
    for folder in (__path__[0], os.path.join(__path__[0], "lab")):
        sys.path_importer_cache[folder] = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))

from surest.kernels import bets

COMPILED = not str(bets.__file__).endswith(".py")
"""Whether the kernels run as machine code."""

if not COMPILED:  # what divides by 0 is infinite, or not a number, as in C
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"surest\.kernels\.")
if not COMPILED and not os.environ.get("SUREST_PURE_PYTHON"):
    warnings.warn(
        "surest was installed without a C compiler and runs as plain Python, which is slow in long searches; "
        "`surest doctor` says how to change it",
        RuntimeWarning,
        stacklevel=2,
    )
