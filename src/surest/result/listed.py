"""What a result on a list of items has beside any other result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surest.core.protocol import FloatArray, IntArray


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

    def table(self, labels: tuple[Any, ...]) -> dict[Any, dict[Any, float]]:
        """The evaluated cells: ``{arm: {item: value}}``."""
        found: dict[Any, dict[Any, float]] = {label: {} for label in labels}
        for arm, place, value in zip(self.arms.tolist(), self.places.tolist(), self.values.tolist(), strict=True):
            found[labels[arm]][self.items[place]] = value
        return found
