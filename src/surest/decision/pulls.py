"""The decision of a search on fresh rewards, by wager or wager-top: its record is replayed and written.

The pulls are known, so only the ledger is needed: it says which arms were nominated, with which bets, and when each arm was
refuted. Evidence is computed again from all rewards, without digests, to compare it to a millionth of a nat.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from surest.algorithms.questions.wager_top import SetLedger
from surest.algorithms.wager.ledger import PAIRED, Ledger, W, slot_share, unused_share
from surest.core.problem import Problem
from surest.core.procedure import Exchange
from surest.core.protocol import Atoms, FloatArray, Pull, Reply, Statistic, Status
from surest.core.scale import Scale
from surest.decision.chain import Chain, Events, header_of
from surest.kernels.bets import Rows, wide_bets
from surest.kernels.certificates import Evidence, certificate, log_sum, log_value
from surest.kernels.constants import ALPHA, JOINT, JOINT_BETS, LOWEST, RHO
from surest.result.data import EvaluationEvent
from surest_verify import convex_bound

Found = dict[tuple[int, int], dict[str, Any]]
"""Witnesses, by the arm that they speak for (`ANY` if it does not matter) and the arm that is out."""
ANY = -1
ROUNDED = 1e-6
"""Nats that three levels, or rounding, may cost a witness: if only these are missing, the next rewards will do."""


class Slot(NamedTuple):
    """A nomination: its number, its arms, and for each of these the bets on it and against every arm."""

    number: int
    arms: list[int]
    on: list[list[float]]
    against: list[list[float]]


def decision_on_pulls(
    problem: Problem, transcript: Sequence[Exchange], additions: Sequence[tuple[int, int]],
    events: Iterable[EvaluationEvent],
) -> Chain:  # fmt: skip
    """The lines of a decision, from what was asked and answered.

    `additions` has the number of answered requests and the number of arms of each addition.
    """
    first = transcript[0][0] if transcript else None
    # A study of an earlier version has no paired bets.
    may_pair = not isinstance(first, Pull) or first.statistic is not Statistic.ATOMS
    writer = _Writer(problem, len(problem.labels) - sum(more for _, more in additions), may_pair, events)
    waiting = list(additions)
    for place, (request, reply) in enumerate(transcript):
        assert isinstance(request, Pull)
        writer.stake(request)
        writer.events.write(writer.chain, request)
        writer.count(request, reply)
        while waiting and waiting[0][0] <= place:
            writer.grow(waiting.pop(0)[1])
    return writer.conclude()


class _Writer:
    """Replays a search into the lines of its decision."""

    def __init__(self, problem: Problem, start: int, may_pair: bool, events: Iterable[EvaluationEvent]) -> None:
        question, self.problem, self.labels = problem.question, problem, [str(label) for label in problem.labels]
        epsilon, self.events = problem.epsilon / problem.scale.width, Events(events)
        self.sets = None if question.best else SetLedger(start, question.top, problem.delta, epsilon)
        reserve = problem.options.get("reserve", 0.0)
        self.book = self.sets.book if self.sets else Ledger(start, problem.delta, epsilon, reserve, may_pair=may_pair)
        self.ledger = self.sets or self.book
        self.slot: Slot | None = None  # the latest nomination, if it still holds
        self.before, self.since = [Counter[float]() for _ in range(start)], [Counter[float]() for _ in range(start)]
        self.found: dict[tuple[int, ...], Found] = {}
        """Of each set that was nominated; of all together, where that counts."""
        more = {"top": question.top} if self.sets is not None else {"reserve": reserve}
        if self.book.paired:
            more |= {"version": 3, "paired": PAIRED}
        self.chain = Chain(header_of(problem, self.labels[:start]) | more)
        self.chain.add("bets", **_bets())

    def grow(self, more: int) -> None:
        """Add arms: the nomination lapses."""
        known = len(self.since)
        self.book.grow(more)
        self.before += [Counter[float]() for _ in range(more)]
        self.since += [Counter[float]() for _ in range(more)]
        self.chain.add("addition", labels=self.labels[known : known + more])
        self.chain.header["labels"] = self.labels[: known + more]
        self.slot = None

    def stake(self, request: Pull) -> None:
        """Write the paired bets on a request, if there are any."""
        if not self.book.paired or request.statistic is not Statistic.REWARDS:
            return
        opponents, levels, stakes = self.book.stakes(request.arms, request.times)
        placed = stakes > 0
        if placed.any():
            on, at, often = (given[placed].tolist() for given in (opponents, levels, stakes))
            self.chain.add("stakes", arms=request.arms[placed].tolist(), on=on, levels=at, stakes=often)

    def count(self, request: Pull, reply: Reply) -> None:
        """Count the answer to a request, and write what follows from it."""
        answer = reply
        if not isinstance(reply, Atoms):  # one by one
            reply = Atoms(np.append(0, np.cumsum(request.times)), reply, np.ones(len(reply), np.int64))
        ends, times = reply.start.tolist(), reply.counts.tolist()
        own, parts = in_own_units(self.problem.scale, reply.values), list(pairwise(ends))
        repeated = [] if max(times, default=1) == 1 else [times[a:b] for a, b in parts]
        arms = request.arms.tolist()
        at = self.chain.add("rewards", arms=arms, values=[own[a:b] for a, b in parts], times=repeated)
        for arm, (a, b) in zip(arms, parts, strict=True):
            for value, often in zip(reply.values[a:b].tolist(), times[a:b], strict=True):
                self.since[arm][value] += often
        self.ledger.count(request.arms, answer, request.times)
        self.ledger.nominate_if_due()
        self._see_nomination()
        self.ledger.refute()
        self._see_refuted(max(at, len(self.chain.lines)))

    def _see_nomination(self) -> None:
        book, sets = self.book, self.sets
        number = len(book.nominees)
        if number == (self.slot.number if self.slot is not None else 0) or not book.live:
            return
        nominated = None if sets is None else sets.nominated
        arms = [book.nominees[-1]] if nominated is None else nominated.tolist()
        on, against = (np.atleast_2d(of).tolist() for of in (self.ledger.guesses_nominee, self.ledger.guesses))
        self.slot = Slot(number, arms, on, against)
        self.chain.add("nomination", slot=number, arms=arms, on=self.slot.on, against=self.slot.against)
        for before, since in zip(self.before, self.since, strict=True):
            before.update(since)
            since.clear()

    def _see_refuted(self, at: int) -> None:
        book, slot, goal = self.book, self.slot, self.book.goal
        found = self._found(slot.arms if slot is not None else [])
        for j in np.flatnonzero(book.accounts - book.prices >= goal).tolist():
            if (ANY, j) not in found:
                found[ANY, j] = self._by_account(j, at)
        if slot is None:
            return
        for row, j in np.argwhere(np.atleast_2d(self.ledger.certified) >= goal).tolist():
            i = slot.arms[row]
            key = (i if self.sets is not None else ANY, j)
            if j not in slot.arms and key not in found:
                witness = self._witness(slot, i, j, at, self.problem.epsilon)
                if not 0 < goal + book.prices[j] + self._level_part - witness["nats"] < ROUNDED:
                    found[key] = witness  # else the next rewards will do

    @property
    def _level_part(self) -> float:
        """The logarithm of the part of the prior that levels have: the unit of the ledger's accounts."""
        return math.log1p(-PAIRED) if self.book.paired else 0.0

    def _by_account(self, j: int, at: int) -> dict[str, Any]:
        """The witness that paired bets alone refute an arm."""
        nats = float(self.book.accounts[j]) + self._level_part
        said = {"arms": [int(j == 0), j], "slot": 0, "line": at, "levels": []}
        return {**said, "bets": 1, "accuracy": 0.0, "nats": nats}

    def _found(self, arms: list[int]) -> Found:
        """The witnesses that count with those for some arms: for sets and with ε > 0, only those for the same arms."""
        alone = self.sets is not None or self.problem.epsilon > 0
        return self.found.setdefault(tuple(arms) if alone else (), {})

    def _witness(self, slot: Slot, i: int, j: int, at: int, accuracy: float) -> dict[str, Any]:
        """The witness that an arm is refuted, by the ledger; the verifier checks it."""
        book, row = self.book, slot.arms.index(i)
        own = 0.0 if self.sets is not None else float(book.shares[j])
        bets = wide_bets(book.counts[[j]], (book.empirical * book.counts)[[j]], False)
        evidence = Evidence(  # of two arms: j is the first
            1,
            np.zeros(1),
            rows_of(self.before[j]),
            rows_of(self.since[j], self.since[i]),
            bets,
            np.array([(1 - W) + W * unused_share(slot.number) + W * own]),
            W * slot_share(slot.number),
            np.array([slot.on[row][j]]),
            np.array([slot.against[row][j]]),
            float(len(slot.arms)),
        )
        start = float(np.atleast_2d(self.ledger.minimisers)[row, j])
        levels, nats = witness_of(evidence, start, accuracy / self.problem.scale.width)
        nats = log_sum(nats, float(book.accounts[j])) + self._level_part
        said = {"arms": [i, j], "slot": slot.number, "line": at, "levels": levels}
        return {**said, "bets": int(bets[0]), "accuracy": accuracy, "nats": nats}

    def conclude(self) -> Chain:
        """Write the conclusion, and end."""
        status = self.ledger.status() if len(self.since) > 1 else Status(leader=0)
        arms = sorted(status.chosen) if self.sets is not None else [status.leader]
        known, epsilon = len(self.since), self.problem.epsilon
        found = self._found(arms)
        pairs = [(i, j) for i in arms for j in range(known) if j not in arms]
        open_pairs = [(i, j) for i, j in pairs if (i if self.sets is not None else ANY, j) not in found]
        within, close = (epsilon, []) if not open_pairs else self._close(status, arms, open_pairs)
        claim = {
            "arms": arms,
            "certified": not open_pairs,
            "contenders": sorted({*arms, *(j for _, j in open_pairs)}),
            "within": within,
            "delta": self.problem.delta,
            "events": dict(sorted(self.events.total.items())),
        }
        counted = [before + since for before, since in zip(self.before, self.since, strict=True)]
        return self.chain.conclude(
            claim=claim,
            counted=[rewards.total() for rewards in counted],
            means=[self._mean(rewards) for rewards in counted],
            witnesses=[*found.values(), *close],
        )

    def _mean(self, rewards: Counter[float]) -> float:
        values = in_own_units(self.problem.scale, np.array(list(rewards)))
        total = math.fsum(value * times for value, times in zip(values, rewards.values(), strict=True))
        return total / max(rewards.total(), 1)

    def _close(
        self, status: Status, arms: list[int], pairs: list[tuple[int, int]]
    ) -> tuple[float, list[dict[str, Any]]]:
        """How close to the best the arms are known to be, rounded up, and the witnesses; the whole range without any."""
        width, slot, at = self.problem.scale.width, self.slot, len(self.chain.lines)
        within = math.ceil(1e5 * (status.epsilon_certified or 1.0)) / 1e5 * width
        if slot is None or slot.arms != arms or within >= width:
            return width, []
        return within, [self._witness(slot, i, j, at, within) for i, j in pairs]


