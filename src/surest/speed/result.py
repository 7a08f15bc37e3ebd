"""What was found of the times of commands: data, its words, and the tables and documents made from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from surest.result.table import aligned
from surest.speed.evidence import PILOT, Comparisons, fewest_blocks
from surest.text import percent, shortened, visible

OFTEN_CLIPPED = 0.05  # the part of a command's runs beyond the range from which on it is said
SHORTEST = 16  # letters of a name in the table, at least, however narrow it is to be
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


@dataclass(frozen=True)
class TimesAnswer:
    """How a comparison ended: the command named, whether it is certified, why it stopped, and all that was counted."""

    arm: int
    certified: bool
    reason: str
    pairs: Comparisons

    def verdict(self, j: int) -> str:
        """What is known of a command: fastest (or leader), equal within the tolerance, slower than the one named, or open."""
        if j == self.arm:
            return "fastest" if self.certified else "leader"
        if self.pairs.faster[self.arm, j]:
            return "slower"
        if self.pairs.faster[:, j].any():
            return "out"
        return "equal" if self.pairs.settled[self.arm, j] else "open"


@dataclass(frozen=True)
class Timed:
    """One command: its times in seconds, and how its runs ended. Runs that do not count, those of the pilot, are apart."""

    label: str
    command: str
    times: tuple[float, ...]
    uncounted: tuple[float, ...]
    wall: float  # mean time of a run on the clock
    user: float  # mean processor time of a run, its own and the system's
    system: float
    exit_codes: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The plain mean of the times that count."""
        return float(np.mean(self.times)) if self.times else math.nan

    @property
    def stddev(self) -> float:
        """Their sample standard deviation."""
        return float(np.std(self.times, ddof=1)) if len(self.times) > 1 else math.nan

    @property
    def range(self) -> tuple[float, float]:
        """The shortest and the longest."""
        return (min(self.times), max(self.times)) if self.times else (math.nan, math.nan)

    def to_dict(self) -> dict[str, Any]:
        """The fields of hyperfine's export."""
        low, high = self.range
        return {
            "command": self.label,
            "mean": self.mean,
            "stddev": self.stddev,
            "median": float(np.median(self.times)) if self.times else math.nan,
            "user": self.user,
            "system": self.system,
            "min": low,
            "max": high,
            "times": list(self.times),
            "exit_codes": list(self.exit_codes),
        }


