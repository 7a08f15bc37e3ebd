"""Wager: the default. It nominates a leader, bets on it and against every other arm, and stops when all others are refuted.

This is its course; what it knows, and what makes its answer right, is in ledger.py.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from surest.algorithms.entry import Script
from surest.algorithms.wager.entry import NO_MORE
from surest.algorithms.wager.ledger import Ledger
from surest.algorithms.wager.sampling import plan_ahead
from surest.core.protocol import Answer, BoolArray, IntArray, Procedure, Pull, Statistic
from surest.errors import UsageError

FIRST = 2
"""Pulls of every arm to begin with."""


def wager(
    arms: IntArray, delta: float, *, epsilon: float = 0.0, rng: np.random.Generator, batch: int = 1, workers: int = 1,
    reserve: float = 0.0, arrivals: Sequence[int] = (), script: Script = (), costs: Sequence[float] = (),
    rows: Sequence[int] | None = None,
) -> Procedure[Answer]:  # fmt: skip
    """The best arm (or one within ε of it), wrong with probability at most δ, whenever it stops.

    `batch` is the least number of pulls to ask for at a time. For many `workers`, requests are planned ahead of the rewards:
    nobody waits for the slowest evaluation. `reserve` is the part of δ kept for arms that may be added later; `arrivals`
    then says how many each addition brings, and is looked at before each request. `script` says what the first requests are
    to be: those of a recorded search, whose rewards count as any do. After them, no plans are made ahead. `costs` of a pull of
    each arm make it sample by evidence per cost.
    `rows` says how many rewards each arm can give in all, known before any is seen: an arm that has given them is not asked any
    more, whatever is pulled instead, and stays a contender unless evidence refutes it.
    """
    if not 0 <= reserve < 1:
        raise UsageError(f"reserve is {reserve}; the part of delta kept for later arms must be at least 0 and below 1")
    if workers < 1:
        raise UsageError(f"workers is {workers}; it is the number of evaluations under way at a time, at least 1")
    before_pairs = (
        len(script) > 0 and script[0][2] == Statistic.ATOMS
    )  # a search of a version that had none goes on without
    ledger = Ledger(len(arms), delta, epsilon, reserve, may_pair=not before_pairs)
    if len(set(costs)) > 1 and min(costs) > 0 and reserve == 0:
        ledger.costs = np.array(costs, np.float64)
    planning = workers > 1 and reserve == 0  # else arms may be added before the next request: it cannot be announced
    if workers > 1 and not (planning and len(script) == 0):
        batch, workers = max(batch, 2 * workers), 1
    planned = [np.full(len(arms), FIRST)]  # how often to pull each arm, in this request and in those that follow
    if rows is not None:
        planned = [np.minimum(planned[0], rows)]
    k = 0  # requests made
    while True:
        while ledger.additions < len(arrivals):
            more = arrivals[ledger.additions]
            ledger.grow(more)
            arms = np.append(arms, arms.max() + 1 + np.arange(more))
            planned = [np.where(ledger.counts == 0, FIRST, 0)]
        pulled, often, statistic = script[k] if k < len(script) else (*_sparse(planned[0]), ledger.statistic)
        k += 1
        ahead = [Pull(arms[others], times, ledger.statistic) for others, times in map(_sparse, planned[1:])]
        reply = yield Pull(arms[pulled], often, Statistic(statistic), ledger.status, ahead, ledger.weakest)
        ledger.count(pulled, reply, often)
        ledger.nominate_if_due()
        ledger.refute()
        decided = ledger.decided
        if decided and k < len(script) and not planning:
            continue  # whoever asked for more may have added arms; what a plan announced is not needed any more
        if decided:
            reason = "certified" if epsilon == 0 else "certified ε-optimal"
            return Answer(int(arms[ledger.leader]), reason=reason, status=ledger.status())
        del planned[0]
        plan_ahead(planned, ledger.counts, batch, workers, partial(ledger.next_batch, rng), ledger.missing)
        if rows is not None:
            planned = [_within(planned[0], np.asarray(rows) - ledger.counts.astype(np.int64), ledger.in_play)]
            if not planned[0].any():
                return Answer(int(arms[ledger.leader]), False, NO_MORE, ledger.status())


def _within(planned: IntArray, left: IntArray, in_play: BoolArray) -> IntArray:
    """What is planned as far as there is so much left; in place of the rest, arms in play that have more, equally often.

    >>> _within(np.array([4, 4, 1]), np.array([9, 0, 9]), np.array([True, True, False]))
    array([8, 0, 1])
    """
    times: IntArray = np.minimum(planned, left)
    more = in_play & (left > times)
    if more.any():
        rest = -(-int(planned.sum() - times.sum()) // int(more.sum()))
        times = np.where(more, np.minimum(times + rest, left), times)
    return times if (times[in_play] > 0).any() else np.zeros_like(times)


def _sparse(times: IntArray) -> tuple[IntArray, IntArray]:
    """The places of those that are pulled, and how often."""
    pulled = times.nonzero()[0]
    return pulled, times[pulled]
