"""The part of a result that is about a list of items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from surest.core.protocol import FloatArray, IntArray

if TYPE_CHECKING:
    from surest.result.data import Result


class Gaps(NamedTuple):
    """What a table with missing scores says beyond the items that count."""

    missing: int
    """The number of missing scores."""
    out: tuple[int, ...]
    """The arms that cannot be right, whatever the missing scores are."""
    complete: "Result | None"
    """The exact answer on the items without a gap, if there are any."""


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of items, and the cells that were evaluated: arms on items, by position, with their values."""

    items: Sequence[Any]
    """The items, in the order of the list."""
    items_used: int
    """The number of items that have counted."""
    arms: IntArray
    places: IntArray
    values: FloatArray
    """Of each evaluated cell: the arm, the item and the value."""
    known: bool = False
    """Whether the table is complete."""
    needed: int | None = None
    """Of a complete table: the evaluations that a search would have needed; None if its budget would not have sufficed."""
    needed_cost: float | None = None
    """The cost of that search, if costs are known."""
    misled: bool = False
    """Whether that search would have ended with a wrong answer."""
    beside: "Result | None" = None
    """Of a table: the answer for the other target, these items or further ones."""
    gaps: Gaps | None = None
    """Of a table with gaps: what it says beyond the items that count."""

    def table(self, labels: tuple[Any, ...]) -> dict[Any, dict[Any, float]]:
        """The evaluated cells: ``{arm: {item: value}}``."""
        found: dict[Any, dict[Any, float]] = {label: {} for label in labels}
        for arm, place, value in zip(self.arms.tolist(), self.places.tolist(), self.values.tolist(), strict=True):
            found[labels[arm]][self.items[place]] = value
        return found
