"""Which arms lie above a bar: bets on each arm at the bar, in both directions. See evidence/bars.py."""

import math
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.options import Option
from surest.core.protocol import Answer, Atoms, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status
from surest.core.question import Question
from surest.errors import UsageError
from surest.evidence.bars import estimates, share_needs, share_verdicts, weigh
from surest.evidence.betting import confidence_sequence
from surest.evidence.digest import Digests

FIRST = 2
"""Pulls of every arm to begin with."""
GROWTH = 0.01
"""Further pulls of an arm at a time, as a part of those that it had."""


def wager_above(
    arms: IntArray, delta: float, *, question: Question, epsilon: float = 0.0, batch: int = 1
) -> Procedure[Answer]:
    """Every arm's verdict: at or above the bar, or below it; with ε > 0 an arm within ε of the bar may get either.

    All verdicts are right with probability at least 1 − δ. For the error ``fdr``, the expected share of wrong ones is at most
    δ, among the arms declared above and among all. `batch` is the least number of pulls to ask for at a time.
    """
    bar = question.bar
    if not 0 < bar - epsilon <= bar + epsilon < 1:
        raise UsageError(
            f"epsilon is {epsilon:g} on the scale from 0 to 1, and the bar is {bar:g}; "
            "both ends of the zone, bar − ε and bar + ε, must lie inside of the bounds: give a smaller epsilon"
        )
    book = Book(len(arms), delta, question, epsilon)
    pulled, times = np.arange(len(arms)), FIRST
    while True:
        book.count(pulled, (yield Pull(arms[pulled], times, Statistic.ATOMS, book.status)))
        if not book.open.any():
            status = book.status()
            return Answer(status.chosen, status=status)
        arm = int(np.where(book.open, book.pulls_left(), np.inf).argmin())
        pulled, times = np.array([arm]), max(batch, int(GROWTH * book.digests.counts[arm]))


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
        left = float(self.pulls_left()[self.open].sum())
        return Status(
            leader=int(self.digests.means.argmax()),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            evidence=float(self.evidence[weakest]),
            threshold=float(self.needs[weakest]),
            forecast=left if math.isfinite(left) else None,
            intervals=confidence_sequence(self.digests, self.delta),
        )


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    return wager_above(task.arms, task.delta, question=task.question, epsilon=task.epsilon, **options)


ENTRIES = (
    Entry(
        name="wager-above",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="Which arms lie above a bar: bets on each arm in both directions, and pulls it until one of them has won.",
        options={"batch": Option("whole number", "the least number of pulls to ask for at a time; 1 unless told")},
        answers=("above",),
    ),
)
