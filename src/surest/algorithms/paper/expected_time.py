"""VD-BestArmId* (Algorithm 8, Appendix B): copies of VD-BestArmId at δ/2, δ/4, …, interleaved, so that the *expected*
number of pulls is bounded too.

In round r every copy i with 2^i | r makes one pull, or ends the whole with its answer. `interleaved` does this pull by
pull. `fast_forwarded` makes the same pulls in larger portions: a copy that has made q pulls and now wants m more has
them at the end of round 2^i·(q + m), so serving the copies in the order of these rounds gives the same answer, and what
the other copies had begun by then is pulled at the end.
"""

import heapq
from collections.abc import Callable

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants, entry
from surest.algorithms.paper.vd_best_arm_id import vd_best_arm_id
from surest.core.procedure import Running, statistic_of
from surest.core.protocol import IntArray, Procedure, Pull, Request, Statistic

Start = Callable[[int], Running[int]]  # starts copy i


def vd_best_arm_id_star(
    arms: IntArray,
    delta: float,
    *,
    rng: np.random.Generator,
    constants: Constants = PRINTED,
    pull_by_pull: bool = False,
) -> Procedure[int]:
    """The best arm, with probability 1 − δ for δ ≤ 0.1, and a bounded expected number of pulls (Theorem 1.2)."""

    def start(i: int) -> Running[int]:
        own = np.random.default_rng(rng.integers(2**63, size=2))
        return Running(vd_best_arm_id(arms, delta / 2**i, rng=own, constants=constants), int(arms.max()) + 1)

    return (yield from (interleaved if pull_by_pull else fast_forwarded)(start))


def interleaved(start: Start) -> Procedure[int]:
    """As printed: round by round, pull by pull."""
    copies: list[Running[int]] = []
    rewards: list[list[float]] = []  # of the request that each copy waits on
    r = 0
    while True:  # line 2
        r += 1
        for i in range(1, r.bit_length()):  # line 3
            if r % 2**i:  # line 4
                continue
            if i > len(copies):
                copies.append(start(i))
                rewards.append([])
            copy, got = copies[i - 1], rewards[i - 1]
            if copy.request is None:  # ii) it terminates with an output arm
                assert copy.value is not None
                return copy.value  # line 9
            reward = yield Pull(_portion(copy.request, len(got), 1).arms, 1, Statistic.REWARDS)  # line 8
            got.append(float(reward[0]))
            if len(got) == copy.request.total:
                copy.send(statistic_of(copy.request, np.array(got)))
                got.clear()


def fast_forwarded(start: Start) -> Procedure[int]:
    """The same pulls and the same answer, a copy's request at a time."""
    copies: list[Running[int]] = []
    events: list[tuple[int, int]] = []  # (round at which something happens to copy i, i)
    while True:
        while not events or 2 ** (len(copies) + 1) <= events[0][0]:  # a copy's first event is in round 2^i or later
            copies.append(start(len(copies) + 1))
            heapq.heappush(events, _next_event(copies, len(copies)))
        r, winner = heapq.heappop(events)
        copy = copies[winner - 1]
        if copy.request is None:
            break
        copy.send((yield copy.request))
        heapq.heappush(events, _next_event(copies, winner))
    for i, other in enumerate(copies, 1):  # what the others had begun
        begun = (r if i < winner else r - 1) // 2**i - other.pulls
        if other.request is not None and begun:
            yield _portion(other.request, 0, begun)
    assert copy.value is not None
    return copy.value


def _next_event(copies: list[Running[int]], i: int) -> tuple[int, int]:
    """When copy i has what it waits on; once it has its answer, when it is next run."""
    copy = copies[i - 1]
    return 2**i * (copy.pulls + (1 if copy.request is None else copy.request.total)), i


def _portion(request: Request, first: int, count: int) -> Pull:
    """The pulls number `first` to `first + count` of a request, arm after arm."""
    assert isinstance(request, Pull)
    ends = np.cumsum(request.times)
    inside = np.minimum(ends, first + count) - np.maximum(ends - request.times, first)
    return Pull(request.arms[inside > 0], inside[inside > 0], Statistic.MEAN)


ENTRIES = (
    entry(
        "vd-best-arm-id-star",
        "best arm",
        "Appendix B",
        "Interleaved copies of vd-best-arm-id: its expected number of pulls is bounded too (δ ≤ 0.1).",
        vd_best_arm_id_star,
    ),
)
