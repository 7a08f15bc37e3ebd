"""Rows from replications, and rows as text."""

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surest.algorithms.entry import Goal, Standing
from surest.lab.bench.record import Done
from surest.lab.bench.run import Case, Replication
from surest.numerics import at_least

DOUBT = 0.001
"""There are too many wrong answers if a δ-correct algorithm makes as many with a probability below this."""
QUOTED = 30  # the fewest runs of a row that prose quotes: fewer do not tell a mean


@dataclass(frozen=True)
class Row:
    """What the replications of a case say."""

    instance: str
    n: int
    algorithm: str
    goal: Goal
    standing: Standing
    delta: float
    epsilon: float
    budget: int | None
    runs: int
    wrong: int
    wrong_answers: str  # which arms they named, how far below the best these are, and how often
    wrong_p: float  # how probable so many wrong answers are if the error probability is δ
    undecided: int
    mean: float  # of the pulls, as are the four that follow
    sem: float
    median: float
    q95: float
    max: int
    lower_bound: float  # the least expected pulls of any δ-correct algorithm; not a number where it does not apply
    ratio: float  # the mean over the lower bound
    microseconds: float  # of processor time per pull
    seconds: float
    control: bool
    heuristic_of: str | None

    def columns(self) -> dict[str, Any]:
        """What is written to JSON and CSV."""
        return {key: value for key, value in asdict(self).items() if key not in ("control", "heuristic_of")}


def rows_of(done: Done) -> list[Row]:
    """One row per case."""
    return [row_of(case, replications) for case, replications in done.items()]


def row_of(case: Case, replications: Sequence[Replication]) -> Row:
    """What a case's replications say. Those that hit the budget are counted, and enter the mean with what they pulled."""
    entry, runs = case.entry, len(replications)
    pulls = np.array([r.pulls for r in replications], float)
    wrong = sum(r.decided and not r.right for r in replications)
    seconds = sum(r.seconds for r in replications)
    bound = case.instance.characteristic.lower_bound(case.delta) if case.epsilon == 0 else math.nan
    return Row(
        **{name: getattr(case, name) for name in ("algorithm", "delta", "epsilon", "budget")},
        **{name: getattr(entry, name) for name in ("goal", "standing", "control", "heuristic_of")},
        instance=case.instance.name,
        n=len(case.instance.arms),
        runs=runs,
        wrong=wrong,
        wrong_answers=_named(case, [r.arm for r in replications if r.decided and not r.right]),
        wrong_p=at_least(wrong, runs, case.delta),
        undecided=sum(not r.decided for r in replications),
        mean=float(pulls.mean()),
        sem=float(pulls.std(ddof=1) / math.sqrt(runs)) if runs > 1 else math.nan,
        median=float(np.median(pulls)),
        q95=float(np.quantile(pulls, 0.95)),
        max=int(pulls.max()),
        lower_bound=bound,
        ratio=float(pulls.mean() / bound) if bound > 0 else math.nan,
        microseconds=1e6 * seconds / max(pulls.sum(), 1.0),
        seconds=seconds,
    )


def _named(case: Case, answers: Sequence[int]) -> str:
    """Wrong answers: the arms, how far below the best they are, how often."""
    arms = case.instance.arms
    gaps = arms.means.max() - arms.means
    counted = sorted(Counter(answers).items(), key=lambda item: -item[1])
    return ", ".join(f"arm {arms.labels[a]} ({number(float(gaps[a]))} below the best) ×{times}" for a, times in counted)


def too_often_wrong(row: Row) -> bool:
    """Whether the wrong answers contradict δ."""
    return bool(row.wrong_p < DOUBT)


COLUMNS = {
    "instance": "instance",
    "n": "n",
    "algorithm": "algorithm",
    "standing": "standing",
    "delta": "δ",
    "runs": "runs",
    "wrong": "wrong",
    "undecided": "undecided",
    "mean": "mean pulls",
    "median": "median",
    "q95": "95 %",
    "max": "max",
    "lower_bound": "lower bound",
    "ratio": "ratio",
    "microseconds": "µs per pull",
}
TEXT = ("instance", "algorithm", "standing")
NOTES = {
    "undecided": "undecided: runs that hit the budget, or ended without a decision; their pulls are in the mean, which is then "
    "marked ≥ because they had not finished.",
    "wrong": f"wrong!: if the error were at most δ, this many wrong answers would have a probability below {DOUBT:g}.",
    "spending": "fixed-budget algorithms answer when their budget is spent and certify nothing; δ only sets the budget.",
}


def cells(row: Row, columns: Sequence[str] = tuple(COLUMNS)) -> list[str]:
    """A row as a person reads it."""
    shown = {
        key: number(value) if isinstance(value, int | float) else str(value) for key, value in row.columns().items()
    }
    if row.goal == "fixed budget":
        shown["standing"] += ", fixed budget"
    elif row.undecided:
        for key in ("mean", "median", "q95", "max", "ratio"):
            shown[key] = "≥ " + shown[key] if shown[key] != "–" else "–"
    if too_often_wrong(row):
        shown["wrong"] += "!"
    return [shown[column] for column in columns]


def number(value: float) -> str:
    """Three or so digits."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if value == 0 or (isinstance(value, int) and abs(value) < 1e7):
        return f"{value:,}" if value else "0"
    if abs(value) >= 1e7:
        mantissa, exponent = f"{value:.2g}".split("e") if "e" in f"{value:.2g}" else f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def notes(rows: Sequence[Row]) -> list[str]:
    """What a reader of these rows must be told."""
    said = []
    if any(row.undecided for row in rows):
        said.append(NOTES["undecided"])
    if any(map(too_often_wrong, rows)):
        said.append(NOTES["wrong"])
    if any(row.goal == "fixed budget" for row in rows):
        said.append(NOTES["spending"])
    return said


def as_markdown(rows: Sequence[Row], columns: Sequence[str] = tuple(COLUMNS)) -> str:
    """A table for a page."""
    lines = ["| " + " | ".join(COLUMNS[c] for c in columns) + " |"]
    lines.append("|" + "|".join("---" if c in TEXT else "---:" for c in columns) + "|")
    lines += ["| " + " | ".join(cells(row, columns)) + " |" for row in rows]
    return "\n".join(lines)


def as_csv(rows: Sequence[Row]) -> str:
    """Every key of every row, for a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0].columns()) if rows else list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {k: "" if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.columns().items()}
        for row in rows
    )
    return text.getvalue()
