"""The arms as a table: rows to compute with, and their plain text."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from surest.text import count, percent, shortened, visible

SHOWN = 6
"""Arms in a printed table."""
SO_FAR = "mean so far"
"""The heading of means from rewards that decided when to stop: a winner's tends to be too high."""
LONGEST = 40
"""Characters of a label in a printed table."""


class ArmRow(NamedTuple):
    """One arm; NaN for what is not known."""

    label: Any
    pulls: int
    mean: float
    low: float
    """Confidence bounds of the mean: they hold at any time, for each arm by itself."""
    high: float


@dataclass(frozen=True, repr=False)
class ArmTable:
    """All arms in order: a sequence of `ArmRow` that prints as a table of the leading ones.

    >>> table = ArmTable((ArmRow("a", 90, 0.25, 0.2, 0.3), ArmRow("b", 110, 0.5, 0.4, 0.6)), chosen=(1,))
    >>> table["a"].mean, table[1].pulls, len(table)
    (0.25, 110, 2)
    >>> table
    arm  mean so far  95 % interval    pulls  share
    b         0.5000  0.4000 – 0.6000    110  55.0%
    a         0.2500  0.2000 – 0.3000     90  45.0%
    """

    rows: tuple[ArmRow, ...]
    chosen: tuple[int, ...]
    """The arms that answer the question, or that would so far."""
    delta: float = 0.05
    decimals: int = 4
    smallest: bool = False
    """Whether small means are good."""
    counted: str = "pulls"
    """The heading of the number of evaluations: pulls, items, trials or duels."""
    contenders: tuple[int, ...] | None = None
    """The arms that may still be best, if known: the table marks them if there are several."""
    verdicts: tuple[str, ...] | None = None
    """The verdict on each arm, in a word, if the question is about each arm."""
    bar: float | None = None
    """The bar, if the question has one."""
    costs: tuple[str, ...] | None = None
    """What was spent on each arm, if costs are known."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ArmRow]:
        return iter(self.rows)

    def __getitem__(self, arm: Any) -> ArmRow:
        """A row by its position, or by its label."""
        found = next((row for row in self.rows if row.label == arm and type(row.label) is type(arm)), None)
        if found is not None:
            return found
        if isinstance(arm, int):
            return self.rows[arm]
        raise KeyError(arm)

    def leading(self, most: int) -> list[int]:
        """The positions of the chosen arms, of the contenders and of the arms with the best means, at most `most` in all."""
        sign, contending = 1 if self.smallest else -1, set(self.contenders or ())
        means = [math.inf if math.isnan(row.mean) else sign * row.mean for row in self.rows]
        first = set(self.chosen)
        return sorted(range(len(self.rows)), key=lambda i: (i not in first, i not in contending, means[i]))[:most]

    def number(self, value: float) -> str:
        """A mean or a bound as text."""
        return "–" if math.isnan(value) else f"{value:,.{self.decimals}f}"

    def interval(self, low: float, high: float) -> str:
        """An interval as text."""
        return "–" if math.isnan(low) else f"{self.number(low)} – {self.number(high)}"

    def cells(self, most: int = SHOWN, longest: int | None = LONGEST) -> tuple[list[str], list[list[str]]]:
        """The headings and the rows of the leading arms as text, labels cut to at most `longest` characters."""
        exact = all(row.low == row.high for row in self.rows)  # all scores are known
        total, notes = max(sum(row.pulls for row in self.rows), 1), self._notes()
        places = self.leading(most)
        shown = [self.rows[i] for i in places]
        columns = {
            "arm": [str(row.label) if longest is None else shortened(visible(row.label), longest) for row in shown],
            "mean" if exact else SO_FAR: [self.number(row.mean) for row in shown],
        }
        if not exact and any(not math.isnan(row.low) for row in self.rows):
            columns[f"{percent(1 - self.delta)} interval"] = [self.interval(row.low, row.high) for row in shown]
        columns[self.counted] = [count(row.pulls) for row in shown]
        if not exact:
            columns["share"] = [f"{row.pulls / total:.1%}" for row in shown]
        if self.costs is not None:
            columns["spent"] = [self.costs[i] for i in places]
        if notes is not None:
            columns["" if self.verdicts is None else "verdict"] = [notes[i] for i in places]
        return [*columns], [[*row] for row in zip(*columns.values(), strict=True)]

    def _notes(self) -> Sequence[str] | None:
        """The last column: each arm's verdict, or whether it is a contender."""
        if self.verdicts is not None:
            return self.verdicts
        if self.contenders is None or len(self.contenders) < 2:
            return None
        left = set(self.contenders)
        return ["contender" if i in left else "" for i in range(len(self.rows))]

    def __rich__(self) -> Any:
        """The same as plain text for rich, which would take a label for markup."""
        return import_module("rich.text").Text(repr(self))

    def __repr__(self) -> str:
        heads, rows = self.cells()
        lines = aligned([heads, *rows], right={"mean", SO_FAR, self.counted, "share", "spent"})
        if len(self.rows) > len(rows):
            lines.append(f"… {len(self.rows) - len(rows):,} more")
        return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]], right: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """Rows of cells as lines of text in columns, two spaces apart; columns whose head is in `right` end together.

    >>> print("\\n".join(aligned([["arm", "pulls"], ["a", "7"], ["long", "1,000"]], right={"pulls"})))
    arm   pulls
    a         7
    long  1,000
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_right = [head in right for head in rows[0]]
    return [
        "  ".join(
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, to_right, strict=True)
        ).rstrip()
        for row in rows
    ]
