"""What a user gets: the verdict, what it rests on, and what it cost."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from surest.algorithms import Entry
from surest.core.procedure import Exchange, Running
from surest.core.protocol import Answer, FloatArray, IntArray, Point, Status
from surest.errors import UsageError
from surest.report import plots as plot
from surest.report.table import ArmRow, ArmTable, count, decimals, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The outcome of an identification. Means, bounds and accuracies are in the rewards' own units.

    ``print(result)`` shows the verdict and the leading arms.
    """

    best: str
    """The label of the chosen arm …"""
    index: int
    """… and its position, from 0."""
    certified: bool
    """Whether the guarantee holds for it. False when the budget was spent, or the search stopped, first."""
    reason: str
    """Why it stopped."""
    delta: float
    epsilon: float
    """The requested accuracy: 0 asks for the best arm itself."""
    algorithm: str
    standing: str
    pulls: int
    rounds: int
    seconds: float
    seed: int | None
    labels: tuple[str, ...]
    pulls_per_arm: IntArray
    means: FloatArray
    """Each arm's mean reward; NaN where none is known."""
    achieved_delta: float | None = None
    """The error level at which the chosen arm is certified, where the algorithm tells it: an anytime p-value.

    For each u, the probability that the search ever shows a wrong arm with a level of u or less is at most u, whenever
    one stops. It is not the probability that this answer is wrong."""
    epsilon_certified: float | None = None
    """The smallest ε for which the chosen arm is certified, at δ, to be within ε of the best."""
    nominees: tuple[str, ...] = ()
    forecast: float | None = None
    """A guess at the pulls that a decision still needs."""
    intervals: tuple[FloatArray, FloatArray] | None = None
    """Confidence bounds of each arm's mean at 1 − δ: they hold at any time, for each arm, not for all at once."""
    transcript: list[Exchange] | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    minimise: bool = False
    """Whether rewards are costs, of which small ones are good."""
    history: tuple[Point, ...] = field(default=())
    """Evidence over time, where it was asked for (``identify(…, history=True)``)."""
    health: dict[str, dict[str, int]] | None = None
    """Failed, timed out, retried, expired and imputed evaluations by arm, where there were any; None for simulated arms."""

    @property
    def arms(self) -> ArmTable:
        """A row for each arm: label, pulls, mean, and the confidence bounds of the mean.

        Bounds hold at any time at confidence 1 − δ, for each arm, not for all at once.
        """
        unknown = np.full(len(self.labels), np.nan)
        low, high = self.intervals if self.intervals is not None else (unknown, unknown)
        columns = [values.tolist() for values in (self.pulls_per_arm, self.means, low, high)]
        rows = tuple(map(ArmRow, self.labels, *columns))
        return ArmTable(rows, self.index, self.delta, decimals(*self.bounds), self.minimise)

    def to_pandas(self) -> "pd.DataFrame":
        """The table of arms as a data frame, labels as its index."""
        try:
            import pandas as pd
        except ImportError:
            raise UsageError("to_pandas() needs pandas: pip install 'surest[pandas]'") from None
        return pd.DataFrame(list(self.arms), columns=list(ArmRow._fields)).set_index("label")

    def plot(self, kind: plot.Kind = "intervals", ax: "Axes | None" = None) -> "Axes":
        """Draw the result with matplotlib.

        Parameters
        ----------
        kind : {"intervals", "pulls", "evidence"}
            The leading arms' means and intervals, their share of the pulls, or evidence over time, for which the search
            must have been told to keep a ``history``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib Axes
        """
        return plot.draw(kind, self.arms, self.history, ax)

    def to_json(self) -> dict[str, Any]:
        """The result as plain data, as ``surest identify --json`` prints it; None for what is infinite or not known."""
        return {
            "index": self.index,
            "arm": self.best,
            "certified": self.certified,
            "reason": self.reason,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "algorithm": self.algorithm,
            "standing": self.standing,
            "pulls": self.pulls,
            "pulls_per_arm": self.pulls_per_arm.tolist(),
            "rounds": self.rounds,
            "seconds": _finite(self.seconds),
            "seed": self.seed,
            "achieved_delta": self.achieved_delta,
            "epsilon_certified": self.epsilon_certified,
            "nominees": list(self.nominees),
            "labels": list(self.labels),
            "means": [*map(_finite, self.means.tolist())],
            "low": None if self.intervals is None else [*map(_finite, self.intervals[0].tolist())],
            "high": None if self.intervals is None else [*map(_finite, self.intervals[1].tolist())],
            "bounds": list(self.bounds),
            **({"minimise": True} if self.minimise else {}),
            "forecast": None if self.forecast is None else _finite(self.forecast),
            "history": [[at, _finite(evidence), threshold] for at, evidence, threshold in self.history],
            **({"health": self.health} if self.health is not None else {}),
        }

    def __repr__(self) -> str:
        return (
            f"Result(best={self.best!r}, certified={self.certified}, reason={self.reason!r}, delta={self.delta:g}, "
            f"epsilon={self.epsilon:g}, pulls={self.pulls:,}, algorithm={self.algorithm!r})"
        )

    def __str__(self) -> str:
        return f"{verdict(self)}\n{cost(self)}\n\n{self.arms}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield emphasised(self)
        yield Text(cost(self))
        yield ""
        yield self.arms


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def verdict(result: Result) -> str:
    """Which arm, and with what guarantee: the one text of it, for Python and the command line."""
    name = f"Arm {result.best}"
    if result.reason == "the only arm":
        return f"{name} is the only arm: nothing had to be pulled."
    if not result.certified and result.pulls == 0:
        return f"Not decided ({result.reason}). No pull has been counted yet."
    if not result.certified:
        return " ".join([f"Not decided ({result.reason}).", f"{name} leads so far.", *_so_far(result)])
    what = "is the best" if result.epsilon == 0 else f"is within {result.epsilon:g} of the best"
    if result.standing == "proven":
        return f"{name} {what}: wrong with probability at most {result.delta:g}."
    return f"{name} {what}, by a {result.standing} rule without a proof (asked for error {result.delta:g})."


