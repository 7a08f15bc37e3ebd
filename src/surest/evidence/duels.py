"""What duels say: who is out, who beats whom, and who stands out of all. docs/questions/duels.md has the theorems.

A duel of a and b multiplies the wealth of "a beats b" by 1 + λ(score of a − ½ + ε) and that of "b beats a" likewise, with λ
fixed by earlier duels. What λ is does not matter to any theorem, and neither does who meets whom; both are chosen here from an
estimate of each player's strength.
"""

from math import log, sqrt
from typing import Any

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels import each

MOST = 0.9  # the largest part of a wealth that one duel can take
FIRST_SHARE = 0.5  # the part of the error that the first nomination may spend; the k-th has so much of 1/(k(k − 1))
PRIOR = 40.0  # duels that an estimate of strengths counts as, beside those of a pair itself …
SPREAD = 0.5  # … and the standard deviation of strengths that it begins with, in logits
CAUTION = 2.0  # standard errors by which the opponent least told apart is chosen
CONFIDENT = 1.0  # standard errors by which a leader must be ahead of all others to be nominated …
DOUBT = 0.5  # … and nats of evidence against the nominee that make room for another
ROUNDS = 2  # duels that each player has first, with anyone
RHO = 8.0  # where the interval of the side bias is narrowest: at about ten times so many duels


