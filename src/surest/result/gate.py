"""The result of a gate, as data and in words."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from surest.text import count, counted, decimals, in_markdown, percent

if TYPE_CHECKING:
    from os import PathLike

Verdict = Literal["pass", "fail", "undecided"]
NEXT = 10  # cells to evaluate next in JSON
SAME = (
    "verdict", "exact", "difference", "interval", "means", "margin", "equivalent", "delta", "level", "bounds", "minimise",
    "target", "items", "items_counted", "decided_after", "seed", "notes",
)  # fmt: skip
"""What JSON has as it is."""


class Flips(NamedTuple):
    """The items on which the candidate differs from the baseline, if scores are right or wrong."""

    lost: tuple[str, ...]
    """Right with the baseline, wrong with the candidate."""
    gained: tuple[str, ...]
    """Wrong with the baseline, right with the candidate."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Whether a candidate is worse than a baseline by more than a margin. Made by `surest.gate`."""

    verdict: Verdict
    """`pass`: not worse by more than the margin (`equivalent`: the same, up to it). `fail`: worse (different). `undecided`:
    neither is known yet."""
    exact: bool
    """Whether the verdict is certain: no bet was needed. Otherwise it is wrong with probability at most `delta`."""
    difference: float
    """The candidate's mean minus the baseline's on the items that count, in the user's units; NaN before the first item.
    If other known items make it impossible, the nearest possible value."""
    interval: tuple[float, float]
    """Bounds of the difference on all items, and so far. Each holds at all times with probability at least 1 − `delta`, both
    together with at least 1 − 2·`delta`."""
    means: tuple[float, float]
    """The means of the baseline and the candidate on the items that count."""
    names: tuple[str, str]
    margin: float
    delta: float
    minimise: bool
    target: str
    items: int | None
    """The number of items on the list; None for a population."""
    items_counted: int
    """The number of items that count: those at the beginning of the order with both values."""
    decided_after: int | None
    """The items, in that order, after which bets certified the verdict; None if they did not, or were not needed."""
    seed: str | None
    """The seed of the order; None if the order was given."""
    wanted: tuple[tuple[str, Hashable], ...]
    """The next cells to evaluate, as pairs of a name and an item."""
    notes: tuple[str, ...]
    """Further remarks, such as items that only one side has."""
    bounds: tuple[float, float]
    equivalent: bool = False
    """Whether the question is if both are the same within ±`margin`."""
    level: float | None = None
    """The error level at which it passes, if a ledger sets it; default `delta`."""
    share: float = field(default=1.0, repr=False)
    """The part of the evidence without predictions."""
    features: tuple[tuple[float, ...], ...] = field(default=(), repr=False, compare=False)
    """The scores of older versions on each item, in the order in which items count, if they served for predictions."""
    scores: tuple[tuple[str, float, float], ...] = field(default=(), repr=False, compare=False)
    """Every item with the values of the baseline and the candidate, in the order in which items count; NaN for gaps."""
    places: tuple[int, ...] = field(default=(), repr=False, compare=False)
    """The position of each of them on the list, from 0; empty if the list is in that order."""
    events: tuple[tuple[str, int, str], ...] = field(default=(), repr=False, compare=False)
    """What happened to evaluations of items with both values, such as "imputed" or "retried"; 0 for the baseline or 1 for the
    candidate; the item."""
    needed: int | None = None
    """Of a complete list: the items after which bets would have decided …"""
    needed_verdict: Verdict | None = None
    """… and their verdict."""
    population: "Gate | None" = field(default=None, repr=False)
    """Of a complete list: the verdict for further items like these."""
    known_flips: tuple[int, int] | None = None
    """The numbers of `flips` as read from JSON, which has no scores."""

    @property
    def passed(self) -> bool:
        """Whether the candidate is certified not to be worse by more than the margin."""
        return self.verdict == "pass"

    @property
    def failed(self) -> bool:
        """Whether the candidate is certified to be worse."""
        return self.verdict == "fail"

    @property
    def flips(self) -> Flips | None:
        """The items that went from right to wrong and from wrong to right, of those that count; None if scores have more than
        two values.

        >>> import surest
        >>> surest.gate({"a": 1, "b": 0, "c": 1}, {"a": 0, "b": 1, "c": 1}).flips
        Flips(lost=('a',), gained=('b',))
        """
        right = self.bounds[0] if self.minimise else self.bounds[1]
        both = [row for row in self.scores if row[1] == row[1] and row[2] == row[2]]
        rows = self.scores[: self.items_counted]
        if not rows or not {value for row in both for value in row[1:]} <= {*self.bounds}:
            return None
        apart = [row for row in rows if row[1] != row[2]]
        lost = tuple(item for item, before, _ in apart if before == right)
        return Flips(lost, tuple(item for item, before, _ in apart if before != right))

    @property
    def flipped(self) -> tuple[int, int] | None:
        """How many items went from right to wrong, and how many from wrong to right, if that is known."""
        return self.known_flips if self.flips is None else (len(self.flips.lost), len(self.flips.gained))

    def __bool__(self) -> bool:
        # An object is true, so `assert gate(…)` would never fail.
        raise TypeError("a gate has three outcomes; ask for .passed or .failed")

    def __str__(self) -> str:
        return "\n".join([line(self), *beside(self)])

    def to_dict(self) -> dict[str, Any]:
        """The gate as plain data, for JSON."""
        data: dict[str, Any] = {
            name: [*value] if isinstance(value, tuple) else value for name in SAME for value in [getattr(self, name)]
        }
        data |= {
            "baseline": self.names[0],
            "candidate": self.names[1],
            "next": [list(cell) for cell in self.wanted[:NEXT]],
            "flips": self.flipped and dict(zip(Flips._fields, self.flipped, strict=True)),
            "text": line(self),
        }
        other = self.population
        if other is not None:  # of a complete list
            told = {"verdict": other.verdict, "interval": [*other.interval], "text": beside(self)[0]}
            data |= {"needed": self.needed, "needed_verdict": self.needed_verdict, "population": told}
        return data

    def write_decision(self, path: "str | PathLike[str]") -> str:
        """Write the verdict and all its evidence to a file for ``surest-verify``, and return the hash of the decision."""
        return str(import_module("surest.decision.two").decision_of_gate(self).write(path))

    def _repr_html_(self) -> str:
        """The verdict and its facts for a notebook."""
        return str(import_module("surest.report.notebook").gate_fragment(self))

    def to_markdown(self) -> str:
        """A summary for a pull request or a build's page."""
        table = "\n".join(f"| {name} | {in_markdown(what)} | {value} |" for name, what, value in facts(self))
        notes = "".join(f"\n- {in_markdown(note)}" for note in (*beside(self), *self.notes))
        head = f"**{self.verdict.upper()}**: {in_markdown(claim(self))}."
        return f"{head}\n\n| | | |\n|---|---|---:|\n{table}\n" + (f"{notes}\n" if notes else "")