def _so_far(result: Result) -> list[str]:
    """What can be said of the leader when a search ends early."""
    epsilon, level = result.epsilon_certified, result.achieved_delta
    low, high = result.bounds
    sentences = []
    if epsilon is not None and epsilon < 0.99 * (high - low):
        sentences.append(f"It is within {at_most(epsilon)} of the best, {percent(1 - result.delta)}.")
    elif epsilon is not None:
        sentences.append("Nothing is certified of it yet.")
    if level is not None:
        what = "the best" if result.epsilon == 0 else f"within {result.epsilon:g} of the best"
        sentences.append(f"That it is {what} has reached error level {at_most(level)}; {result.delta:g} was asked for.")
    return sentences


def at_most(value: float) -> str:
    """A bound in two figures, rounded up: rounded down it would claim too much.

    >>> at_most(0.0121), at_most(0.012), at_most(1.0)
    ('0.013', '0.012', '1')
    """
    text = f"{value:.2g}"
    if float(text) >= value:
        return text
    return f"{value + 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1):.2g}"


def cost(result: Result) -> str:
    """What the answer cost."""
    seconds = "" if math.isnan(result.seconds) else f", {result.seconds:.2f} s"
    return f"It took {count(result.pulls)} pulls in {result.rounds:,} rounds{seconds}."


def emphasised(result: Result) -> Text:
    """The verdict for a terminal: the arm in bold, a missing guarantee in yellow."""
    text = Text(verdict(result))
    start = text.plain.find(f"Arm {result.best}")
    if start < 0:  # nothing was pulled
        start = len(text)
    text.stylize("bold", start, start + len(f"Arm {result.best}"))
    if not result.certified:
        text.stylize("yellow", 0, start)
    return text


def result_of(
    running: Running[Answer],
    labels: tuple[str, ...],
    *,
    algorithm: str,
    entry: Entry,
    delta: float,
    epsilon: float,
    seed: int | None,
    seconds: float = float("nan"),
    bounds: tuple[float, float] = (0.0, 1.0),
    minimise: bool = False,
    history: tuple[Point, ...] = (),
    stopped: str | None = None,
) -> Result:
    """The result of a procedure: its verdict, or, before its end, the answer so far (`stopped` says why).

    Procedures work on [0, 1], where large is good; here, and nowhere else, their figures are put into the units of `bounds`.
    """
    answer, state = running.value, status_of(running)
    index = answer.arm if answer is not None else state.leader if state is not None else _leader(running)
    status = in_units(state if state is not None else Status(leader=index), bounds, minimise)
    worst, best = ends(bounds, minimise)
    if history and status.evidence is not None and status.threshold is not None:
        history = (*history, Point(running.pulls, status.evidence, status.threshold))
    unfinished = "budget spent" if running.spent else stopped or "still running"
    return Result(
        best=labels[index],
        index=index,
        certified=answer is not None and answer.certified,
        reason=answer.reason if answer is not None else unfinished,
        delta=delta,
        epsilon=epsilon,
        algorithm=algorithm,
        standing=entry.standing,
        pulls=running.pulls,
        rounds=running.rounds,
        seconds=seconds,
        seed=seed,
        labels=labels,
        pulls_per_arm=running.pulls_per_arm.copy(),
        means=worst + running.means * (best - worst),
        achieved_delta=status.achieved_delta,
        epsilon_certified=status.epsilon_certified,
        nominees=tuple(labels[i] for i in status.nominees),
        forecast=status.forecast,
        intervals=status.intervals,
        transcript=running.transcript,
        bounds=bounds,
        minimise=minimise,
        history=history,
    )


def status_of(running: Running[Answer]) -> Status | None:
    """The procedure's own word on its state, where it gives one."""
    if running.value is not None:
        return running.value.status
    if running.request is not None and running.request.status is not None:
        return running.request.status()
    return running.status


def ends(bounds: tuple[float, float], minimise: bool) -> tuple[float, float]:
    """The numbers that a procedure sees as 0 and as 1: the worst and the best possible one.

    >>> ends((0, 60), minimise=True)
    (60, 0)
    """
    return bounds[::-1] if minimise else bounds


def in_units(status: Status, bounds: tuple[float, float], minimise: bool = False) -> Status:
    """A status on [0, 1] in the units of the rewards.

    >>> in_units(Status(leader=0, epsilon_certified=0.25), (-1, 3)).epsilon_certified
    1.0
    """
    worst, best = ends(bounds, minimise)
    epsilon, intervals = status.epsilon_certified, status.intervals
    if intervals is not None:
        low, high = (worst + (best - worst) * end for end in intervals)
        intervals = (high, low) if minimise else (low, high)
    return replace(
        status, epsilon_certified=None if epsilon is None else epsilon * abs(best - worst), intervals=intervals
    )


def _leader(running: Running[Answer]) -> int:
    """The best guess of a procedure that says nothing itself: the largest mean among the arms it was last after."""
    last = running.unanswered or running.request
    candidates = last.arms if last is not None else np.arange(len(running.means))
    means = np.nan_to_num(running.means[candidates], nan=-1.0)
    return int(candidates[means.argmax()])
