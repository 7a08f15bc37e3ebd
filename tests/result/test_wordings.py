"""What results say, in full: every question, every way to end, every kind of arms."""

import dataclasses
import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from syrupy.assertion import SnapshotAssertion

import surest
from calling import steady
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


RESULTS: dict[str, Callable[[], Any]] = {
    "the best": lambda: identify(bernoulli([0.8, 0.3, 0.2], ["new [x]", "old", "none"]), seed=1),
    "the only arm": lambda: identify([lambda: 1]),
    "a spent budget": lambda: identify(bernoulli([0.5, 0.48, 0.1]), seed=1, budget=20_000),
    "a budget of nothing": lambda: identify(bernoulli([0.5, 0.5]), seed=1, budget=4),
    "without a status": lambda: identify(
        bernoulli([0.5, 0.1]), seed=1, budget=10_000, algorithm="naive-best-arm"
    ),
    "many arms": lambda: identify(bernoulli([0.9] + [0.1] * 20), delta=0.1, seed=1),
    "a lead": lambda: identify(ARMS, seed=3),
    "a lead of costs": lambda: identify(ARMS, seed=3, minimise=True, bounds=(0, 60)),
    "a lead of rivals": lambda: identify(ARMS, seed=3, algorithm="lucb"),
    "the 2 best": lambda: identify(ARMS, seed=3, top=2),
    "the 1 best": lambda: identify(totals(a=(800, 1000), b=(300, 1000), c=(100, 1000)), top=1),
    "contenders for the 2 best": lambda: identify(
        bernoulli([0.6, 0.6, 0.6, 0.5, 0.1, 0.1, 0.1]), top=2, seed=1, budget=1500
    ),
    "above a bar": lambda: identify(ARMS, seed=3, above=0.55, epsilon=0.03),
    "a share of those above": lambda: identify(bernoulli([0.1, 0.2]), above=0.9, error="fdr", seed=1),
    "against a control": lambda: identify(ARMS, seed=3, control="b", margin=0.05),
    "within epsilon": lambda: identify(bernoulli([0.9, 0.2]), epsilon=5.0, bounds=(0, 100), seed=1),
    "bounds that are too wide": lambda: timed(60),
    "level arms": lambda: identify(LEVEL),
    "level with the control": lambda: identify(LEVEL, control="a", margin=0.2),
    "arms of one value": lambda: identify({"a": [0.0] * 150, "b": [0.0] * 150}, seed=1),
    "costs that are close": lambda: identify(totals(a=(100, 1000), b=(110, 1000)), minimise=True),
    "too few rewards": lambda: identify({"x": [1.0, 1.0], "<y": [0.0, 0.0]}, seed=1),
    "too few rewards of many": lambda: identify({f"arm{k}": [0.5] for k in range(8)}, seed=1),
    "a resampled record": lambda: identify({"a": [0.0, 1.0], "b": [1.0]}, resample=True, seed=1),
    "failures": with_failures,
    "an algorithm of yours": lambda: identify(bernoulli([0.1, 0.9]), algorithm=larger_mean, seed=1),
    "a complete table": lambda: evaluate(TABLE),
    "a table with gaps": lambda: evaluate(GAPS, seed=1),
    "a table whose gaps do not matter": lambda: evaluate({arm: GAPS[arm] for arm in "ac"}, seed=1),
    "a cost without a unit": lambda: evaluate(TABLE, simulate=True, seed=1, cost={"a": 0.5, "b": 1, "c": 2}),
    "a simulation": lambda: evaluate(TABLE, simulate=True, seed=1),
    "a simulation, spent": lambda: evaluate(TABLE, simulate=True, seed=1, budget=60),
    "an exact lead": lambda: evaluate({"a": [1.0, 1.0, 0.0, 1.0], "b": [1.0, 0.0, 0.0, 1.0]}),
    "a rounded lead": lambda: evaluate({"a": [1.0, 1.0, 0.0], "b": [1.0, 0.0, 0.0]}),
    "a list that is tied": lambda: evaluate({"a": [1.0, 0.0], "b": [0.0, 1.0]}),
    "a list, level with the control": lambda: evaluate(TIED, control="x"),
    "a list, the 1 best, tied": lambda: evaluate(TIED, top=1, seed=1),
    "a list, on the bar": lambda: evaluate(TIED, above=0.5, seed=1),
    "a list, against a control": lambda: evaluate(TABLE, control="c", seed=1),
    "a list, who can only be tied": lambda: evaluate({"x": {1: 1.0, 2: None}, "y": {1: 0.0, 2: 1.0}}, seed=0),
    "a list, level so far": lambda: evaluate(
        {"a": [0.0] * 400, "b": [0.0] * 400}, seed=1, budget=60, simulate=True
    ),
    "large numbers": lambda: evaluate(
        {"a": [678_571.0 * (i % 2) for i in range(60)], "b": [1_000.0 * (i % 2) for i in range(60)]},
        bounds=(0, 1e6), seed=1, simulate=True,
    ),
    "a population": lambda: evaluate(TABLE, target="population", seed=1),
    "a ranking by duels": lambda: surest.duel([("a", "<b>", 1), ("<b>", "c", 1), ("a", "c", 1)] * 30, rank=True),
    "a gate": lambda: flipped(100, 100),
    "a gate, worse": lambda: flipped(0, 200),
    "a gate, slightly worse": lambda: flipped(60, 100),
    "a gate on few items": lambda: surest.gate([1.0] * 9, [1.0] * 9, 0.01),
    "a gate with gaps": lambda: surest.gate({"p": 1.0, "q": 1.0}, {"p": 1.0, "r": 0.0}),
    "a gate on further items": lambda: surest.gate([1.0] * 90, [1.0] * 90, 0.1, target="population"),
    "means that four digits do not tell apart": lambda: changed(
        identify(ARMS, seed=3), [1.0, 0.999976, 0.4], Lead("a", "b", 2.4e-5, 1e-6, 5e-5)
    ),
    "a certified arm with a smaller mean": lambda: changed(
        identify(ARMS, seed=3), lead=Lead("a", "b", -0.01, -0.2, 0.1)
    ),
    "more evidence, but a smaller mean": lambda: changed(identify(TURNED, seed=1), [0.5, 0.49]),
    "more evidence, but a larger cost": lambda: changed(identify(TURNED, seed=1, minimise=True), [0.51, 0.5]),
    "a set that another arm has overtaken": lambda: changed(
        identify(BOTH, top=2, seed=1, budget=20), [0.4, 0.4, 0.9]
    ),
    "a set with which another arm is level": lambda: changed(
        identify(BOTH, top=2, seed=1, budget=20), [0.4, 0.4, 0.4]
    ),
    "bounds on the other side of the means": lambda: changed(
        evaluate(LISTED, control="c", budget=60, seed=1, simulate=True), lead=Lead("a", "c", math.nan, -0.3, -0.1)
    ),
}  # fmt: skip


