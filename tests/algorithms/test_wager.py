"""Wager as a user meets it: how it ends, what it says on the way, arms that come later."""

import re
from typing import Any

import numpy as np
import pytest

from one_pair import tell
from surest import Session, identify
from surest.algorithms.wager.ledger import Ledger
from surest.algorithms.wager.sampling import GROWTH, NEAREST
from surest.arms.finite import bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.errors import UsageError
from surest.evidence.pulls.digest import Digests
from surest.kernels.certificates import raise_certificates
from surest.kernels.constants import HALF
from surest.kernels.lab.divergence import k_inf
from surest.kernels.sampling import Seen, divergence, key_of, narrow_key, narrow_pairs, plan, separation, transport
from surest.report.page import Report, to_html
from surest.text import GUESS, guessed


def test_it_says_why_it_stopped() -> None:
    exact = identify(bernoulli([0.9, 0.2]), 0.1, seed=1)
    assert (exact.reason, exact.certified, exact.epsilon_certified) == ("certified", True, 0.0)
    assert exact.achieved_delta <= 0.1
    close = identify(bernoulli([0.5, 0.5, 0.5]), 0.1, epsilon=0.1, seed=1)
    assert (close.reason, close.certified) == ("certified ε-optimal", True)
    spent = identify(bernoulli([0.5, 0.5]), 0.1, budget=15_000, seed=1)
    assert (spent.reason, spent.certified) == ("budget spent", False)
    assert spent.pulls <= 15_000
    assert 0.0 < spent.epsilon_certified < 0.2
    assert 0.1 < spent.achieved_delta <= 1


@pytest.mark.parametrize(
    "laws",
    [
        [([0.0, 1.0], [0, 1]), ([0.0, 1.0], [1, 0])],
        [([0.0, 1.0], [1, 0]), ([0.0, 1.0], [0.98, 0.02])],
        [([0.5], [1]), ([0.6], [1])],
        [([1.0], [1]), ([0.99], [1]), ([0.0], [1])],
        [([0.3], [1]), ([0.0, 1.0], [1, 1])],
    ],
)
def test_arms_stuck_at_a_value_are_told_apart(laws: list[Any]) -> None:
    arms = finite_arms(laws)
    result = identify(arms, 0.05, seed=3)
    assert (result.certified, result.index) == (True, arms.means.argmax())


@pytest.mark.parametrize("mean", [0.0, 0.5, 1.0])
def test_equal_arms_end_with_epsilon_or_at_the_budget(mean: float) -> None:
    arms = finite_arms([([mean], [1]), ([mean], [1])])
    assert identify(arms, 0.1, epsilon=0.05, seed=1).certified
    spent = identify(arms, 0.1, budget=15_000, seed=1)
    assert (spent.certified, spent.epsilon_certified < 0.05) == (False, True)


def test_achieved_delta_reaches_delta_only_when_it_stops() -> None:
    levels = []
    identify(bernoulli([0.6, 0.4]), 0.05, seed=4, on_request=lambda r: levels.append(r.request.status().achieved_delta))
    assert min(levels) > 0.05
    assert levels[0] == 1.0


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


def test_batches_are_as_large_as_asked() -> None:
    sizes = []
    identify(bernoulli([0.6, 0.4, 0.3]), 0.1, seed=1, batch=32, on_request=lambda r: sizes.append(r.request.total))
    assert min(sizes[1:]) >= 32


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


def test_a_well_known_leader_adds_nothing_to_what_a_little_known_arm_says() -> None:
    apart, part = separation(180_000, 0.99, 1.0, 8, 0.85, 1.0, 0.0)
    assert apart == pytest.approx(8 * divergence(0.85, 1.0, 0.99), rel=0.01)
    assert part < 0.01
    for epsilon in (0.0, 0.1):
        assert separation(100, 0.5, 1.0, 100, 0.7, 1.0, epsilon)[0] == 0.0
        assert separation(100, 0.7, 1.0, 100, 0.5, 1.0, epsilon)[0] > 3.0


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


def test_spared_pulls_go_to_an_arm_that_looks_bad_on_few_pulls() -> None:
    ledger = ledger_of([[0.0, 1.0] * 5_000, [0.0, 1.0] * 5_000, [0.0] * 25 + [1.0] * 4])
    none, coins = np.zeros(3, bool), np.full(100, 0.5)
    without, spared = (
        plan(0, ledger._seen(), ledger.counts.copy(), none, 0.0, coins, pulls, np.empty(0)) for pulls in (0, 7)
    )
    assert (without[2], spared[2], spared.sum()) == (0, 7, 100)


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


