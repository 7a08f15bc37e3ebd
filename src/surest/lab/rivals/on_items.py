"""Other methods for the best arm on a list of items, for comparison: all take the items in one random order.

`docs/items.md` compares them with `race`.
"""

from collections.abc import Callable
from math import ceil, log, log2
from statistics import NormalDist
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Option, Standing, Task, started
from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure
from surest.errors import UsageError
from surest.kernels.constants import CAP, MEMORY, PRIOR, TINY, TOLERANCE_ON_LISTS
from surest.kernels.lab.divergence import empirical_bernstein
from surest.lab.numerics import student_tail

Survivors = Callable[[FloatArray, IntArray], IntArray]
"""From the scores so far (one row per item, one column per arm) and the arms in play: those that stay in play."""


def elimination(arms: IntArray, items: int, rng: np.random.Generator, survivors: Survivors) -> Procedure[Answer]:
    """Evaluate all arms in play on item after item, dropping arms by a rule, until one is left or all items are seen."""
    order = rng.permutation(items)
    scores = np.full((items, len(arms)), np.nan)
    play = np.arange(len(arms))
    for t in range(items):
        reply = yield Cells(arms[play], order[t : t + 1], order[t + 1 :])
        scores[t, play] = reply[:, 0]
        play = survivors(scores[: t + 1], play)
        if len(play) == 1:
            return Answer(int(arms[play[0]]))
    return Answer(int(arms[play[scores[:, play].sum(axis=0).argmax()]]), reason="all items seen")


def evaluate_everything(arms: IntArray, delta: float, *, items: int, rng: np.random.Generator) -> Procedure[Answer]:
    """Evaluate every arm on every item: exact, and the most expensive."""
    return elimination(arms, items, rng, lambda scores, play: play)


def averaged_opponents(arms: IntArray, delta: float, *, items: int, rng: np.random.Generator) -> Procedure[Answer]:
    """Average the wealth over all opponents, as PEAK does (Cho, Gan, Kallus 2024, arXiv 2402.06122).

    The wealth against arm j is the average, over all other arms o, of a wealth against "o is not better than j"; j is out when
    it reaches 1/δ, and the wealth of a pair is frozen when either arm is out. differs: PEAK has fresh rewards; here the
    margins are those of a list without replacement, as in `race`, so that only the averaging differs.
    """
    n = len(arms)
    sums, squares, wealth = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n))  # entry (j, o): bets that o is better

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        pairs = np.ix_(play, play)
        t, left = len(scores) - 1, items - len(scores) + 1
        d = scores[-1, play][None, :] - scores[-1, play][:, None]
        room = np.maximum(1 - sums[pairs] / left, 1e-12)  # 1 + m
        gain = sums[pairs] / (t + MEMORY) + 1 - room
        stake = np.clip(gain / ((squares[pairs] + PRIOR) / (t + MEMORY)), 0, CAP / room)
        stake[(room >= 2) | (room <= TOLERANCE_ON_LISTS * items / left)] = 0.0
        wealth[pairs] *= 1 + stake * (d + 1 - room)
        wealth[wealth < TINY] = 0.0  # lost: smaller products would be rounded up, again and again
        sums[pairs] += d
        squares[pairs] += d**2
        average = (wealth[play].sum(axis=1) - 1) / (n - 1)
        out = (average >= 1 / delta) | (sums[pairs].max(axis=1) > left - 1 + TOLERANCE_ON_LISTS * items)
        return play if out.all() else play[~out]

    return elimination(arms, items, rng, survivors)


def covariance_adaptive(arms: IntArray, delta: float, *, items: int, rng: np.random.Generator) -> Procedure[Answer]:
    """Drop an arm when another one in play is better by more than the bound for their difference.

    A reconstruction, after Saad, Blanchard and Verzelen (NeurIPS 2023): that arms are queried together and dropped by an
    empirical Bernstein bound on the difference with any arm in play is theirs. Assumed here: the bound of Maurer and Pontil
    2009 (differences have range 2), and a union over all ordered pairs and over time by δ/(n(n − 1)·t(t + 1)). Rewards are
    theirs fresh; on a list without replacement they are the items.
    """
    n = len(arms)
    products, sums = np.zeros((n, n)), np.zeros(n)

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        t, now = len(scores), scores[-1, play]
        products[np.ix_(play, play)] += now[:, None] * now
        sums[play] += now
        if t < 2:
            return play
        level = log(2 * n * (n - 1) * t * (t + 1) / delta)
        own = products[play, play]
        apart = (sums[play][None, :] - sums[play][:, None]) / t  # entry (j, o): how much better o is
        second = (own[None, :] + own[:, None] - 2 * products[np.ix_(play, play)]) / t
        variance = np.maximum(second - apart**2, 0.0) * t / (t - 1)
        radius = np.sqrt(2 * variance * level / t) + 2 * empirical_bernstein(0.0, t, level)
        return play[~(apart > radius).any(axis=1)]

    return elimination(arms, items, rng, survivors)


