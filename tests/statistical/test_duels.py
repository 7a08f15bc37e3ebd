"""The theorems of docs/questions/duels.md, tried: exact means over all outcomes, errors at the boundary, seeded mistakes."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from surest.evidence.duels import Tournament, groups_of, side_interval

LONG = 7
"""Duels of the tournaments whose outcomes are all gone through: win, tie and loss, 2,187 of them."""


def every_outcome(chances: np.ndarray, ties: float, **settings: float) -> tuple[Tournament, np.ndarray, list]:
    """A tournament for each outcome of its duels, paired as the search pairs; their probabilities, and the nominees' wealth."""
    outcomes = np.array(list(product((1.0, 0.5, 0.0), repeat=LONG)))
    runs, n = len(outcomes), len(chances)
    book = Tournament(n, 0.05, runs=runs, **settings)  # type: ignore[arg-type]
    chance, all_ = np.ones(runs), np.arange(runs)
    worst = np.where(np.eye(n, dtype=bool), 1.0, chances).argmin(axis=1)  # who beats each player
    kept, totals = np.ones(runs), []
    for step in range(LONG):
        share, named, base = book.share.copy(), book.named.argmax(axis=1), book.base.copy()
        a, b = np.divmod(book.keys().reshape(runs, -1).argmin(axis=1), n)
        p, s = chances[a, b], outcomes[:, step]
        t = np.minimum(ties, 2 * np.minimum(p, 1 - p))
        chance *= np.where(s == 1, p - t / 2, np.where(s == 0, 1 - p - t / 2, t))
        before = book.beats[all_, named, worst[named]] - base[all_, named, worst[named]]
        book.count(a, b, s, all_)
        after = book.beats[all_, named, worst[named]] - base[all_, named, worst[named]]
        grown = np.where(np.isnan(share), 0, np.exp(after) - np.exp(before))
        kept += np.where(np.isnan(share), 0, share) * grown  # the wealth of all nominations, and what is not spent
        totals.append(kept.copy())
    return book, chance, totals


WINNER = np.array([[0.5, 0.5, 0.6], [0.5, 0.5, 0.4], [0.4, 0.6, 0.5]])
CYCLE = np.array([[0.5, 0.45, 0.6], [0.55, 0.5, 0.4], [0.4, 0.6, 0.5]])


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_the_exact_mean_of_a_winners_wealth_is_at_most_one(ties: float) -> None:
    book, chance, _ = every_outcome(WINNER, ties)
    assert chance.sum() == pytest.approx(1)
    against = np.exp(book.against)
    assert (chance * against[:, 0]).sum() <= 1 + 1e-12
    assert (chance * against[:, 1]).sum() > 1.001  # of one that is no winner it grows
    even = every_outcome(np.full((3, 3), 0.5), ties)
    assert (even[1] * np.exp(even[0].against[:, 0])).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "top"), [(0.0, 1), (0.1, 1), (0.0, 2)])
def test_the_exact_mean_of_every_true_claim_is_at_most_one(epsilon: float, top: int) -> None:
    book, chance, _ = every_outcome(WINNER, 0.2, epsilon=epsilon, top=top)
    below = (0.5 - epsilon >= WINNER) & ~np.eye(3, dtype=bool)
    above = (0.5 + epsilon >= WINNER) & ~np.eye(3, dtype=bool)
    assert ((chance[:, None, None] * np.exp(book.beats)).sum(axis=0)[below] <= 1 + 1e-12).all()
    assert ((chance[:, None, None] * np.exp(book.ousts)).sum(axis=0)[above] <= 1 + 1e-12).all()
    against = chance * np.exp(book.against[:, 0])
    assert against.sum() <= 1 + 1e-12  # it is among the one, and the two, that beat the rest


def test_the_exact_mean_of_all_nominations_is_at_most_one() -> None:
    book, chance, totals = every_outcome(CYCLE, 0.2, strict=True)
    assert book.nominations.max() >= 1
    means = [(chance * total).sum() for total in totals]
    assert max(means) <= 1 + 1e-12
    assert min(means) < 1 - 1e-6  # money was at stake


