"""What scores on a list say of each arm by itself: that its mean is at least a lower bar, and that it is less than an upper one.

With t units counted, of weighted sum S, the mean of the next value X is at most m = (N·bar − S)/(weight left) if the mean on the
list is at most the bar, and at least m if it is at least the bar; for the population m is the bar itself. So 1 + λ(X − m) is
unfavourable in the first case, 1 − λ(X − m) in the second, as long as λ is chosen beforehand. Where m leaves the range of
values, the claim is certain. The values may be scores in [0, 1] or differences from a control in [−1, 1].
"""

from math import inf, log

import numpy as np

from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Status
from surest.core.question import Question
from surest.evidence.lists.scores import Scores
from surest.kernels.constants import CLAIMS, STEPS, TOLERANCE_ON_LISTS, WEIGHTS
from surest.kernels.lists import bet_on_bars


class Bars:
    """Wealths for both claims about each arm, unit by unit; an arm that is left off keeps what it has.

    >>> bars = Bars(2, np.ones(40), (0.5, 0.5))
    >>> for _ in range(25):
    ...     bars.count(np.arange(2), np.array([1.0, 0.4]))
    >>> bars.evidence().round(2)
    array([[  inf,  0.99],
           [ 0.99, 89.28]])
    """

    def __init__(
        self,
        n: int,
        weights: FloatArray,
        bars: tuple[float, float],
        ends: tuple[float, float] = (0.0, 1.0),
        population: bool = False,
    ) -> None:
        self.weights, self.population = weights, population
        self.bars, self.ends = np.array(bars), np.array(ends)
        self.total = float(len(weights))
        self.t = 0
        self.used = 0.0
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self.wealth = np.ones((n, CLAIMS, 1 + STEPS))
        self.certain = np.zeros((n, CLAIMS), bool)

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        row = np.zeros(len(self.sums))
        row[play] = values
        own = self.sums, self.plain, self.squares, self.wealth
        bet_on_bars(play, row, self.t, self.used, self.total, self.population, self.bars, self.ends, *own)
        weight = float(self.weights[self.t])
        self.t += 1
        self.used = self.total if self.t == len(self.weights) else self.used + weight
        self.sums[play] += weight * values
        self.plain[play] += values
        self.squares[play] += values * values
        if not self.population:
            left, least = self.total - self.used, TOLERANCE_ON_LISTS * self.total
            missing = self.total * self.bars - self.sums[play, None]
            self.certain[play, 0] = missing[:, 0] <= self.ends[0] * left + least
            self.certain[play, 1] = missing[:, 1] > self.ends[1] * left + least

    def evidence(self) -> FloatArray:
        """The wealth of each arm's claims as it stands, a row a claim; infinite for what is certain."""
        wealth: FloatArray = (self.wealth @ WEIGHTS).T
        wealth[self.certain.T] = inf
        return wealth

    def nearer(self) -> IntArray:
        """Which of an arm's claims its values speak for; where both are certain, that on whose side of the middle they lie."""
        first, second = self.evidence()
        below: BoolArray = self.plain < float(self.bars.mean()) * self.t
        return np.where(np.isinf(first) & np.isinf(second), below, second > first).astype(np.int64)


def by_any_error(evidence: FloatArray, delta: float) -> BoolArray:
    """The claims (a row each) whose wealth has reached n/δ for n arms: any of them is wrong with probability at most δ.

    >>> by_any_error(np.array([[50.0, 1.0], [0.1, 30.0]]), 0.05)
    array([[ True, False],
           [False, False]])
    """
    reached: BoolArray = evidence >= evidence.shape[1] / delta
    return reached


def by_share(evidence: FloatArray, delta: float) -> BoolArray:
    """The claims (a row each) made so that of each kind the expected share of wrong ones is at most δ: e-BH, row by row.

    Of n wealths, the k largest are claimed if each is at least n/(k·δ). They must be wealths of one moment: the largest
    that each has been so far would not do.

    >>> by_share(np.array([[20.0, 25.0, 1.0], [0.1, 0.1, 70.0]]), 0.1)
    array([[ True,  True, False],
           [False, False,  True]])
    """
    n = evidence.shape[1]
    chosen = np.zeros(evidence.shape, bool)
    for row, wealth in zip(chosen, evidence, strict=True):
        falling = -np.sort(-wealth)
        enough = np.flatnonzero(falling >= n / (np.arange(1, n + 1) * delta))
        if len(enough):
            row[:] = wealth >= falling[enough[-1]]
    return chosen


