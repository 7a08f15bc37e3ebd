"""VD-BestArmId (Algorithm 7), the paper's main algorithm, and VD-BestArmId* (Algorithm 8); what is known of all of them."""

import heapq
from collections.abc import Callable
from functools import partial

import numpy as np

from surest.algorithms.entry import Entry, Goal, Option, certified, started, summary_of
from surest.core.procedure import Running
from surest.core.protocol import IntArray, Procedure, Pull, Request, Statistic
from surest.lab.paper.constants import PRINTED, Constants
from surest.lab.paper.elimination import best_arm_est, naive_best_arm, naive_best_arm_est
from surest.lab.paper.estimates import mean_est


def vd_best_arm_id(
    arms: IntArray, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """Variance-dependent identification, optimal up to doubly logarithmic terms; constants for theorems.

    VD-BestArmId: the best arm, with probability 1 − δ (Theorem 5.1). With two equal best arms it does not end.
    """
    left, r = arms, 1  # line 2
    while len(left) > 1:  # line 3
        epsilon_r = 0.5**r / constants.main_epsilon  # line 4
        delta_r = delta / (constants.main_delta * r**2)
        accuracy, confidence = epsilon_r / constants.main_parts_epsilon, delta_r / constants.main_parts_delta
        means = yield from mean_est(left, accuracy, confidence, constants=constants)  # line 5
        first = yield from best_arm_est(left, accuracy, confidence, rng=rng, constants=constants)  # line 6
        others = left[left != first]
        second = yield from best_arm_est(others, accuracy, confidence, rng=rng, constants=constants)  # line 7
        if abs(means[left == first] - means[left == second]) > constants.main_stop * epsilon_r:  # line 8
            return first
        left = left[means >= means[left == first] - epsilon_r]  # line 9
        r += 1  # line 10
    return int(left[0])  # line 11


def vd_best_arm_id_star(
    arms: IntArray, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """Interleaved copies of vd-best-arm-id: its expected number of pulls is bounded too (δ ≤ 0.1).

    VD-BestArmId*: copies at δ/2, δ/4, … (Theorem 1.2).
    """

    def start(i: int) -> Running[int]:
        own = np.random.default_rng(rng.integers(2**63, size=2))
        return Running(vd_best_arm_id(arms, delta / 2**i, rng=own, constants=constants), int(arms.max()) + 1)

    return (yield from fast_forwarded(start))


def fast_forwarded(start: Callable[[int], Running[int]]) -> Procedure[int]:
    """Copies of a procedure, of which `start` starts copy i: in round r every copy i with 2^i | r makes one pull, or ends it all.

    The same pulls in larger portions: a copy that has made q pulls and now wants m more has them at the end of round
    2^i·(q + m), so serving the copies in the order of these rounds gives the same answer, and what the other copies had
    begun by then is pulled at the end.
    """
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
            yield _begun(other.request, begun)
    assert copy.value is not None
    return copy.value


def _next_event(copies: list[Running[int]], i: int) -> tuple[int, int]:
    """When copy i has what it waits on; once it has its answer, when it is next run."""
    copy = copies[i - 1]
    return 2**i * (copy.pulls + (1 if copy.request is None else copy.request.total)), i


def _begun(request: Request, count: int) -> Pull:
    """The first so many pulls of a request, arm after arm."""
    assert isinstance(request, Pull)
    times = np.diff(np.minimum(np.cumsum(request.times), count), prepend=0)
    return Pull(request.arms[times > 0], times[times > 0], Statistic.MEAN)


def _entry(function: Callable[..., Procedure[int]], goal: Goal, where: str) -> Entry:
    """The entry of an algorithm of the paper, with the first line of its docstring; `where` says where it is printed."""
    reason = "certified ε-optimal" if goal == "ε-optimal arm" else "certified"
    return Entry(
        function.__name__.replace("_", "-"),
        started(function, partial(certified, reason=reason)),
        goal,
        "proven",
        reference=f"Lu, Tao, Zhang 2021, {where}",
        summary=summary_of(function),
        options={"constants": Option("Constants", "other constants than the paper's, from Python only")},
    )


ENTRIES = (
    _entry(vd_best_arm_id, "best arm", "Algorithm 7"),
    _entry(vd_best_arm_id_star, "best arm", "Appendix B"),
    _entry(naive_best_arm, "best arm", "section 3"),
    _entry(best_arm_est, "ε-optimal arm", "Algorithm 4"),
    _entry(naive_best_arm_est, "ε-optimal arm", "Corollary 3.2"),
)
