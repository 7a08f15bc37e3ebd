"""The arms as a table: rows to compute with, and their plain text."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surest.core.costs import money
from surest.result.questions import NAMED, TOTALS, verdict_words
from surest.text import count, decimals, percent, shortened, visible

if TYPE_CHECKING:
    from surest.result.data import Result

SHOWN = 6  # arms in a printed table
SO_FAR = "mean so far"
"""The heading of means from rewards that decided when to stop: a winner's tends to be too high."""
LONGEST = 40  # characters of a label in a printed table


class ArmRow(NamedTuple):
    """One arm; NaN for what is not known."""

    label: Any
    pulls: int
    mean: float
    low: float
    """Confidence bounds of the mean: they hold at any time, for each arm by itself."""
    high: float


class ArmTable:
    """All arms in order: a sequence of `ArmRow` that prints as a table of the leading ones.

    >>> import surest
    >>> arms = {"a": {"successes": 40, "trials": 160}, "b": {"successes": 80, "trials": 160}}
    >>> table = surest.identify(arms).arms
    >>> table["a"].mean, table[1].pulls, len(table)
    (0.25, 160, 2)
    >>> table
    arm  mean so far  95 % interval    trials  share
    b         0.5000  0.3693 – 0.6307     160  50.0%
    a         0.2500  0.1474 – 0.3744     160  50.0%
    """

    def __init__(self, result: "Result") -> None:
        self.result = result
        unknown = np.full(len(result.labels), np.nan)
        columns = result.pulls_per_arm, result.means, *(result.intervals or (unknown, unknown))
        self.rows = tuple(map(ArmRow, result.labels, *(column.tolist() for column in columns)))
        left = None if result.certified or result.standing != "proven" else result.contender_indices
        self.contenders = left
        """The arms that may still be best, if known: the table marks them if there are several."""
        on_pulls = "duels" if result.duels is not None else "trials" if result.algorithm == TOTALS else "pulls"
        self.counted = on_pulls if result.listed is None else "items"
        """The heading of the number of evaluations."""

    @cached_property
    def decimals(self) -> int:
        """The decimal places that show the difference of a chosen arm from the nearest other mean."""
        means, chosen, closest = self.result.means, self.result.indices, np.inf
        if len(chosen) < NAMED:
            apart = np.abs(np.subtract.outer(means[list(chosen)], np.delete(means, chosen)))
            closest = float(apart[apart > 1e-9 * self.result.problem.scale.width].min(initial=np.inf))  # no NaN
        return decimals(*self.result.bounds, closest)

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
        sign, contending = 1 if self.result.minimise else -1, set(self.contenders or ())
        means = [math.inf if math.isnan(row.mean) else sign * row.mean for row in self.rows]
        first = set(self.result.indices)
        return sorted(range(len(self.rows)), key=lambda i: (i not in first, i not in contending, means[i]))[:most]

    def number(self, value: float) -> str:
        """A mean or a bound as text."""
        return "–" if math.isnan(value) else f"{value:,.{self.decimals}f}"

    def interval(self, low: float, high: float) -> str:
        """An interval as text."""
        return "–" if math.isnan(low) else f"{self.number(low)} – {self.number(high)}"

    def bounds(self, row: ArmRow) -> str:
        """The interval of an arm's mean as text; the mean of one whose scores are all known is exact."""
        return "exact" if row.low == row.high else self.interval(row.low, row.high)

    def cells(self, most: int = SHOWN, longest: int | None = LONGEST) -> tuple[list[str], list[list[str]]]:
        """The headings and the rows of the leading arms as text, labels cut to at most `longest` characters."""
        exact = all(row.low == row.high for row in self.rows)  # all scores are known
        total, places, result = max(sum(row.pulls for row in self.rows), 1), self.leading(most), self.result
        shown, spent = [self.rows[i] for i in places], result.cost_by_arm
        columns = {
            "arm": [str(row.label) if longest is None else shortened(visible(row.label), longest) for row in shown],
            "mean" if exact else SO_FAR: [self.number(row.mean) for row in shown],
        }
        if not exact and any(not math.isnan(row.low) for row in self.rows):
            columns[f"{percent(1 - result.delta)} interval"] = [self.bounds(row) for row in shown]
        columns[self.counted] = [count(row.pulls) for row in shown]
        if not exact:
            columns["share"] = [f"{row.pulls / total:.1%}" for row in shown]
        if spent is not None:
            columns["spent"] = [money(float(spent[i]), result.problem.cost_unit) for i in places]
        if result.verdicts is not None:
            words = verdict_words(result.problem, result.verdicts)
            columns["verdict"] = [words[i] for i in places]
        elif len(left := set(self.contenders or ())) > 1:
            columns[""] = ["contender" if i in left else "" for i in places]
        return [*columns], [[*row] for row in zip(*columns.values(), strict=True)]

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
    """Rows of cells as lines of text in columns, two spaces apart; columns whose head is in `right` end together."""
    columns = [
        [cell.rjust(width) if column[0] in right else cell.ljust(width) for cell in column]
        for column in zip(*rows, strict=True)
        for width in [max(map(len, column))]
    ]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
