"""Kernels give the same bits compiled, as plain Python and on any processor; they are up to date, and stand in two folders."""

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import surest
from calling import ran
from surest import kernels

ROOT = Path(surest.__file__).parents[1]
FOLDER = Path(kernels.__file__).parent
BITS = str(Path(__file__).with_name("kernel_bits.py"))
VECTORS = np.show_config("dicts")["SIMD Extensions"]["found"]
"""The instructions for which NumPy has code of its own, and this processor has them. Their names change with its versions."""


def surroundings(**variables: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("SUREST_", "NPY_"))} | variables


def run(*words: str, **variables: str) -> str:
    path = f"{ROOT}{os.pathsep}{Path(__file__).parents[1]}"
    done = ran("-W", "ignore", *words, env=surroundings(PYTHONPATH=path, **variables))
    assert done.status == 0, done.err
    return done.out


@pytest.fixture(scope="module")
def compiled() -> str:
    return run(BITS)


def test_the_same_bits_as_plain_python(compiled: str) -> None:
    assert run(BITS, SUREST_PURE_PYTHON="1").splitlines() == compiled.splitlines()


@pytest.mark.skipif(not VECTORS, reason="NumPy uses no vector instructions on this processor")
def test_the_same_bits_without_vector_instructions(compiled: str) -> None:
    without = {"NPY_DISABLE_CPU_FEATURES": " ".join(VECTORS)}
    left = run("-c", 'import numpy as np; print(np.show_config("dicts")["SIMD Extensions"].get("found"))', **without)
    assert not any(name in left for name in VECTORS), "they are disabled"
    found, usual = (
        [line for line in out.splitlines() if not line.startswith("surest.kernels.")]
        for out in (run(BITS, **without), compiled)
    )
    assert found == usual, (
        "results are the same; what kernels are asked on the way may be as many things in another order"
    )


def test_kernels_are_compiled_here_and_up_to_date() -> None:
    assert np.empty is not np.zeros, "kernel_bits.py is for a process of its own"
    assert kernels.COMPILED or os.environ.get("SUREST_PURE_PYTHON"), "run `make kernels`"
    for built in FOLDER.rglob("*.so"):
        for source in built.parent.glob(f"{built.name.partition('.')[0]}.p*"):
            assert source.stat().st_mtime <= built.stat().st_mtime, f"{source.name} changed: run `make kernels`"


def test_tests_and_examples_run_them_as_compiled() -> None:
    for typed in FOLDER.rglob("*.pxd"):
        name = ".".join(typed.relative_to(ROOT).with_suffix("").parts)
        if typed.stem != "libm":  # all are loaded before pytest loads the sources that it finds
            assert str(sys.modules[name].__file__).endswith(".py") != kernels.COMPILED, name


@pytest.mark.parametrize(
    ("removed", "without"),
    [("*.so", "a C compiler"), ("rules.*.so", "compiled modules (rules missing)")],
    ids=["all", "one"],
)
def test_plain_python_says_so_once_and_doctor_says_how_to_change_it(tmp_path: Path, removed: str, without: str) -> None:
    shutil.copytree(ROOT / "surest", tmp_path / "surest", ignore=shutil.ignore_patterns(removed, "__pycache__"))
    script, kept = tmp_path / "a_users.py", surroundings(PYTHONPATH=str(tmp_path))
    script.write_text("import surest\nfor _ in range(2):\n    surest.identify([lambda: 1, lambda: 0], seed=1)\n")
    said = ran(str(script), env=kept)
    warned = f"{script}:3: RuntimeWarning: surest was installed without {without} and runs as plain Python"
    assert (said.status, said.err.startswith(warned), said.err.count("RuntimeWarning")) == (0, True, 1)
    told = ran("-m", "surest", "doctor", env=kept).out
    assert "kernels: plain Python" in told
    assert "apt-get install gcc python3-dev" in told
    assert ("not compiled: rules\n" in told) == (removed != "*.so")


def test_doctor_says_that_kernels_are_compiled() -> None:
    assert "kernels: compiled" in run("-m", "surest", "doctor")


def test_nothing_else_is_typed_for_c() -> None:
    for path in sorted((ROOT / "surest").rglob("*")):
        if path.suffix in (".py", ".pxd") and FOLDER not in path.parents:
            assert path.suffix == ".py", path
            assert not re.search(r"\b(cython|cimport|numba)\b", path.read_text(encoding="utf-8")), path