def test_a_pairing_that_looks_at_the_result_is_noticed() -> None:
    """Of two equal players' duels the one that speaks against the winner is counted: its exact mean is far above 1."""
    book, chance = Tournament(2, 0.05, runs=4**4), np.full(4**4, 4.0**-4)
    seen = np.array(list(product(range(4), repeat=4)))
    all_ = np.arange(len(seen))
    for step in range(4):
        lost = np.where(seen[:, step] == 3, 0.0, 1.0)  # the better of two scores of player 1: 0 in one of four cases
        book.bet[:] = 0.5
        book.count(np.ones(len(seen), int), np.zeros(len(seen), int), lost, all_)
    assert (chance * np.exp(book.against[:, 0])).sum() > 1.5


def ever_out(score: "np.random.Generator", n: int, runs: int, steps: int, shared: bool) -> float:
    """How often player 0 is ever out where all are equal: each step it meets all others, on one item or on one for each."""
    book, all_ = Tournament(n, 0.05, runs=runs), np.repeat(np.arange(runs), n - 1)
    others = np.tile(np.arange(1, n), runs)
    for _ in range(steps):
        luck = np.repeat(score.random(runs), n - 1) if shared else score.random(runs * (n - 1))
        book.count(np.zeros_like(others), others, (luck > 0.5).astype(float), all_)
    return float(book.out[:, 0].mean())


def test_an_item_shared_by_all_opponents_is_noticed_and_fresh_items_are_not() -> None:
    fresh, shared = (ever_out(np.random.default_rng(5), 6, 300, 60, shared) for shared in (False, True))
    assert fresh * 300 <= binom.ppf(0.999, 300, 0.05)
    assert shared > 0.15


@pytest.mark.parametrize(
    ("chances", "settings", "wrong"),
    [
        (np.full((3, 3), 0.5), {}, -1),  # nobody is wrong, as all are winners
        (np.array([[0.5, 0.51], [0.49, 0.5]]), {}, 1),
        (np.array([[0.5, 0.49, 0.51], [0.51, 0.5, 0.49], [0.49, 0.51, 0.5]]), {"strict": True}, 1),
        (np.array([[0.5, 0.44, 0.56], [0.56, 0.5, 0.44], [0.44, 0.56, 0.5]]), {"epsilon": 0.05}, 1),
    ],
)
def test_errors_at_the_boundary(chances: np.ndarray, settings: dict[str, float], wrong: int) -> None:
    runs, n, rng = 400, len(chances), np.random.default_rng(11)
    book = Tournament(n, 0.05, runs=runs, **settings)  # type: ignore[arg-type]
    first, named, all_ = np.zeros(runs, int), np.full(runs, -1), np.arange(runs)
    for _ in range(600):
        a, b = np.divmod(book.keys().reshape(runs, -1).argmin(axis=1), n)
        b = np.where(a == b, (a + 1) % n, b)  # where it has ended
        book.count(a, b, (rng.random(runs) < chances[a, b]).astype(float), all_)
        found = np.where(first == 0, book.verdict(), 0)
        first += found
        named[found > 0] = book.leaders[found > 0].argmax(axis=1)
    right = 0 if chances[0, 1] > 0.5 else -1
    errors = int((first < 0).sum()) if wrong < 0 else int(((first > 0) & (named != right)).sum())
    assert errors <= binom.ppf(0.9999, runs, 0.05)


def test_groups_hold_only_what_is_told() -> None:
    told = np.zeros((4, 4), bool)
    assert groups_of(told) == [[0, 1, 2, 3]]
    told[2, [0, 1, 3]] = True
    assert groups_of(told) == [[2], [0, 1, 3]]
    told[[0, 1], 3] = True
    assert groups_of(told) == [[2], [0, 1], [3]]
    told[[0, 1, 2], [1, 2, 0]] = True  # a cycle: nobody is first
    assert groups_of(told | told.T)[0] != []


def test_the_interval_of_sides_holds_at_all_times() -> None:
    rng, missed = np.random.default_rng(3), 0
    for _ in range(400):
        chances = rng.choice([0.4, 0.7], 500)  # pairs differ
        scores, truth = np.cumsum(rng.random(500) < chances), np.cumsum(chances)
        ends = [side_interval(t + 1, scores[t], 0.05) for t in range(500)]
        missed += any(not low <= truth[t] / (t + 1) <= high for t, (low, high) in enumerate(ends))
    assert missed <= binom.ppf(0.999, 400, 0.05)
    assert side_interval(1000, 600, 0.05)[0] > 0.5
