"""wager-top: the m best arms. It nominates a set, and bets on each arm inside against each one outside of it."""

import math
from functools import partial
from itertools import count

import numpy as np

from surest.algorithms.entry import Entry, Option, Script, started
from surest.algorithms.wager.ledger import (
    EVERYWHERE,
    LEAST_PULLS,
    LONG,
    LOOK,
    MANY,
    MISJUDGED,
    Ledger,
    W,
    unused_share,
)
from surest.algorithms.wager.sampling import plan_ahead
from surest.algorithms.wager.wager import FIRST
from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Procedure, Pull, Reply, Statistic, Status
from surest.core.question import Question
from surest.evidence.pulls.apart import lead_of, runner_up
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.certificates import Evidence
from surest.kernels.certificates import raise_certificates, smallest_epsilon
from surest.kernels.sampling import pair_separations, plan_pairs, update_optimistic


def wager_top(
    arms: IntArray, delta: float, *, question: Question, epsilon: float = 0.0, rng: np.random.Generator, batch: int = 1,
    workers: int = 1, script: Script = (),
) -> Procedure[Answer]:  # fmt: skip
    """The m best arms (or as many within ε of the last of them), wrong with probability at most δ, whenever it stops.

    `batch`, `workers` and `script` as for `wager`.
    """
    planning = workers > 1
    if planning and len(script) > 0:
        batch, workers = max(batch, 2 * workers), 1
    ledger = SetLedger(len(arms), question.top, delta, epsilon)
    planned = [np.full(len(arms), FIRST)]
    for k in count():
        requests = [(np.flatnonzero(times), times[times > 0]) for times in planned]
        pulled, often = script[k][:2] if k < len(script) else requests[0]
        ahead = [Pull(arms[others], times, Statistic.ATOMS) for others, times in requests[1:]]
        reply = yield Pull(arms[pulled], often, Statistic.ATOMS, ledger.status, ahead)
        ledger.count(pulled, reply)
        ledger.nominate_if_due()
        ledger.refute()
        if ledger.decided and (planning or k + 1 >= len(script)):
            break  # what a plan announced is not needed any more
        del planned[0]
        plan_ahead(planned, ledger.book.counts, batch, workers, partial(ledger.next_batch, rng))
    reason = "certified" if epsilon == 0 else "certified ε-optimal"
    return Answer(ledger.chosen, reason=reason, status=ledger.status())


ENTRIES = (
    Entry(
        name="wager-top",
        start=started(wager_top),
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="The m best arms: bets on each arm of a nominated set and against each one outside of it.",
        answers=("top",),
        options={
            "batch": Option("whole number", "minimum number of pulls per request; default 1"),
            "workers": Option("whole number", "evaluations under way at a time, for which it plans ahead; default 1"),
        },
        any_sampling=True,
    ),
)


LEAST_SEPARATION = 0.6  # in nats: a set is nominated when each of its arms is so far from each arm outside, or further


def largest(values: FloatArray, m: int) -> IntArray:
    """The places of the m largest values, in order of place; of equal ones the first."""
    return np.sort(np.argsort(-values, kind="stable")[:m])


