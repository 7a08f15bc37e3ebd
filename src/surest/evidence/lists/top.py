"""What scores on a list say about the m best arms: a wealth against every set of m arms.

Before each unit, for a set T, o is the strongest undecided arm outside and j the weakest undecided arm inside, by the units so
far. With D = v_o − v_j, T's wealth is multiplied by 1 + λ(D − m), m = −(S_o − S_j)/(weight left). If T is a set of m best arms,
μ_o ≤ μ_j whichever pair was taken, so its wealth reaches 1/δ with probability at most δ. docs/questions.md has the proof.
"""

from itertools import combinations
from math import comb, inf, log

import numpy as np

from surest.core.protocol import Answer, FloatArray, IntArray, Status
from surest.evidence.lists.matches import Duels
from surest.evidence.lists.scores import Pairs, Scores, strength
from surest.evidence.lists.verdict import SHARE_WITH_EPSILON
from surest.kernels.constants import CAP, MEMORY, PRIOR, STEPS, WEIGHTS
from surest.kernels.lists import all_doubted, boundary, pay


def pair_factors(
    scores: Scores, stronger: IntArray, weaker: IntArray, cross: FloatArray, values: FloatArray
) -> FloatArray:
    """What a bet on each stronger arm against each weaker one pays on a unit: (stronger, weaker, bet).

    All that is chosen rests on the units counted so far: `values` (one per arm) are those of the next one.
    """
    o, j = stronger[:, None], weaker[None, :]
    t, left = scores.t, inf if scores.population else scores.left
    lead = scores.sums[o] - scores.sums[j]
    margin = -lead / left
    free = (margin < 1) & (left - lead > scores.least)
    room = np.where(free, 1 + margin, 1.0)
    gain = (scores.plain[o] - scores.plain[j]) / (t + MEMORY) - margin
    moment = (scores.squares[o] - 2 * cross[o, j] + scores.squares[j] + PRIOR) / (t + MEMORY)
    stakes = [np.minimum(np.maximum(gain / moment, 0.0), CAP / room)]
    stakes += [CAP / room * 0.5**k for k in range(STEPS)]
    surprise = values[o] - values[j] - margin
    return np.stack([np.where(free, 1 + stake * surprise, 1.0) for stake in stakes], axis=-1)


