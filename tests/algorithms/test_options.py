"""An algorithm's own options: from Python, from the command line, and refused where it has none such."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calling import Run
from surest import Session, identify
from surest.algorithms import REGISTRY, start
from surest.algorithms.paper.constants import Constants
from surest.algorithms.paper.naive import naive_best_arm
from surest.algorithms.wager.wager import wager
from surest.errors import UsageError
from surest.lab.rivals.controls import peeking_z_test, uniform_bonferroni


def test_entries_name_parameters_that_exist() -> None:
    given_by_us = {"arms", "delta", "epsilon", "rng", "arrivals", "script", "costs"}
    for function in (wager, naive_best_arm, uniform_bonferroni, peeking_z_test):
        name = function.__name__.replace("_", "-")
        assert REGISTRY[name].options.keys() == inspect.signature(function).parameters.keys() - given_by_us


@pytest.mark.parametrize("name", ["ucb-e", "ugape-b"])
def test_an_algorithm_that_must_be_told_can_be_told(run: Run, name: str) -> None:
    arguments = ["identify", "bernoulli:0.9,0.1", "--algorithm", name, "--budget", "200", "--seed", "1", "--json"]
    status, _, err = run(*arguments)
    assert status == 2
    assert "give h1" in err
    status, out, _ = run(*arguments, "--option", "h1=3.2")
    found = json.loads(out)
    assert (status, found["arm"], found["pulls"]) == (3, "1", 200)
    assert "--option=h1=3.2" in found["command"]


def test_options_of_commands_and_of_records(run: Run, tmp_path: Path) -> None:
    commands = ["--command=a=echo 0", "--command=b=echo 1"]
    _, by_ones, _ = run("identify", *commands, "--json", "--seed=1")
    _, at_once, _ = run("identify", *commands, "--json", "--seed=1", "--option=batch=40")
    assert json.loads(at_once)["rounds"] == 2 < json.loads(by_ones)["rounds"]
    (tmp_path / "rows.csv").write_text("arm,value\na,0\nb,1\n")
    _, small, _ = run("identify", "rows.csv", "--suggest=2", "--json")
    status, _, err = run("identify", "rows.csv", "--suggest=2", "--option=size=3")
    assert json.loads(small)["suggestions"] == [{"arm": "a", "times": 1}, {"arm": "b", "times": 1}]
    assert status == 2
    assert "no option 'size'" in err


def test_arms_are_added_to_a_study_of_the_command_line(run: Run) -> None:
    run("study", "create", "s", "--arm=a", "--arm=b", "--option=reserve=0.2", "--seed=1")
    assert run("study", "add-arms", "s", "c", "d")[:2] == (0, "study s: 4 arms\n")
    _, out, _ = run("study", "add-arms", "s", "e", "--json")
    assert json.loads(out) == {"name": "s", "arms": ["a", "b", "c", "d", "e"]}
    assert "labels must differ" in run("study", "add-arms", "s", "a")[2]
    run("study", "create", "fixed", "--arm=a", "--arm=b")
    status, _, err = run("study", "add-arms", "fixed", "c")
    assert status == 2
    assert "--option reserve=0.1" in err
    for _ in range(2):  # the arms of the beginning, then those that were added
        _, asked, _ = run("study", "ask", "s", "-k", "100")
        for line in asked.splitlines():
            run("study", "tell", "s", line.split()[0], "0.5")
    assert {line.split()[1] for line in asked.splitlines()} == {"c", "d", "e"}


@pytest.mark.parametrize("made", [lambda **o: identify([int, int], **o), lambda **o: Session(2, **o)])
def test_python_refuses_what_an_algorithm_does_not_have(made: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="wager has no option 'dleta'"):
        made(dleta=0.1)
    with pytest.raises(UsageError, match="kl-lucb has no option 'heuristic'"):
        made(algorithm="kl-lucb", heuristic=True)


def test_constants_are_for_python() -> None:
    lean = next(start("naive-best-arm", 3, 0.1, constants=Constants(var_test_c=8)))
    assert lean.total < next(start("naive-best-arm", 3, 0.1)).total
