"""Figures that anyone can see for themselves with `surest identify`, as printed constants give them (δ = 0.1)."""

import time

import numpy as np
import pytest

from surest.arms.instances import parse_source
from surest.search.identify import identify

FIGURES = [  # source, algorithm, pulls at least, at most
    ("example1:2", "vd-best-arm-id", 3.4e4, 7.2e4),  # two coins: σ² is just ¼, the gap just ε_1 of NaiveBestArmEst
    ("example1:10", "vd-best-arm-id", 0.7e6, 1.3e6),
    ("example1:20", "vd-best-arm-id", 5e12, 1e13),
    ("example1:100", "vd-best-arm-id", 4e13, 8e13),
    ("example1:2", "naive-best-arm", 3.0e3, 2.0e4),  # the gap is just ε_1: a coin decides whether round 1 is enough
    ("example1:10", "naive-best-arm", 1.2e5, 2.3e5),
    ("example1:20", "naive-best-arm", 4.6e5, 6.0e5),
    ("example1:100", "naive-best-arm", 3.9e6, 4.7e6),
    ("bernoulli:0.5,0.45,0.43,0.4", "naive-best-arm", 2.8e5, 4.6e5),
    ("bernoulli:0.5,0.45,0.43,0.4", "vd-best-arm-id", 3.5e6, 6.1e6),
    ("example1:20", "vd-best-arm-id-star", 1e13, 2.4e13),
    ("bernoulli:0.5,0.45,0.43,0.4", "vd-best-arm-id-star", 7e6, 1.3e7),
]


@pytest.mark.parametrize(("source", "algorithm", "least", "most"), FIGURES)
def test_pulls(source: str, algorithm: str, least: float, most: float) -> None:
    for seed in range(1, 6):
        result = identify(parse_source(source), 0.1, algorithm=algorithm, seed=seed)
        assert result.index == 0
        assert result.certified
        assert least < result.pulls < most


def _seconds(n: int) -> float:
    arms = parse_source(f"example1:{n}")
    began = time.process_time()
    result = identify(arms, 0.1, algorithm="vd-best-arm-id", seed=1)
    assert result.index == 0
    assert result.pulls == sum(result.pulls_per_arm.tolist())
    return time.process_time() - began


def test_ten_thousand_arms_take_seconds() -> None:
    assert _seconds(10_000) < 60


@pytest.mark.slow
def test_time_grows_no_more_than_about_linearly() -> None:
    """From 10^4 arms to 10^5, in one run, at most 15 times; H_var grows 12.4 times."""
    small, large = _seconds(10_000), _seconds(100_000)
    print(f"n = 10^4: {small:.2f} s, n = 10^5: {large:.2f} s, ratio {large / small:.1f}")
    assert large / small < 15


def test_pulls_depend_on_the_seed_alone() -> None:
    first, again, other = (
        identify(parse_source("example1:30"), 0.1, algorithm="vd-best-arm-id", seed=seed).pulls_per_arm
        for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
