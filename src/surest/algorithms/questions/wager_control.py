"""Which arms beat a control: bets on each arm and against the control, and the other way round. See evidence/bars.py."""

import math
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.options import Option
from surest.algorithms.questions.wager_above import FIRST, GROWTH
from surest.core.protocol import Answer, Atoms, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status
from surest.core.question import Question
from surest.errors import UsageError
from surest.evidence.bars import compare, differences
from surest.evidence.betting import confidence_sequence
from surest.evidence.digest import Digests


def wager_control(arms: IntArray, delta: float, *, question: Question, batch: int = 1) -> Procedure[Answer]:
    """Every arm's verdict: better than the control, or not better than it by the margin. An arm in between may get either.

    All verdicts are right with probability at least 1 − δ. `batch` is the least number of pulls to ask for at a time.
    """
    book = Book(len(arms), delta, question)
    times = np.full(len(arms), FIRST)
    while True:
        pulled = np.flatnonzero(times)
        book.count(pulled, (yield Pull(arms[pulled], times[pulled], Statistic.ATOMS, book.status)))
        if not book.open.any():
            status = book.status()
            return Answer(status.chosen, status=status)
        times = book.next_batch(batch)


class Book:
    """What is known of each arm: its rewards, and the verdicts reached."""

    def __init__(self, n: int, delta: float, question: Question) -> None:
        self.delta, self.control, self.gaps = delta, question.control, (0.0, question.margin)
        self.goal = math.log((n - 1) / delta)
        self.digests = Digests(n)
        self.reached = np.full(n, -np.inf)  # the evidence for each verdict, when it was reached
        self.verdicts = np.zeros(n, np.int64)
        self.starts = np.full((2, n), 0.5)

    @property
    def open(self) -> BoolArray:
        """The arms without a verdict; the control needs none."""
        result: BoolArray = self.verdicts == 0
        result[self.control] = False
        return result

    def count(self, arms: IntArray, rewards: Atoms) -> None:
        """Take in the rewards of a batch. A verdict, once reached, is for good."""
        self.digests.add_atoms(arms, rewards)
        left = np.flatnonzero(self.open)
        better, worse = self._compared(left, self.starts, self.goal)
        self.reached[left] = np.maximum(better, worse)
        self.verdicts[left] = np.where(self.reached[left] < self.goal, 0, np.where(better >= worse, 1, -1))

    def _compared(self, arms: IntArray, starts: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        d = self.digests
        return compare((d.values, d.weights, d.size), d.counts, d.sums, arms, self.control, self.gaps, starts, goal)

    def next_batch(self, least: int) -> IntArray:
        """Every open arm equally often, and the control so that it has been pulled as often as all of them together."""
        left, counts = self.open, self.digests.counts
        each = max(1, int(GROWTH * counts[left].min()), -(-least // int(left.sum())))
        times = np.where(left, each, 0)
        times[self.control] = max(0, int((counts + times)[left].sum() - counts[self.control]))
        return times

    def status(self) -> Status:
        """All that can be said at this moment. Differences are from the control, and hold for all arms at once."""
        others, reached = np.arange(len(self.verdicts)) != self.control, self.reached.copy()
        left = np.flatnonzero(self.open)
        reached[left] = np.maximum(*self._compared(left, self.starts.copy(), np.inf))  # to look must change nothing
        return Status(
            leader=int(self.digests.means.argmax()),
            chosen=tuple(np.flatnonzero(self.verdicts == 1).tolist()),
            verdicts=tuple(self.verdicts.tolist()),
            evidence=float(reached[others].min()),
            threshold=self.goal,
            intervals=confidence_sequence(self.digests, self.delta),
            differences=differences(self.digests, self.control, self.goal + math.log(2)),
        )


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    if task.epsilon > 0:
        raise UsageError(
            f"wager-control takes no epsilon ({task.epsilon:g} given); differences that do not matter are those below the margin"
        )
    return wager_control(task.arms, task.delta, question=task.question, **options)


ENTRIES = (
    Entry(
        name="wager-control",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="Which arms beat a control: bets on each arm against the control, and pulls both until one of them has won.",
        options={"batch": Option("whole number", "the least number of pulls to ask for at a time; 1 unless told")},
        answers=("control",),
    ),
)
