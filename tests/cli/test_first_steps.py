"""Small mistakes of a newcomer, and what the command line answers."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import surest
from surest.algorithms import all_entries
from surest.cli import main
from surest.errors import SourceError

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


def test_functions_without_items_are_told_what_is_missing() -> None:
    with pytest.raises(SourceError, match=r"arm 'a' is a function, and there are no items.*evaluate\(arms, items\)"):
        surest.evaluate({"a": lambda item: 1.0, "b": lambda item: 0.0})


def test_large_numbers_are_rounded_in_sentences_and_grouped_in_tables() -> None:
    rewards = {"a": [678_571.0 * (i % 2) for i in range(60)], "b": [1_000.0 * (i % 2) for i in range(60)]}
    result = surest.evaluate(rewards, bounds=(0, 1e6), seed=1, simulate=True)
    lines = str(result).splitlines()
    assert lines[2] == "a is 300,000 ahead of the runner-up b so far (10,000 to 530,000, 95 %)."
    assert re.search(r"^a +\d{3},\d{3} ", lines[6])


def test_arms_that_are_level_do_not_lead() -> None:
    result = surest.evaluate({"a": [0.0] * 400, "b": [0.0] * 400}, seed=1, budget=60, simulate=True)
    assert (
        str(result)
        .splitlines()[1]
        .startswith("Not decided (budget spent). No arm leads so far. Both arms may still be the best")
    )


def test_rewards_beyond_a_budget_are_not_called_needless(run: Run) -> None:
    Path("r.csv").write_text("arm,value\n" + "a,1\nb,0\n" * 60)
    assert "were not needed." in run("identify", "r.csv")[1]
    assert "120 rows; 116 of them were not used." in run("identify", "r.csv", "--budget", "4")[1]
