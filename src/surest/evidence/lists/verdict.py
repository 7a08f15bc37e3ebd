"""What can be said while arms go through a list of items: who leads, how surely, who may still be best, how close it is."""

from dataclasses import replace
from math import inf, log

import numpy as np

from surest.core.protocol import Answer, FloatArray, IntArray, Status
from surest.evidence.lists.race import Standings
from surest.evidence.lists.scores import Pairs, Scores, strength
from surest.kernels.constants import MEMORY, PRIOR, STEPS
from surest.kernels.lists import all_within

SHARE = 0.99
"""The part of the prior for "j is a best arm" when the best arm itself is asked for; the rest certifies some ε > 0."""
SHARE_WITH_EPSILON = 0.7  # the same when an arm within ε of the best will do
GRID = 2.0 ** -np.arange(0, 7.5, 0.5)  # the ε at which it is seen how close the leader is to the best


def with_waiting(status: Status, more: int) -> Status:
    """The same status when `more` arms were added that take part later: of them, nothing is known yet."""
    if more == 0:
        return status
    n = len(status.intervals[0]) if status.intervals is not None else max(status.contenders or (0,)) + 1
    return replace(
        status,
        achieved_delta=1.0,
        epsilon_certified=1.0,
        apart=1.0,
        contenders=(*(status.contenders or ()), *range(n, n + more)),
        in_play=(status.in_play or 0) + more,
        evidence=min(status.evidence or 0.0, 0.0),
        forecast=None,
        means=None if status.means is None else np.append(status.means, np.full(more, np.nan)),
        intervals=_padded(status.intervals, more, 0.0),
        differences=_padded(status.differences, more, -1.0),
    )


def _padded(
    bounds: tuple[FloatArray, FloatArray] | None, more: int, least: float
) -> tuple[FloatArray, FloatArray] | None:
    if bounds is None:
        return None
    return np.append(bounds[0], np.full(more, least)), np.append(bounds[1], np.ones(more))


