"""``surest gate --speed``: statuses, the control, and how often it is wrong on machines whose means are known."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import surest.speed.gate as speed
from calling import in_process
from surest.errors import UsageError
from surest.speed.gate import speed_gate
from surest.speed.run import Laboratory
from surest.speed.timing import Run


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Runs take as long as a law says, and nothing is run."""

    def made(seed: int, ratio: float, noise: float = 0.1) -> None:
        rng = np.random.default_rng(seed)

        def measured(self: Laboratory, j: int) -> Run:
            seconds = (ratio if j else 1.0) * float(rng.lognormal(0, noise))
            return Run(seconds, 0.9 * seconds, 0.1 * seconds, 0)

        monkeypatch.setattr(Laboratory, "measured", measured)

    return made


@pytest.mark.parametrize(("ratio", "verdict", "status"), [(1.0, "pass", 0), (1.3, "fail", 4), (1.02, "undecided", 3)])
def test_statuses(machine, ratio: float, verdict: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    machine(1, ratio, 0.05)
    call = in_process(capsys)
    most = "45" if verdict == "undecided" else "315"
    ended, out, _ = call("gate", "--speed", "true", "true", "--margin=5%", "--seed=1", "--json", "--max-runs", most)
    found = json.loads(out)
    assert (ended, found["verdict"], found["control_differs"]) == (status, verdict, False)
    low, middle, high = found["ratio_low"], found["ratio"], found["ratio_high"]
    assert (low or 0) <= middle <= (high or np.inf)


def test_false_alarms_are_rare_and_ten_per_cent_are_noticed(machine) -> None:
    """The same program twice, then one that takes a tenth longer, at noise of 10 %: within δ, and in under 120 runs."""
    verdicts = []
    for seed in range(100):
        machine(seed, 1.0)
        verdicts.append(speed_gate("true", "true", 0.05, seed=seed).verdict)
    assert verdicts.count("fail") <= 5
    assert verdicts.count("pass") >= 80
    needed = []
    for seed in range(40):
        machine(1000 + seed, 1.1)
        found = speed_gate("true", "true", 0.05, seed=seed)
        assert found.verdict != "pass"
        needed.append(found.runs)
    assert np.mean(needed) <= 120


def test_the_old_command_that_differs_from_itself_is_told(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second run of the old command takes half as long again: what the control is for."""
    turn = itertools.count()
    monkeypatch.setattr(Laboratory, "measured", lambda self, j: Run(1.0, 0, 0, 0))
    monkeypatch.setattr(speed, "judged", lambda run, by: run.seconds)
    monkeypatch.setattr(
        speed, "measured", lambda lab, arm: Run([1.0, 1.2, 1.5][arm] + 0.01 * (next(turn) % 3), 0, 0, 0)
    )
    found = speed_gate("true", "true", 0.05, seed=1)
    assert found.control
    assert "differs from itself" in str(found)


def test_what_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for settings in ({"margin": 0.0}, {"margin": 1.5}, {"max_runs": 3}, {"delta": 0}):
        with pytest.raises(UsageError):
            speed_gate("true", "true", **settings)
    assert in_process(capsys)("gate", "--speed", "true")[0] == 2
