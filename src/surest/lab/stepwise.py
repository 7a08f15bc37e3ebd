"""Algorithms that decide pull by pull: a kernel from what was seen to what to pull next.

Such an algorithm is a `Stepwise`: the number of a rule of `kernels.lab.rivals`, which names the next arms in ``state.pick`` and
returns how many they are, 0 to stop and answer ``state.marks[LEADER]``, or the arms that `CHOSEN` marks. Two drivers call the
same rule. `run` yields a request a decision, and so works with anything that can be pulled. `rivals.advance` decides and
consumes rewards drawn beforehand, block by block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from surest.algorithms.entry import Entry, started
from surest.arms.finite import FiniteSimulation
from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status, Words
from surest.core.question import Question
from surest.kernels.lab import rivals, rules
from surest.kernels.lab.constants import ASKED, CHOSEN, LEADER, REFILL, STOPPED, TOTAL
from surest.kernels.lab.rivals import advance

SPARE = 8  # a row of memory has at least so many places, for numbers that belong to no arm


class State(NamedTuple):
    """Everything such an algorithm knows, in arrays that it may change."""

    counts: IntArray
    sums: FloatArray
    squares: FloatArray
    active: BoolArray  # arms still in play, for those that drop some
    pick: IntArray  # the arms to pull next: the first so many as `decide` returned
    fresh: FloatArray  # the rewards of the arms last picked, in their order
    marks: IntArray
    memory: FloatArray  # the algorithm's own: rows with one place per arm
    settings: FloatArray  # its constants; each rule names their places
    noise: Words  # the state of a small random generator, for ties and coins

    def views(self) -> rules.Views:
        """The same as kernels take it."""
        return rules.Views(*self)


class Stepwise(NamedTuple):
    """A rule and where it starts."""

    rule: int
    state: State
    reason: str = "certified"
    certified: bool = True
    top: int = 0  # how many arms it names, by the row `CHOSEN`; 0: the leader

    @property
    def status(self) -> Status:
        """What it would name now; before its first decision the first arms."""
        ranks, leader = self.state.memory[CHOSEN, : len(self.state.counts)], int(self.state.marks[LEADER])
        marked = np.argsort(np.where(ranks > 0, ranks, np.inf), kind="stable")
        return Status(leader=leader, chosen=tuple(marked[: self.top].tolist()))

    @property
    def answer(self) -> Answer:
        """What it names at its end."""
        status = self.status
        return Answer(status.chosen or status.leader, self.certified, self.reason, status)


def fresh_state(n: int, settings: Sequence[float], *, rows: int = 1, rng: np.random.Generator) -> State:
    """The state before the first pull; settings in the order that the rule says."""
    return State(
        counts=np.zeros(n, np.int64), sums=np.zeros(n), squares=np.zeros(n), active=np.ones(n, np.bool_),
        pick=np.zeros(n, np.int64), fresh=np.zeros(n), marks=np.zeros(4, np.int64),
        memory=np.zeros((rows, max(n, SPARE))), settings=np.array(settings, np.float64),
        noise=rng.integers(1, 2**63, 1, np.uint64),
    )  # fmt: skip


def named(question: Question) -> int:
    """How many arms an algorithm names, where it is asked for the best one or for several: see `Stepwise.top`."""
    return 0 if question.best or not question.ranks else question.top


def run(stepwise: Stepwise) -> Procedure[Answer]:
    """The algorithm as a procedure, one request per decision."""
    state, views = stepwise.state, stepwise.state.views()
    while asked := rivals.decide(stepwise.rule, views):
        state.marks[ASKED] = asked
        state.fresh[:asked] = yield Pull(state.pick[:asked].copy(), 1, Statistic.REWARDS, lambda: stepwise.status)
        rules.absorb(views)
    return stepwise.answer


def pullwise(name: str, build: Callable[..., Stepwise], *facts: Any, **more: Any) -> Entry:
    """An entry of an algorithm that decides pull by pull; `build` takes parts of a `Task` and the algorithm's own options."""
    return Entry(name, started(build, run), *facts, stepwise=started(build, lambda stepwise: stepwise), **more)


FIRST, GROWTH, MOST, ALL = 256, 8, 8192, 2**20
"""Rewards drawn for an arm at first, how much more each time, at most, and places for the rewards of all arms."""


@dataclass(frozen=True)
class Finished:
    """How a run ended: what `Running` says of one, as far as it applies."""

    value: Answer | None  # the answer, or None where the budget was spent
    status: Status
    pulls: int
    pulls_per_arm: IntArray
    rounds: int
    means: FloatArray
    pulled: IntArray  # the arms in the order in which they were pulled, where that was asked for

    @property
    def spent(self) -> bool:
        """Whether it ended because the budget was spent."""
        return self.value is None


def simulate_blocks(
    stepwise: Stepwise, simulation: FiniteSimulation, *, budget: int | None = None, record: bool = False
) -> Finished:
    """Run to the end, or to the first request that the budget does not allow. `record` needs a budget, and its memory."""
    state, n = stepwise.state, len(simulation.labels)
    first, most = max(8, min(FIRST, ALL // n)), max(8, min(MOST, ALL // n))
    rewards, used, drawn = np.empty((n, most)), np.zeros(n, np.int64), np.full(n, first)
    rewards[:, :first] = np.reshape(_rewards(simulation, np.arange(n), first), (n, first))
    limit = np.iinfo(np.int64).max if budget is None else budget
    progress = np.array([0, limit, 0, 0], np.int64)
    log = np.zeros(limit if record else 0, np.int64)
    views = state.views()
    while (why := advance(stepwise.rule, views, rewards, used, drawn, progress, log)) == REFILL:
        arm = int(progress[3])
        drawn[arm] = min(GROWTH * drawn[arm], most)
        rewards[arm, : drawn[arm]] = _rewards(simulation, np.array([arm]), int(drawn[arm]))
        used[arm] = 0
    value = stepwise.answer if why == STOPPED else None
    pulls = int(state.marks[TOTAL])
    with np.errstate(invalid="ignore"):
        means = state.sums / state.counts
    return Finished(value, stepwise.status, pulls, state.counts, int(progress[2]), means, log[:pulls])


def _rewards(simulation: FiniteSimulation, arms: IntArray, times: int) -> FloatArray:
    return cast(FloatArray, simulation.answer(Pull(arms, times, Statistic.REWARDS)))