def gate_in(raw: Mapping[str, Any]) -> Gate:
    """The gate that JSON holds, without its scores; ValueError, or one of msgspec's, if it holds none."""
    if raw.get("question") == "speed":
        raise ValueError("a gate for speed has its page from --markdown FILE")
    given = {**raw, "names": (raw.get("baseline"), raw.get("candidate")), "wanted": raw.get("next"), "population": None}
    if raw.get("items_counted") == 0:  # JSON has no NaN
        given |= {"difference": math.nan, "means": (math.nan, math.nan)}
    if raw.get("flips") is not None:
        given["known_flips"] = [*map(msgspec.convert(raw["flips"], dict[str, int]).get, Flips._fields)]
    found, other = msgspec.convert(given, Gate), raw.get("population")
    width = (found.bounds[1] - found.bounds[0]) * (1 + 1e-6)
    if not 0 < width < math.inf or any(abs(apart) > width for apart in (*found.interval, found.difference)):
        raise ValueError("its differences do not fit its bounds")
    if other is None:
        return found
    about = {"items": None, "target": "population", "exact": False, "level": None, "population": None}
    return replace(found, population=gate_in({**raw, **msgspec.convert(other, dict[str, Any]), **about}))


def line(gate: Gate) -> str:
    """The verdict and its numbers in one line, for a log."""
    lost, gained = gate.flipped or (0, 0)
    flipped = "" if gate.flipped is None else f" {counted(lost, 'item')} right → wrong, {count(gained)} wrong → right."
    return f"{gate.verdict.upper()}: {claim(gate)}. {_measured(gate)}.{flipped}"


