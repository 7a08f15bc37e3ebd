"""What scores say of the cheapest arm within ε of the best: bets against three kinds of claims.

Theorem and proof: docs/questions/cheapest.md.

Each claim says of two arms that the mean of v_o − v_j is at most c: with c = 0 that j is a best arm (W), with c = ε that j is
within ε of the best (F), with c = −(ε + slack) that j is better than o by more than that (E). On a list of N items, of which t
have counted, the mean of what is left is then at most m = (N·c − S)/(N − t), S the sum so far; on fresh pulls it is at most c.
So a bet 1 + λ(v_o − v_j − m) is unfavourable, whichever opponent o the past chose.
"""

import math

import numpy as np

from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Status
from surest.kernels.constants import HUGE, TOLERANCE_ON_LISTS

CAP = 0.9  # the largest stake, as a part of the one that can lose all
STAKES = CAP * 0.5 ** np.arange(8)
PARTS = (0.4, 0.4, 0.2)  # how the prior is shared among F, W and E


class Cheapest:
    """Evidence about n arms with prices, item by item; `total` is the length of the list, None for fresh pulls."""

    def __init__(self, prices: FloatArray, total: int | None, delta: float, epsilon: float, slack: float) -> None:
        n = len(prices)
        self.total, self.delta, self.epsilon, self.slack = total, delta, epsilon, slack
        self.order = np.lexsort((np.arange(n), prices))
        """Arms from the cheapest on; of equal prices the first comes first."""
        self.t, self.sums, self.products = 0, np.zeros(n), np.zeros((n, n))
        self.play = np.arange(n)
        self.within, self.best, self.near = (np.ones((*shape, 1 + len(STAKES))) for shape in ((n,), (n,), (n, n)))
        """Wealths, one column per stake: F and W of each arm, and E of each pair (a, j)."""
        self.out = np.zeros(n, bool)  # arms that F has put out of those within ε
        self.refuted = np.zeros((n, n), bool)
        """Of each pair (a, j): whether it is settled that j speaks not against naming a."""
        self.exact = False  # whether all scores are known
        self.named = self._named() if n == 1 else None

    def count(self, values: FloatArray) -> None:
        """Take in an item: a value for each arm of `play`. Bets are placed before they are looked at."""
        play, n = self.play, len(self.sums)
        opponents = self._opponents()
        claims = [
            (self.best, (play,), opponents, play, 0.0),
            (self.within, (play,), opponents, play, self.epsilon),
            (self.near, np.ix_(play, play), play[:, None], play[None, :], -self.epsilon - self.slack),
        ]
        row = np.zeros(n)
        row[play] = values
        factors = [self._factors(o, j, c, row) for _, _, o, j, c in claims]
        for (wealth, at, *_), factor in zip(claims, factors, strict=True):
            wealth[at] = np.minimum(wealth[at] * factor, HUGE)
        self.t += 1
        self.sums[play] += values
        self.products[np.ix_(play, play)] += np.outer(values, values)
        self._judge()

    def _opponents(self) -> IntArray:
        """The leader, and for the leader the runner-up, for each arm in play: chosen by the past."""
        ranked = self.play[np.argsort(-self.sums[self.play], kind="stable")]
        found: IntArray = np.where(self.play == ranked[0], ranked[min(1, len(ranked) - 1)], ranked[0])
        return found

    def _limits(self, o: IntArray, j: IntArray, c: float) -> FloatArray:
        """At most this is the mean of v_o − v_j on what is left, if the claim holds."""
        if self.total is None:
            return np.full(np.broadcast_shapes(o.shape, j.shape), c)
        return np.asarray((self.total * c - self.sums[o] + self.sums[j]) / (self.total - self.t))

    def _factors(self, o: IntArray, j: IntArray, c: float, row: FloatArray) -> FloatArray:
        m = self._limits(o, j, c)
        free = (m < 1) & (m > -1 + 1e-9)  # else nothing can speak against the claim, or whatever comes next settles it
        m = np.where(free, m, 0.0)
        gain = (self.sums[o] - self.sums[j]) / (self.t + 1) - m
        diagonal = np.diagonal(self.products)
        moment = (diagonal[o] - 2 * self.products[o, j] + diagonal[j] + 0.25) / (self.t + 1)
        limit = CAP / (1 + m)
        stakes = np.stack([np.clip(gain / moment, 0.0, limit), *(limit * part / CAP for part in STAKES)], axis=-1)
        paid = 1 + stakes * (row[o] - row[j] - m)[..., None]
        return np.where(free[..., None], paid, 1.0)

    def _judge(self) -> None:
        """See what has been reached, and whether an arm can be named."""
        play, level = self.play, 1 / self.delta
        opponents, (f, w, e) = self._opponents(), PARTS
        worse = self._certain(opponents, play, 0.0)
        far = self._certain(opponents, play, self.epsilon)
        self.out[play] |= (f * self.within[play].mean(axis=1) >= level) | far
        self.exact = self.t == self.total and len(play) == len(self.sums)
        if self.exact:  # all is known: what bets said counts no more
            self.out[play] = far
        best = np.where(worse, math.inf, self.best[play].mean(axis=1))
        near = np.where(
            self._certain(play[:, None], play[None, :], -self.epsilon - self.slack),
            math.inf,
            self.near[np.ix_(play, play)].mean(axis=2),
        )
        self.refuted[np.ix_(play, play)] |= w * best[None, :] + e / len(self.sums) * near >= level
        self.refuted[:, play[w * best >= level]] = True
        self.named = self._named()
        gone: BoolArray = self.out & self.refuted.all(axis=0)
        self.play = play[:0] if self.named is not None else play[~gone[play]]

    def _certain(self, o: IntArray, j: IntArray, c: float) -> BoolArray:
        """Whether a claim is refuted whatever comes: the rest of the list cannot make up for what is missing."""
        if self.total is None:
            return np.zeros(np.broadcast_shapes(o.shape, j.shape), bool)
        left, least = self.total - self.t, TOLERANCE_ON_LISTS * self.total
        return np.asarray(self.sums[o] - self.sums[j] - self.total * c > left + least)

    def _named(self) -> int | None:
        """The cheapest arm that is not out, if nothing speaks against it any more."""
        for arm in self.order.tolist():
            if not self.out[arm]:
                ended = self.total is not None and self.t == self.total
                others = np.delete(self.refuted[arm], arm)
                return arm if ended or others.all() else None
        return None

    @property
    def leader(self) -> int:
        """The arm that would be named as things stand."""
        means = self.sums / max(self.t, 1)
        good = ~self.out & (means >= means[self.play].max(initial=-math.inf) - self.epsilon)
        return next((arm for arm in self.order.tolist() if good[arm]), int(self.order[0]))

    def status(self) -> Status:
        """What is known now: who would be named, and who may still be."""
        named = self.leader if self.named is None else self.named
        left = tuple(np.flatnonzero(~self.out).tolist())
        return Status(leader=named, chosen=(named,), contenders=left, in_play=len(self.play))

    def answer(self) -> Answer:
        """The verdict."""
        assert self.named is not None
        reason = "exact: all items seen" if self.exact else "certified"
        return Answer(self.named, True, reason, self.status(), (self.named,))
