"""What a result says, in which units, and how it prints."""

import io
import math
import sys

import numpy as np
import pytest
from rich.console import Console

import surest
from surest.arms.finite import bernoulli
from surest.core.protocol import Status
from surest.core.scale import Scale
from surest.errors import UsageError
from surest.result.data import Result
from surest.result.table import ArmRow, ArmTable
from surest.result.words import at_most, verdict


@pytest.fixture(scope="module")
def decided() -> Result:
    return surest.identify(bernoulli([0.8, 0.3, 0.2], ["new [x]", "old", "none"]), 0.05, seed=1)


@pytest.fixture(scope="module")
def spent() -> Result:
    return surest.identify(bernoulli([0.5, 0.48, 0.1]), 0.05, seed=1, budget=20_000)


def test_a_decided_result_prints_in_a_few_lines(decided: Result) -> None:
    lines = str(decided).splitlines()
    assert lines[0] == "Arm new [x] is the best: wrong with probability at most 0.05."
    assert lines[1] == "new [x] is 0.7 ahead of the runner-up old so far (-0.1 to 1.0, 95 %)."
    assert lines[2].startswith(f"It took {decided.pulls} pulls in ")
    assert lines[4].split() == ["arm", "mean", "95", "%", "interval", "pulls", "share"]
    assert [line.split("  ")[0].strip() for line in lines[5:]] == [
        "new [x]",
        *sorted(["old", "none"], key=lambda a: -decided.arms[a].mean),
    ]
    assert repr(decided).startswith("Result(best='new [x]', certified=True")
    assert "\n" not in repr(decided)


def test_rich_prints_the_same_words(decided: Result) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(decided)
    printed = [line.rstrip() for line in console.export_text().rstrip().splitlines()]
    assert printed == str(decided).splitlines()


def test_a_spent_budget_tells_what_is_certified(spent: Result) -> None:
    assert not spent.certified
    assert spent.reason == "budget spent"
    text = verdict(spent)
    assert text == (
        "Not decided (budget spent). Arm 0 leads so far. The best arm is 0 or 1 (95 %). "
        f"Arm 0 is at most {at_most(spent.epsilon_certified)} below the best, "
        f"and neither is more than {at_most(spent.apart)} below it (95 % each)."
    )
    assert 0.05 < spent.achieved_delta <= 1
    assert 0 < spent.epsilon_certified < 0.1


def test_nothing_certified_is_said_plainly() -> None:
    result = surest.identify(bernoulli([0.5, 0.5]), 0.05, seed=1, budget=4)
    assert verdict(result) == "Not decided (budget spent). Arm 0 leads so far. Both arms may still be the best."


def test_an_algorithm_without_a_status_claims_nothing() -> None:
    result = surest.identify(bernoulli([0.5, 0.1]), 0.05, seed=1, budget=10_000, algorithm="naive-best-arm")
    assert verdict(result) == "Not decided (budget spent). Arm 0 leads so far."
    assert result.intervals is None
    assert math.isnan(result.arms[0].low)
    assert "interval" not in str(result)


@pytest.mark.parametrize("value", [1e-9, 0.0121, 0.1, 0.9949, 0.996, 12.34, 99.6])
def test_a_bound_is_never_rounded_down(value: float) -> None:
    assert value <= float(at_most(value)) <= 1.1 * value


@pytest.mark.parametrize("bounds", [(1.0, 5.0), (-100.0, -50.0), (0.0, 1e-3)])
def test_bounds_change_the_units_and_nothing_else(bounds: tuple[float, float]) -> None:
    low, high = bounds
    rng = np.random.default_rng(4)
    unit = {"a": rng.integers(0, 5, 50) / 4, "b": rng.integers(0, 4, 50) / 4, "c": rng.integers(0, 3, 50) / 4}
    own = {label: low + rewards * (high - low) for label, rewards in unit.items()}
    for settings in ({"epsilon": 0.05}, {"budget": 100}):
        scaled = {**settings, **({"epsilon": 0.05 * (high - low)} if "epsilon" in settings else {})}
        plain = surest.identify(unit, seed=2, resample=True, **settings)
        result = surest.identify(own, seed=2, bounds=bounds, resample=True, **scaled)
        assert result.pulls_per_arm.tolist() == plain.pulls_per_arm.tolist()
        assert (result.best, result.certified) == (plain.best, plain.certified)
        assert result.means == pytest.approx(low + plain.means * (high - low))
        for ours, theirs in zip(result.intervals, plain.intervals, strict=True):
            assert ours == pytest.approx(low + theirs * (high - low))
        assert result.epsilon_certified == pytest.approx(plain.epsilon_certified * (high - low))
        assert result.achieved_delta == pytest.approx(plain.achieved_delta, rel=1e-6)


