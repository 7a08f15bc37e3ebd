"""What results say, in full: every question, every way to end, every kind of arms."""

import dataclasses
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from syrupy.assertion import SnapshotAssertion

import surest
from calling import steady
from pages import same_as_kept
from surest import bernoulli, evaluate, identify
from surest.core.scale import Scale
from surest.report.page import Report, reproduction, settings_rows, short_answer, to_html, to_markdown
from surest.report.report import read_report, to_json
from surest.result.leads import Lead
from surest.result.making import bounds_too_wide

ARMS = bernoulli([0.7, 0.6, 0.5], ["a", "b", "c"])
TIED = {"x": [1, 0, 1, 0], "y": [0, 1, 0, 1], "z": [0, 0, 0, 1]}
RNG = np.random.default_rng(1)
TABLE = {arm: (RNG.random(200) < mean).astype(float) for arm, mean in {"a": 0.5, "b": 0.55, "c": 0.1}.items()}
GAPS = {arm: np.where(np.arange(200) % 7 == k, np.nan, row) for k, (arm, row) in enumerate(TABLE.items())}


def totals(**pairs: tuple[int, int]) -> dict[str, dict[str, int]]:
    return {name: {"successes": won, "trials": trials} for name, (won, trials) in pairs.items()}


LEVEL = totals(a=(300, 1000), b=(300, 1000), c=(100, 1000))


def flaky() -> Callable[[], float]:
    failed = iter([OSError("no answer")])

    def arm() -> float:
        for error in failed:
            raise error
        return 1.0

    return arm


def with_failures() -> surest.Result:
    with ThreadPoolExecutor(1) as pool:
        return identify({"a": flaky(), "b": lambda: 0.0}, executor=pool, in_flight=1, seed=1)


def flipped(gained: int, lost: int) -> surest.Gate:
    """Of a candidate that differs from the baseline on so many of 1,000 items."""
    old = [float(i < lost) for i in range(1000)]
    return surest.gate(old, [float(lost <= i < lost + gained) for i in range(1000)], 0.05)


def timed(most: float) -> surest.Result:
    """Times of 0.03 to 0.055, in bounds that end at `most`."""
    rng = random.Random(3)
    arms = {"a": lambda: rng.uniform(0.03, 0.05), "b": lambda: rng.uniform(0.035, 0.055)}
    return identify(arms, bounds=(0, most), minimise=True, seed=1)


TURNED = {"a": [0.0, 0.0, 1.0, 1.0] * 100, "b": [1.0, 0.0, 1.0, 0.0] * 100}
BOTH = {"a": [0.0, 1.0] * 50, "b": [1.0, 0.0] * 50, "c": [0.0] * 100}
LISTED = {"a": [1.0, 0.0] * 50, "b": [0.0, 1.0] * 50, "c": [0.4] * 100}


def changed(result: surest.Result, means: Any = None, lead: Lead | None = None, **more: Any) -> surest.Result:
    """The result with other means, or another lead."""
    return dataclasses.replace(
        result, means=result.means if means is None else np.array(means), known_lead=lead, **more
    )


def larger_mean(arms, delta, *, times=50):
    means = yield surest.Pull(arms, times, surest.Statistic.MEAN)
    return int(arms[means.argmax()])


def test_what_is_said(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("wordings.txt"), request, names=globals(), show=said)


def said(result: surest.Result | surest.Gate) -> str:
    """All that is said of it, and once more after a way through JSON."""
    if isinstance(result, surest.Gate):
        return f"{result}\n\n{result.to_markdown()}"
    settings = "\n".join(f"{key}: {value}" for key, value in settings_rows(Report(result)))
    call = "\n".join(call for _, call in reproduction(Report(result)))
    again = read_report(to_json(Report(result))).result
    assert (list(again.chosen), again.verdicts) == ([*map(str, result.chosen)], result.verdicts)
    assert (again.problem.question, again.warnings) == (result.problem.question, result.warnings)
    first = str(result).split("\nEvaluate next")[0].split("\n\n")[0]
    assert str(again).split("\n\n")[0] == first, "and again after a way through JSON"
    assert all([to_html(Report(again)), to_markdown(Report(again)), short_answer(again)])
    assert result.plot(ax=Figure().subplots()).get_xlabel()
    return f"{short_answer(result)}\n\n{result}\n\n{settings}\n\n{call}"


def test_bounds_that_are_too_wide_cost_no_more_than_the_warning_says() -> None:
    wide, narrow = timed(60), timed(0.1)
    assert (wide.best, narrow.best, len(wide.warnings), narrow.warnings) == ("a", "a", 1, ())
    assert 100 < wide.pulls / narrow.pulls < 2400
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 1000) is not None
    assert bounds_too_wide(Scale(0, 60), 1.0, 4.1, 1000) is None
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 19) is None
    assert bounds_too_wide(Scale(0, 1), 0.0, 0.0, 1000) is None  # rare events that have not happened yet


def test_a_report_in_markdown(snapshot: SnapshotAssertion) -> None:
    decided = identify(bernoulli([0.8, 0.3, 0.2], ["new", "old", "none"]), seed=1)
    undecided = evaluate(TABLE, seed=1, budget=60, simulate=True)
    others = (
        evaluate(TABLE, control="c", seed=1),
        surest.duel([("a", "<b>", 1), ("<b>", "c", 1), ("a", "c", 1)] * 30, rank=True),
    )
    pages = [to_markdown(Report(result)) for result in (decided, undecided, *others)]
    assert steady("\n\n".join(pages)) == snapshot
