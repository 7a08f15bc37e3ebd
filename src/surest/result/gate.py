"""What a gate found out, as data and in words."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from surest.text import count, decimals, in_markdown

if TYPE_CHECKING:
    from os import PathLike

Verdict = Literal["pass", "fail", "undecided"]
NEXT = 10
"""Cells to evaluate next that are listed, where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Whether a candidate is worse than a baseline by more than a margin. Made by `surest.gate`."""

    verdict: Verdict
    """`pass`: not worse by more than the margin. `fail`: worse. `undecided`: neither is known yet."""
    exact: bool
    """Whether the verdict is certain: no bet was needed. Otherwise it is wrong with probability at most `delta`."""
    difference: float
    """The candidate's mean less the baseline's on the items that count, in the user's units; NaN before the first item."""
    interval: tuple[float, float]
    """Where the difference on all items lies. Each end holds at all times with probability at least 1 − `delta`."""
    means: tuple[float, float]
    """Those of the baseline and the candidate on the items that count."""
    names: tuple[str, str]
    margin: float
    delta: float
    minimise: bool
    target: str
    items: int | None
    """How many items are on the list; None for a population."""
    items_counted: int
    """How many have counted: those at the beginning of the order that have both values."""
    decided_after: int | None
    """After how many items, in that order, the verdict was certified by bets; None if that was not needed, or did not happen."""
    seed: str | None
    """What the order was drawn from; None where the order was given."""
    wanted: tuple[tuple[str, Hashable], ...]
    """The next cells to evaluate, as pairs of a name and an item."""
    notes: tuple[str, ...]
    """What else is worth knowing, such as items that only one side has."""
    bounds: tuple[float, float]
    scores: tuple[tuple[str, float, float], ...] = field(default=(), repr=False, compare=False)
    """Every item of the list with the value of the baseline and of the candidate, in the order in which items count; NaN for
    gaps."""
    events: tuple[tuple[str, int, str], ...] = field(default=(), repr=False, compare=False)
    """What happened to evaluations on items that have both values, such as imputed or retried; 0 for the baseline, 1 for the
    candidate; the item."""

    @property
    def passed(self) -> bool:
        """Whether the candidate is certified not to be worse by more than the margin."""
        return self.verdict == "pass"

    @property
    def failed(self) -> bool:
        """Whether the candidate is certified to be worse."""
        return self.verdict == "fail"

    def __bool__(self) -> bool:
        # An object is true, so `assert gate(…)` would never fail.
        raise TypeError("a gate has three outcomes; ask for .passed or .failed")

    def __str__(self) -> str:
        return line(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        return {
            "verdict": self.verdict,
            "exact": self.exact,
            "difference": self.difference,
            "interval": list(self.interval),
            "baseline": self.names[0],
            "candidate": self.names[1],
            "means": list(self.means),
            "margin": self.margin,
            "delta": self.delta,
            "bounds": list(self.bounds),
            "minimise": self.minimise,
            "target": self.target,
            "items": self.items,
            "items_counted": self.items_counted,
            "decided_after": self.decided_after,
            "seed": self.seed,
            "next": [list(cell) for cell in self.wanted[:NEXT]],
            "notes": list(self.notes),
            "text": line(self),
        }

    def write_decision(self, path: "str | PathLike[str]") -> str:
        """Write the verdict with all that it rests on, for ``surest-verify``; returns the hash by which it is known."""
        chain = import_module("surest.decision.gate").decision_of_gate(self)
        chain.write(path)
        known: str = chain.known_by
        return known

    def to_markdown(self) -> str:
        """A summary for a pull request or a build's page."""
        return markdown(self)


def line(gate: Gate) -> str:
    """The verdict and what it rests on, on one line of a log."""
    return f"{gate.verdict.upper()}: {claim(gate)}: {measured(gate)}."


def claim(gate: Gate) -> str:
    """What is certified, or what is not known yet."""
    baseline, candidate = gate.names
    by = f" by more than {gate.margin:g}" if gate.margin > 0 else ""
    if gate.verdict == "undecided":
        return f"not known yet whether {candidate} is worse than {baseline}{by} {_where(gate)}"
    if gate.verdict == "pass":
        return f"{candidate} is not worse than {baseline}{by} {_where(gate)}"
    return f"{candidate} is worse than {baseline}{by if gate.exact else ''} {_where(gate)}"


def _where(gate: Gate) -> str:
    if gate.items is None:
        return "in the population that the items are drawn from"
    return f"on the {count(gate.items)} items of the list" if gate.items != 1 else "on the only item of the list"


def measured(gate: Gate) -> str:
    """The difference, how many items it comes from, and how sure the verdict is."""
    if gate.items_counted == 0:
        return "no item has counted yet"
    if gate.items_counted == gate.items:
        return f"difference {_signed(gate, gate.difference)}, all items seen"
    sure = ", certain" if gate.exact else ""
    if not gate.exact and gate.verdict != "undecided":
        sure = f", wrong with probability at most {gate.delta:g}"
    return f"difference {_signed(gate, gate.difference)} ({_range(gate)}) after {_counted(gate)} items{sure}"


def _counted(gate: Gate) -> str:
    of = f" of {count(gate.items)}" if gate.items is not None else ""
    return count(gate.items_counted) + of


def _signed(gate: Gate, value: float) -> str:
    places = decimals(*gate.bounds)
    return f"{round(value, places) + 0.0:+.{places}f}"  # never -0.0000


def _range(gate: Gate) -> str:
    step = 10.0 ** -decimals(*gate.bounds)  # rounded outwards: rounded inwards it would claim too much
    low, high = gate.interval
    return f"{_signed(gate, math.floor(low / step + 1e-9) * step)} to {_signed(gate, math.ceil(high / step - 1e-9) * step)}"


def markdown(gate: Gate) -> str:
    """A short section in Markdown."""
    places = decimals(*gate.bounds)
    rows = [
        ("baseline", gate.names[0], f"{gate.means[0]:.{places}f}"),
        ("candidate", gate.names[1], f"{gate.means[1]:.{places}f}"),
        ("difference", "candidate − baseline", _signed(gate, gate.difference)),
        ("interval", f"each end wrong with probability at most {gate.delta:g}", _range(gate)),
        ("margin", "how much worse is allowed", f"{gate.margin:g}"),
        ("items", "that count so far", _counted(gate)),
    ]
    if gate.items_counted == 0:
        rows = rows[4:]
    elif gate.items_counted == gate.items:
        del rows[3]
    if gate.decided_after is not None and gate.decided_after < gate.items_counted:
        rows.append(("items needed", "by the same rule, in a random order", count(gate.decided_after)))
    table = "\n".join(f"| {head} | {in_markdown(what)} | {value} |" for head, what, value in rows)
    notes = "".join(f"\n- {in_markdown(note)}" for note in gate.notes)
    head = f"**{gate.verdict.upper()}**: {in_markdown(claim(gate))}."
    return f"{head}\n\n| | | |\n|---|---|---:|\n{table}\n" + (f"{notes}\n" if notes else "")