def test_contenders_are_the_nominee_and_all_that_are_not_refuted() -> None:
    ledger = Ledger(3, 0.1)
    assert ledger.contenders() == (0, 1, 2)
    tell(ledger, [0, 1, 2], [[0.0] * 10 + [1.0] * 40, [0.0] * 40 + [1.0] * 10, [0.0] * 20 + [1.0] * 30])
    ledger.nominate(0)
    while ledger.certified[1] < ledger.goal:
        tell(ledger, [0, 1], [[0.0] * 2 + [1.0] * 8, [0.0] * 8 + [1.0] * 2])
        ledger.nominate_if_due()
        ledger.refute()
    assert ledger.contenders() == (0, 2)


def test_arms_that_come_later_are_taken_in_at_their_own_price() -> None:
    rng = np.random.default_rng(1)
    means = {"a": 0.5, "b": 0.4, "c": 0.7, "d": 0.2}
    session = Session(["a", "b"], 0.1, reserve=0.1)
    told = 0
    while not session.finished:
        for ticket in session.ask(20):
            session.tell(ticket.id, float(rng.random() < means[ticket.label]))
            told += 1
        if told > 100 and len(session.labels) == 2:
            session.grow(["c", "d"])
    assert (session.result().best, session.result().certified) == ("c", True)
    with pytest.raises(UsageError, match="reserve"):
        Session(2, 0.1).grow(["late"])


def test_parts_of_delta_for_additions_sum_to_delta() -> None:
    ledger = Ledger(2, 0.1, reserve=0.2, may_pair=False)
    for _ in range(50):
        ledger.grow(1)
    parts = np.exp(-(ledger.goal + ledger.prices[1:]))
    assert parts.sum() == pytest.approx(0.1 * (0.8 + 0.2 * (1 - 1 / 51)))


def test_a_hundred_thousand_arms_are_no_trouble() -> None:
    means = np.full(100_000, 0.2)
    means[777] = 0.95
    result = identify(bernoulli(means), 0.1, seed=1, budget=10**7)
    assert (result.certified, result.index) == (True, 777)


def test_the_nominee_has_no_certificate_against_itself() -> None:
    for epsilon in (0.0, 0.1):
        ledger = Ledger(2, 0.1, epsilon, may_pair=False)
        tell(ledger, [0, 1], [[0.0] * 10 + [1.0] * 40, [0.0] * 30 + [1.0] * 20])
        ledger.nominate(0)
        for _ in range(40):
            tell(ledger, [0, 1], [[0.0] * 2 + [1.0] * 8, [0.0] * 6 + [1.0] * 4])
            ledger.nominate_if_due()
            ledger.refute()
        assert ledger.nominees == [0]
        assert ledger.certified[0] == -np.inf
        assert ledger.certified[1] >= ledger.goal


def test_with_epsilon_certificates_lapse_when_arms_arrive() -> None:
    ledger = Ledger(2, 0.1, epsilon=0.15, reserve=0.1)
    tell(ledger, [0, 1], [[0.0, 1.0] * 20, [0.0, 1.0] * 20])
    ledger.nominate(0)
    tell(ledger, [0, 1], [[0.0, 1.0] * 200, [0.0, 1.0] * 200])
    ledger.nominate_if_due()
    ledger.refute()
    assert ledger.certified[1] > 0
    ledger.grow(1)
    assert (ledger.certified == -np.inf).all()
    assert ledger.status().achieved_delta == 1.0


def test_batches_of_ten_million_end() -> None:
    result = identify(bernoulli([0.5, 0.45]), 0.05, seed=0, batch=10_000_000, budget=100_000_000)
    assert (result.certified, result.index) == (True, 0)


@pytest.mark.parametrize("low", [0.0, 0.25, 0.499])
def test_constant_rewards_at_equal_distances_end(low: float) -> None:
    """The nearest common mean lies exactly between the arms: a search for it must keep its bets."""
    session = Session(2, 0.05)
    while not session.finished and session.running.pulls < 20_000:
        for ticket in session.ask(8):
            session.tell(ticket.id, 1 - low if ticket.arm else low)
    assert session.result().best == "1"
    assert session.finished
