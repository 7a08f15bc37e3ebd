"""Kept machine code goes out of date when any file changes, not only its own."""

import os
from pathlib import Path

import numba

import surest.compiled
from surest.compiled import compiled


def test_the_stamp_covers_all_files(tmp_path: Path) -> None:
    package = tmp_path / "surest"
    package.mkdir()
    (package / "compiled.py").touch()
    (package / "other.py").write_text("x = 1\n")
    before = surest.compiled.stamp_of(package)
    os.utime(package / "other.py", (2e9, 2e9))
    surest.compiled.stamp_of.cache_clear()
    assert surest.compiled.stamp_of(package) != before


def test_compiled_functions_carry_the_stamp() -> None:
    function = compiled(_double)
    assert isinstance(function, numba.core.registry.CPUDispatcher)
    assert function(2) == 4
    assert function._cache._cache_file._source_stamp == surest.compiled.stamp_of(Path(surest.compiled.__file__).parent)


def _double(x: int) -> int:
    return 2 * x