class Verdict:
    """Draws conclusions from `Standings` of n arms. Its answers are wrong with probability at most δ, each kind by itself.

    The part `reserve` of δ is kept for arms that come later. `nominal` is the prior of each arm as the one that may be named with
    ε > 0; over all arms that ever come it is at most 1.
    Where two arms differ by at most `spread` on any unit, bets are on (value − least of the unit)/spread, and so are `epsilon`
    and what is made of it here; intervals and means are of the values themselves, `own`.
    """

    def __init__(
        self, n: int, weights: FloatArray, delta: float, epsilon: float, population: bool = False,
        reserve: float = 0.0, spread: float = 1.0,
    ) -> None:  # fmt: skip
        share = SHARE_WITH_EPSILON if epsilon > 0 else SHARE
        self.standings = Standings(n, weights, delta * (1 - reserve), share=share, population=population)
        self.delta, self.epsilon, self.spread = delta, epsilon / spread, spread
        self.scores = self.own = self.standings.scores
        if spread < 1:
            self.own = Scores(n, weights, population)
        self._shifts: list[float] = []
        self.nominal = np.full(n, (1 - reserve) / n)
        self.first = n  # how many arms there were from the start: only their intervals are by bets
        self._pairs: dict[tuple[int, float], Pairs] = {}
        self._close: dict[int, FloatArray] = {}

    @property
    def left(self) -> IntArray:
        """The arms that may be right."""
        return self.standings.play

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit; none when it is decided."""
        return self.standings.play if self.chosen is None else self.standings.play[:0]

    @property
    def undecided(self) -> IntArray:
        """The arms of which it is not settled whether they are in the answer."""
        return self.left if len(self.left) > 1 else self.left[:0]

    @property
    def weakest(self) -> float:
        """The least evidence by which an arm is out; infinite where no bet was needed."""
        return float(np.delete(self.standings.most, self.left).min(initial=inf))

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `left`, in that order.

        With ε > 0, see what the leader's pairs have reached, and keep the most of it.
        """
        if self.spread < 1:
            self.own.count(self.left, values)
            self._shifts.append(float(values.min()))
            values = (values - self._shifts[-1]) / self.spread
        self.standings.count(values)
        if self.epsilon == 0:
            return
        play, a = self.standings.play, self.standings.leader
        reached = self._close.setdefault(a, np.zeros(len(self.scores.sums)))
        reached[play] = np.maximum(reached[play], self._with_pairs(a, self.epsilon)[play])

    def _with_pairs(self, a: int, epsilon: float, steps: int = 8) -> FloatArray:
        """share·W_j + the prior of a·E_(a, j), for every arm j in play."""
        st = self.standings
        pairs = self._pairs.get((a, epsilon))
        if pairs is None:
            pairs = self._pairs[a, epsilon] = Pairs(a, epsilon, len(st.born), steps)
        against = pairs.extend(st.play, self.scores, st.born)
        both: FloatArray = st.share * st.current() + (1 - st.share) * self.nominal[a] * against
        both[np.isinf(against)] = inf
        return both

    def grow(self, values: FloatArray, part: float) -> None:
        """Take in new arms, whose values on the units counted so far are columns, and which get a part of δ together."""
        more = values.shape[1]
        if self.spread < 1:
            self.own.grow(values)
            values = (values - np.array(self._shifts)[:, None]) / self.spread
        self.standings.grow(values, self.delta * part)
        self.nominal = np.append(self.nominal, np.full(more, part / more))
        self._close = {a: np.append(reached, np.zeros(more)) for a, reached in self._close.items()}
        self._pairs = {}  # made again from the scores when they are asked for

    def reached(self, a: int) -> FloatArray:
        """The evidence so far against each arm being better than `a` (by more than ε)."""
        st, sc = self.standings, self.scores
        most = st.most.copy()
        if a in self._close:
            most = np.maximum(most, self._close[a])
        if not sc.population:  # what cannot overtake `a` any more, though it may still tie
            most[st.play[sc.sums[a] - sc.sums[st.play] >= sc.left - sc.least]] = inf
        most[a] = inf
        return most

    @property
    def chosen(self) -> int | None:
        """The arm that can be named now, if there is one."""
        st = self.standings
        if len(st.play) == 1:
            return int(st.play[0])
        decided = self.epsilon > 0 and bool((self.reached(st.leader) >= st.threshold).all())
        return st.leader if decided else None

    @property
    def tied(self) -> tuple[int, ...]:
        """The arms in play whose sums are the largest, up to rounding."""
        st, sc = self.standings, self.scores
        sums = sc.sums[st.play]
        return tuple(int(a) for a in st.play[sums >= sums.max() - sc.least])

    def answer(self) -> Answer:
        """Name the best arm, and say what the answer rests on, when it is decided or the list has ended."""
        st, sc, status = self.standings, self.scores, self.status()
        if sc.population and self.chosen is None:
            return Answer(status.leader, False, "all items seen", status)
        sure = "exact: " if bool(np.delete(st.certain, st.play).all()) and not sc.population else ""
        if sc.t == len(sc.weights) and not sc.population:
            how = "all items seen" if len(self.tied) == 1 else "tied"
            return Answer(self.tied[0], True, sure + how, status, contenders=self.tied)
        if len(sc.sums) == 1:
            return Answer(0, True, "the only arm", status)
        if len(st.play) > 1:
            return Answer(status.leader, True, "certified ε-optimal", status)
        return Answer(status.leader, True, f"{sure}no other arm can catch up" if sure else "certified", status)

    def smallest_epsilon(self, a: int) -> float:
        """The smallest ε of the grid from which on the leader is certified, or what the items left can do, if that is less.

        With ε chosen afterwards this is valid because all larger values of the grid are certified too: if the leader is worse
        than the best by r, the largest value below r would have to be certified wrongly, and that value is fixed.
        """
        st, sc = self.standings, self.scores
        others = st.play[st.play != a]
        if len(others) == 0 or self.chosen == a:
            return self.epsilon if len(others) else 0.0
        certain = float((sc.sums[others].max() - sc.sums[a] + sc.left) / sc.total) if not sc.population else 1.0
        smallest = 1.0
        for epsilon in GRID[self.epsilon < GRID].tolist():
            if (self._with_pairs(a, epsilon, 0)[others] < st.threshold[others]).any():
                break
            smallest = epsilon
        return max(min(smallest, certain), 0.0)

    def _forecast(self) -> float | None:
        """A guess at the cells still needed: each arm's evidence grows as it would by the differences seen so far."""
        st, sc, a = self.standings, self.scores, self.standings.leader
        others = st.play[st.play != a]
        units = len(sc.weights) - sc.t
        if sc.t == 0 or units == 0 or len(others) == 0:
            return None if sc.t == 0 else 0.0
        apart = sc.values[: sc.t, [a]] - sc.values[: sc.t][:, others]
        lead = sc.sums[a] - sc.sums[others] + self.epsilon * sc.total
        gain = apart.sum(axis=0) / (sc.t + MEMORY) + (self.epsilon if sc.population else lead / sc.left)
        second = ((apart**2).sum(axis=0) + PRIOR) / (sc.t + MEMORY)
        wanted = np.log(st.threshold[others] / np.minimum(self.reached(a)[others], st.threshold[others]))
        with np.errstate(divide="ignore"):
            needed = np.minimum(np.where(gain > 0, 2 * wanted * second / gain**2, inf), units)
        return float(needed.sum() + needed.max())

    def _strength(self, a: int) -> tuple[float, float]:
        """The level at which arm a is certified, and the evidence for it."""
        reached = self.reached(a)
        levels = np.where(np.isinf(reached), inf, np.minimum(reached, 1e300) / self.standings.threshold / self.delta)
        return strength(float(levels.min()))

    def least_evidence(self) -> tuple[float, float]:
        """The evidence for the leader, and how much a decision needs: what a status says of them, no more."""
        return self._strength(self.standings.leader if self.chosen is None else self.chosen)[1], log(1 / self.delta)

    def status(self) -> Status:
        """All that can be said at this moment."""
        st, n = self.standings, len(self.scores.sums)
        a = st.leader if self.chosen is None else self.chosen
        achieved, evidence = self._strength(a)
        low, high, less, more = self._bounds(a, n)
        # How far the arms in play are from the best at most. Which of both ways is taken does not depend on scores, so that each
        # may use all of δ; where arms were added because of scores, they are two statements.
        if len(st.play) > 1 and n == self.first <= MOST_ARMS:
            apart = pairs_apart(st, self.delta) * self.spread
        else:
            apart = min(float(high[st.play].max() - low[st.play].min()), self.spread)
        return Status(
            leader=a,
            achieved_delta=achieved,
            epsilon_certified=self.smallest_epsilon(a) * self.spread,
            in_play=len(st.play),
            contenders=tuple(int(j) for j in st.play),
            evidence=evidence,
            threshold=log(1 / self.delta),
            forecast=self._forecast(),
            means=self.own.means,
            intervals=(low, high),
            differences=(less, more),
            apart=None if len(st.play) == 1 else apart,
        )

    def _bounds(self, a: int, n: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Intervals of all means, and of all differences from arm a, all of them valid at once.

        An arm that came later may have been chosen by the items that had been met, so bets on those prove nothing of it: of such
        an arm only what is certain is told, and the level of the others does not depend on how many came.
        """
        sc, first, d = self.own, self.first, self.spread
        known, left = np.zeros(n), np.ones(n)  # the most that the units an arm was not evaluated on can add to its mean
        if not sc.population:
            seen = np.append(0.0, np.cumsum(sc.weights))[sc.seen]
            known, left = sc.sums / sc.total, np.maximum(sc.total - seen, 0.0) / sc.total
        sure_low, sure_high = known, np.minimum(known + left, 1.0)
        low, high = sure_low.copy(), sure_high.copy()
        low[:first], high[:first] = sc.intervals(self.delta / first, first)
        less, more = sure_low - sure_high[a], sure_high - sure_low[a]
        if a < first:
            pairs = max(first * (first - 1) // 2, 1)
            ends = self.scores.intervals(self.delta / pairs, first, less=a)
            less[:first], more[:first] = d * ends[0], d * ends[1]
        less[a] = more[a] = 0.0
        return np.clip(low, 0, 1), np.clip(high, 0, 1), np.clip(less, -d, d), np.clip(more, -d, d)


PAIRS_SHARE = 0.2  # v: the part of the wealth that bets on how far apart arms are
MOST_ARMS = 40  # with more arms than this, the distance is read off the intervals of all means
BISECTIONS = 10


def pairs_apart(standings: Standings, delta: float) -> float:
    """The smallest gap, of a grid, such that all arms in play are within it of the best arm."""
    st, sc, n = standings, standings.scores, len(standings.born)
    missing = (1 / delta - (1 - PAIRS_SHARE) * st.current()) * (n - 1) / PAIRS_SHARE
    rivals = np.flatnonzero((missing > 0) & ~st.certain)
    low, high, room = 0.0, 1.0, np.empty(STEPS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        given = sc.seen, sc.values[: sc.t], sc.weights, sc.total, sc.population, room
        if all_within(middle, st.play, rivals, missing, *given):
            high = middle
        else:
            low = middle
    return high