def claim(gate: Gate, where: str | None = None) -> str:
    """What is certified and how surely, or what is not known yet; `where` replaces what it is about."""
    baseline, candidate = gate.names
    if where is None:
        only = "the only item" if gate.items == 1 else f"the {count(gate.items or 0)} items"
        where = " on further items like these" if gate.items is None else f" on {only} of the list"
    by = f" by more than {gate.margin:g}" if gate.margin > 0 else ""
    worse, sure_by = f"is worse than {baseline}", by if gate.exact else ""
    passed, failed, open_ = f"is not worse than {baseline}{by}", worse + sure_by, worse + by
    if gate.equivalent:
        passed = open_ = f"is the same as {baseline} within ±{gate.margin:g}"
        failed = f"differs from {baseline}{sure_by}"
    if gate.verdict == "undecided":
        least = "" if gate.level is None else f"; a pass is wrong with probability at most {gate.level:.4g}"
        return f"not known yet whether {candidate} {open_}{where}{least}"
    level = gate.level if gate.passed and gate.level is not None else gate.delta
    sure = "certain" if gate.exact else f"wrong with probability at most {level:.4g}"
    return f"{candidate} {passed if gate.passed else failed}{where}, {sure}"


def beside(gate: Gate) -> list[str]:
    """The lines after that of a complete list: what holds for further items, and what a search would have needed."""
    if gate.population is None:
        return []
    low, high = _ends(gate.population)
    bounds = f"The difference there is at least {low} and at most {high} ({percent(1 - gate.delta)} each)."
    lines = [f"On further items like these {claim(gate.population, where='')}. {bounds}"]
    if gate.needed is None:
        return lines
    after = f"{count(gate.needed)} of these {count(gate.items_counted)} items"
    worse = gate.difference > 0 if gate.minimise else gate.difference < 0
    if gate.needed_verdict == gate.verdict:
        return [*lines, f"surest would have needed {after}."]
    if gate.needed_verdict == "fail" and (worse or gate.equivalent):
        how = "differs" if gate.equivalent else "is worse"
        both = f"Of a candidate that {how} by no more than the margin both verdicts are right."
        return [*lines, f"surest would have said FAIL after {after}. {both}"]
    often = f"which happens with probability at most {gate.delta:g}"
    return [*lines, f"surest would have ended after {after} with a wrong verdict, {often}."]


def _measured(gate: Gate) -> str:
    """The difference, how sure its bounds are, and how many items it comes from."""
    if gate.items_counted == 0:
        return "No item has counted yet"
    if gate.items_counted == gate.items:
        return f"Difference {_signed(gate, gate.difference)}, all items seen"
    (low, high), on = _ends(gate), "further" if gate.items is None else "all"
    bounds = f"at least {low} and at most {high} on {on} items ({percent(1 - gate.delta)} each)"
    return f"Difference {_signed(gate, gate.difference)} so far, after {_counted(gate)} items; {bounds}"


def _counted(gate: Gate) -> str:
    return count(gate.items_counted) + ("" if gate.items is None else f" of {count(gate.items)}")


def _signed(gate: Gate, value: float) -> str:
    places = decimals(*gate.bounds)
    return f"{round(value, places) + 0.0:+.{places}f}"  # never -0.0000


def _ends(gate: Gate) -> tuple[str, str]:
    step = 10.0 ** -decimals(*gate.bounds)  # rounded outwards: rounded inwards it would claim too much
    low, high = gate.interval
    return _signed(gate, math.floor(low / step + 1e-9) * step), _signed(gate, math.ceil(high / step - 1e-9) * step)


def facts(gate: Gate) -> list[tuple[str, str, str]]:
    """The numbers behind a verdict: a name, what it is, and its value."""
    places, seen, rows = decimals(*gate.bounds), gate.items_counted, list[tuple[str, str, str]]()
    if seen:
        roles = zip(("baseline", "candidate"), gate.names, gate.means, strict=True)
        rows = [(role, name, f"{mean:.{places}f}") for role, name, mean in roles]
        so_far = "" if seen == gate.items else ", so far"
        rows.append(("difference", f"candidate − baseline{so_far}", _signed(gate, gate.difference)))
    if 0 < seen != gate.items:
        rows.append(("interval", f"each end wrong with probability at most {gate.delta:g}", " to ".join(_ends(gate))))
    same, worse = ("within", "what counts as the same", "±"), ("margin", "how much worse is allowed", "")
    name, what, sign = same if gate.equivalent else worse
    rows += [(name, what, f"{sign}{gate.margin:g}"), ("items", "that count so far", _counted(gate))]
    if gate.population is None and gate.decided_after is not None and gate.decided_after < seen:
        rows.append(("items needed", "by the same rule, in a random order", count(gate.decided_after)))
    if gate.flipped is not None:
        rows.append(("flips", "right → wrong, wrong → right", " and ".join(map(count, gate.flipped))))
    return rows
