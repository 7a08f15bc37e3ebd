"""The theorems on lists, exactly: over all orders of a small table, the mean of each wealth is at most 1.

Each mistake that the theorems forbid is put into the source and must push a mean above 1.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from mistakes import Change, mistakes_in, put, rebuilt
from statistical.list_tables import played
from surest.errors import UsageError
from surest.evidence import cheapest as near_best
from surest.evidence.lists import bars as item_bars
from surest.evidence.lists import champion, gate
from surest.evidence.lists import race as items
from surest.evidence.lists import top as item_top
from surest.evidence.lists.gate import UNKNOWN, Predictions, directions, mirrored, new_state
from surest.evidence.lists.scores import Pairs, Scores
from surest.evidence.lists.top import Top
from surest.evidence.lists.verdict import Verdict
from surest.kernels import lists
from surest.kernels.constants import LEAD_WEIGHTS, LEADS, PLAIN, STEPS, WEIGHTS
from surest.kernels.lists import pair_wealth


def over_all_orders(items: int, measured: Callable[[list[int]], Any]) -> Any:
    """The mean of what is measured in every order of so many items."""
    return np.mean([measured(list(order)) for order in permutations(range(items))], axis=0)


# --- the best arm: docs/items.md -------------------------------------------------------------------------------------------

CURRENT_IN_MARGIN = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=float)
CURRENT_IN_STAKE = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 1, 1, 0, 0]], dtype=float)
LEADER_AFTERWARDS = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 1, 0, 0, 0]], dtype=float)
TABLES = [CURRENT_IN_MARGIN, CURRENT_IN_STAKE, LEADER_AFTERWARDS]


def best_wealths(table: np.ndarray, delta: float) -> list[float]:
    """For each best arm: its wealth, frozen when it is out, in the mean over all orders of the items."""
    n, total = table.shape
    best = np.flatnonzero(table.sum(axis=1) >= table.sum(axis=1).max() - 1e-9)

    def at_end(order: list[int]) -> np.ndarray:
        return played(items.Standings(n, np.ones(total), delta), table, order).current()[best]

    return over_all_orders(total, at_end).tolist()


@pytest.mark.parametrize("delta", [1e-9, 0.3, 0.6])
def test_the_mean_wealth_against_a_best_arm_is_at_most_one(delta: float) -> None:
    """Where only bets can take an arm out, and where the wealth is frozen early."""
    rng = np.random.default_rng(2)
    tables = [*TABLES, *(rng.integers(0, 2, (n, 4)).astype(float) for n in (2, 3, 5, 6)), rng.random((4, 4))]
    means = [mean for table in tables for mean in best_wealths(table, delta)]
    assert max(means) <= 1 + 1e-9
    assert max(means) > 0.9  # near the bound: a rule that never bets would pass


@pytest.mark.slow
def test_the_mean_wealth_against_a_best_arm_is_at_most_one_on_many_tables() -> None:
    rng = np.random.default_rng(3)
    means = []
    for k in range(400):
        n, total = int(rng.integers(2, 8)), int(rng.integers(2, 6))
        table = rng.integers(0, 2 + k % 3, (n, total)) / (1 + k % 3) if k % 4 else rng.random((n, total))
        means += best_wealths(table.astype(float), float(rng.choice([1e-9, 0.2, 0.5])))
    assert max(means) <= 1 + 1e-9


def test_clusters_come_in_proportion_to_their_size_and_a_uniform_order_of_them_is_noticed() -> None:
    """Arm 0 is best because of one large cluster: each order with its probability, margins by the weight that is left."""
    values = np.array([[1, 0, 0, 0.5, 0], [0, 1, 1, 0.5, 1]])
    weights = np.array([3.0, 0.5, 0.5, 0.5, 0.5])

    def wealths(order: list[int]) -> tuple[float, float]:
        left = weights[order][::-1].cumsum()[::-1]
        wealth = float(played(items.Standings(2, weights[order], 0.6), values, order).current()[0])
        return 120 * float(np.prod(weights[order] / left)) * wealth, wealth

    mean, uniform = over_all_orders(5, wealths)
    assert mean <= 1 + 1e-9
    assert uniform > 1.05


def counted(rows: np.ndarray, total: int) -> Scores:
    """The scores of all arms on the first of `total` items, a row an item."""
    scores = Scores(rows.shape[1], np.ones(total))
    for row in rows:
        scores.count(np.arange(len(row)), row)
    return scores


def test_the_mean_wealth_of_a_pair_is_at_most_one_where_the_regret_is_larger_than_epsilon() -> None:
    """The wealth against "0 is within ε of j" at the end; and that of two arms at a gap that is less than the true one."""
    rng, checked = np.random.default_rng(4), 0
    for _ in range(30):
        table = rng.integers(0, 3, (3, 5)) / 2
        regret = table.mean(axis=1) - table[0].mean()
        for epsilon in (0.0, 0.05, 0.15):
            worse = regret > epsilon + 1e-9

            def wealths(order: list[int], epsilon: float = epsilon, table: np.ndarray = table) -> np.ndarray:
                scores = np.ascontiguousarray(table[:, order].T)
                apart = [
                    pair_wealth(0, j, epsilon, scores, 5, np.ones(5), 5.0, False, np.empty(STEPS)) for j in range(3)
                ]
                return np.array([Pairs(0, epsilon, 3).extend(np.arange(3), counted(scores, 5)), apart])

            if worse.any():
                checked += 1
                assert over_all_orders(5, wealths)[:, worse].max() <= 1 + 1e-9
    assert checked > 20


def race() -> float:
    return max(mean for table in TABLES for mean in best_wealths(table, 0.05))


# --- the m best, bars, a control: docs/questions.md ------------------------------------------------------------------------


def set_wealth(table: np.ndarray, delta: float) -> float:
    """The wealth against the set of the two best arms, frozen when it is out, in the mean over all orders."""
    (n, total), first = table.shape, table[np.argsort(-table.sum(axis=1), kind="stable")]

    def at_end(order: list[int]) -> float:
        top = Top(n, 2, np.ones(total), delta)
        top.evidence = item_top.Sets(top.scores, n, 2, 1 / delta)
        return float(played(top, first, order).evidence.wealth[0] @ WEIGHTS)

    return float(over_all_orders(total, at_end))


@pytest.mark.parametrize("delta", [1e-9, 0.3, 0.6])
def test_the_mean_wealth_against_a_right_set_is_at_most_one(delta: float) -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(0, 2, (n, 4)).astype(float) for n in (3, 4, 4, 5, 5)] + [rng.random((4, 4))]
    assert 0.9 < max(set_wealth(table, delta) for table in tables) <= 1 + 1e-9


def best_sets() -> float:
    rng = np.random.default_rng(2)
    return max(set_wealth(rng.integers(0, 2, (4, 4)).astype(float), 0.05) for _ in range(6))


def claims(values: np.ndarray, bars: Sequence[float], ends: Sequence[float]) -> np.ndarray:
    """The mean wealths of both claims about an arm at the end, and the means of the largest that they have been."""

    def at_end_and_most(order: list[int]) -> np.ndarray:
        claimed, wealths = item_bars.Bars(1, np.ones(len(values)), bars, ends), [np.zeros((1, 2))]
        for item in order:
            claimed.count(np.arange(1), values[[item]])
            wealths.append(claimed.wealth @ WEIGHTS)
        return np.array([wealths[-1], np.max(wealths, axis=0)])

    return over_all_orders(len(values), at_end_and_most)


def test_the_mean_wealth_of_a_wrong_claim_is_at_most_one_and_the_largest_so_far_is_more() -> None:
    """So e-BH may be fed with wealths of one moment, and not with their maxima."""
    rng, nearest = np.random.default_rng(3), 0.0
    for table, ends in ((rng.integers(0, 3, (6, 5)) / 2, (0.0, 1.0)), (rng.integers(-1, 2, (6, 5)) / 1.0, (-1.0, 1.0))):
        for values in table:
            mean = values.mean()
            for low, high in ((mean, mean), (mean + 0.04, mean - 0.04)):
                now, largest = claims(values, (low, high), ends)
                assert now.max() <= 1 + 1e-9
                nearest = max(nearest, now.max())
                if 0 < low < 1 and np.ptp(values) > 0:
                    assert largest.max() > 1.02
    assert nearest > 0.9


def at_bars() -> float:
    arms = np.array([[1.0, 0, 1, 0, 0], [1.0, 1, 0, 1, 0]])
    return max(claims(values, [values.mean()] * 2, (0.0, 1.0))[0].max() for values in arms)


def test_scores_outside_of_the_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[0, 1\]"):
        Scores(1, np.ones(3)).count(np.arange(1), np.array([1.5]))


def test_a_pair_speaks_the_more_the_larger_the_gap() -> None:
    """Its stakes do not depend on the gap: only then is the smallest gap that suffices a bound."""
    scores = (np.random.default_rng(5).random((40, 2)) < 0.5).astype(float)
    rest = scores, 40, np.ones(100), 100.0, False, np.empty(STEPS)
    wealth = [pair_wealth(0, 1, gap, *rest) for gap in np.linspace(0, 1, 60)]
    assert wealth == sorted(wealth)
    assert wealth[0] < 20 < wealth[-1]


def test_a_bet_that_has_lost_all_does_not_come_back() -> None:
    """Products near 1e-323 would be rounded up to what they were, and losing would be free."""
    apart = np.append(np.tile([0.5, -0.5], 5_000), np.ones(1_200))
    scores, wealth = np.stack([0.5 + apart / 2, 0.5 - apart / 2], axis=1), np.empty(STEPS)
    pair_wealth(0, 1, 0.0, scores, len(apart), np.ones(len(apart)), np.inf, True, wealth)
    exact = np.log1p(np.outer(0.9 / 2.0 ** np.arange(STEPS), apart)).sum(axis=1) - np.log(STEPS)
    assert (wealth <= np.exp(exact + 1e-9)).all()


# --- gates and challenges: docs/gate.md, docs/champion.md ------------------------------------------------------------------


def growth(share: float, trials: Sequence[int] = (0, 1, 4), every: int = 1, beyond: float = 0.0) -> float:
    """The largest factor by which a gate's wealth against the true mean, or one `beyond`, grows with an item, on average.

    What Ville's inequality needs: wealth depends on the items seen alone, or this is infinite, and given these it is at most 1.
    The part `share` of it bets on differences, the rest beside predictions, which are made anew for `every` item.
    """
    found = []
    for trial, up in product(trials, (1, -1)):
        rng, wealth = np.random.default_rng([9, trial]), {(): 1.0}
        old, new, *older = (rng.integers(0, 2, (5, 5)) if trial < 3 else rng.random((5, 5))).astype(float)
        more, x = directions(old, np.array(older)), up * float(np.mean(new - old)) + beyond
        for order in permutations(range(5)):
            path = (new - old)[list(order)]
            with patch.object(gate, "EVERY", every):
                told = Predictions(old[list(order)], more[list(order)]).extend(path)
            path, told = (path, told) if up > 0 else (-path, np.ascontiguousarray(mirrored(told)))
            for t in range(1, 6):
                guesses = told[:t].copy() if share < 1 else UNKNOWN
                now = lists.bet_above(path[:t].copy(), guesses, 0, 5.0, x, 1e300, share, new_state())[1]
                if wealth.setdefault(order[:t], now) != pytest.approx(now, rel=1e-12):
                    return np.inf
        after = {seen: [wealth[(*seen, item)] for item in {*range(5)} - {*seen}] for seen in wealth if len(seen) < 5}
        found += [np.mean(following) / wealth[seen] for seen, following in after.items() if wealth[seen] < np.inf]
    return float(max(found))


@pytest.mark.parametrize("trial", range(6))
def test_no_prefix_of_any_order_lets_the_wealth_grow(trial: int) -> None:
    for beyond in (0.0, 0.07):
        assert growth(PLAIN, [trial], 1 + trial % 2, beyond) <= 1 + 1e-12


CHALLENGED = np.array([[0.0, 0.0, 1.0, 1.0, 0.3], [0.2, 0.0, 0.9, 0.0, 1.0]])
KNOWN = [np.isin(range(5), places) for places in ([0], [2, 3], [0, 1], [1, 2, 4], [0, 1, 2, 3, 4])]


def beside_the_known(known: np.ndarray, apart: np.ndarray, mean: float) -> list[float]:
    """What the bets beside predictions, of both sides, come to against the truth at the end of one order."""
    contest = champion.Contest(known, 0.0, 1e-250, 1e-250)
    contest._known._every = 2
    for difference in apart.tolist():
        contest.verdict = ""
        contest.add(difference)
    made = []
    for path, told, x in ((apart, contest._known._told, mean), (-apart, mirrored(contest._known._told), -mean)):
        state = new_state()
        lists.bet_above(path, told, 0, float(len(path)), x, 1e250, 0.0, state)
        made.append(float(LEAD_WEIGHTS @ state[len(LEADS) : 2 * len(LEADS)]))
    return made


def challenges(*, known_first: bool = False, known_mean: bool = False) -> float:
    """The largest mean over all orders, of both sides, whichever scores of the champion are known."""
    found = []
    for old, new in (CHALLENGED, CHALLENGED[::-1]):
        for there in KNOWN:
            taken = np.where(there, old, old[there].mean()) if known_mean else old
            known = taken if known_mean else np.where(there, old, np.nan)

            def at_end(order, there=there, known=known, old=old, new=new, taken=taken):  # type: ignore[no-untyped-def]
                if known_first:
                    order.sort(key=lambda item: not there[item])
                return beside_the_known(known[order], (new - taken)[order], float(np.mean(new - old)))

            found.append(over_all_orders(5, at_end).max())
    return float(max(found))


def test_known_cells_first_and_the_mean_of_known_cells_are_seen_over_all_orders() -> None:
    assert challenges(known_first=True) > 1.4
    assert challenges(known_mean=True) > 1.5


# --- the cheapest of the best: docs/questions/cheapest.md -------------------------------------------------------------------


def near_best_wealths(evidence: Any, means: np.ndarray, prices: np.ndarray) -> list[float]:
    """M of the proof, and the wealths that it is made of, from what the evidence holds."""
    good = np.flatnonzero(means >= means.max() - evidence.epsilon - 1e-12)
    right, best = good[np.argsort(prices[good], kind="stable")[0]], int(means.argmax())
    far = np.flatnonzero(means < means.max() - evidence.epsilon - evidence.slack - 1e-12)
    f, w, e = near_best.PARTS
    bets = evidence.near[far, best].mean(axis=1).tolist()
    parts = [float(evidence.within[right].mean()), float(evidence.best[best].mean()), *bets]
    return [f * parts[0] + w * parts[1] + e / len(means) * sum(bets), *parts]


def cheapest(delta: float = 1e-9) -> float:
    """The largest mean, over all orders of some tables, of M and of each wealth in it."""
    rng, made = np.random.default_rng(8), []
    for _ in range(24):
        table, prices = rng.choice([0, 0.5, 1], (3, 4)), rng.permutation([3.0, 1, 2])
        zone = rng.choice([0.0, 0.1, 0.2, 0.3]), rng.choice([0, 0.1])

        def at_end(order, table=table, prices=prices, zone=zone):  # type: ignore[no-untyped-def]
            evidence = played(near_best.Cheapest(prices, 4, delta, *zone), table, order)
            return near_best_wealths(evidence, table.mean(axis=1), prices)

        made.append(over_all_orders(4, at_end).max())
    assert min(made) > 0.2
    return float(max(made))


# --- a stated spread: docs/items.md -----------------------------------------------------------------------------------------

SPREAD = 0.2
TIED = 0.5 + SPREAD / 2 * np.array([[1, -1, 1, -1, 1, 1.0], [-1, 1, 1, -1, 1, 1], [1, 1, -1, -1, -1, 1]])
"""Arms 0 and 1 are both best: their means are equal."""
BROKEN = np.array([[0.6, 0.6, 0.6, 0.6, 0.1], [0.5] * 5])
"""One item outweighs all others: arm 1 is ahead on the whole list."""


def spread_wealths(table: np.ndarray, *, added: bool = False, until: int | None = None) -> np.ndarray:
    """The largest, over time, of the mean wealth against each arm, until an item comes."""
    n, total = table.shape

    def on_the_way(order: list[int]) -> np.ndarray:
        verdict, path = Verdict(n - added, np.ones(total), 1e-9, 0.0, False, 0.1, SPREAD), []
        for t, item in enumerate(order):
            if added and t == 2:
                verdict.grow(table[-1:, order[:2]].T, 0.05)
            if len(verdict.left) > 1 and until not in order[: t + 1]:
                verdict.count(table[verdict.left, item])
            path.append(np.resize(np.append(verdict.standings.current(), 0.0), n))
        return np.array(path)

    return over_all_orders(total, on_the_way).max(axis=0)


def test_with_a_spread_the_mean_wealth_against_a_best_arm_is_at_most_one() -> None:
    for means in (spread_wealths(TIED), spread_wealths(TIED, added=True)):
        assert means[:2].max() <= 1 + 1e-12
    assert spread_wealths(TIED)[2] > 1.02  # and there is something to win


def test_a_spread_that_unseen_items_break_is_no_evidence() -> None:
    """The mistake: differences scaled, and nobody looks whether they fit."""
    assert spread_wealths(BROKEN, until=4)[1] > 1.02


# --- mistakes ---------------------------------------------------------------------------------------------------------------

SEEN: dict[str, tuple[Callable[..., float], float]] = {
    "race": (race, 1.02),
    "the best arms": (best_sets, 1.02),
    "bars": (at_bars, 1.02),
    "gate": (partial(growth, 1.0), 1.05),
    "predictions": (partial(growth, 0.0), 1.01),
    "champion": (challenges, 1.001),
    "cheapest": (cheapest, 1.02),
}
"""The largest mean of what mistakes are about, and what each must push it above."""
KNOWING = (
    ("def bets_against(\n    j: int,", "def bets_against(\n    now: FloatArray, j: int,"),
    ("bets_against(j, top", "bets_against(values, j, top"),
    ("cross[where[i], opponents[k]]", "all_products[opponents[i], opponents[k]]"),
    ("- cross[where[i], j] - cross[where[k], j]", "- all_products[opponents[i], j] - all_products[opponents[k], j]"),
)
"""Bets that may know the item, and any arm as the opponent: with all cross products."""


def mistakes_seen_by(whom: str) -> list[tuple[str, str, str, Change]]:
    """What a mistake is about, its modules, its name and the change."""
    found = []
    for section, name, *change in mistakes_in(Path(__file__).with_name("mistakes.txt")):
        about, modules, seers = section.split(": ")
        if whom in seers.split(", "):
            found.append((about, modules, name, tuple(change)))
    return found


def make(patch: pytest.MonkeyPatch, about: str, modules: str, change: Change) -> None:
    """Make a mistake, wherever its modules are used."""
    names = [f"surest.{name}" for name in modules.split()]
    fresh = rebuilt(names, change, *(KNOWING if about == "race" else ()))
    if about == "race":
        of_lists, standings = vars(fresh[names[0]]), fresh[names[1]].Standings
        count = standings.count

        def counting(self: items.Standings, values: np.ndarray) -> None:
            past = np.nan_to_num(self.scores.values[: self.scores.t])
            of_lists["all_products"] = past.T @ past
            of_lists["leading_now"] = lambda sums: [self.play[np.argmax(sums[self.play])]]
            count(self, values)

        standings.count = counting
    put(patch, fresh)


@pytest.mark.parametrize("worst", [*(worst for worst, _ in SEEN.values()), partial(cheapest, delta=0.4)])
def test_the_mean_wealth_against_what_is_true_is_at_most_one(worst: Callable[[], float]) -> None:
    """And near to it: a rule that never bets would pass."""
    assert 0.9 < worst() <= 1 + 1e-9


@pytest.mark.parametrize(("about", "modules", "name", "change"), mistakes_seen_by("orders"))
def test_a_mistake_is_seen(
    about: str, modules: str, name: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(monkeypatch, about, modules, change)
    worst, least = SEEN[about]
    assert worst() > least, name
