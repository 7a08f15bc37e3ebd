"""The arms as a table: rows to compute with, and one way to print them."""

import io
import math
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

SHOWN = 6
"""Arms in the table of the leading ones."""
LONGEST = 40
"""Letters of a label in it."""
UNSEEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"
"""Marks that change the direction of text, and two that XML does not allow."""


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
            table.add_row(Text(shortened(row.label, LONGEST)), *shown, f"{row.pulls / total:.1%}")
        if len(self.rows) > most:
            table.add_row(Text(f"… {len(self.rows) - most:,} more", style="dim"))
        return table

    def __repr__(self) -> str:
        out = Console(file=io.StringIO(), width=100, highlight=False, color_system=None)
        out.print(self.to_rich())
        text: str = out.file.getvalue()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def count(number: float) -> str:
    """A number of pulls as a person reads it.

    >>> count(1234567), count(5.9e13)
    ('1,234,567', '5.90e+13')
    """
    return f"{number:,.0f}" if number < 1e9 else f"{number:.2e}"


def shortened(label: str, most: int) -> str:
    """A label that fits, cut in the middle: long labels often differ at the end.

    >>> shortened("configuration number 17", 15)
    'configu…mber 17'
    """
    if len(label) <= most:
        return label
    return f"{label[: most - most // 2 - 1]}…{label[-(most // 2) :]}"


def visible(text: str) -> str:
    """Text with a mark in place of what no page can show, or what would turn the text around it.

    >>> visible("a\\x1b[31m\\nb\\u202ec")
    'a\ufffd[31m\ufffdb\ufffdc'
    """
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in UNSEEN else c for c in text)


def shell_line(words: Iterable[str]) -> str:
    """A command to copy into a shell, on one line: what cannot be seen is written as bash and zsh write it.

    >>> print(shell_line(["surest", "it's", "a\\nb"]))
    surest 'it'"'"'s' $'a\\u000ab'
    """
    return " ".join(shlex.quote(word) if visible(word) == word else _dollar_quoted(word) for word in words)


def _dollar_quoted(word: str) -> str:
    def written(c: str) -> str:
        return f"\\{c}" if c in "\\'" else c if visible(c) == c else f"\\u{ord(c):04x}"

    return f"$'{''.join(map(written, word))}'"


def percent(part: float) -> str:
    """A confidence as a person reads it.

    >>> percent(0.95), percent(0.999), percent(1 - 1e-9)
    ('95 %', '99.9 %', '99.9999999 %')
    """
    return f"{100 * part:.12g} %"


def decimals(low: float, high: float) -> int:
    """How many places after the point tell ten thousandths of a range apart.

    >>> decimals(0, 1), decimals(0, 100), decimals(-1e6, 1e6)
    (4, 2, 0)
    """
    return min(max(4 - math.floor(math.log10(high - low)), 0), 12)


def _known(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
