"""Paired bets, checked exactly: over all outcomes of short searches no wealth has a mean above 1, whenever one stops."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import pytest

import surest.algorithms.wager.ledger as module
from surest.algorithms.wager.ledger import PAIRED, Ledger
from surest.arms.finite import bernoulli
from surest.core.protocol import Statistic
from surest.kernels.certificates import log_value
from surest.kernels.pairs import leader_ratio, place, settle
from surest.search.identify import identify

Wealth = Callable[[Ledger], float]
Times = Sequence[int]
EVEN: list[Times] = [(2, 2), (1, 1), (1, 1), (1, 1)]
UNEVEN: list[Times] = [(2, 2), (1, 2), (3, 1)]
THREE: list[Times] = [(1, 1, 1), (1, 1, 1), (1, 1, 1)]


def account(j: int) -> Wealth:
    """The account of paired bets against an arm, as a part of the whole prior."""
    return lambda book: float(np.exp(book.accounts[j]) * (1 - module.PAIRED))


def evidence(j: int, c: float) -> Wealth:
    """All that speaks against an arm of mean c at one moment: its account and, once there is a nominee, the levels at c."""

    def total(book: Ledger) -> float:
        found = account(j)(book)
        if book.live and book.nominee != j:
            found += float(np.exp(log_value(c, 0.0, book.evidence().kernel(), j)[0])) * (1 - module.PAIRED)
        return found

    return total


def outcomes(book: Ledger, times: Times, means: Sequence[float]) -> Iterator[tuple[Ledger, float]]:
    """The ledger after every outcome of a request, and how likely it is."""
    arms = np.flatnonzero(times)
    often = np.array(times)[arms]
    each = np.repeat(np.array(means)[arms], often)
    for rewards in product((0.0, 1.0), repeat=len(each)):
        after = deepcopy(book)
        after.count(arms, np.array(rewards), often)
        after.nominate_if_due()
        yield after, float(np.prod(np.where(np.array(rewards) == 1, each, 1 - each)))


def mean_of(wealth: Wealth, requests: list[Times], means: Sequence[float], *, stopping: bool = False) -> float:
    """The mean of a wealth over all outcomes; with `stopping`, under the rule of when to stop that makes it largest."""

    def ahead(book: Ledger, k: int) -> float:
        if k == len(requests):
            return wealth(book)
        now = wealth(book) if stopping and k > 0 else 0.0
        return max(now, sum(p * ahead(after, k + 1) for after, p in outcomes(book, requests[k], means)))

    return ahead(Ledger(len(means), 1e-12), 0)


@pytest.mark.parametrize("requests", [EVEN, UNEVEN, THREE])
@pytest.mark.parametrize("mean", [0.5, 0.25])
def test_accounts_are_fair_while_no_arm_is_better(
    requests: list[Times], mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bets at another level than the mean lose a little; at the mean itself nothing is lost, nor won."""
    means = [mean] * len(requests[0])
    for j in range(len(means)):
        assert 0.9 * PAIRED < mean_of(account(j), requests, means) < PAIRED

    monkeypatch.setattr(module, "place", _at_level(mean, 0.3))
    for j in range(len(means)):
        assert mean_of(account(j), requests, means) == pytest.approx(PAIRED, abs=1e-12)


def _at_level(level: float, stake: float) -> Callable[..., tuple[Any, ...]]:
    """A way to place bets at a given level, all of the same size."""

    def placed(arms, times, *seen):  # type: ignore[no-untyped-def]
        opponents, levels, stakes = place(arms, times, *seen)
        return opponents, np.full_like(levels, level), np.where(stakes > 0, stake, 0.0)

    return placed


def test_accounts_lose_against_a_best_arm_and_win_against_others() -> None:
    means = [0.75, 0.25]
    assert mean_of(account(0), EVEN, means, stopping=True) == pytest.approx(PAIRED, abs=1e-12)  # at once
    assert mean_of(account(0), EVEN, means) < PAIRED
    assert mean_of(account(1), EVEN, means) > 1.3


