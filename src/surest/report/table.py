"""The arms as a table: rows to compute with, and one way to print them."""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from surest.text import count, decimals, percent, shell_line, shortened, visible

__all__ = ["SHOWN", "ArmRow", "ArmTable", "count", "decimals", "percent", "shell_line", "shortened", "visible"]

SHOWN = 6
"""Arms in the table of the leading ones."""
LONGEST = 40
"""Letters of a label in it."""


class ArmRow(NamedTuple):
    """What is known of one arm. NaN stands for what is not known."""

    label: str
    pulls: int
    mean: float
    low: float
    """The confidence bounds of the mean hold for this arm at any time, not for all arms at once."""
    high: float


@dataclass(frozen=True, repr=False)
class ArmTable:
    """All arms in their order: a sequence of `ArmRow` that prints as a table of the leading ones.

    >>> table = ArmTable((ArmRow("a", 90, 0.25, 0.2, 0.3), ArmRow("b", 110, 0.5, 0.4, 0.6)), leader=1)
    >>> table["a"].mean, table[1].pulls, len(table)
    (0.25, 110, 2)
    >>> table
    arm    mean  95 % interval    pulls  share
    b    0.5000  0.4000 – 0.6000    110  55.0%
    a    0.2500  0.2000 – 0.3000     90  45.0%
    """

    rows: tuple[ArmRow, ...]
    leader: int
    delta: float = 0.05
    decimals: int = 4
    smallest: bool = False
    """Whether small means lead: times, costs."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ArmRow]:
        return iter(self.rows)

    def __getitem__(self, arm: int | str) -> ArmRow:
        """A row by its position, or by its label."""
        if isinstance(arm, str):
            found = next((row for row in self.rows if row.label == arm), None)
            if found is None:
                raise KeyError(arm)
            return found
        return self.rows[arm]

    def leading(self, most: int) -> list[int]:
        """The positions of the leader and of the arms with the best means, so many in all."""
        sign = 1 if self.smallest else -1
        by_mean = sorted(range(len(self.rows)), key=lambda i: _known(sign * self.rows[i].mean, math.inf))
        return [self.leader, *(i for i in by_mean if i != self.leader)][:most]

    def number(self, value: float) -> str:
        """A mean or a bound, as it is printed."""
        return "–" if math.isnan(value) else f"{value:.{self.decimals}f}"

    def __rich__(self) -> Table:
        return self.to_rich()

    def to_rich(self, most: int = SHOWN) -> Table:
        """The leading arms, for a terminal."""
        bounded = any(not math.isnan(row.low) for row in self.rows)
        total = max(sum(row.pulls for row in self.rows), 1)
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("arm", overflow="ellipsis", no_wrap=True, max_width=LONGEST)
        table.add_column("mean", justify="right", no_wrap=True)
        if bounded:
            table.add_column(f"{percent(1 - self.delta)} interval", no_wrap=True)
        table.add_column("pulls", justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
        for i in self.leading(most):
            row = self.rows[i]
            interval = "–" if math.isnan(row.low) else f"{self.number(row.low)} – {self.number(row.high)}"
            shown = [self.number(row.mean), *([interval] if bounded else []), count(row.pulls)]
            table.add_row(Text(visible(shortened(row.label, LONGEST))), *shown, f"{row.pulls / total:.1%}")
        if len(self.rows) > most:
            table.add_row(Text(f"… {len(self.rows) - most:,} more", style="dim"))
        return table

    def __repr__(self) -> str:
        out = Console(file=io.StringIO(), width=100, highlight=False, markup=False, emoji=False, color_system=None)
        out.print(self.to_rich())
        text: str = out.file.getvalue()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def _known(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
