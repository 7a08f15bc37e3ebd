"""A verdict on each arm: above a bar or below it, better than a control or not. See evidence/pulls/bars.py."""

import math

import numpy as np

from surest.algorithms.entry import Entry, Option, started
from surest.core.protocol import Answer, Atoms, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status
from surest.core.question import Kind, Question
from surest.errors import UsageError
from surest.evidence.pulls.bars import estimates, share_needs, share_verdicts
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.digest import Digests
from surest.kernels.differences import compare, differences, weigh

FIRST = 2  # pulls of every arm to begin with
GROWTH = 0.01  # further pulls of an arm at a time, as a part of those that it had


def wager_each(
    arms: IntArray, delta: float, *, question: Question, epsilon: float = 0.0, batch: int = 1
) -> Procedure[Answer]:
    """Every arm's verdict, all of them right with probability at least 1 − δ.

    With a bar: at or above it, or below it; with ε > 0 an arm within ε of the bar may get either. For the error ``fdr``, the
    expected share of wrong verdicts is at most δ, among the arms declared above and among all. With a control: better than
    the control, or not better than it by the margin; an arm in between may get either. `batch` is the least number of pulls
    to ask for at a time.
    """
    book = book_of(question, len(arms), delta, epsilon)
    times = np.full(len(arms), FIRST)
    while True:
        pulled = np.flatnonzero(times)
        book.count(pulled, (yield Pull(arms[pulled], times[pulled], Statistic.ATOMS, book.status)))
        if not book.open.any():
            status = book.status()
            return Answer(status.chosen, status=status)
        times = book.next_batch(batch)


class BarBook:
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
        self.above[arms], self.below[arms] = weigh(*self.digests.told(), arms, self.low, self.high)
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

    def next_batch(self, least: int) -> IntArray:
        """The open arm that seems to need the fewest pulls, some of them."""
        arm = int(np.where(self.open, self.pulls_left(), np.inf).argmin())
        times = np.zeros(len(self.needs), np.int64)
        times[arm] = max(least, int(GROWTH * self.digests.counts[arm]))
        return times

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


class ControlBook:
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
        return compare(*self.digests.told(), arms, self.control, *self.gaps, starts, goal)

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
            differences=differences(*self.digests.told(), self.control, self.goal + math.log(2)),
        )


def book_of(question: Question, n: int, delta: float, epsilon: float = 0.0) -> BarBook | ControlBook:
    """The book for a question about each arm."""
    if question.reference is not None:
        return ControlBook(n, delta, question)
    if not 0 < question.bar - epsilon <= question.bar + epsilon < 1:
        raise UsageError(
            f"epsilon is {epsilon:g} on the scale from 0 to 1, and the bar is {question.bar:g}; "
            "both ends of the zone, bar − ε and bar + ε, must lie inside the bounds: give a smaller epsilon"
        )
    return BarBook(n, delta, question, epsilon)


def _entry(kind: Kind, summary: str) -> Entry:
    return Entry(
        name=f"wager-{kind}",
        start=started(wager_each),
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary=summary,
        options={"batch": Option("whole number", "minimum number of pulls per request; default 1")},
        answers=(kind,),
    )


ENTRIES = (
    _entry(
        "above",
        "Which arms lie above a bar: bets on each arm in both directions, and pulls it until one of them has won.",
    ),
    _entry(
        "control",
        "Which arms beat a control: bets on each arm against the control, and pulls both until one of them has won.",
    ),
)
