"""What a result says, in which units, and how it prints."""

import asyncio
import io

import numpy as np
import pytest
from rich.console import Console

import surest
from surest.arms.finite import bernoulli
from surest.result.data import Result
from surest.text import at_most


@pytest.fixture(scope="module")
def decided() -> Result:
    return surest.identify(bernoulli([0.8, 0.3, 0.2], ["new [x]", "old", "none"]), 0.05, seed=1)


def test_rich_prints_the_same_words(decided: Result) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(decided)
    printed = [line.rstrip() for line in console.export_text().rstrip().splitlines()]
    assert printed == str(decided).splitlines()


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


def test_the_table_is_a_sequence(decided: Result) -> None:
    assert (len(decided.arms), [row.label for row in decided.arms]) == (3, list(decided.labels))
    row = decided.arms["old"]
    assert (row, row._fields) == (decided.arms[1], ("label", "pulls", "mean", "low", "high"))
    assert row.low < row.mean < row.high
    assert sum(r.pulls for r in decided.arms) == decided.pulls
    with pytest.raises(KeyError):
        decided.arms["new"]


def test_the_table_cuts_many_arms_and_long_labels() -> None:
    arms = {
        "x" * 200 if i == 3 else f"arm {i}": {"successes": 900 if i == 3 else i, "trials": 1000} for i in range(100)
    }
    text = str(surest.identify(arms).arms).splitlines()
    assert len(text) == 1 + 6 + 1
    assert text[1].startswith("xxx")
    assert text[2].startswith("arm 99 ")
    assert text[-1] == "… 94 more"
    assert max(map(len, text)) <= 100


def test_a_result_is_a_snapshot() -> None:
    session = surest.Session(2)
    before = session.result()
    for ticket in session.ask(4):
        session.tell(ticket.id, 1)
    assert before.pulls == before.pulls_per_arm.sum() == 0
    assert (before.reason, session.result().pulls) == ("still running", 4)


def test_recorded_rewards_are_looked_at_with_one_seed() -> None:
    """With a new seed at each look, looking again and again would find a verdict sooner or later."""
    rewards = {"a": [0.0, 1.0] * 20, "b": [1.0, 1.0, 0.0] * 15}
    first, second = surest.identify(rewards), surest.identify({arm: of + [0.0] for arm, of in rewards.items()})
    assert first.seed == second.seed == 0
    assert surest.identify(rewards, seed=3).seed == 3


def test_labels_keep_their_type() -> None:
    async def one() -> float:
        return 1.0

    found = asyncio.run(surest.aidentify({1: one, 2: lambda: asyncio.sleep(0, 0.0)}, seed=1))
    assert (found.best, found.labels, surest.Session([1, 2]).ask()[0].label) == (1, (1, 2), 1)
    assert surest.identify({1: lambda: 1.0, 2: lambda: 0.0}, seed=1).best == 1
