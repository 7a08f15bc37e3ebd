"""How every race goes through a list: in one random order, unit after unit, the arms in play on the same items."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from surest.algorithms.options import Option
from surest.compiled import prefer_machine_code
from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure, Status
from surest.errors import UsageError
from surest.evidence.item_units import Units, in_random_order

TARGETS = ("items", "population")
PLAIN_CELLS = 2000
"""Cells that count before machine code is loaded: as plain Python they take about as long as loading it."""
PLAIN_STATUS = 40
"""After so many items a status is computed as machine code. As plain Python it would take too long for a live view."""
PLAIN_PAIRS = 1500
"""The same for so many pairs of arms, times items: how far apart arms can be takes most of the time."""
LIST_OPTIONS = {
    "group": Option("value", "the cluster of each item, for items that belong together"),
    "weights": Option("value", "the weight of each item in the mean; equal unless told"),
}


def ordered(
    items: int,
    rng: np.random.Generator,
    target: str,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> tuple[Units, bool]:
    """Draw the order of a list, and tell whether the claim is about the population that it is a sample of."""
    if target not in TARGETS:
        raise UsageError(f"target is {target!r}; it must be one of {', '.join(TARGETS)}")
    units, population = in_random_order(items, rng, group, weights), target == "population"
    if population and not np.allclose(units.weights, 1):
        raise UsageError("a claim on the population needs items (or clusters) of equal weight; ask for target='items'")
    return units, population


def evaluate_next(
    arms: IntArray, units: Units, t: int, spent: int, status: Callable[[], Status]
) -> Procedure[FloatArray]:
    """Evaluate arms on the unit after the first t: a value an arm."""
    reply = yield Cells(arms, units.of(t), units.items[units.starts[t + 1] :], status)
    if spent < PLAIN_CELLS <= spent + len(arms) * len(units.of(t)):
        prefer_machine_code()
    value: FloatArray = units.values(reply, t, t + 1)[0]
    return value


class Walker(Protocol):
    """Evidence that grows unit by unit."""

    @property
    def t(self) -> int:
        """How many units were counted."""

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit; none when all is decided."""

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`."""

    def status(self) -> Status:
        """All that can be said at this moment."""


def walk(arms: IntArray, units: Units, evidence: Walker, budget: int | None) -> Procedure[bool]:
    """Evaluate the arms in play unit by unit, until none is or the list ends. False if the budget does not suffice for that."""
    spent = 0

    def status() -> Status:
        if evidence.t >= PLAIN_STATUS:
            prefer_machine_code()
        return evidence.status()

    while evidence.t < len(units) and len(evidence.play):
        cost = len(evidence.play) * len(units.of(evidence.t))
        if budget is not None and spent + cost > budget:
            return False
        evidence.count((yield from evaluate_next(arms[evidence.play], units, evidence.t, spent, status)))
        spent += cost
    return True


def each_arm_answer(arms: IntArray, evidence: Walker, exact: bool, finished: bool) -> Answer:
    """The answer to a question about each arm: the arms with verdict 1, and whether all have one."""
    status = evidence.status()
    named = arms[list(status.chosen)].tolist()
    if len(evidence.play):
        return Answer(named, False, "all items seen" if finished else "budget spent", status)
    return Answer(named, True, "exact: nothing can change it" if exact else "certified", status)
