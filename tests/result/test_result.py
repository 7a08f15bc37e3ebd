"""What a result says: the same words in a notebook or a terminal, and the same figures in any units. `pages` has the rest."""

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
