"""A result on a terminal: the words of `surest.result`, with emphasis and columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from surest.result.data import Result
from surest.result.table import SHOWN, ArmTable
from surest.result.words import arm_name, verdict
from surest.text import count, visible


def emphasised(result: Result) -> Text:
    """The verdict: the arm in bold, a missing guarantee in yellow."""
    text, name = Text(verdict(result)), arm_name(result)
    start = text.plain.find(name)
    if start < 0:  # nothing was pulled
        start = len(text)
    text.stylize("bold", start, start + len(name))
    if not result.certified:
        text.stylize("yellow", 0, start)
    return text


def arm_table(arms: ArmTable, most: int = SHOWN) -> Table:
    """The leading arms in columns."""
    heads, rows = arms.cells(most)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in ("mean", arms.counted, "share") else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    if len(arms) > len(rows):
        table.add_row(Text(f"… {len(arms) - len(rows):,} more", style="dim"))
    return table


def next_table(suggestions: Sequence[Mapping[str, Any]], arms: int) -> Table:
    """Which arms to evaluate next, and how often; `arms` are there in all."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run next")
    table.add_column("times", justify="right")
    for suggestion in suggestions:
        table.add_row(Text(visible(str(suggestion["arm"]))), count(suggestion["times"]))
    if arms > len(suggestions):
        table.add_row(Text(f"… {arms - len(suggestions):,} more", style="dim"))
    return table
