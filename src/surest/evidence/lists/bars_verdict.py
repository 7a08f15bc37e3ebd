"""What can be said of each arm on a list of items while they are compared with a bar, or with a control."""

from math import inf, log

import numpy as np

from surest.core.protocol import Answer, FloatArray, IntArray, Status
from surest.core.question import Question
from surest.evidence.lists.bars import Bars, by_any_error, by_share
from surest.evidence.lists.scores import Scores
from surest.kernels.constants import CLAIMS


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
