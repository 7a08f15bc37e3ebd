"""An algorithm's own options: from Python, and refused where it has none such. tests/cli/transcripts has those of commands."""

import inspect
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


def test_options_of_records(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("arm,value\na,0\nb,1\n")
    suggested = run("identify rows.csv --suggest=2 --json").json["suggestions"]
    assert suggested == [{"arm": "a", "times": 1}, {"arm": "b", "times": 1}]
    status, _, err = run("identify rows.csv --suggest=2 --option=size=3")
    assert (status, "no option 'size'" in err) == (2, True)


@pytest.mark.parametrize("made", [lambda **o: identify([int, int], **o), lambda **o: Session(2, **o)])
def test_python_refuses_what_an_algorithm_does_not_have(made: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="wager has no option 'dleta'"):
        made(dleta=0.1)
    with pytest.raises(UsageError, match="kl-lucb has no option 'heuristic'"):
        made(algorithm="kl-lucb", heuristic=True)


def test_constants_are_for_python() -> None:
    lean = next(start("naive-best-arm", 3, 0.1, constants=Constants(var_test_c=8)))
    assert lean.total < next(start("naive-best-arm", 3, 0.1)).total
