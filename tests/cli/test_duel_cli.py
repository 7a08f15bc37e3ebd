"""``surest duel``: recorded duels and judges that are commands, kept in studies, and workers on a study of duels."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calling import Run

Called = Callable[..., tuple[int, str]]
JUDGE = """import sys, random
first, second, seed = sys.argv[1:4]
strength = {"x": 8, "y": 2, "z": 1}
rng = random.Random(seed)
print("thinking")
print(first if rng.random() < strength[first] / (strength[first] + strength[second]) else second)
"""


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.py").write_text(JUDGE)
    return f"{sys.executable} judge.py"


@pytest.fixture
def called(run: Run) -> Called:
    def call(*words: str) -> tuple[int, str]:
        said = run("", *words)
        return said.status, said.out if "--json" in words else said.words

    return call


def test_recorded_duels_decide_or_do_not(called: Called, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("white,second,winner\n" + "a,b,a\nb,c,b\na,c,tie\nc,a,a\n" * 40)
    code, said = called("duel", str(path), "--column", "first=white")
    assert code == 0
    assert "Arm a beats every other arm head to head" in said
    path.write_text("first,second,score\na,b,1\n")
    code, said = called("duel", str(path))
    assert code == 3
    assert "more duels needed" in said
    for words, wrong in (
        (["--judge", "echo"], "goes without"),
        (["--column", "x=y"], "write one of"),
        (["--top", "2"], "less than 2"),
    ):
        code, said = called("duel", str(path), *words)
        assert code == 2
        assert wrong in said


def test_a_command_judges_and_a_study_keeps_it(called: Called, judge: str, tmp_path: Path) -> None:
    arms = ["--arm", "x", "--arm", "y", "--arm", "z"]
    words = ["duel", *arms, "--judge", f"{judge} {{first}} {{second}} {{seed}}", "--seed", "3", "--quiet"]
    code, said = called(*words, "--study", "d", "--storage", f"sqlite:///{tmp_path}/s.db", "--workers", "2", "--json")
    found = json.loads(said)
    assert code == 0
    assert found["arm"] == "x"
    assert found["duels"]["games"][0][1] > 0
    code, said = called("study", "result", "d", "--storage", f"sqlite:///{tmp_path}/s.db")
    assert code == 0
    assert "Arm x beats every other arm" in said
    for wrong in ("echo {first}", "no-such-program {first} {second}"):
        code, said = called("duel", *arms, "--judge", wrong)
        assert code == 2


def test_workers_of_a_study_of_duels(called: Called, judge: str, tmp_path: Path) -> None:
    where = ["--storage", f"sqlite:///{tmp_path}/s.db"]
    made = [
        "study",
        "create",
        "d",
        *where,
        "--arm",
        "x",
        "--arm",
        "y",
        "--arm",
        "z",
        "--algorithm",
        "duels",
        "--seed",
        "3",
    ]
    assert called(*made)[0] == 0
    code, said = called("study", "work", "d", *where, "--", *judge.split(), "{second}", "x")
    assert code == 2
    assert "{first}" in said
    code, said = called("study", "work", "d", *where, "--", *judge.split(), "{first}", "{second}", "{seed}")
    assert code == 0
    assert "Arm x beats every other arm" in called("study", "result", "d", *where)[1]