def larger_mean(arms, delta, *, times=50):
    means = yield surest.Pull(arms, times, surest.Statistic.MEAN)
    return int(arms[means.argmax()])


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_said(name: str, snapshot: SnapshotAssertion) -> None:
    result = RESULTS[name]()
    if isinstance(result, surest.Gate):
        assert f"{result}\n\n{result.to_markdown()}" == snapshot
        return
    settings = "\n".join(f"{key}: {value}" for key, value in settings_rows(Report(result)))
    again = "\n".join(call for _, call in reproduction(Report(result)))
    assert steady(f"{short_answer(result)}\n\n{result}\n\n{settings}\n\n{again}\n") == snapshot
    again = read_report(to_json(Report(result))).result
    assert (list(again.chosen), again.verdicts) == ([*map(str, result.chosen)], result.verdicts)
    assert (again.problem.question, again.warnings) == (result.problem.question, result.warnings)
    first = str(result).split("\nEvaluate next")[0].split("\n\n")[0]
    assert str(again).split("\n\n")[0] == first, "and again after a way through JSON"
    assert all([to_html(Report(again)), to_markdown(Report(again)), short_answer(again)])
    assert result.plot(ax=Figure().subplots()).get_xlabel()


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
    others = evaluate(TABLE, control="c", seed=1), RESULTS["a ranking by duels"]()
    pages = [to_markdown(Report(result)) for result in (decided, undecided, *others)]
    assert steady("\n\n".join(pages)) == snapshot