def test_a_bandit_answers_on_the_unit_interval_and_reports_in_units() -> None:
    result = surest.identify(bernoulli([0.9, 0.2]), epsilon=5.0, bounds=(0, 100), seed=1)
    assert 50 < result.means[0] <= 100
    assert result.epsilon == 5
    assert "within 5 of the best" in str(result)


def test_callables_and_a_session_report_in_units() -> None:
    rng = np.random.default_rng(1)
    result = surest.identify([lambda: rng.integers(1, 6), lambda: 1 + (rng.random() < 0.2)], bounds=(1, 5), seed=1)
    assert result.best == "0"
    assert 2 < result.means[0] < 4
    assert all(1 <= row.low <= row.mean <= row.high <= 5 for row in result.arms)
    session = surest.Session(2, bounds=(1, 5))
    while not session.finished and session.running.pulls < 400:
        for ticket in session.ask(8):
            session.tell(ticket.id, 4 if ticket.arm else 2)
    status = session.status()
    assert status.leader == 1
    assert status.intervals[0][1] > 2.5
    assert status.epsilon_certified == session.result().epsilon_certified


def test_units_leave_what_is_not_known() -> None:
    assert Scale(2, 4).status(Status(leader=1)) == Status(leader=1)


def test_the_table_is_a_sequence(decided: Result) -> None:
    assert len(decided.arms) == 3
    assert [row.label for row in decided.arms] == list(decided.labels)
    row = decided.arms["old"]
    assert row == decided.arms[1]
    assert row._fields == ("label", "pulls", "mean", "low", "high")
    assert row.low < row.mean < row.high
    assert sum(r.pulls for r in decided.arms) == decided.pulls
    with pytest.raises(KeyError):
        decided.arms["new"]


def test_the_table_cuts_many_arms_and_long_labels() -> None:
    rows = tuple(ArmRow("x" * 200 if i == 3 else f"arm {i}", 10, i / 100, math.nan, math.nan) for i in range(100))
    text = str(ArmTable(rows, chosen=(3,))).splitlines()
    assert len(text) == 1 + 6 + 1
    assert text[1].startswith("xxx")
    assert text[2].startswith("arm 99 ")
    assert text[-1] == "… 94 more"
    assert max(map(len, text)) <= 100


def test_to_pandas(decided: Result) -> None:
    frame = decided.to_pandas()
    assert list(frame.columns) == ["pulls", "mean", "low", "high"]
    assert list(frame.index) == list(decided.labels)
    assert frame.loc["old", "mean"] == decided.means[1]
    assert frame["pulls"].sum() == decided.pulls


def test_to_pandas_without_pandas(decided: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"surest\[pandas\]"):
        decided.to_pandas()


def test_the_only_arm() -> None:
    assert str(surest.identify([lambda: 1])).startswith("Arm 0 is the only arm: nothing had to be pulled.")


def test_a_result_is_a_snapshot() -> None:
    session = surest.Session(2)
    before = session.result()
    for ticket in session.ask(4):
        session.tell(ticket.id, 1)
    assert before.pulls == before.pulls_per_arm.sum() == 0
    assert before.reason == "still running"
    assert session.result().pulls == 4


def test_recorded_rewards_that_do_not_decide_say_what_to_evaluate_next() -> None:
    few = surest.identify({"x": [1.0, 1.0], "<y": [0.0, 0.0]}, seed=1)
    assert f"Evaluate next: x {few.wanted['x']} times, <y {few.wanted['<y']} times (as data: `wanted`)." in str(few)
    assert f"Evaluate next: x {few.wanted['x']} times, &lt;y {few.wanted['<y']} times" in few._repr_html_()
    many = surest.identify({f"arm{k}": [0.5] for k in range(8)}, seed=1)
    assert "arm4 once and 3 more arms (as data: `wanted`)." in str(many)
    gap = surest.evaluate({"a": [1.0, 1.0], "b": [1.0, None]}, seed=2)
    assert "Evaluate next: b on 1 (`wanted_cells` lists what follows)." in str(gap)
    assert "Evaluate next" not in str(surest.evaluate({"a": [1.0, 1.0], "b": [0.0, 0.0]}, seed=2))


def test_recorded_rewards_are_looked_at_with_one_seed() -> None:
    """With a new seed at each look, looking again and again would find a verdict sooner or later."""
    rewards = {"a": [0.0, 1.0] * 20, "b": [1.0, 1.0, 0.0] * 15}
    first, second = surest.identify(rewards), surest.identify({arm: of + [0.0] for arm, of in rewards.items()})
    assert first.seed == second.seed == 0
    assert surest.identify(rewards, seed=3).seed == 3