class Tournament:
    """Evidence from duels of n players, for `runs` tournaments at a time: every array has a row for each.

    Asked for are `top` players that beat all others, each wrong with probability at most δ; who is named may fall short of ½
    against another by ε. With `strict` it is shown, too, that there are such players; with ε > 0 that is always so.
    """

    def __init__(
        self, n: int, delta: float, epsilon: float = 0.0, top: int = 1, strict: bool = False, runs: int = 1
    ) -> None:
        self.n, self.delta, self.epsilon, self.top, self.strict = n, delta, epsilon, top, strict or epsilon > 0
        both = 2.0 if epsilon > 0 else 1.0  # a name and "nobody" are wrong in the same world: each has half of δ
        self.name_at, self.out_at = log(both / delta), log(both * top / delta)
        self.told_at = log(n * (n - 1) / (2 * delta))
        shape = (runs, n, n)
        self.games, self.score = np.zeros(shape), np.zeros(shape)
        self.beats = np.zeros(shape)  # log wealth against "the row's mean score against the column is below ½ − ε"
        self.ousts = self.beats if epsilon == 0 else np.zeros(shape)  # … "is at most ½ + ε"
        self.peak, self.base = np.zeros(shape), np.zeros(shape)  # of `beats`, ever; and at the nomination
        self.since = np.zeros(shape)  # the highest that `beats` rose above `base` since the nomination
        self.out = np.zeros((runs, n), bool)
        self.against = np.zeros((runs, n))  # log wealth against each player's being among those asked for
        self.squares, self.duels = np.full(runs, 0.5), np.zeros(runs)
        self.strength = np.zeros((runs, n))
        self.named = np.zeros((runs, n), bool)  # the nominees, none at first
        self.nominations, self.share = np.zeros(runs), np.full(runs, np.nan)
        self.first = np.zeros((runs, 2))  # duels, and the first side's score
        self._other = ~np.eye(n, dtype=bool)
        self.refresh()

    def count(self, first: IntArray, second: IntArray, score: FloatArray, run: IntArray | int = 0) -> None:
        """Take in duels: who was on the first side, who on the second, the first's score. Bets were made before."""
        where: Any
        for a, b, of in ((first, second, score), (second, first, 1.0 - score)):
            where = run, a, b
            np.add.at(self.beats, where, each.log1p(self.bet[run, a, b] * (of - 0.5 + self.epsilon)))
            if self.ousts is not self.beats:
                np.add.at(self.ousts, where, each.log1p(self.oust[run, a, b] * (of - 0.5 - self.epsilon)))
            np.add.at(self.games, where, 1.0)
            np.add.at(self.score, where, of)
        runs: Any = np.broadcast_to(run, np.shape(score))
        np.add.at(self.squares, runs, (score - 0.5) ** 2)
        np.add.at(self.duels, runs, 1.0)
        np.add.at(self.first, runs, np.stack([np.ones_like(score), score], axis=1))
        self.refresh()

    def refresh(self) -> None:
        """What follows from the duels so far: who is out, estimates, the nominees, and the bets of the next duels."""
        self._estimate()
        np.maximum(self.peak, self.beats, out=self.peak)
        losses = np.where(self._other, self.ousts, np.inf)
        fewest = losses if self.top == 1 else np.sort(losses, axis=1)
        kept = np.where(np.isinf(fewest), 0.0, fewest) if self.top == 1 else fewest[:, : self.n - self.top]
        self.against = kept.sum(axis=1)
        self.out |= self.against >= self.out_at
        self._lead()
        np.maximum(self.since, self.beats - self.base, out=self.since)
        self.bet = self._bet(0.5 - self.epsilon)
        self.oust = self.bet if self.ousts is self.beats else self._bet(0.5 + self.epsilon)

    def _estimate(self) -> None:
        """One step of Newton's towards the strengths of Bradley and Terry's model, and each pair's mean score as it seems."""
        expected = _logistic(self.strength[:, :, None] - self.strength[:, None, :])
        slope = (self.score - self.games * expected).sum(axis=2) - self.strength / SPREAD**2
        curve = (self.games * expected * (1.0 - expected)).sum(axis=2) + 1.0 / SPREAD**2
        self.strength += 0.7 * slope / curve
        expected = _logistic(self.strength[:, :, None] - self.strength[:, None, :])
        self.seems = (self.score + PRIOR * expected) / (self.games + PRIOR)
        self.spread = self.squares / (self.duels + 2.0)

    def _bet(self, centre: float) -> FloatArray:
        """The bet that grows fastest if scores have the mean that they seem to have."""
        off = 0.5 - centre
        second = self.spread[:, None, None] + 2.0 * off * (self.seems - 0.5) + off**2
        return np.clip((self.seems - centre) / np.maximum(second, 1e-9), 0.0, MOST / max(centre, 0.5))

    def _lead(self) -> None:
        """Who seems to beat the others, and, where that is clear enough, their nomination."""
        wins = ((self.seems >= 0.5) & self._other).sum(axis=2) + 0.02 * _logistic(2 * self.strength)
        wins = np.where(self.out, wins - self.n, wins)
        best = np.argsort(-wins, axis=1, kind="stable")[:, : self.top]
        self.leaders = np.zeros_like(self.out)
        np.put_along_axis(self.leaders, best, True, axis=1)
        self.between = self.leaders[:, :, None] & ~self.leaders[:, None, :]
        error = np.sqrt(self.spread[:, None, None] / (self.games + 6.0))
        clear = np.where(self.between, self.seems - CONFIDENT * error, 1.0).min(axis=(1, 2)) > 0.5 - self.epsilon
        clear |= (~self.out).sum(axis=1) <= self.top
        clear &= ~(self.leaders & self.out).any(axis=1)
        fresh = (self.leaders != self.named).any(axis=1)
        beaten = np.where(self.named[:, None, :] & ~self.named[:, :, None], self.beats, -np.inf).max(axis=(1, 2))
        room = (self.nominations == 0) | (self.named & self.out).any(axis=1) | (beaten >= DOUBT)
        now = clear & fresh & room & (self.duels > 0)
        self.nominations += now
        k = np.maximum(self.nominations, 1.0)
        shares = np.where(k == 1, FIRST_SHARE, (1 - FIRST_SHARE) / np.maximum(k * (k - 1), 1.0))
        self.share = np.where(now, shares, self.share)
        self.named[now] = self.leaders[now]
        self.base[now] = self.beats[now]
        self.since[now] = 0.0

    def decided(self) -> BoolArray:
        """Of each leader and each other player, whether it is told that the first beats the second, as far as a name needs it."""
        nominated = (self.leaders == self.named).all(axis=1)[:, None, None]
        with np.errstate(invalid="ignore"):
            shown = nominated & (self.since + each.log(self.share)[:, None, None] >= self.name_at)
        if self.epsilon > 0:
            return np.asarray(shown)
        met = (self.games > 0) | (self.top > 1)
        return np.asarray(self.out[:, None, :] & (shown if self.strict else (self.seems >= 0.5) & met))

    def proven(self) -> BoolArray:
        """Whether the leaders are shown to beat all others, without an "if there are any"."""
        with np.errstate(invalid="ignore"):
            shown = self.since + each.log(self.share)[:, None, None] >= self.name_at
        same = (self.leaders == self.named).all(axis=1)
        return np.asarray(same & (shown | ~self.between).all(axis=(1, 2)))

    def verdict(self) -> IntArray:
        """1 where the leaders are named, −1 where there are no such players, 0 where it is open."""
        none = (~self.out).sum(axis=1) < self.top
        named = (self.decided() | ~self.between).all(axis=(1, 2)) & ~(self.leaders & self.out).any(axis=1)
        return np.where(none, -1, np.where(named, 1, 0))

    def keys(self) -> FloatArray:
        """How near each open pair of a leader and another is to being told apart the wrong way: the least is played next."""
        error = np.sqrt(self.spread[:, None, None] / (self.games + 1.0))
        return np.where(self.between & ~self.decided(), self.seems - CAUTION * error, np.inf)

    @property
    def told(self) -> BoolArray:
        """Of all pairs, whether the row beats the column (falls short of ½ by no more than ε): all of them hold together at δ."""
        return np.asarray(self.peak >= self.told_at)

    def evidence(self) -> FloatArray:
        """Nats of evidence where the leaders' case is weakest; `name_at` decides."""
        with np.errstate(invalid="ignore"):
            shown = np.where(self.between, self.since + each.log(self.share)[:, None, None], np.inf).min(axis=(1, 2))
        same = (self.leaders == self.named).all(axis=1)
        shown = np.where(same & ~np.isnan(shown), shown, -np.inf)
        others = np.where(self.leaders, np.inf, self.against).min(axis=1) - log(self.top)
        if self.epsilon > 0:
            return np.asarray(shown)
        return np.asarray(np.minimum(shown, others) if self.strict else others)


def groups_of(told: BoolArray) -> list[list[int]]:
    """The finest groups, in order, such that every player of a group is told to beat every one of all later groups."""
    order = np.argsort(told.sum(axis=0) - told.sum(axis=1), kind="stable")
    ranked = told[np.ix_(order, order)]
    groups: list[list[int]] = [[]]
    for place, player in enumerate(order.tolist()):
        if place and ranked[:place, place:].all():
            groups.append([])
        groups[-1].append(player)
    return groups


def side_interval(duels: float, score: float, delta: float) -> tuple[float, float]:
    """Bounds of the first side's mean score, averaged over the duels that were played: they hold at any time at 1 − δ."""
    if duels == 0:
        return 0.0, 1.0
    variance = duels / 4 + RHO
    wide = sqrt(variance * (log(variance / RHO) + 2 * log(1 / delta))) / duels
    mean = score / duels
    return max(0.0, float(mean - wide)), min(1.0, float(mean + wide))


def _logistic(x: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + each.exp(-x))
