"""Algorithms that decide pull by pull: a kernel from what was seen to what to pull next.

Such an algorithm is a `Stepwise`: the number of a rule of `kernels.rivals`, which names the next arms in ``state.pick`` and
returns how many they are, 0 to stop and answer ``state.marks[LEADER]``, or the arms that `CHOSEN` marks. Two drivers call the
same rule. `run` yields a request a decision, and so works with anything that can be pulled. `kernels.rivals.advance` decides and
consumes rewards drawn beforehand, block by block: see `surest.lab.blocks`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surest.algorithms.entry import Entry
from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status, Words
from surest.core.question import Question
from surest.kernels import rivals, rules
from surest.kernels.constants import ASKED, CHOSEN, LEADER

SPARE = 8
"""A row of memory has at least so many places, for numbers that belong to no arm."""


class State(NamedTuple):
    """Everything such an algorithm knows, in arrays that it may change."""

    counts: IntArray
    sums: FloatArray
    squares: FloatArray
    active: BoolArray
    """Arms still in play, for those that drop some."""
    pick: IntArray
    """The arms to pull next: the first so many as `decide` returned."""
    fresh: FloatArray
    """The rewards of the arms last picked, in their order."""
    marks: IntArray
    memory: FloatArray
    """The algorithm's own: rows with a place an arm."""
    settings: FloatArray
    """Its constants; each rule names their places."""
    noise: Words
    """The state of a small random generator, for ties and coins."""

    def views(self) -> rules.Views:
        """The same as kernels take it."""
        return rules.Views(*self)


class Stepwise(NamedTuple):
    """A rule and where it starts."""

    rule: int
    state: State
    reason: str = "certified"
    certified: bool = True
    top: int = 0
    """How many arms it names, by the row `CHOSEN`; 0: the leader."""

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
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        active=np.ones(n, np.bool_),
        pick=np.zeros(n, np.int64),
        fresh=np.zeros(n),
        marks=np.zeros(4, np.int64),
        memory=np.zeros((rows, max(n, SPARE))),
        settings=np.array(settings, np.float64),
        noise=rng.integers(1, 2**63, 1, np.uint64),
    )


def named(question: Question) -> int:
    """How many arms an algorithm names, where it is asked for the best one or for several: see `Stepwise.top`."""
    return question.top if question.kind == "top" else 0


def run(stepwise: Stepwise) -> Procedure[Answer]:
    """The algorithm as a procedure: a request a decision."""
    state, views = stepwise.state, stepwise.state.views()
    while asked := rivals.decide(stepwise.rule, views):
        state.marks[ASKED] = asked
        state.fresh[:asked] = yield Pull(state.pick[:asked].copy(), 1, Statistic.REWARDS, lambda: stepwise.status)
        rules.absorb(views)
    return stepwise.answer


def pullwise(build: Callable[..., Stepwise], **facts: Any) -> Entry:
    """The entry of an algorithm that decides pull by pull; `build` takes a `Task` and the algorithm's own options."""
    return Entry(start=lambda task, **options: run(build(task, **options)), stepwise=build, **facts)
