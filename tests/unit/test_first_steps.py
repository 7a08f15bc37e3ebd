"""Small mistakes of a newcomer, and what the command line answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from surest.algorithms import all_entries
from surest.cli import main

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREST_STORAGE", raising=False)

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), " ".join((out + err).split())

    return call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["study", "stats", "mine"], "there is no command 'stats'; did you mean status?"),
        (["study", "qqqq"], "there is no command 'qqqq'; there are add-arms, ask, create, delete"),
        (["identify", "reward.csv"], "there is no file 'reward.csv'; allowed: example1:N"),
        (["identify", "arms.py"], "arms.py is Python; say what in it holds the arms, as in arms.py:arms"),
        (["identify", "head.csv"], "head.csv holds no rewards yet; add some, or name the arms with --arm"),
        (["report", "x", "--output", "x.pdf"], "x.pdf: a report's name ends in .html, .md or .json"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(run: Run, words: list[str], said: str) -> None:
    Path("arms.py").write_text("arms = {'a': lambda: 1}\n")
    Path("head.csv").write_text("arm,value\n")
    status, answer = run(*words)
    assert status == 2
    assert said in answer


def test_the_list_of_algorithms_says_what_each_one_looks_for(run: Run) -> None:
    listed = run("algorithms")[1]
    for name, goal in {
        "wager": "best or ε-optimal arm",
        "race-top": "the m best arms",
        "wager-above": "arms above a bar",
        "race-control": "arms better than a control",
    }.items():
        standing = next(entry.standing for entry in all_entries() if entry.name == name)
        assert f"{name} {goal}, {standing}" in listed


def test_identify_and_bounds_give_the_same_lower_bound(run: Run) -> None:
    for source in ("bernoulli:0.9,0.7,0.5", "bernoulli:0.9,0.75", "example1:5"):
        bound = run("bounds", source)[1].partition("T*·kl(δ, 1−δ) = ")[2].partition(" pulls here")[0]
        assert f"must expect to make at least {bound} pulls here" in run("identify", source, "--seed", "1")[1]