class EachArm:
    """Of each arm one of two claims; an arm of which one is made is not evaluated further.

    With a bar θ: that its mean is at least θ − ε (verdict 1), or less than θ + ε (−1). With a control: that its mean is more
    than the control's (1), or at most the control's and the margin (−1).

    >>> above = EachArm(2, np.ones(90), Question("above", bar=0.5), 0.05)
    >>> while len(above.play):
    ...     above.count(np.array([0.9, 0.2])[above.play])
    >>> above.status().verdicts
    (1, -1)
    >>> against = EachArm(3, np.ones(90), Question("control", control=1, margin=0.1), 0.05)
    >>> while len(against.play):
    ...     against.count(np.array([0.9, 0.5, 0.2])[against.play])
    >>> against.status().verdicts
    (1, 0, -1)
    """

    def __init__(
        self,
        n: int,
        weights: FloatArray,
        question: Question,
        delta: float,
        epsilon: float = 0.0,
        population: bool = False,
    ) -> None:
        self.n, self.delta, self.error = n, delta, question.error
        self.control = question.control if question.kind == "control" else None
        self.scores = Scores(n, weights, population)
        if self.control is None:
            self.judged, self._verdicts = np.arange(n), np.array([1, -1, 0])
            self.claims = Bars(n, weights, (question.bar - epsilon, question.bar + epsilon), population=population)
        else:
            # The values are the control's score less the arm's: at least −margin is "not better", less than 0 is "better".
            self.judged, self._verdicts = np.delete(np.arange(n), self.control), np.array([-1, 1, 0])
            self.claims = Bars(n - 1, weights, (-question.margin, 0.0), (-1.0, 1.0), population)
        self.made = np.full(len(self.judged), -1)
        """The claim made of each arm but the control: 0, 1, or −1 as long as it is open."""
        self.certain = True
        """Whether every claim that was made was certain."""

    @property
    def t(self) -> int:
        """How many units were counted."""
        return self.scores.t

    @property
    def left(self) -> IntArray:
        """The arms that are open."""
        return self.judged[self.made < 0]

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit: those that are open, and the control for as long as any is."""
        left = self.left
        return left if self.control is None or len(left) == 0 else np.sort(np.append(left, self.control))

    def count(self, values: FloatArray) -> None:
        """Take in the next unit, a value for every arm of `play`, in that order, and make the claims that can be made."""
        play, arms = self.play, np.flatnonzero(self.made < 0)
        self.scores.count(play, values)
        is_control = play == self.control
        self.claims.count(arms, values if self.control is None else values[is_control] - values[~is_control])
        evidence, side = self.claims.evidence(), np.where(self.made < 0, self.claims.nearer(), self.made)
        evidence[1 - side, np.arange(len(side))] = 0.0  # an arm speaks for one claim: to count less is safe
        ready = (by_any_error if self.error == "fwer" else by_share)(evidence, self.delta)
        for claim in range(CLAIMS):
            fresh = arms[ready[claim, arms]]
            self.made[fresh] = claim
            self.certain &= bool(self.claims.certain[fresh, claim].all())

    def answer(self) -> Answer:
        """Name the arms with verdict 1, and say what the verdicts rest on, when all have one or the list has ended."""
        status = self.status()
        if len(self.left):
            return Answer(status.chosen, False, "all items seen", status)
        exact = self.certain and not self.scores.population
        return Answer(status.chosen, True, "exact: nothing can change it" if exact else "certified", status)

    def _progress(self) -> tuple[float | None, float | None, float | None]:
        """The level at which all claims are made or nearest, the weakest evidence in nats, and what a claim needs.

        With a bound on the share of wrong claims, what one needs depends on the others; then nothing is told.
        """
        if self.error == "fdr":
            return None, None, None
        n = len(self.made)
        least = float(self.claims.evidence().max(axis=0)[self.made < 0].min(initial=inf))
        least = least if self.certain else min(least, n / self.delta)
        return min(1.0, n / least) if least > 0 else 1.0, log(least) if least > 0 else -inf, log(n / self.delta)

    def status(self) -> Status:
        """All that can be said at this moment. Differences are from the control."""
        verdicts = np.zeros(self.n, np.int64)
        verdicts[self.judged] = self._verdicts[self.made]
        (achieved, evidence, threshold), means, differences = self._progress(), self.scores.means, None
        if self.control is not None:
            differences = self.scores.differences(self.control, self.delta / (self.n - 1))
        return Status(
            leader=int(np.argmax(np.nan_to_num(means))),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            in_play=len(self.left),
            achieved_delta=achieved,
            evidence=evidence,
            threshold=threshold,
            means=means,
            intervals=self.scores.intervals(self.delta / self.n),
            differences=differences,
        )
