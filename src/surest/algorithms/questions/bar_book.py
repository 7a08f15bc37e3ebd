"""What wager-above knows: the evidence for and against each arm at the bar, and what it still needs."""

import math

import numpy as np

from surest.core.protocol import Atoms, BoolArray, FloatArray, IntArray, Status
from surest.core.question import Question
from surest.evidence.bars import estimates, share_needs, share_verdicts, weigh
from surest.evidence.betting import confidence_sequence
from surest.evidence.digest import Digests


class Book:
    """What is known of each arm: its rewards, the evidence for either verdict, and how much it needs."""

    def __init__(self, n: int, delta: float, question: Question, epsilon: float) -> None:
        self.delta, self.bar, self.shares = delta, question.bar, question.error == "fdr"
        self.low, self.high = question.bar - epsilon, question.bar + epsilon
        self.digests = Digests(n)
        self.above, self.below = np.full(n, -np.inf), np.full(n, -np.inf)
        self.needs = np.full(n, math.log(n / delta))
        self.settled = np.zeros(n, np.int64)  # verdicts for good, where any wrong one counts

    def count(self, arms: IntArray, rewards: Atoms) -> None:
        """Take in the rewards of a batch."""
        self.digests.add_atoms(arms, rewards)
        self.above[arms], self.below[arms] = weigh(self.digests, arms, self.low, self.high)
        if self.shares:
            self.needs = np.where(self.up, share_needs(self.above, self.up, self.delta), -math.log(self.delta))
        else:
            fresh = (self.settled == 0) & (np.maximum(self.above, self.below) >= self.needs)
            self.settled[fresh] = np.where(self.above >= self.below, 1, -1)[fresh]

    @property
    def up(self) -> BoolArray:
        """Whether each arm looks as if it were above the bar."""
        return self.digests.means >= self.bar

    @property
    def evidence(self) -> FloatArray:
        """The evidence for the verdict that each arm is about to get."""
        return np.where(self.up, self.above, self.below) if self.shares else np.maximum(self.above, self.below)

    @property
    def open(self) -> BoolArray:
        """Whether each arm is to be pulled further."""
        return self.evidence < self.needs if self.shares else self.settled == 0

    @property
    def verdicts(self) -> IntArray:
        """Every arm's verdict at this moment. Where a share of wrong ones is allowed, it may be another one later."""
        return share_verdicts(self.above, self.below, self.up, self.delta) if self.shares else self.settled

    def pulls_left(self) -> FloatArray:
        """A guess at the pulls that each arm still needs: a pull yields gap²/(2(σ² + gap²)) nats, or so."""
        means, variances = estimates(self.digests)
        gaps = np.where(self.up, means - self.low, self.high - means)
        squares = np.maximum(np.maximum(gaps, 0) ** 2, variances / np.maximum(self.digests.counts, 1))
        needed: FloatArray = np.maximum(self.needs - self.evidence, 0) * 2 * (variances + squares) / squares
        return needed

    def status(self) -> Status:
        """All that can be said at this moment."""
        verdicts, weakest = self.verdicts, int((self.evidence - self.needs).argmin())
        return Status(
            leader=int(self.digests.means.argmax()),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            evidence=float(self.evidence[weakest]),
            threshold=float(self.needs[weakest]),
            forecast=float(self.pulls_left()[self.open].sum()) if self.digests.counts.all() else None,
            intervals=confidence_sequence(self.digests, self.delta),
        )
