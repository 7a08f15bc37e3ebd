"""``surest duel``: judges that are commands, kept in studies, and workers on a study of duels."""

import sys
from pathlib import Path

import pytest

from calling import Run

JUDGE = """import sys, random
first, second, seed = sys.argv[1:4]
strength = {"x": 8, "y": 2, "z": 1}
rng = random.Random(seed)
print("thinking")
print(first if rng.random() < strength[first] / (strength[first] + strength[second]) else second)
"""
ASKED = f"{sys.executable} judge.py {{first}} {{second}} {{seed}}"


@pytest.fixture
def run(run: Run) -> Run:
    Path("judge.py").write_text(JUDGE)
    return run


def test_a_command_judges_and_a_study_keeps_it(run: Run) -> None:
    said = run(f"duel --arm x --arm y --arm z --judge '{ASKED}' --seed 3 --quiet --study d --workers 2 --json")
    assert (said.status, said.json["arm"], said.json["duels"]["games"][0][1] > 0) == (0, "x", True)
    assert "Arm x beats every other arm" in run("study result d").words


def test_workers_of_a_study_of_duels(run: Run) -> None:
    assert run("study create d --arm x --arm y --arm z --algorithm duels --seed 3").status == 0
    wrong = run(f"study work d -- {ASKED.replace('{first}', 'x')}")
    assert (wrong.status, "{first}" in wrong.words, run(f"study work d -- {ASKED}").status) == (2, True, 0)
    assert "Arm x beats every other arm" in run("study result d").words