@dataclass(frozen=True)
class Timings:
    """Which command is the fastest, by how much, and how sure that is.

    `ratio(j)` has a lower bound, the estimate and an upper bound of how many times as long command j takes as the best one: the
    median over blocks. All of them hold together with probability at least 1 − δ, apart from the verdict's own δ.
    """

    commands: tuple[Timed, ...]
    answer: TimesAnswer
    seed: int
    seconds: float
    shell: str | None = None
    shell_seconds: float = 0.0  # what the start of the shell takes, fixed before the pilot: subtracted from every time
    by: str = "wall"  # the time that decides: on the clock, or "cpu", the processor's

    def __repr__(self) -> str:
        return f"Timings(best={self.best!r}, certified={self.certified}, runs={self.runs:,})"

    def __str__(self) -> str:
        """What ``surest fastest`` prints."""
        said = [verdict(self), *comparisons(self), *(f"Warning: {one}" for one in self.warnings)]
        return "\n".join([*said, "", *table_lines(self), "", claim(self), cost(self)])

    def _repr_html_(self) -> str:
        """The verdict, the factors and the table for a notebook."""
        from surest.report.pictures import rendered  # loads what only pages need

        head, rows = table(self)
        lines = ["", *comparisons(self), *(f"Warning: {one}" for one in self.warnings)]
        said = {"above": "", "bold": verdict(self), "lines": lines, "more": 0, "picture": None}
        return rendered("notebook.html", head=head, rows=rows, notes=[claim(self), cost(self)], **said)

    @property
    def best(self) -> str:
        """The command named."""
        return self.commands[self.answer.arm].label

    @property
    def certified(self) -> bool:
        """Whether it is the fastest, or equal to it within the tolerance, wrong with probability at most δ."""
        return self.answer.certified

    @property
    def runs(self) -> int:
        """All runs, those that do not count included."""
        return sum(len(command.times) + len(command.uncounted) for command in self.commands)

    def ratio(self, j: int) -> tuple[float, float, float]:
        """How many times as long command j takes as the one named, between its bounds."""
        return (1.0, 1.0, 1.0) if j == self.answer.arm else self.answer.pairs.ratio(self.answer.arm, j)

    def factor(self, j: int) -> tuple[str, str]:
        """The same in words: the factor, and its bounds, or why it has none."""
        pairs, ratio = self.answer.pairs, self.ratio(j)
        times, bounds = factor(*ratio)
        ran = int(pairs.runs[j] + np.isfinite(pairs.pilot[:, j]).sum())  # as has the one named, which always does
        fewest = fewest_blocks(pairs.n, pairs.level)
        if self.answer.verdict(j) == "slower" and not math.isfinite(ratio[2]) and ran < fewest:
            bounds = (
                f"no bounds: it was known to be slower after {ran} runs, the pilot included, and bounds need {fewest}"
            )
        return times, bounds

    def clip(self, j: int) -> tuple[float, float]:
        """Between which times command j was compared with the one named."""
        pairs, i = self.answer.pairs, self.answer.arm
        return float(pairs.low[i, j]), float(pairs.high[i, j])

    def clipped(self, j: int) -> float:
        """Which part of the runs of command j lay outside of that range; of the one named, the largest part for any other."""
        others = [j] if j != self.answer.arm else [k for k in range(len(self.commands)) if k != j]
        times = np.array(self.commands[j].times)
        ranges = [self.clip(k) for k in others]
        return (
            max((float(((times < low) | (times > high)).mean()) for low, high in ranges), default=0.0)
            if len(times)
            else 0.0
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the verdict mean less than it seems to."""
        found = []
        begun = max(len(command.uncounted) for command in self.commands) - PILOT
        if begun > 0:
            found.append(
                f"The machine changed while it was measured: the first {begun:,} runs of a command do not count."
            )
        for j, command in enumerate(self.commands):
            name, part = visible(command.label), self.clipped(j)
            pairs = self.answer.pairs
            far_slower = pairs.high[self.answer.arm, j] < pairs.high[j, j]  # then its times beyond do not matter
            if part > OFTEN_CLIPPED and not far_slower:
                found.append(
                    f"{part:.0%} of the runs of {name} lay outside the range that the first {PILOT} suggested, and count as its "
                    f"nearer end. The plain means are in the table; {self._advice(command)}."
                )
            if self.answer.verdict(j) == "slower" and command.mean <= self.commands[self.answer.arm].mean:
                found.append(f"The plain mean of {name} is not the larger one: unusually long runs decide it.")
            if command.times and command.range[0] == 0:
                found.append(f"{name} takes no longer than the start of the shell; --shell none measures it better.")
        return tuple(found)

    def _advice(self, command: Timed) -> str:
        """What may help where times lie beyond their range: it depends on which of them do."""
        first, *later = command.uncounted + command.times
        if first > max(later):
            return "its first run took longest, so more --warmup may help"
        return (
            f"they scatter throughout, so a quiet machine or more runs may help{', or --by cpu' * (self.by == 'wall')}"
        )

    def to_json(self) -> str:
        """What ``surest fastest --json`` prints, as JSON text: null for what is not known."""
        return msgspec.json.encode(self.to_dict()).decode()

    def to_dict(self) -> dict[str, Any]:
        """All of it as data. Times are in seconds."""
        pairs, arm = self.answer.pairs, self.answer.arm
        return {
            "question": "fastest",
            "chosen": [self.best],
            "indices": [arm],
            "certified": self.certified,
            "reason": self.answer.reason,
            "delta": pairs.delta,
            "tolerance": pairs.tolerance,
            "runs": self.runs,
            "uncounted_runs": sum(len(command.uncounted) for command in self.commands),
            "seconds": self.seconds,
            "seed": self.seed,
            "shell": self.shell,
            "shell_seconds": self.shell_seconds,
            "by": self.by,
            "commands": [self._row(j) for j in range(len(self.commands))],
            "warnings": list(self.warnings),
        }

    def _row(self, j: int) -> dict[str, Any]:
        low, middle, high = self.ratio(j)
        return {
            **self.commands[j].to_dict(),
            "wall": self.commands[j].wall,
            "line": self.commands[j].command,
            "verdict": self.answer.verdict(j),
            "relative": middle,
            "relative_low": low,
            "relative_high": high,
            "clip": None if j == self.answer.arm else list(self.clip(j)),
            "clipped": self.clipped(j),
        }


def verdict(found: Timings) -> str:
    """The verdict in a sentence."""
    pairs, name = found.answer.pairs, visible(found.best)
    if not found.certified:
        left = [
            visible(c.label)
            for j, c in enumerate(found.commands)
            if found.answer.verdict(j) in ("leader", "open", "equal")
        ]
        sure = f" The fastest is one of {_listed(left)}, {percent(1 - pairs.delta)}." if 1 < len(left) < pairs.n else ""
        return f"Not decided ({found.answer.reason}). {name} leads so far.{sure}"
    equal = [visible(c.label) for j, c in enumerate(found.commands) if found.answer.verdict(j) == "equal"]
    wrong, within = f"wrong with probability at most {pairs.delta:g}", f"within {percent(pairs.tolerance)}"
    if not equal:
        return f"{name} is the fastest: {wrong}."
    if pairs.n == 2:
        return f"{name} and {equal[0]} are equal {within}: {wrong}."
    return f"{name} is the fastest {within}, and {_listed(equal)} {'is' if len(equal) == 1 else 'are'} equal to it: {wrong}."


def comparisons(found: Timings) -> list[str]:
    """How many times as fast as each other command the one named is."""
    lines = []
    for j in sorted(range(len(found.commands)), key=lambda j: found.ratio(j)[1]):
        if j != found.answer.arm and found.commands[j].times:
            times, bounds = found.factor(j)
            lines.append(
                f"{visible(found.best)} is {times} times as fast as {visible(found.commands[j].label)} ({bounds})."
            )
    return lines


def factor(low: float, middle: float, high: float) -> tuple[str, str]:
    """A factor and its bounds, which are rounded outwards."""
    if not math.isfinite(high):
        return f"{middle:.2f}", "no bounds: they need more runs"
    places = min(max(1 - math.floor(math.log10(max(high - low, 1e-4))), 0), 4)
    scale = 10.0**places
    return (
        f"{middle:.{places}f}",
        f"{math.floor(low * scale) / scale:.{places}f} to {math.ceil(high * scale) / scale:.{places}f}",
    )


def claim(found: Timings) -> str:
    """What exactly the verdict and the factors say."""
    pairs = found.answer.pairs
    size, unit = unit_of(found)
    ranges = sorted({found.clip(j) for j in range(len(found.commands)) if j != found.answer.arm})
    shown = ", ".join(f"{low / size:.3g} to {high / size:.3g} {unit}" for low, high in ranges[:3]) + (
        ", …" if len(ranges) > 3 else ""
    )
    times = "times" if found.by == "wall" else "processor times"
    included = ", of times that include the start of the shell" if found.shell else ""
    return (
        f"The verdict is about mean {times}, for each pair over the blocks until decided, clipped to the range that {PILOT} "
        f"runs of each fixed beforehand ({shown}). Equal means within {percent(pairs.tolerance)}{included}. Factors are "
        f"medians over blocks; all their bounds hold together, {percent(1 - pairs.delta)}, as long as medians stay as they are."
    )


def cost(found: Timings) -> str:
    """What it took, and how commands were run."""
    shell = (
        f"{visible(found.shell)}, whose start of {1000 * found.shell_seconds:.2g} ms is subtracted"
        if found.shell
        else "none"
    )
    return f"It took {found.runs:,} runs, {found.seconds:.1f} s. Shell: {shell}. Seed {found.seed}."


def unit_of(found: Timings) -> tuple[float, str]:
    """The unit in which times are shown: that of the shortest mean."""
    shortest = min((command.mean for command in found.commands if command.times), default=1.0)
    return next(((size, name) for size, name in UNITS if shortest >= size), UNITS[1] if shortest == 0 else UNITS[-1])


def table(found: Timings) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table that people see, in the order in which the commands were given."""
    size, unit = unit_of(found)

    def shown(seconds: float) -> str:
        return "–" if math.isnan(seconds) else f"{seconds / size:.1f}"

    rows = []
    for j, command in enumerate(found.commands):
        low, high = command.range
        rows.append(
            [
                visible(command.label),
                f"{shown(command.mean)} ± {shown(command.stddev)}",
                f"{shown(low)} … {shown(high)}",
                *([shown(command.wall)] if found.by == "cpu" else []),
                shown(command.user),
                shown(command.system),
                f"{len(command.times):,}",
                relative(found, j),
                found.answer.verdict(j),
            ]
        )
    measured, wall = ("mean", []) if found.by == "wall" else ("cpu", ["wall"])
    heads = ["command", f"{measured} ± σ [{unit}]", f"range [{unit}]", *wall, "user", "system", "runs", "relative", ""]
    return heads, rows


def relative(found: Timings, j: int) -> str:
    """How many times as long command j takes as the one named, as tables have it."""
    if j == found.answer.arm:
        return "1.00"
    if not found.commands[j].times:
        return "–"
    times, bounds = found.factor(j)
    return f"{times} ({bounds.partition(':')[0]})"


def table_lines(found: Timings, width: int = 120) -> list[str]:
    """The table, with names as long as the width allows."""
    heads, rows = table(found)
    rest = sum(max(map(len, column)) + 2 for column in zip(heads[1:], *(row[1:] for row in rows), strict=True))
    longest = max(width - rest, SHORTEST)
    short = [[shortened(label, longest), *cells] for label, *cells in rows]
    return aligned([heads, *short], right={*heads} - {"command", ""})


def markdown(found: Timings) -> str:
    """The table that hyperfine exports, with bounds in the column of relative times."""
    size, unit = unit_of(found)
    lines = [f"| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |", "|:---|---:|---:|---:|---:|"]
    for j, command in enumerate(found.commands):
        low, high = command.range
        label = visible(command.label).replace("|", "\\|")
        mean = f"{command.mean / size:.1f} ± {command.stddev / size:.1f}"
        lines.append(f"| `{label}` | {mean} | {low / size:.1f} | {high / size:.1f} | {relative(found, j)} |")
    return "\n".join(lines) + "\n"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