def paired_t_race(
    arms: IntArray, delta: float, *, items: int, rng: np.random.Generator, first_test: int = 5
) -> Procedure[Answer]:
    """Drop every arm that a paired t-test at level δ finds worse than the leader, after each item from `first_test` on.

    In the manner of irace (López-Ibáñez et al. 2016) with testType = "t-test": it looks after every item and at every arm,
    and corrects for neither, as irace does not by default.
    """

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        t = len(scores)
        if t < first_test:
            return play
        leader = play[scores[:, play].sum(axis=0).argmax()]
        apart = scores[:, [leader]] - scores[:, play]
        spread = apart.std(axis=0, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.where(spread > 0, apart.mean(axis=0) / spread * t**0.5, 0.0)
        p_values = np.array([2 * student_tail(t - 1, each) for each in statistic.tolist()])
        return play[p_values >= delta]

    return elimination(arms, items, rng, survivors)


def wilcoxon_pruner(
    arms: IntArray, delta: float, *, items: int, rng: np.random.Generator, p_threshold: float = 0.1,
    n_startup_steps: int = 2,
) -> Procedure[Answer]:  # fmt: skip
    """Each arm goes through the items until a signed-rank test against the best complete arm gives p < `p_threshold`.

    The rule of Optuna's WilcoxonPruner (Optuna 3.6): the test is made after every item, arm after arm, and its threshold is
    Optuna's default; δ is not used.
    """
    order = rng.permutation(items)
    best = np.asarray((yield Cells(arms[:1], order)))[0]
    named = 0
    for j in range(1, len(arms)):
        scores: list[float] = []
        for t in range(items):
            reply = yield Cells(arms[j : j + 1], order[t : t + 1], order[t + 1 :])
            scores.append(float(reply[0, 0]))
            if len(scores) >= n_startup_steps and _prune(np.array(scores), best, p_threshold):
                break
        else:
            if sum(scores) > best.sum():
                best, named = np.array(scores), j
    return Answer(int(arms[named]), reason="all arms pruned or complete")


def _prune(scores: FloatArray, best: FloatArray, threshold: float) -> bool:
    if scores.mean() >= best.mean():  # an arm whose average is the best is never pruned
        return False
    return bool(signed_rank(scores - best[: len(scores)]) < threshold)


def signed_rank(d: FloatArray) -> float:
    """The p-value of "the differences tend to be negative", zeros split between both signs, by the normal approximation.

    differs: Optuna asks SciPy, which is exact for at most 50 differences without ties or zeros.

    >>> round(signed_rank(np.array([-1.0, -1, 0, 1, -1, -1])), 3)
    0.091
    """
    _, place, ties = np.unique(np.abs(d), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]  # equal ones share the mean of their ranks
    n = len(d)
    above = ranks[d > 0].sum() + ranks[d == 0].sum() / 2
    variance = n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48
    return NormalDist().cdf((above - n * (n + 1) / 4) / variance**0.5)


def halving_on_items(
    arms: IntArray, delta: float, *, items: int, rng: np.random.Generator, budget: int
) -> Procedure[Answer]:
    """Sequential Halving (Karnin, Koren, Somekh 2013) on shared items: a fixed budget, and no promise of a δ.

    In each of log₂ n rounds it spends the same number of cells on the arms in play, which have all seen the same items, then
    keeps the better half.
    """
    order = rng.permutation(items)
    rounds = max(ceil(log2(len(arms))), 1)
    play, sums, t = np.arange(len(arms)), np.zeros(len(arms)), 0
    for _ in range(rounds):
        end = min(t + max(budget // (rounds * len(play)), 1), items)
        if end > t:
            reply = yield Cells(arms[play], order[t:end], order[end:])
            sums[play] += np.asarray(reply).sum(axis=1)
            t = end
        play = play[np.argsort(-sums[play], kind="stable")[: ceil(len(play) / 2)]]
    return Answer(int(arms[play[0]]), certified=False, reason="budget spent")


def _entry(
    name: str,
    function: Callable[..., Procedure[Answer]],
    standing: Standing,
    reference: str,
    summary: str,
    **facts: Any,
) -> Entry:
    def begin(task: Task, **options: Any) -> Any:
        if task.target != "items":
            raise UsageError(f"{name} makes no claim about a population; ask for target='items', or use race")
        return started(function)(task, **options)

    fixed: dict[str, Any] = {"goal": "best arm", "works_on": "items"}
    return Entry(name, begin, standing=standing, reference=reference, summary=summary, **fixed | facts)


ENTRIES = (
    _entry("everything", evaluate_everything, "proven", "a control", "Evaluates every cell.", control=True),
    _entry("averaged-opponents", averaged_opponents, "proven", "Cho, Gan, Kallus 2024, on a list",
        "Averages the wealth over all opponents, as PEAK does."),
    _entry("covariance-adaptive", covariance_adaptive, "reconstruction", "Saad, Blanchard, Verzelen 2023",
        "Empirical Bernstein bounds on differences of arms that are evaluated together."),
    _entry("paired-t-race", paired_t_race, "heuristic", "López-Ibáñez et al. 2016",
        "Paired t-tests after each item, uncorrected, as in irace.",
        options={"first_test": Option("whole number", "items before the first test; default 5")}),
    _entry("wilcoxon-pruner", wilcoxon_pruner, "heuristic", "Optuna 3.6",
        "Arm after arm, stopped by a signed-rank test at p < 0.1.",
        options={
            "p_threshold": Option("number", "the p-value below which an arm is stopped; default 0.1"),
            "n_startup_steps": Option("whole number", "items before the first test of an arm; default 2"),
        }),
    _entry("halving-on-items", halving_on_items, "heuristic", "Karnin, Koren, Somekh 2013",
        "Sequential Halving on shared items.", goal="fixed budget"),
)  # fmt: skip
