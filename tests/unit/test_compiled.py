"""Kernels: plain Python for little work, machine code for more, and machine code that is kept while it is right."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

import surest
import surest.compiled
from surest.compiled import LARGE, Kernel, compiled
from surest.evidence.kernels import kl
from surest.machine_code import fingerprint

FACTOR = 2.0

SEARCH = """
import numpy as np
from surest.evidence.kernels import kl, kl_upper
from surest import compiled
from surest.algorithms import REGISTRY, Task
from surest.arms.finite import bernoulli
from surest.drivers.blocks import simulate_blocks

said = []
compiled.on_compile(lambda: said.append("compiling"))
compiled.prefer_machine_code()
print(kl(0.5, 1.0), kl_upper(0.0, 1.0).hex(), compiled.keeps_machine_code(), said)
problem = Task(np.arange(2), 0.1, 0.0, None, np.random.default_rng(0))
done = simulate_blocks(REGISTRY["successive-elimination"].stepwise(problem), bernoulli([0.8, 0.2]).simulate(1))
print(done.value.reason, done.pulls)
"""


def run(code: str, **environment: str) -> list[str]:
    """The lines that a new process prints."""
    package = Path(surest.__file__).parents[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**kept, "PYTHONPATH": str(package), **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def usual() -> list[str]:
    return run(SEARCH)


@compiled
def half(x: float) -> float:
    return x / FACTOR


@compiled
def quarter(x: float) -> float:
    return half(half(x))


@compiled
def halve_all(values: np.ndarray, last: float) -> float:
    for i in range(len(values)):
        values[i] = half(values[i])
    return 1.0 / last


def test_small_work_is_done_without_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surest.compiled._state, "plain_steps_left", 10)
    monkeypatch.setattr(surest.compiled, "compiler", lambda: pytest.fail("nobody needs a compiler here"))
    assert Kernel(quarter.__wrapped__)(8.0) == 2.0  # three steps
    assert surest.compiled._state.plain_steps_left == 7


def test_much_work_is_handed_to_machine_code_with_nothing_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surest.compiled._state, "plain_steps_left", 10)
    monkeypatch.setattr(surest.compiled, "is_kept", lambda function: True)
    kernel, values = Kernel(halve_all.__wrapped__), np.ones(30)
    assert kernel(values, 2.0) == 0.5
    assert set(values) == {0.5}
    assert kernel._machine_code is not None


def test_a_service_answers_while_another_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    state, started = surest.compiled._state, []
    monkeypatch.setattr(state, "plain_steps_left", 10)
    monkeypatch.setattr(state, "in_background", True)
    monkeypatch.setattr(surest.compiled.threading, "Thread", lambda **given: started.append(given) or MagicMock())
    kernel, values = Kernel(halve_all.__wrapped__), np.ones(30)
    for _ in range(3):
        kernel(values, 2.0)
    assert set(values) == {0.125}
    assert len(started) == 1  # once, when there was much to do
    assert kernel._machine_code is None
    started[0]["target"](*started[0]["args"])
    assert kernel._machine_code is not None
    kernel(values, 2.0)
    assert set(values) == {0.0625}


def test_the_first_process_does_more_without_compiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = surest.compiled._state
    monkeypatch.setattr(state, "plain_steps_left", 10)
    monkeypatch.setattr(state, "went_on", False)
    monkeypatch.setattr(surest.compiled, "COLD_STEPS", 50)
    monkeypatch.setattr(surest.compiled, "is_kept", lambda function: False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    kernel, values = Kernel(halve_all.__wrapped__), np.ones(30)
    assert kernel(values, 2.0) == 0.5
    assert set(values) == {0.5}
    assert kernel._machine_code is None
    kernel(values, 2.0)
    assert set(values) == {0.25}
    assert kernel._machine_code is not None
    for name, value in (("went_on", False), ("plain_steps_left", 10)):  # as in another process, which compiles
        monkeypatch.setattr(state, name, value)
    kernel = Kernel(halve_all.__wrapped__)
    kernel(values, 2.0)
    assert kernel._machine_code is not None


def test_machine_code_on_disk_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("from surest.compiled import compiled\n@compiled\ndef f(x):\n    return x + 1\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from surest import compiled; from one import f;"
        "print(compiled.is_kept(f.__wrapped__)); compiled.prefer_machine_code(); f(1); print(compiled.is_kept(f.__wrapped__))"
    )
    assert run(code) == ["False", "True"]
    assert run(code) == ["True", "True"]


def test_large_arrays_go_to_machine_code_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surest.compiled._state, "plain_steps_left", 10**9)
    kernel, values = Kernel(halve_all.__wrapped__), np.ones(LARGE)
    kernel(values, 2.0)
    assert kernel._machine_code is not None
    assert values[-1] == 0.5


def test_dividing_by_zero_gives_infinity_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in (10**9, 0):
        monkeypatch.setattr(surest.compiled._state, "plain_steps_left", steps)
        assert Kernel(halve_all.__wrapped__)(np.ones(1), 0.0) == np.inf


def test_an_error_of_plain_python_is_left_to_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surest.compiled._state, "plain_steps_left", 10**9)
    values = np.ones(2)
    assert Kernel(_inverse_after_halving)(values, 0) == np.inf  # whole numbers: Python raises
    assert list(values) == [0.5, 0.5]


def _inverse_after_halving(values: np.ndarray, last: int) -> float:
    for i in range(len(values)):
        values[i] = half(values[i])
    return 1 / last


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(kl)) is kl
    assert repr(kl) == "<kernel surest.evidence.kernels.kl>"


def test_the_fingerprint_covers_what_machine_code_is_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(quarter.__wrapped__)
    assert before == fingerprint(quarter.__wrapped__)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)  # of the kernel that it calls
    changed = fingerprint(quarter.__wrapped__)
    monkeypatch.setitem(globals(), "half", compiled(lambda x: x / 3))
    assert len({before, changed, fingerprint(quarter.__wrapped__)}) == 3


def test_kept_machine_code_is_used_until_another_file_changes(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text("from surest.compiled import compiled\n@compiled\ndef f(x):\n    return x + 1\n")
    (tmp_path / "outer.py").write_text(
        "from surest.compiled import compiled\nfrom inner import f\n@compiled\ndef g(x):\n    return f(x)\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.dont_write_bytecode = True; from surest import compiled;"
        "compiled.prefer_machine_code(); said = []; compiled.on_compile(lambda: said.append(1));"
        "from outer import g; print(g(1), len(said), compiled.seconds_spent() > 0)"
    )
    assert run(code) == ["2 1 True"]
    assert run(code) == ["2 0 True"]
    (tmp_path / "inner.py").write_text("from surest.compiled import compiled\n@compiled\ndef f(x):\n    return x + 5\n")
    assert run(code) == ["6 1 True"]


def test_it_works_where_no_folder_can_be_written(usual: list[str]) -> None:
    refuse = "import tempfile\ndef refuse(*_, **__): raise PermissionError\ntempfile.TemporaryFile = refuse\n"
    lines = run(refuse + SEARCH)
    assert lines[0].split() == [*usual[0].split()[:2], "False", "['compiling']"]
    assert lines[1] == usual[1]


def test_it_works_with_the_compiler_switched_off(usual: list[str]) -> None:
    lines = run(SEARCH, NUMBA_DISABLE_JIT="1")
    assert lines[0].split()[:2] == usual[0].split()[:2]
    assert lines[1] == usual[1]


def test_it_works_without_numba_and_says_that_it_is_slow(usual: list[str]) -> None:
    missing = "import sys, warnings\nsys.modules['numba'] = None\nwarnings.simplefilter('always')\n"
    heard = "heard = []\nwarnings.showwarning = lambda message, *_: heard.append(str(message))\n"
    lines = run(missing + heard + SEARCH + "print(len(heard), 'slow' in heard[0])")
    assert lines[0].split()[:2] == usual[0].split()[:2]
    assert lines[1:] == [usual[1], "1 True"]