def _bets() -> dict[str, Any]:
    """How the bets of every nomination are made from two guesses."""
    grid, scale = [], LOWEST
    for _ in range(JOINT_BETS):
        grid.append(scale)
        scale *= RHO
    weights: list[float] = JOINT.ravel().tolist()
    idle = math.nextafter(float(1 - sum(map(Fraction, weights))), 0.0)  # rounding must not make the sum more than 1
    return {"grid": grid, "weights": weights, "idle": idle, "most": ALPHA}


LOST = 1e-7  # nats that a certificate may lose by being bounded from three levels
STEPS = 30  # Newton's steps to the minimiser, at most
NARROWEST = 1e-8  # the least distance of levels from each other and from the ends


class Witness(NamedTuple):
    """Three levels, and the lower bound that the values there give."""

    levels: list[float]
    nats: float


def rows_of(*arms: Counter[float]) -> Rows:
    """All rewards of some arms, without digests."""
    size = np.array([len(rewards) for rewards in arms])
    values, weights = np.zeros((2, len(arms), max(int(size.max()), 1)))
    for i, rewards in enumerate(arms):
        values[i, : size[i]] = sorted(rewards)
        weights[i, : size[i]] = [rewards[value] for value in sorted(rewards)]
    return Rows(values, weights, size)


