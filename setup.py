"""Build the kernels: the modules in src/surest/kernels, with their types in *.pxd, by Cython and a C compiler.

Where there is no C compiler, or there are no headers of Python, the build goes on without: then they run as plain Python.
"""

import os
import sys
from multiprocessing import get_start_method
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

FOLDER = Path("src/surest/kernels")
SHARED = "surest.kernels._shared"
# The same bits on every machine and as plain Python: no fused multiplications, nothing that reorders sums.
EXACT = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-ffp-contract=off", "-g0"]
FAST, QUICK = (EXACT, EXACT) if sys.platform == "win32" else ([*EXACT, "-O2"], [*EXACT, "-O1"])
"""Optimised for searches; and, for what has little weight in them, compiled in half the time."""
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # types come from the .pxd files alone
    "infer_types": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "cdivision": True,
}


def extensions() -> list[Extension]:
    """An extension for each module that has a .pxd file, and one for what Cython needs in all of them."""
    sources = [path.with_suffix(".py") for path in sorted(FOLDER.rglob("*.pxd"))]
    names = {".".join(path.with_suffix("").parts[1:]): str(path) for path in sources}
    made = [
        Extension(name, [path], extra_compile_args=QUICK if ".lab." in name else FAST)
        for name, path in names.items()
        if not name.endswith(".libm")
    ]
    return [Extension(SHARED, [f"{FOLDER}/_shared.c"], extra_compile_args=QUICK), *made]


class BuildIfPossible(build_ext):
    """Translates the modules to C, and treats a compiler that is missing as one that fails: what is optional is left out then."""

    def finalize_options(self) -> None:
        """Compile several modules at once: an editable install forgets the option."""
        super().finalize_options()
        self.parallel = os.cpu_count()

    def run(self) -> None:
        """Build all. Whoever asks for metadata alone needs no C."""
        translated = cythonize(
            list(self.extensions),
            include_path=["src"],
            build_dir="build",
            nthreads=self.parallel if get_start_method() == "fork" else 0,  # others would run this file again
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            show_all_warnings=False,
            quiet=True,
        )
        for ours, found in zip(self.extensions, translated, strict=True):
            ours.sources, ours.optional = found.sources, True
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Build one."""
        try:
            super().build_extension(ext)
        except OSError as error:
            raise CompileError(str(error)) from error


setup(cmdclass={"build_ext": BuildIfPossible}, ext_modules=extensions())
