"""Which arms lie above a bar: bets on each arm at the bar, in both directions. See evidence/bars.py."""

from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.options import Option
from surest.algorithms.questions.bar_book import Book
from surest.core.protocol import Answer, IntArray, Procedure, Pull, Statistic
from surest.core.question import Question
from surest.errors import UsageError

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
