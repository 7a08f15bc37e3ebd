"""What a result on a list of items has beside any other result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from surest.core.protocol import FloatArray, IntArray

if TYPE_CHECKING:
    from surest.result.data import Result


class Gaps(NamedTuple):
    """What is known of a table in which scores are missing, beside the items that count."""

    missing: int
    """How many scores are missing."""
    out: tuple[int, ...]
    """The arms that cannot be right whatever these are."""
    complete: "Result | None"
    """The exact answer on the items of which every score is there, where there are any. They are another list."""


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of items, and the cells that were evaluated: arms on items, by position, with their values."""

    items: Sequence[Any]
    """What the items are called, in the order of the list."""
    items_used: int
    """How many of them have counted."""
    arms: IntArray
    places: IntArray
    values: FloatArray
    """Of the evaluated cells: the arm, the item and the value."""
    differences: tuple[FloatArray, FloatArray] | None = None
    """Bounds of each arm's mean less the chosen arm's, for all pairs of arms at once, at confidence 1 − δ."""
    known: bool = False
    """Whether it is a complete table: all means are of all items."""
    needed: int | None = None
    """Of a complete table: after how many evaluations a search would have ended; None if its budget had not sufficed."""
    needed_cost: float | None = None
    """What that search would have cost, where costs are known."""
    misled: bool = False
    """Whether that search would have ended with a wrong answer."""
    beside: "Result | None" = None
    """Of a table: the answer to the other of both targets, these items or what they are a sample of."""
    gaps: Gaps | None = None
    """Of a table with gaps: what is known of it."""

    def table(self, labels: tuple[Any, ...]) -> dict[Any, dict[Any, float]]:
        """The evaluated cells: ``{arm: {item: value}}``."""
        found: dict[Any, dict[Any, float]] = {label: {} for label in labels}
        for arm, place, value in zip(self.arms.tolist(), self.places.tolist(), self.values.tolist(), strict=True):
            found[labels[arm]][self.items[place]] = value
        return found