class Sets:
    """A wealth against every set of m of n arms."""

    def __init__(self, scores: Scores, n: int, m: int, level: float) -> None:
        self.scores, self.n, self.m, self.level = scores, n, m, level
        self.sets = np.array(list(combinations(range(n), m)), dtype=np.int64)
        self.alive = np.arange(len(self.sets))
        self.wealth = np.ones((len(self.sets), 1 + STEPS))
        self.cross = np.zeros((n, n))
        self.exact = True  # whether every set that is out could not have been right any more
        self.refuted = inf  # the least wealth against a set that is out

    def members(self) -> IntArray:
        """In how many of the sets that are alive each arm is."""
        return np.bincount(self.sets[self.alive].ravel(), minlength=self.n)

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every undecided arm."""
        scores, row = self.scores, np.zeros(self.n)
        row[play] = values
        order = play[np.argsort(-scores.sums[play], kind="stable")]
        weakest, strongest = self._boundary(order)
        factors = pair_factors(scores, order[: strongest.max() + 1], order, self.cross, row)
        pay(self.alive, strongest, weakest, factors, self.wealth)
        scores.count(play, values)
        self.cross += row[:, None] * row
        self._drop(play)

    def _boundary(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """For each set that is alive: the places in `order` of its weakest member, and of the strongest other arm."""
        rank = np.full(self.n, -1)
        rank[order] = np.arange(len(order))
        weakest, strongest = np.empty_like(self.alive), np.empty_like(self.alive)
        boundary(self.sets, self.alive, rank, weakest, strongest, np.zeros(self.n + 1, np.int64))
        return weakest, strongest

    def _drop(self, play: IntArray) -> None:
        """Take out the sets whose wealth suffices, and those that cannot be right any more."""
        scores, wealth = self.scores, self.current()
        certain = np.zeros(len(wealth), bool)
        slack = scores.left + scores.least
        if not scores.population and np.ptp(scores.sums[play]) > slack:
            order = play[np.argsort(-scores.sums[play], kind="stable")]
            weakest, strongest = self._boundary(order)
            certain = scores.sums[order[strongest]] - scores.sums[order[weakest]] > slack
        out = certain | (wealth >= self.level)
        if not out.any():
            return
        if out.all():  # one must remain to be named
            out[np.where(certain, inf, wealth).argmin()] = False
        self.exact &= bool(certain[out].all())
        self.refuted = min(self.refuted, float(wealth[out & ~certain].min(initial=inf)))
        self.alive = self.alive[~out]

    def current(self) -> FloatArray:
        """The wealth against each set that is alive."""
        wealth: FloatArray = self.wealth[self.alive] @ WEIGHTS
        return wealth

    def decided(self) -> tuple[IntArray, IntArray]:
        """The arms that are in every set that is alive, and those that are in none."""
        held = self.members()
        return np.flatnonzero(held == len(self.alive)), np.flatnonzero(held == 0)

    def against_others(self, named: IntArray) -> float:
        """The least wealth against any set but the one named; when all is seen, sets that are alive are as right as that one."""
        if self.scores.t == len(self.scores.weights) and not self.scores.population:
            return self.refuted
        mine = (self.sets[self.alive] == np.sort(named)).all(axis=1)
        return min(self.refuted, float(self.current()[~mine].min(initial=inf)))

    def close_enough(self, named: IntArray, needed: FloatArray) -> bool:
        """Whether the set named may be named, where `needed` is what pairs of arms leave to the wealth."""
        wealth = np.zeros(len(self.sets))
        wealth[self.alive] = self.current()
        return all_doubted(self.sets, self.alive, wealth, named, needed, np.zeros((2, self.n), np.int64))


MOST_SETS = 200_000  # so many sets have a wealth each; where there are more, pairs of arms have


class Top:
    """The m best of n arms: which are, which are not, and which may be, wrong with probability at most δ."""

    def __init__(
        self, n: int, m: int, weights: FloatArray, delta: float, epsilon: float = 0.0, population: bool = False,
        most_sets: int = MOST_SETS,
    ) -> None:  # fmt: skip
        self.n, self.m, self.delta, self.epsilon = n, m, delta, epsilon
        self.share = SHARE_WITH_EPSILON if epsilon > 0 else 1.0
        self.scores = Scores(n, weights, population)
        kind = Sets if comb(n, m) <= most_sets else Duels
        self.evidence: Sets | Duels = kind(self.scores, n, m, 1 / (self.share * delta))
        self.inside, self.outside = np.zeros(0, np.int64), np.zeros(0, np.int64)
        """The arms that are certified to be among the m best, and those that are certified not to be."""
        self.undecided = np.arange(n)  # all other arms
        self.close = False  # whether the arms named are certified to be within ε of the m best
        self._pairs: dict[int, Pairs] = {}

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit; none when the set is certified."""
        return self.undecided[:0] if self.close else self.undecided

    @property
    def left(self) -> IntArray:
        """The arms that may be right."""
        return np.setdiff1d(np.arange(self.n), self.outside)

    @property
    def weakest(self) -> float:
        """The least evidence against a set that is out; infinite where no bet was needed."""
        return self.share * self.evidence.refuted

    @property
    def named(self) -> IntArray:
        """The m arms that would be named now: those that are in, and the best of the undecided ones."""
        undecided = self.undecided
        best = undecided[np.argsort(-self.scores.sums[undecided], kind="stable")]
        return np.sort(np.concatenate([self.inside, best[: self.m - len(self.inside)]]))

    @property
    def chosen(self) -> list[int]:
        """The same arms, the best mean so far first."""
        named = self.named
        means = np.nan_to_num(self.scores.means[named])
        best_first: list[int] = named[np.argsort(-means, kind="stable")].tolist()
        return best_first

    @property
    def tied(self) -> tuple[int, ...]:
        """When all is seen: the arms named, and those that are as good as the last of them."""
        sums, last = self.scores.sums, self.scores.sums[np.setdiff1d(self.named, self.inside)].min(initial=inf)
        others = self.undecided[last - sums[self.undecided] <= self.scores.least]
        return tuple(np.union1d(self.named, others).tolist())

    def answer(self) -> Answer:
        """Name the m best arms, and say what the answer rests on, when it is decided or the list has ended."""
        chosen, status, population = self.chosen, self.status(), self.scores.population
        if self.close:
            return Answer(chosen, True, "certified ε-optimal", status)
        if len(self.undecided) and population:
            return Answer(chosen, False, "all items seen", status)
        sure = "exact: " if self.evidence.exact and not population else ""
        if len(self.undecided):
            return Answer(chosen, True, sure + ("tied" if len(self.tied) > self.m else "all items seen"), status)
        return Answer(chosen, True, "exact: no other arm can catch up" if sure else "certified", status)

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        self.evidence.count(self.play, values)
        inside, outside = self.evidence.decided()
        if len(inside) + len(outside) > len(self.inside) + len(self.outside):
            self.inside, self.outside = inside, outside
            self.undecided = np.setdiff1d(np.arange(self.n), np.concatenate([inside, outside]))
        if self.epsilon > 0 and len(self.undecided):
            self.close = self.evidence.close_enough(self.named, self._needed())

    def _needed(self) -> FloatArray:
        """What w·W + (1 − w)/(m(n − m))·E_(i, j) ≥ 1/δ leaves to W, for each arm i named and each other arm j in play."""
        scores, undecided, n = self.scores, self.undecided, self.n
        part = (1 - self.share) / (self.m * (n - self.m))
        needed = np.full((n, n), inf)
        for i in np.intersect1d(self.named, undecided).tolist():
            reached = self._pairs.setdefault(i, Pairs(i, self.epsilon, n)).extend(undecided, scores)
            needed[i, undecided] = (1 / self.delta - part * reached[undecided]) / self.share
        return needed

    def status(self) -> Status:
        """All that can be said at this moment."""
        chosen = self.chosen
        least = 1 / self.delta if self.close else self.share * self.evidence.against_others(self.named)
        achieved, evidence = strength(least)
        return Status(
            leader=chosen[0],
            chosen=tuple(chosen),
            achieved_delta=achieved,
            contenders=tuple(self.left.tolist()),
            in_play=len(self.left),
            evidence=evidence,
            threshold=log(1 / self.delta),
            means=self.scores.means,
            intervals=self.scores.intervals(self.delta / self.n),
            differences=self.scores.intervals(2 * self.delta / (self.n * (self.n - 1)), less=chosen[-1]),
        )