@pytest.mark.parametrize("paired", [PAIRED, 0.5])
@pytest.mark.parametrize("means", [(0.5, 0.5), (0.75, 0.75), (0.6, 0.4)])
def test_accounts_and_levels_together_are_fair(
    means: tuple[float, float], paired: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nominations come early: still nobody can stop with more than 1 on average."""
    _nominate_early(monkeypatch, paired)
    nominated = [0]

    def total(book: Ledger) -> float:
        nominated[0] += book.live and book.nominee != 0
        return evidence(0, means[0])(book)

    found = mean_of(total, [*EVEN[:3], (2, 2)], means, stopping=True)
    assert found <= 1 + 1e-9
    assert found > 0.95 or paired < PAIRED  # the bound is sharp: before a nomination the levels' part is left out
    assert nominated[0] > 100


def _nominate_early(monkeypatch: pytest.MonkeyPatch, paired: float) -> None:
    for name, value in (("LEAST_PULLS", 2), ("NARROWEST", 0.5), ("CLEAR", 0.1), ("PAIRED", paired)):
        monkeypatch.setattr(module, name, value)


def test_maxima_of_two_wealths_must_not_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    _nominate_early(monkeypatch, 0.7)
    monkeypatch.setattr(module, "place", _at_level(0.5, 1.5))

    def both(book: Ledger) -> float:
        now = account(0)(book)
        book.best = max(getattr(book, "best", 0.0), now)  # type: ignore[attr-defined]
        book.most = max(getattr(book, "most", 0.0), evidence(0, 0.5)(book) - now)  # type: ignore[attr-defined]
        return float(book.best + book.most)  # type: ignore[attr-defined]

    assert mean_of(evidence(0, 0.5), EVEN, (0.5, 0.5), stopping=True) < 1
    assert mean_of(both, EVEN, (0.5, 0.5), stopping=True) > 1.1


def _with_rewards(change: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    """A way to settle bets that are changed once the rewards are known."""

    def wrong(accounts, arms, times, opponents, levels, stakes, rewards) -> None:  # type: ignore[no-untyped-def]
        settle(accounts, arms, times, *change(arms, times, opponents, levels, stakes, rewards), rewards)

    return wrong


def _knowing_opponent(arms, times, opponents, levels, stakes, rewards):  # type: ignore[no-untyped-def]
    best = arms[np.argsort(-rewards, kind="stable")]  # a pull of each arm
    chosen = np.array([next(int(o) for o in best if o != j) for j in arms])
    return np.where(stakes > 0, chosen, opponents), levels, stakes


def _knowing_stake(arms, times, opponents, levels, stakes, rewards):  # type: ignore[no-untyped-def]
    means = np.add.reduceat(rewards, np.cumsum(times) - times) / times
    won = np.array([o >= 0 and means[list(arms).index(o)] > means[k] for k, o in enumerate(opponents)])
    return opponents, levels, np.where(won, stakes, stakes / 2)


def _dropped(arms, times, opponents, levels, stakes, rewards):  # type: ignore[no-untyped-def]
    leading = [rewards[list(arms).index(o)] if o >= 0 else 1.0 for o in opponents]
    return opponents, levels, np.where(np.array(leading) < 0.5, 0.0, stakes)


def _out_of_proportion(accounts, arms, times, opponents, levels, stakes, rewards) -> None:  # type: ignore[no-untyped-def]
    """The same stake on a reward of either of two arms, however often each is pulled, at a level that is off."""
    if stakes[0] > 0:
        own, its = rewards[: times[0]], rewards[times[0] :]
        accounts[0] += np.log(1 + min(stakes[0], 0.9) * np.append(0.4 - own, its - 0.4)).sum()


MISTAKES = {
    "an opponent chosen with the request's rewards": (_with_rewards(_knowing_opponent), THREE),
    "a stake chosen with the request's rewards": (_with_rewards(_knowing_stake), EVEN),
    "a bet that is dropped where the leader does badly": (_with_rewards(_dropped), THREE),
    "stakes out of proportion to the pulls": (_out_of_proportion, [(2, 2), (1, 3), (1, 3)]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, requests = MISTAKES[mistake]
    monkeypatch.setattr(module, "settle", wrong)
    assert mean_of(account(0), requests, [0.5] * len(requests[0])) > 1.02 * PAIRED


def test_stakes_are_bounded_and_follow_from_what_was_counted() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        n = int(rng.integers(2, 7))
        counts, arms = rng.integers(0, 5, n).astype(float) * 7, np.arange(n)
        sums = np.floor(rng.random(n) * (counts + 1))
        is_open = rng.random(n) < 0.8
        times = rng.integers(1, 4, n)
        opponents, levels, stakes = place(arms, times, counts, sums, sums, is_open)
        assert ((levels >= 0) & (levels <= 1) & (stakes >= 0) & (stakes * (1 - levels) <= 0.9 + 1e-12)).all()
        assert (stakes * times / times[opponents] * levels <= 0.9 + 1e-12).all()
        assert (stakes[~is_open | (counts == 0)] == 0).all()
        for j in np.flatnonzero(stakes):
            others = [o for o in range(n) if o != j and counts[o] > 0]
            assert opponents[j] in others
            assert sums[opponents[j]] / counts[opponents[j]] == max(sums[o] / counts[o] for o in others)
    nothing = place(arms[:2], np.ones(2, int), *np.zeros((3, 2)), np.ones(2, bool))
    assert nothing[2].tolist() == [0, 0]


def test_accounts_are_as_computed_by_hand() -> None:
    accounts, rewards = np.zeros(2), np.array([1.0, 0.0, 1.0, 0.5, 0.25])
    arms, times, levels, stakes = np.array([0, 1]), np.array([3, 2]), np.array([0.5, 0.4]), np.array([0.6, 0.9])
    settle(accounts, arms, times, np.array([1, 0]), levels, stakes, rewards)
    # 3 · 0.6 = 2 · 0.9, and 2 · 0.9 = 3 · 0.6
    own = np.log([1 - 0.6 * 0.5, 1 + 0.6 * 0.5, 1 - 0.6 * 0.5, 1, 1 - 0.9 * 0.25]).sum()
    its = np.log([1 + 0.6 * 0.6, 1 - 0.6 * 0.4, 1 + 0.6 * 0.6, 1 - 0.9 * 0.1, 1 + 0.9 * 0.15]).sum()
    assert accounts == pytest.approx([own, its], abs=1e-13)
    assert (accounts < [own + 1e-16, its + 1e-16]).all()  # rounding is taken off


def test_the_leader_is_pulled_more_often_where_its_rewards_say_less() -> None:
    """Near 1 a reward of the leader can win little, one of a challenger much; near 0 the other way round."""
    counts = np.full(2, 400.0)
    found = []
    for means in ((0.95, 0.9), (0.525, 0.475), (0.1, 0.05)):
        sums = 400 * np.array(means)
        found.append(leader_ratio(0, 1, 1, counts, sums, sums**2 / 400 + 0.04))
    assert found[0] > 4 > found[1] > 0.5 > found[2]
    coins = np.array([200.0, 180.0])
    assert leader_ratio(0, 1, 1, counts, coins, coins) == pytest.approx(1)
    assert leader_ratio(0, 1, 5, counts, coins, coins) == pytest.approx(2)  # it serves five
    dear, cheap = (leader_ratio(0, 1, price, counts, coins, coins) for price in (0.1, 10.0))
    assert dear < 0.5 < 2 < cheap


@pytest.mark.parametrize(
    ("n", "epsilon", "expected"), [(2, 0.0, True), (6, 0.0, True), (7, 0.0, False), (2, 0.1, False)]
)
def test_few_arms_have_paired_bets(n: int, epsilon: float, expected: bool) -> None:
    book = Ledger(n, 0.1, epsilon)
    assert book.paired is expected
    assert book.statistic is (Statistic.REWARDS if expected else Statistic.ATOMS)
    assert (book.accounts > -np.inf).all() == expected


def test_a_false_refutation_does_not_last() -> None:
    """A refuted arm is pulled now and then: if it turns out to lead, it is the answer all the same."""
    book = Ledger(3, 0.1)
    book.count(np.arange(3), np.repeat([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [50, 50, 50, 50, 40, 60]), np.full(3, 100))
    book.nominate_if_due()
    book.certified[2] = 9.0
    pulls = sum(book.next_batch(np.random.default_rng(), 10, np.zeros(3, np.int64))[2] for _ in range(3))
    assert pulls == 0  # it has more than its part
    book.count(np.arange(2), np.tile([1.0, 0.0], 2_000), np.full(2, 2_000))
    book.nominate_if_due()
    assert book.next_batch(np.random.default_rng(), 30, np.zeros(3, np.int64)).tolist() == [15, 15, 15]
    book.count(np.array([2]), np.ones(400), np.array([400]))
    book.nominate_if_due()
    assert book.leader == 2
    assert book.next_batch(np.random.default_rng(), 30, np.zeros(3, np.int64)).tolist() == [10, 10, 10]
    book.certified[:2] = 9.0
    assert book.decided


def test_arms_that_are_added_until_there_are_many() -> None:
    """A search that began with few arms goes on with paired bets; the new arms have accounts too."""
    book = Ledger(5, 0.1, reserve=0.1)
    book.count(np.arange(5), np.tile(np.repeat([1.0, 0.0], 10), 5), np.full(5, 20))
    book.grow(2)
    assert book.statistic is Statistic.REWARDS
    assert book.accounts[5:] == pytest.approx(np.full(2, np.log(PAIRED / (1 - PAIRED))))
    book.count(np.arange(7), np.tile([1.0, 0.0], 7), np.full(7, 2))
    before = book.accounts.copy()
    book.count(np.arange(7), np.repeat([1.0, 0.0], [30, 40]), np.full(7, 10))
    assert (book.accounts != before).all()
    book.nominate_if_due()
    assert book.next_batch(np.random.default_rng(1), 30, np.zeros(7, np.int64)).sum() == 30


def test_an_arm_that_is_nearly_refuted_is_pulled_less() -> None:
    book = Ledger(3, 0.1)
    book.count(np.arange(3), np.tile([1.0, 0.0], 150), np.full(3, 100))
    book.nominate_if_due()
    book.accounts[:] = book.goal + book.prices - np.array([2.0, 2.0, 1.0])
    times = book.next_batch(np.random.default_rng(), 300, np.zeros(3, np.int64))
    assert times[1] == pytest.approx(2 * times[2], abs=1)
    assert times.sum() == pytest.approx(300, abs=3)


def test_near_ties_take_half_the_pulls() -> None:
    pulls = [identify(bernoulli([0.5, 0.45]), 0.1, seed=seed).pulls for seed in range(20)]
    assert np.mean(pulls) < 3_000  # 3,614 without paired bets, 2,200 with them
