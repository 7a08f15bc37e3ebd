"""What scores on a list say of each arm by itself: that its mean is at least a lower bar, and that it is less than an upper one.

With t units counted, of weighted sum S, the mean of the next value X is at most m = (N·bar − S)/(weight left) if the mean on the
list is at most the bar, and at least m if it is at least the bar; for the population m is the bar itself. So 1 + λ(X − m) is
unfavourable in the first case, 1 − λ(X − m) in the second, as long as λ is chosen beforehand. Where m leaves the range of
values, the claim is certain. The values may be scores in [0, 1] or differences from a control in [−1, 1].
"""

from math import inf, log
from typing import Any

import numpy as np

from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Status
from surest.core.question import Question
from surest.evidence.lists.gate import UNKNOWN, Predictions, judge, mirrored, new_state
from surest.evidence.lists.scores import Scores, strength
from surest.kernels.constants import PLAIN, STEPS, WEIGHTS
from surest.kernels.lists import bet_above, bet_on_bars


class Bars:
    """Wealths for both claims about each arm, unit by unit; an arm that is left off keeps what it has."""

    def __init__(
        self, n: int, weights: FloatArray, bars: tuple[float, float], ends: tuple[float, float] = (0.0, 1.0),
        population: bool = False,
    ) -> None:  # fmt: skip
        self.so_far = Scores(n, weights, population)
        self.bars, self.ends = np.array(bars), np.array(ends)
        self.wealth = np.ones((n, 2, 1 + STEPS))
        self.certain = np.zeros((n, 2), bool)

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        sc, row = self.so_far, np.zeros(len(self.wealth))
        row[play] = values
        own = sc.sums, sc.plain, sc.squares, self.wealth
        bet_on_bars(play, row, sc.t, sc.used, sc.total, sc.population, self.bars, self.ends, *own)
        sc.add(play, values)
        if not sc.population:
            missing = sc.total * self.bars - sc.sums[play, None]
            self.certain[play, 0] = missing[:, 0] <= self.ends[0] * sc.left + sc.least
            self.certain[play, 1] = missing[:, 1] > self.ends[1] * sc.left + sc.least

    def evidence(self) -> FloatArray:
        """The wealth of each arm's claims as it stands, one row per claim; infinite for what is certain."""
        wealth: FloatArray = (self.wealth @ WEIGHTS).T
        wealth[self.certain.T] = inf
        return wealth

    def nearer(self) -> IntArray:
        """Which of an arm's claims its values speak for; where both are certain, that on whose side of the middle they lie."""
        first, second = self.evidence()
        below: BoolArray = self.so_far.plain < float(self.bars.mean()) * self.so_far.t
        return np.where(np.isinf(first) & np.isinf(second), below, second > first).astype(np.int64)


class Differences:
    """Both claims about each arm that is compared with another one, unit by unit, as `Bars` has them.

    That its values, in [−1, 1], have a mean of at least −`margin`, and that it is less than 0; or, where it is asked whether both
    are `equivalent`, that it is within ±`margin`, and that it is not 0. With `known`, a `Predictions` for each arm, most of the
    wealth bets on what these leave; `sign` says whether values are the candidate's score less the known one (1), or the other
    way round (−1). The first claim is to be made at `level` times the level of the second. With `agreeing`, that level, a claim
    waits until the interval of `judge` agrees with it, and what is certain is left to whoever knows more scores.
    """

    def __init__(
        self, n: int, total: int, margin: float, population: bool = False, known: "list[Predictions] | None" = None,
        sign: int = 1, equivalent: bool = False, level: float = 1.0, agreeing: float | None = None,
    ) -> None:  # fmt: skip
        self._sums = Bars(n, np.ones(total), (-margin, 0.0), (-1.0, 1.0), population)
        self._total, self._known, self._sign, self._level = inf if population else float(total), known, sign, level
        self._equivalent, self._margin, self._agreeing = equivalent, margin, agreeing
        self._bets = [(1, -margin), (-1, -margin), (1, 0.0), (-1, 0.0)] if equivalent else [(1, -margin), (-1, 0.0)]
        self._paths = np.empty((n, total))
        self._states = [[new_state() for _ in self._bets] for _ in range(n)]
        self._wealth = np.ones((len(self._bets), n))
        self._most = self._wealth.copy()
        self.certain = self._sums.certain  # what is certain of each arm

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        t = self._sums.so_far.t
        self._sums.count(play, values)
        self._paths[play, t] = values
        if self._agreeing is not None:
            self.certain[:] = False
        for arm in play.tolist():
            path, told, share = self._predicted(arm)
            for k, (sign, level) in enumerate(self._bets):
                seen, state = told if sign == self._sign else mirrored(told), self._states[arm][k]
                bet = bet_above(sign * path, seen, t, self._total, level, inf, share, state)
                self._wealth[k, arm] = bet[1]
        self._most = np.maximum(self._most, self._wealth)

    def _predicted(self, arm: int) -> tuple[FloatArray, FloatArray, float]:
        """An arm's values so far, what was predicted of them, and the part of the wealth that bets without predictions."""
        path = self._paths[arm, : self._sums.so_far.t]
        return (
            (path, UNKNOWN, 1.0) if self._known is None else (path, self._known[arm].extend(self._sign * path), PLAIN)
        )

    def evidence(self) -> FloatArray:
        """The wealth of each arm's claims as it stands, one row per claim; infinite for what is certain."""
        first, second = self._wealth[0], self._wealth[-1]
        if self._equivalent:  # both sides must have been refuted, at any time; either side may be, at half the level
            first, second = self._most[:2].min(axis=0), self._wealth[2:].max(axis=0) / 2
        found: FloatArray = np.where(self.certain.T, inf, np.array([first * self._level, second]))
        if self._agreeing is not None and (found >= 1 / self._agreeing).any():
            found[self._open()] = 0.0
        return found

    def _open(self) -> list[bool]:
        """Which claims the interval does not agree with yet."""
        assert self._agreeing is not None
        path, told, share = self._predicted(0)
        settings: dict[str, Any] = {"equivalent": self._equivalent, "level": self._level * self._agreeing}
        judged = judge(path, self._total, self._margin, self._agreeing, told, share, **settings)
        return [judged.passed is None, judged.failed is None]

    def nearer(self) -> IntArray:
        """Which of an arm's claims its values speak for."""
        first, second = self.evidence()
        return np.where(np.isinf(first) & np.isinf(second), self._sums.nearer(), second > first).astype(np.int64)


