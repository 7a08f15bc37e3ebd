"""Wager on the way: what it tells, how large its batches are, and what it pulls. `pages/wager.txt` has how it ends."""

import re
from typing import Any

import numpy as np
import pytest

from one_pair import tell
from surest import identify
from surest.algorithms.wager.ledger import Ledger
from surest.algorithms.wager.sampling import GROWTH, NEAREST
from surest.arms.finite import bernoulli
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.evidence.pulls.digest import Digests
from surest.kernels.certificates import raise_certificates
from surest.kernels.constants import HALF
from surest.kernels.lab.divergence import k_inf
from surest.kernels.sampling import Seen, key_of, narrow_key, narrow_pairs, plan, transport
from surest.report.page import Report, to_html
from surest.text import GUESS, guessed


def test_a_forecast_is_told_as_a_range_that_holds_more_often_than_not() -> None:
    """A single number was three times too low as often as not in the first tenth of a search."""
    held = []
    for seed in range(20, 23):
        looks: list[tuple[int, float]] = []

        def look(running: Any, looks: list[tuple[int, float]] = looks) -> None:
            status = running.status
            if running.pulls and status is not None and status.forecast is not None:
                looks.append((running.pulls, status.forecast))

        done = identify(bernoulli([0.8, 0.5, 0.4]), seed=seed, on_request=look)
        held += [guess / GUESS <= done.pulls - pulls <= GUESS * guess for pulls, guess in looks]
    assert len(held) > 100
    assert sum(held) > len(held) / 2
    waiting = identify(bernoulli([0.8, 0.5, 0.4]), seed=20, budget=60)
    assert waiting.forecast is not None
    assert f"Perhaps {guessed(waiting.forecast)} more pulls are needed for a decision." in to_html(Report(waiting))
    assert re.fullmatch(r"[\d,]+ to [\d,]+", guessed(waiting.forecast))


def test_batches_are_small_near_the_end_only() -> None:
    sizes: list[tuple[float, float]] = []

    def look(running: Running[Answer]) -> None:
        ledger = running.request.status.__self__
        sizes.append((running.request.total / max(ledger.counts.sum(), 1), ledger.missing))

    identify(bernoulli([0.5, 0.45]), 0.05, seed=4, on_request=look)
    far = [size for size, missing in sizes[150:] if missing >= 1]
    near = [size for size, missing in sizes[150:] if missing < NEAREST]
    assert len(far) > 10
    assert len(near) > 5
    assert min(far) > 0.8 * GROWTH
    assert max(near) < 1.5 * GROWTH * NEAREST**2


def test_what_is_missing_is_not_more_than_a_certificate_misses() -> None:
    ledger = Ledger(3, 0.05, may_pair=False)
    tell(ledger, [0, 1, 2], [[1.0] * 16 + [0.0] * 4, [1.0] * 8 + [0.0] * 12, [1.0] * 6 + [0.0] * 14])
    ledger.nominate_if_due()
    assert ledger.nominee == 0
    misses = []
    while not ledger.decided:
        tell(ledger, [0, 1, 2], [[1.0] * 4 + [0.0], [1.0] * 2 + [0.0] * 3, [1.0] + [0.0] * 3])
        ledger.nominate_if_due()
        ledger.refute()
        left = np.flatnonzero(ledger.certified < ledger.goal)
        left = left[left != 0]
        exact = np.full(3, -np.inf)
        raise_certificates(exact, ledger.minimisers.copy(), left, np.inf, 0.0, ledger.evidence().kernel())
        if len(left) and ledger.missing < np.inf:
            misses.append(ledger.goal - exact[left].min())
            assert misses[-1] >= ledger.missing - 1e-6
    assert misses


def ledger_of(rewards: list[list[float]]) -> Ledger:
    ledger = Ledger(len(rewards), 0.1)
    tell(ledger, list(range(len(rewards))), rewards)
    return ledger


def key(j: int, leader: int, moved: np.ndarray, seen: Seen, rejected: np.ndarray) -> tuple[float, float]:
    told = narrow_key if narrow_pairs(leader, seen)[j] else key_of
    return told(j, leader, moved, seen, rejected[j], 0.0)


@pytest.mark.parametrize("kind", ["rare", "narrow"])
def test_the_lazy_heap_chooses_as_a_search_of_all_arms_does(kind: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = int(rng.integers(2, 30))
        means, often = rng.uniform(0.05, 0.95, n), rng.integers(2, 60, n)
        if kind == "rare":
            ledger = ledger_of([(rng.random(k) < m).astype(float) for k, m in zip(often, means, strict=True)])
        else:
            ledger = ledger_of([m + rng.choice([-0.02, 0.0, 0.03], k) for k, m in zip(often, means, strict=True)])
        rejected = rng.random(n) < 0.3
        leader, coins, seen = int(ledger.empirical.argmax()), rng.random(60), ledger._seen()
        moved, expected = ledger.counts.copy(), np.zeros(n, int)
        for coin in coins:
            keys = [(key(j, leader, moved, seen, rejected), j) for j in range(n) if j != leader]
            (_, part), j = min(keys)
            pulled = leader if coin < part else j
            expected[pulled] += 1
            moved[pulled] += 1
        planned = plan(leader, seen, ledger.counts.copy(), rejected, 0.0, coins, 0, np.empty(0))
        assert planned.tolist() == expected.tolist()


def least_cost(a: np.ndarray, b: np.ndarray, epsilon: float) -> float:
    """The least K_inf cost by which the mean of `a` could be at most that of `b` less ε, over a fine grid of levels."""

    def cost(rewards: np.ndarray, worst: float, level: float) -> float:
        values = np.append(rewards, worst)
        return k_inf(values, np.append(np.ones(len(rewards)), HALF), len(values), level)[0]

    levels = np.linspace(0.4, 0.9, 2_001)
    return min(cost(1 - a, 1.0, 1 - x) + cost(b, 1.0, x + epsilon) for x in levels)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_narrow_arms_are_told_apart_by_the_cost_of_the_nearest_laws_with_equal_means(epsilon: float) -> None:
    rng = np.random.default_rng(4)
    for a, b in (
        (0.8 + rng.uniform(-0.02, 0.02, 60), 0.7 + rng.uniform(-0.02, 0.02, 20)),
        (rng.choice([0.4, 1.0], 80), np.full(40, 0.5)),
        (np.full(20, 1.0), np.full(30, 0.6)),
    ):
        digests, none = Digests(2), Digests(2)
        for arm, rewards in enumerate((a, b)):
            digests.add(np.full(len(rewards), arm), np.round(rewards, 3))
        ones = np.ones(2)
        seen = Seen(digests.counts, digests.means, ones, digests.means, digests.rows(), none.rows())
        found, part, _, _ = transport(0, 1, seen, 1.0, 1.0, epsilon)
        assert found == pytest.approx(least_cost(np.round(a, 3), np.round(b, 3), epsilon), rel=0.01)
        assert 0 < part < 1
        doubled = transport(0, 1, seen, 2.0, 2.0, epsilon)[0]
        assert 1.5 * found < doubled < 3 * found
    assert transport(1, 0, seen, 1.0, 1.0, 0.0)[0] == 0.0