class SetLedger:
    """Rewards, the sets nominated so far, and the certificates of every pair of each."""

    def __init__(self, n: int, m: int, delta: float, epsilon: float = 0.0) -> None:
        self.book, self.m, self.epsilon = Ledger(n, delta, epsilon, may_pair=False), m, epsilon
        self.goal = math.log(1 / delta)
        self.kept: dict[tuple[int, ...], FloatArray] = {}  # of each set: its certificates, one row per arm inside
        self.nominations = 0
        self.nominated: IntArray | None = None
        self.pessimistic = np.ones(n)  # upper bounds of 1 − mean
        self.leading = np.arange(m)

    @property
    def certified(self) -> FloatArray:
        """The largest certificates of the nominated set's pairs, ever; infinite from an arm inside."""
        assert self.nominated is not None
        return self.kept[tuple(self.nominated.tolist())]

    @property
    def settled(self) -> bool:
        """Whether the leading set is the nominated one."""
        return self.nominated is not None and np.array_equal(self.leading, self.nominated)

    @property
    def decided(self) -> bool:
        """Whether every arm of the leading set is certified against every other arm."""
        return self.settled and bool((self.certified >= self.goal).all())

    def count(self, arms: IntArray, rewards: Reply, times: IntArray | None = None) -> None:
        """Take in the rewards of a batch."""
        book = self.book
        book.count(arms, rewards, times)
        update_optimistic(self.pessimistic, arms, book.counts, 1 - book.means, book.spreads)
        self.leading = largest(book.empirical, self.m)
        if self.nominated is not None:
            least = book.empirical[self.nominated].min()
            if least >= np.delete(book.empirical, self.nominated).max() - self.epsilon / 2:
                self.leading = self.nominated  # with ε > 0 there is no need to follow every change

    def nominate_if_due(self) -> None:
        """Nominate the leading set if it is a new one and clear enough, or if its bets assumed far too large gaps."""
        book, arms = self.book, self.leading
        counts = self._counts() if self.settled else book.counts
        self.apart = pair_separations(arms, counts, book.means, book.spreads, self.epsilon)
        if self.settled:
            gaps = np.array([book.gaps(int(i)) for i in arms])
            due = bool(((self.certified < self.goal) & (self.assumed > MISJUDGED * gaps)).any())
        else:
            least = book.counts[arms].min()
            clear = least >= LEAST_PULLS and self.apart.min() >= LEAST_SEPARATION
            due = clear or (self.nominations == 0 and least >= LONG)
        if due:
            self.nominate(arms)

    def nominate(self, arms: IntArray) -> None:
        """Give a set the next slot: bets on each pair are placed now, on rewards from now on."""
        self.book.nominate(int(arms[0]))  # what comes from now on is kept apart
        self.nominated, self.nominations = arms, self.nominations + 1
        bets = [self.book.suited_bets(int(i), arms) for i in arms]
        self.assumed, self.minimisers, self.guesses_nominee, self.guesses = map(np.array, zip(*bets, strict=True))
        certified = np.full(self.assumed.shape, -np.inf)
        certified[:, arms] = np.inf
        self.kept.setdefault(tuple(arms.tolist()), certified)

    def refute(self) -> None:
        """Compute certificates where they may reach the goal."""
        if self.settled:
            worth = (self.apart >= LOOK * self.goal) | (self.book.rounds % EVERYWHERE == 0)
            self._raise(self.certified, self.minimisers, worth & (self.certified < self.goal), self.goal)

    def _raise(self, certified: FloatArray, starts: FloatArray, todo: BoolArray, goal: float) -> None:
        evidence = self._evidence()
        for row in np.flatnonzero(todo.any(axis=1)).tolist():
            places = np.flatnonzero(todo[row])
            kernel = self._of_row(evidence, row).kernel()
            raise_certificates(certified[row], starts[row], places, goal, self.epsilon, kernel)

    def _evidence(self) -> Evidence:
        """What all certificates of the nominated set rest on: the slots of an arm inside are not its own."""
        base = np.full(len(self.book.counts), (1 - W) + W * unused_share(self.nominations))
        return self.book.evidence()._replace(base=base, among=float(self.m))

    def _of_row(self, evidence: Evidence, row: int) -> Evidence:
        """What those of one arm of the set rest on."""
        assert self.nominated is not None
        return evidence._replace(
            nominee=int(self.nominated[row]), guesses_nominee=self.guesses_nominee[row], guesses=self.guesses[row]
        )

    def _counts(self) -> FloatArray:
        """How many rewards of each arm count: of a nominee those since its nomination, and one."""
        counts = self.book.counts.copy()
        if self.nominated is not None:
            counts[self.nominated] = self.book.since.counts[self.nominated] + 1
        return counts

    def next_batch(self, rng: np.random.Generator, size: int, pending: IntArray) -> IntArray:
        """How often to pull each arm in the next `size` pulls, after those that are still pending."""
        book = self.book
        inside = largest(book.optimistic if rng.random() < 0.5 else -self.pessimistic, self.m)
        if self.epsilon > 0 and self.settled:
            inside = self.leading  # it need not be the best: see that it is good enough
        n = len(book.counts)
        rejected = np.zeros((self.m, n), np.bool_)
        if self.nominated is not None:
            rows = np.full(n, -1)
            rows[self.nominated] = np.arange(self.m)
            own = rows[inside]
            rejected[own >= 0] = (self.certified >= self.goal)[own[own >= 0]]
        outside, moved = np.delete(np.arange(n), inside), self._counts() + pending
        coins = rng.random(size)
        return plan_pairs(inside, outside, moved, book.means, book.spreads, rejected, self.epsilon, coins)

    @property
    def chosen(self) -> tuple[int, ...]:
        """The set with certificates, or the leading one before there are any; the best mean first."""
        arms = self.leading if self.nominated is None else self.nominated
        return tuple(arms[np.argsort(-self.book.empirical[arms], kind="stable")].tolist())

    def status(self) -> Status:
        """All that can be said at this moment, of the nominated set if there is one.

        Contenders are its arms, and those against which some arm of it is not certified: each of the m best is among them at
        all times with probability at least 1 − δ (each, not all together).
        """
        book, chosen, weakest, smallest, forecast = self.book, self.chosen, -math.inf, 1.0, None
        contenders = tuple(range(len(book.counts)))
        if self.nominated is not None:
            certified, starts = self.certified.copy(), self.minimisers.copy()  # to look must change nothing
            todo = certified < self.goal
            if todo.sum() <= MANY:  # else what was found before holds as well
                self._raise(certified, starts, todo, np.inf)
            weakest = float(certified.min())
            unsure = np.flatnonzero((certified < self.goal).any(axis=0))
            contenders = tuple(sorted({*chosen, *unsure.tolist()}))
            smallest = self._smallest_epsilon(certified, starts)
            apart = pair_separations(self.nominated, book.counts, book.means, book.spreads, self.epsilon).min()
            forecast = book.forecast(float(apart), weakest)
        return Status(
            leader=chosen[0],
            chosen=chosen,
            achieved_delta=min(1.0, math.exp(-weakest)),
            epsilon_certified=smallest,
            contenders=contenders,
            in_play=len(contenders),
            evidence=weakest,
            threshold=self.goal,
            forecast=forecast,
            intervals=confidence_sequence(book.before, book.delta, book.since),
            lead=lead_of(book.before, chosen[-1], runner_up(book.empirical, chosen), book.delta, book.since),
        )

    def _smallest_epsilon(self, certified: FloatArray, starts: FloatArray) -> float:
        """The smallest ε, from the requested one on, for which the set is certified at δ."""
        smallest, evidence = self.epsilon, self._evidence()
        for row in np.argsort(certified.min(axis=1)).tolist():
            places = np.argsort(certified[row])
            doubtful = places[certified[row][places] < self.goal]
            kernel = self._of_row(evidence, row).kernel()
            smallest = smallest_epsilon(smallest, doubtful, self.goal, starts[row], kernel)
        return float(smallest)