def witness_of(evidence: Evidence, start: float, epsilon: float) -> Witness:
    """The levels from which the certificate against arm 0 can be read, and what it is there."""
    end = 1.0 - epsilon
    _, x = certificate(start, math.inf, epsilon, evidence, 0)
    x, step = _minimiser(min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), epsilon, evidence)
    found = _bounded(x, step, epsilon, evidence)
    for step in (1e-3, 1e-4, 1e-5, 1e-6):
        if log_value(x, epsilon, evidence, 0)[0] - found.nats <= 5 * LOST:
            break
        found = max(found, _bounded(x, step, epsilon, evidence), key=lambda witness: witness.nats)
    return found


def _minimiser(x: float, epsilon: float, evidence: Evidence) -> tuple[float, float]:
    """The minimiser near x, by Newton's method, and the distance at which the function has risen by `LOST`."""
    end = 1.0 - epsilon
    for _ in range(STEPS):
        near = 1e-4 * min(x, end - x)
        left, right = (log_value(level, epsilon, evidence, 0)[1] for level in (x - near, x + near))
        bend, slope = max((right - left) / (2 * near), 1e-3), 0.5 * (left + right)
        if slope * slope <= 0.01 * LOST * bend:
            break
        x = min(max(x - slope / bend, 0.1 * x), x + 0.9 * (end - x))
    return min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), math.sqrt(LOST / bend)


def _bounded(x: float, step: float, epsilon: float, evidence: Evidence) -> Witness:
    end = 1.0 - epsilon
    step = max(min(step, (x - NARROWEST) / 2, (end - x - NARROWEST) / 2), NARROWEST)
    levels = [x - step, x, x + step]
    points = []
    for level in levels:
        value, _, doubt, _ = log_value(level, epsilon, evidence, 0)
        points.append((level, value - doubt, value + doubt))
    return Witness(levels, convex_bound(points, end))


def in_own_units(scale: Scale, values: FloatArray) -> list[float]:
    """Rewards in the user's units: the shortest numbers that are scaled to these values.

    >>> import numpy as np
    >>> scale = Scale(0, 60, minimise=True)
    >>> in_own_units(scale, np.array([scale.to_unit(17.3), 0.75]))
    [17.3, 15.0]
    """
    if (scale.worst, scale.best) == (0.0, 1.0):
        found: list[float] = values.tolist()
        return found
    return [_written(scale, value) for value in values.tolist()]


def _written(scale: Scale, value: float) -> float:
    exact = min(max(scale.from_unit(value), scale.low), scale.high)
    for digits in (6, 12, 15, 16):
        short = float(f"{exact:.{digits}g}")
        if scale.low <= short <= scale.high and scale.to_unit(short) == value:
            return short
    return exact