def by_share(evidence: FloatArray, delta: float) -> BoolArray:
    """The claims (a row each) made so that of each kind the expected share of wrong ones is at most δ: e-BH, row by row.

    Of n wealths, the k largest are claimed if each is at least n/(k·δ). They must be wealths of one moment: the largest
    that each has been so far would not do.
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
    than the control's (1), or at most the control's and the margin (−1). With `gate` the bets are those of `lists.gate`, and so
    they are where the row of one arm is `known` beforehand, which is not evaluated then: that of the control or, of a gate, of
    the other arm. `more` are features of the items for predictions; `asked` is what else `Differences` takes.
    """

    def __init__(
        self, n: int, weights: FloatArray, question: Question, delta: float, epsilon: float = 0.0,
        population: bool = False, gate: bool = False, known: FloatArray | None = None, more: FloatArray | None = None,
        **asked: Any,
    ) -> None:  # fmt: skip
        self.n, self.delta, self.error = n, delta, question.error
        self.claims: Bars | Differences
        self.control = question.reference
        self.scores = Scores(n, weights, population)
        if self.control is None:
            self.judged, self._verdicts = np.arange(n), np.array([1, -1, 0])
            self.claims = Bars(n, weights, (question.bar - epsilon, question.bar + epsilon), population=population)
        else:
            # The values are the control's score less the arm's: at least −margin is "not better", less than 0 is "better".
            self.judged, self._verdicts = np.delete(np.arange(n), self.control), np.array([-1, 1, 0])
            if gate or known is not None:
                told = None if known is None else [Predictions(known, more) for _ in self.judged]
                how: dict[str, Any] = {"sign": 1, "agreeing": delta} if gate else {"sign": -1}
                self.claims = Differences(n - 1, len(weights), question.margin, population, told, **how, **asked)
            else:
                self.claims = Bars(n - 1, weights, (-question.margin, 0.0), (-1.0, 1.0), population)
        self.known, self._row = None if known is None else 1 - question.control if gate else question.control, known
        """The arm whose row is known."""
        self.made = np.full(len(self.judged), -1)
        """The claim made of each arm but the control: 0, 1, or −1 as long as it is open."""
        self.certain = True  # whether every claim that was made was certain

    @property
    def left(self) -> IntArray:
        """The arms that are open."""
        return self.judged[self.made < 0]

    def evidence_on(self, arm: int) -> float:
        """The evidence for the claim that was made of an arm; infinite if it is certain."""
        place = int(np.flatnonzero(self.judged == arm)[0])
        return float(self.claims.evidence()[self.made[place], place])

    @property
    def _counted(self) -> IntArray:
        """The arms that count on the next unit: those that are open, and the control for as long as any is."""
        left = self.left
        return left if self.control is None or len(left) == 0 else np.sort(np.append(left, self.control))

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit."""
        counted = self._counted
        return counted if self.known is None else counted[counted != self.known]

    def count(self, values: FloatArray) -> None:
        """Take in the next unit, a value for every arm of `play`, in that order, and make the claims that can be made."""
        play, arms = self._counted, np.flatnonzero(self.made < 0)
        if self._row is not None:
            values = np.insert(values, int(np.flatnonzero(play == self.known)[0]), self._row[self.scores.t])
        self.scores.count(play, values)
        is_control = play == self.control
        self.claims.count(arms, values if self.control is None else values[is_control] - values[~is_control])
        evidence, side = self.claims.evidence(), np.where(self.made < 0, self.claims.nearer(), self.made)
        evidence[1 - side, np.arange(len(side))] = 0.0  # an arm speaks for one claim: to count less is safe
        enough = evidence.shape[1] / self.delta  # of a claim, so that any is wrong with probability at most δ
        ready = evidence >= enough if self.error == "fwer" else by_share(evidence, self.delta)
        for claim in (0, 1):
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
        return min(1.0, n / least) if least > 0 else 1.0, strength(least)[1], log(n / self.delta)

    def status(self) -> Status:
        """All that can be said at this moment. Differences are from the control."""
        verdicts = np.zeros(self.n, np.int64)
        verdicts[self.judged] = self._verdicts[self.made]
        (achieved, evidence, threshold), means, differences = self._progress(), self.scores.means, None
        intervals = self.scores.intervals(self.delta / self.n)
        if self._row is not None:
            for column in (means, *intervals):
                column[self.known] = self._row.mean()
        if self.control is not None:
            differences = self.scores.intervals(self.delta / (self.n - 1), less=self.control)
        return Status(
            leader=int(np.argmax(np.nan_to_num(means))),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            in_play=len(self.left),
            achieved_delta=achieved,
            evidence=evidence,
            threshold=threshold,
            means=means,
            intervals=intervals,
            differences=differences,
        )
