"""Is a new version of a command slower than the old one? ``surest gate --speed OLD NEW``. The theorem: docs/fastest.md."""

import math
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from surest.core.protocol import FloatArray, checked_delta
from surest.errors import UsageError
from surest.speed.evidence import PILOT, Comparisons
from surest.speed.result import factor
from surest.speed.run import Job, Laboratory, judged, labelled, named
from surest.speed.timing import Run, Stopwatch
from surest.text import percent, visible

OLD, NEW, AGAIN = 0, 1, 2
NARROW = 0.5
"""How wide ranges are beside those of `fastest`: a gate asks about small differences, and outliers should not decide it."""
MOST = 100  # blocks after which it is not decided


@dataclass(frozen=True)
class SpeedGate:
    """Whether a command is slower than another one by more than a margin, and whether the old one differs from itself."""

    old: str
    new: str
    verdict: str  # "pass", "fail" or "undecided"
    margin: float
    delta: float
    by: str
    ratio: tuple[float, float, float]
    """How many times as long the new one takes: a lower bound, the median over blocks, an upper bound."""
    seconds: tuple[float, float]  # mean times of the old and the new one
    control: bool
    """Whether the old command, compared with itself, was found to differ: then something else than the command decides."""
    runs: int

    def __str__(self) -> str:
        slower = f"{visible(self.new)} is slower than {visible(self.old)}"
        wrong = f"wrong with probability at most {self.delta:g}"
        said = {
            "pass": f"PASS: {slower.replace(' is slower', ' is not slower', 1)} by more than {percent(self.margin)}, {wrong}.",
            "fail": f"FAIL: {slower}, {wrong}.",
            "undecided": f"UNDECIDED: not known whether {slower} by more than {percent(self.margin)}.",
        }[self.verdict]
        times, bounds = factor(*self.ratio)
        kind = "processor time" if self.by == "cpu" else "time"
        line = f"{said} It takes {times} times the {kind} so far ({bounds}), after {self.runs:,} runs."
        if self.control:
            line += " Careful: the old command differs from itself here, so the machine, or the order, decides as well."
        return line

    def to_dict(self) -> dict[str, Any]:
        """All of it as data."""
        low, middle, high = self.ratio
        return {
            "question": "speed", "verdict": self.verdict, "old": self.old, "new": self.new, "margin": self.margin,
            "delta": self.delta, "by": self.by, "ratio": middle, "ratio_low": low, "ratio_high": high,
            "seconds": list(self.seconds), "control_differs": self.control, "runs": self.runs, "text": str(self),
        }  # fmt: skip


def speed_gate(
    old: Job, new: Job, margin: float = 0.05, *, delta: float = 0.05, by: str = "wall", max_runs: int | None = None,
    shell: str | None = None, seed: int | None = None,
) -> SpeedGate:  # fmt: skip
    """Measure whether `new` is slower than `old`, in blocks of three runs in random order: old, new, and old again.

    Both are command lines or functions. `margin` says how much slower is allowed, as a part: 0.05 is 5 %. There are at most
    `max_runs` runs in all, default 315. All else is as in `surest.fastest`.
    """
    checked_delta(delta)
    if not 0 < margin < 1:
        raise UsageError(f"margin is {margin}; it is a fraction above 0 and below 1, such as 5% or 0.05")
    blocks = MOST + PILOT if max_runs is None else max_runs // 3
    if blocks <= PILOT:
        raise UsageError(
            f"max_runs is {max_runs}; give at least {3 * (PILOT + 1)}: {PILOT} blocks of three do not count"
        )
    rng = np.random.default_rng(seed)
    rows: list[FloatArray] = []
    pairs = control = None
    with closing(Stopwatch()) as stopwatch:
        lab = Laboratory(labelled([old, new]), stopwatch, shell)
        lab.calibrate()
        slack = margin * judged(lab.start, by)
        while len(rows) < blocks and (pairs is None or verdict_of(pairs) == "undecided"):
            row = np.empty(3)
            for arm in rng.permutation(3):
                row[arm] = judged(measured(lab, arm), by)
            rows.append(row)
            if pairs is not None and control is not None:
                pairs.count(both(row))
                control.count(row[[OLD, AGAIN]])
            elif len(rows) == PILOT:
                pilot = np.array(rows)
                pairs = one_sided(np.apply_along_axis(both, 1, pilot), delta, margin, slack)
                control = one_sided(pilot[:, [OLD, AGAIN]], delta, margin, slack)
    assert pairs is not None
    assert control is not None
    counted = np.array(rows[PILOT:])
    means = (float(counted[:, [OLD, AGAIN]].mean()), float(counted[:, NEW].mean()))
    differs = bool(control.faster.any())
    return SpeedGate(
        named(old), named(new), verdict_of(pairs), margin, delta, by, pairs.ratio(0, 1), means, differs, 3 * len(rows)
    )


def measured(lab: Laboratory, arm: int) -> Run:
    """One run of the old or the new command."""
    return lab.measured(int(arm == NEW))


def both(row: FloatArray) -> FloatArray:
    """The times of a block: the mean of both runs of the old command, and the new one's."""
    return np.array([(row[OLD] + row[AGAIN]) / 2, row[NEW]])


def one_sided(pilot: FloatArray, delta: float, margin: float, slack: float) -> Comparisons:
    """Comparisons of two commands of which one statement in each direction is of interest: each has half of δ."""
    pairs = Comparisons(pilot, delta, margin, slack, wider=NARROW)
    pairs.faster_needs = pairs.close_needs = np.full((2, 2), math.log(2 / delta))
    return pairs


def verdict_of(pairs: Comparisons) -> str:
    """Slower, not slower by more than the margin, or neither yet."""
    if pairs.faster[0, 1]:
        return "fail"
    return "pass" if pairs.close[1, 0] else "undecided"
