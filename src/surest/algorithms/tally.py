"""tally: what totals say, where the order of the rewards is not known. It asks for what there is, once, and judges it.

The wealths A and B of `evidence.pulls.betting` depend on rewards only through how often each value came. Whatever the order was,
what is computed from totals is what somebody would have had who bet along with the trials. It may be looked at again and again
while totals grow. docs/questions/totals.md has the theorem.
"""

import math
from collections.abc import Sequence

import numpy as np

from surest.algorithms.entry import Entry, Option, Task
from surest.algorithms.questions.wager_each import book_of
from surest.core.protocol import Answer, FloatArray, IntArray, Procedure, Pull, Statistic, Status
from surest.core.question import KINDS
from surest.errors import UsageError
from surest.evidence.pulls.apart import FEW_ARMS, FEW_CONTENDERS, lead_of, runner_up, shortfalls
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.digest import Digests
from surest.kernels.differences import compare, differences

MORE = "more trials needed"


def tally(task: Task, trials: Sequence[int]) -> Procedure[Answer]:
    """Judge all of the so many `trials` of each arm at once."""
    asked, epsilon = task.question, task.epsilon
    pulled = np.flatnonzero(trials)
    if not len(pulled):
        raise UsageError("none of the arms has a trial yet; look again once there are some")
    arms = task.arms[pulled]
    book = book_of(asked, len(trials), task.delta, epsilon) if asked.each_arm else None
    rewards = yield Pull(arms, np.asarray(trials)[pulled], Statistic.ATOMS)
    if book is not None:
        book.count(arms, rewards)
        status = book.status()
        decided = not book.open.any()
        return Answer(status.chosen, decided, "certified" if decided else MORE, status)
    digests = Digests(len(trials))
    digests.add_atoms(arms, rewards)
    if len(trials) == 1:
        return Answer(0, True, "the only arm", Status(leader=0, intervals=confidence_sequence(digests, task.delta)))
    status = _judged(digests, task.delta, epsilon, asked.top)
    decided = (status.achieved_delta or 0.0) <= task.delta
    reason = "certified" if epsilon == 0 else "certified ε-optimal"
    return Answer(status.chosen, decided, reason if decided else MORE, status)


def _judged(digests: Digests, delta: float, epsilon: float, top: int) -> Status:
    """What is known of the `top` best arms: each arm inside is compared with each one outside."""
    n = len(digests.size)
    chosen = np.argsort(-digests.means, kind="stable")[:top]
    outside = np.setdiff1d(np.arange(n), chosen)
    goal = math.log(top * (n - top) / delta)
    evidence = np.array([_lead(digests, int(arm), outside, epsilon) for arm in chosen])
    weakest = float(evidence.min())
    left = outside[(evidence < goal).any(axis=0)]
    contenders = tuple(sorted([*chosen.tolist(), *left.tolist()]))
    reach = [differences(*digests.told(), int(arm), goal)[1][outside].max() for arm in chosen]
    return Status(
        leader=int(chosen[0]),
        chosen=tuple(chosen.tolist()),
        achieved_delta=min(1.0, delta * math.exp(goal - weakest)),
        epsilon_certified=max(float(max(reach)), 0.0),
        contenders=contenders,
        in_play=len(contenders),
        apart=_apart(digests, contenders, delta) if top == 1 else None,
        evidence=weakest,
        threshold=goal,
        intervals=confidence_sequence(digests, delta),
        lead=lead_of(digests, int(chosen[-1]), runner_up(digests.means, chosen.tolist()), delta),
    )


def _lead(digests: Digests, arm: int, others: IntArray, epsilon: float) -> FloatArray:
    """The evidence that an arm's mean is not below each other's by ε or more."""
    starts = np.full((2, len(digests.size)), 0.5)
    return compare(*digests.told(), others, arm, 0.0, epsilon, starts, np.inf)[1]


def _apart(digests: Digests, contenders: Sequence[int], delta: float) -> float | None:
    few = len(digests.size) <= FEW_ARMS and 2 <= len(contenders) <= FEW_CONTENDERS
    return float(shortfalls(digests, contenders, delta).max()) if few else None


ENTRY = Entry(
    name="tally",
    start=tally,
    goal="either",
    standing="proven",
    reference="docs/questions/totals.md",
    summary="What totals say, where the order of the rewards is not known. It pulls nothing.",
    options={"trials": Option("value", "how many trials of each arm there are")},
    answers=KINDS[:4],
)
"""Not in the registry: it chooses no pulls, and is used where a source holds totals."""
