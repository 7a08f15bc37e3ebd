"""The result of a search as data: the verdict, its evidence and its cost. Words, plots and pages are made elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np

from surest.core.problem import Problem
from surest.core.procedure import Exchange
from surest.core.protocol import FloatArray, IntArray, Leads, Point
from surest.errors import MissingPackageError
from surest.result.duels import Duels
from surest.result.leads import Differences, Lead, differences_of, lead_of
from surest.result.table import ArmRow, ArmTable
from surest.result.words import after_verdict, health_line, next_words, verdict
from surest.text import visible

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

LEFT_OVER = "the rows left over speak against it"
"""Why recorded rewards do not certify what the first of them say."""
PictureKind = Literal["leads", "intervals", "pulls", "evidence", "duels", "costs"]  # the kinds of plots
EvaluationEvent = tuple[str, int, int, int | None]
"""What happened to an evaluation (such as "retried" or "imputed"), the number of earlier rewards of its arm, its arm, and its
item if there is one."""


class Estimate(NamedTuple):
    """The mean of the chosen arm, estimated on evaluations that did not choose it, with bounds at 1 − δ."""

    mean: float
    low: float
    high: float
    evaluations: int
    """Evaluations after the verdict; 0 if all scores were known."""


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of items, and the cells that were evaluated: arms on items, by position, with their values."""

    items: Sequence[Any]
    """The items, in the order of the list."""
    items_used: int
    """The number of items that have counted."""
    arms: IntArray
    places: IntArray
    values: FloatArray
    known: bool = False
    """Whether the table is complete."""
    needed: int | None = None
    """Of a complete table: the evaluations that a search would have needed; None if its budget would not have sufficed."""
    needed_cost: float | None = None
    """The cost of that search, if costs are known."""
    misled: bool = False
    """Whether that search would have ended with a wrong answer."""
    beside: "Result | None" = None
    """Of a table: the answer for the other target, these items or further ones."""
    missing: int | None = None
    """Of a table with gaps: the number of missing scores …"""
    out: tuple[int, ...] = ()
    """… the arms that cannot be right, whatever these are …"""
    complete: "Result | None" = None
    """… and the exact answer on the items without a gap, if there are any."""

    def grid(self, arms: int) -> FloatArray:
        """A row for each of so many arms and a column for each item; NaN where nothing was evaluated."""
        values = np.full((arms, len(self.items)), np.nan)
        values[self.arms, self.places] = self.values
        return values

    @property
    def cells(self) -> Iterator[tuple[int, int, float]]:
        """Each evaluated cell: the arm, the item and the value."""
        return zip(self.arms.tolist(), self.places.tolist(), self.values.tolist(), strict=True)


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The outcome of an identification. Means, bounds and accuracies are in the rewards' own units.

    ``print(result)`` shows the verdict and the leading arms.
    """

    problem: Problem
    """The labels, delta, epsilon, algorithm and all other settings."""
    indices: tuple[int, ...]
    """The positions, from 0, of the arms that answer the question: one for the best arm."""
    certified: bool
    """Whether the guarantee holds for them; False if the budget was spent or the search was stopped first."""
    reason: str
    """Why it stopped."""
    standing: str
    """The status of the algorithm: proven, heuristic, …"""
    pulls: int
    rounds: int
    seconds: float
    pulls_per_arm: IntArray
    means: FloatArray
    """Each arm's mean reward; NaN before its first."""
    contender_indices: tuple[int, ...] | None = None
    """The positions of the arms that may still be right …"""
    apart: float | None = None
    """… and how far below the best any of them can be, at level δ, if the algorithm reports it."""
    verdicts: tuple[int, ...] | None = None
    """One per arm, if the question is about each arm: 1 (above the bar, better than the control), −1 (below it, not better)
    or 0 (open)."""
    achieved_delta: float | None = None
    """The error level at which the chosen arm is certified, if the algorithm reports it: an anytime p-value.

    For each u, the probability that the search ever shows a wrong arm with a level of u or less is at most u, whenever
    one stops. It is not the probability that this answer is wrong."""
    epsilon_certified: float | None = None
    """The smallest ε for which the chosen arm is certified, at δ, to be within ε of the best; where the m best were asked for,
    for which each chosen arm is certified to be within ε of the m-th best, or better."""
    nominees: tuple[Any, ...] = ()
    forecast: float | None = None
    """Estimated pulls until a decision; it may well be three times too low or too high."""
    intervals: tuple[FloatArray, FloatArray] | None = None
    """Confidence bounds of each arm's mean at 1 − δ: they hold at any time, for each arm by itself."""
    known_differences: tuple[FloatArray, FloatArray] | None = None
    """The bounds of `differences`, if the algorithm reports them, or as read from JSON."""
    lead_bounds: Leads | None = field(default=None, repr=False)
    """Computes the bounds of `lead`, and of the lead over other arms, on [0, 1], if the algorithm reports them."""
    known_lead: Lead | None = None
    """The lead as read from JSON."""
    duels: Duels | None = None
    """Of a search by duels, whose arms are the players: who met whom, who won, and which groups are certain."""
    transcript: list[Exchange] | None = None
    additions: tuple[tuple[int, int], ...] = ()
    """Arms added while it ran: after how many answered requests, and how many arms."""
    events: tuple[EvaluationEvent, ...] = ()
    """Evaluations that were retried or imputed, one by one."""
    history: tuple[Point, ...] = field(default=())
    """Evidence over time, with ``identify(…, history=True)``."""
    evaluations: int = 0
    """Rewards received, including those that wait for others before they count."""
    estimated: Estimate | None = None
    """The honest mean of the chosen arm, with `estimate`."""
    cost_by_arm: FloatArray | None = None
    """What was spent on each arm, if costs are known."""
    cost_of_all: float | None = None
    """On a list of items: what all cells would cost, at the mean cost of each arm, if that is known."""
    wanted: dict[Any, int] = field(default_factory=dict)
    """Evaluations that the algorithm asks for next, by label, if recorded rewards did not suffice."""
    listed: Listed | None = None
    """On a list of items: the items and the evaluated cells."""
    wanted_cells: tuple[tuple[Any, Any], ...] = ()
    """On a table with gaps that did not suffice: the next cells to evaluate, arm and item, in order."""
    resampled: bool = False
    """Whether this was a simulation that drew, with replacement, from recorded rewards."""
    warnings: tuple[str, ...] = ()
    """For example that the bounds are so wide that they cost many pulls."""
    health: dict[str, dict[str, int]] | None = None
    """Failed, timed out, retried, expired and imputed evaluations by arm, if there were any; None for simulated arms."""

    @property
    def labels(self) -> tuple[Any, ...]:
        """The arms' labels, in order."""
        return self.problem.labels

    @property
    def index(self) -> int:
        """The position of the best arm, from 0."""
        asked = self.problem.question
        if not asked.best:
            raise AttributeError(
                f"this search did not ask for one best arm but for {asked.kind}; .chosen has its answer"
            )
        return self.indices[0]

    @property
    def best(self) -> Any:
        """The label of the best arm; None if duels show that no arm beats all others."""
        return self.labels[self.index] if self.indices or self.duels is None else None

    @property
    def chosen(self) -> tuple[Any, ...]:
        """The labels of the arms that answer the question: one for the best arm."""
        return tuple(self.labels[i] for i in self.indices)

    @property
    def contenders(self) -> tuple[Any, ...] | None:
        """The labels of the arms that may still be right: at level δ a best arm is among them. None if that is not known.

        With `top=m` the m best are among them at level δ: on a list all together, on fresh pulls each by itself.
        """
        return None if self.contender_indices is None else tuple(self.labels[i] for i in self.contender_indices)

    @property
    def cost(self) -> float | None:
        """The total cost, if costs are known.

        >>> import surest
        >>> result = surest.identify(surest.bernoulli([0.9, 0.1]), cost=0.02, cost_unit="$", seed=1)
        >>> round(result.cost, 2) == round(0.02 * result.pulls, 2)
        True
        """
        return None if self.cost_by_arm is None else float(self.cost_by_arm.sum())

    @property
    def delta(self) -> float:
        """The allowed probability of a wrong answer."""
        return self.problem.delta

    @property
    def epsilon(self) -> float:
        """The requested accuracy: 0 asks for the best arm itself."""
        return self.problem.epsilon

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return algorithm_name(self.problem.algorithm)

    @property
    def seed(self) -> int:
        """The seed of all random choices."""
        return self.problem.seed

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of the rewards."""
        return self.problem.bounds

    @property
    def minimise(self) -> bool:
        """Whether small rewards are good."""
        return self.problem.minimise

    @property
    def exact(self) -> bool:
        """Whether the verdict is certain: on a list of items, no other arm could catch up whatever its missing scores are."""
        return self.certified and self.reason.startswith("exact")

    @property
    def cells(self) -> int:
        """On a list of items: the number of cells, arms times items, without an arm whose scores were known beforehand."""
        known = (self.pulls_per_arm == 0) & ~np.isnan(self.means)
        return int((~known).sum()) * len(self._on_items().items)

    @property
    def items_used(self) -> int:
        """On a list of items: the number of items that counted."""
        return self._on_items().items_used

    @property
    def needed(self) -> int | None:
        """Of a complete table: the evaluations that a search would have needed; None if that is not known."""
        return None if self.listed is None else self.listed.needed

    @property
    def population(self) -> "Result | None":
        """Of a table: the answer for further items, if its own are a random sample; wrong with probability at most δ.

        >>> import surest
        >>> result = surest.evaluate({"a": [1, 0, 1, 1], "b": [0, 0, 1, 1]})
        >>> result.certified, result.population.certified, result.population.contenders
        (True, False, ('a', 'b'))
        """
        if self.problem.target == "population":
            return self
        return None if self.listed is None else self.listed.beside

    @property
    def table(self) -> dict[Any, dict[Any, float]]:
        """On a list of items: the evaluated cells, ``{arm: {item: value}}``."""
        found: dict[Any, dict[Any, float]] = {label: {} for label in self.labels}
        for arm, place, value in self._on_items().cells:
            found[self.labels[arm]][self._on_items().items[place]] = value
        return found

    @cached_property
    def lead(self) -> Lead | None:
        """The lead of the best arm over the runner-up, with bounds that hold for all pairs of arms at once, at 1 − δ.

        With several chosen arms, the lead of the last one over the best of the others; with a control, that of the best arm
        over the control. None if there is no runner-up, or nothing is known of it.

        >>> import surest
        >>> arms = {"a": {"successes": 600, "trials": 1000}, "b": {"successes": 480, "trials": 1000}}
        >>> lead = surest.identify(arms).lead
        >>> lead.over, round(lead.difference, 2), 0 < lead.low < lead.high < 0.25
        ('b', 0.12, True)
        """
        return self.known_lead if self.known_lead is not None else lead_of(self)

    @cached_property
    def differences(self) -> Differences | None:
        """Bounds of each arm's mean minus that of the control or the chosen arm, for all arms at once, at 1 − δ.

        None if they are not known. On fresh pulls without a control, the 30 leading arms have them.

        >>> import surest
        >>> surest.evaluate({"a": [1.0] * 50, "b": [1.0, 0.0] * 25}).differences["b"]
        (-0.5, -0.5)
        """
        return differences_of(self)

    def _on_items(self) -> Listed:
        if self.listed is None:
            raise AttributeError("this result is about fresh pulls; surest.evaluate compares arms on a list of items")
        return self.listed

    @cached_property
    def arms(self) -> ArmTable:
        """A row for each arm: label, pulls, mean, and the confidence bounds of the mean.

        Bounds hold at any time at confidence 1 − δ, for each arm, not for all at once.
        """
        return ArmTable(self)

    def to_pandas(self) -> "pd.DataFrame":
        """The table of arms as a data frame, labels as its index."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingPackageError("to_pandas() needs pandas: pip install 'surest[pandas]'") from None
        return pd.DataFrame(list(self.arms), columns=list(ArmRow._fields)).set_index("label")

    def to_polars(self) -> "pl.DataFrame":
        """The table of arms as a polars data frame, labels in its first column (as text if their types differ)."""
        try:
            import polars as pl
        except ImportError:
            raise MissingPackageError("to_polars() needs polars: pip install 'surest[polars]'") from None
        labels, *numbers = zip(*self.arms, strict=True)
        alike = len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float | bool)
        columns = [labels if alike else [str(label) for label in labels], *numbers]
        return pl.DataFrame(dict(zip(ArmRow._fields, columns, strict=True)))

    def plot(self, kind: PictureKind | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the result with matplotlib.

        Parameters
        ----------
        kind : {"leads", "intervals", "pulls", "evidence", "duels", "costs"}, optional
            The lead over each arm; the leading arms' means and intervals; their pulls; evidence over time, which needs a search
            with ``history=True``; who beats whom; or means against the cost of an evaluation. By default the leads, if the
            result is certified and they are known, otherwise the intervals.
        ax : matplotlib Axes, optional
            Where to draw, by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        plots = import_module("surest.report.plots")  # found when asked, as pandas finds its plotting backend
        drawn: Axes = plots.draw(kind, self, ax)
        return drawn

    def report(self, path: "str | PathLike[str]") -> None:
        """Write a report on the result: .html, .md or .json, by the suffix of `path`.

        >>> import pathlib, surest, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     surest.identify({"a": [1.0] * 40, "b": [0.0] * 40}).report(f"{folder}/report.md")
        ...     print(pathlib.Path(f"{folder}/report.md").read_text().splitlines()[0])
        # Arm a is the best: wrong with probability at most 0.05.
        """
        pages = import_module("surest.report.report")  # found when asked, as the plots are
        pages.write_report(pages.Report(self), path)

    def write_decision(self, path: "str | PathLike[str]") -> str:
        """Write the verdict and all its evidence to a file for ``surest-verify``, and return the hash of the decision.

        The search must have kept a record: ``identify(…, record=True)``, ``study.result(record=True)``.
        """
        return str(import_module("surest.decision.write").decision_of(self).write(path))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, as printed by ``surest identify --json``; None for what is infinite or not known."""
        return dict(import_module("surest.result.json").to_dict(self))

    def to_json(self) -> str:
        """The same as JSON text, which ``surest report`` accepts.

        >>> import json, surest
        >>> json.loads(surest.identify({"a": [1.0] * 40, "b": [0.0] * 40}).to_json())["arm"]
        'a'
        """
        return msgspec.json.encode(self.to_dict()).decode()

    def __repr__(self) -> str:
        named = f"best={self.best!r}" if self.problem.question.best else f"chosen={self.chosen!r:.200}"
        return (
            f"Result({named}, certified={self.certified}, reason={self.reason!r}, delta={self.delta:g}, "
            f"epsilon={self.epsilon:g}, pulls={self.pulls:,}, algorithm={self.algorithm!r})"
        )

    def __rich__(self) -> Any:
        """The same text for a console of rich's, whose markup a label must not be taken for."""
        return import_module("rich.text").Text(str(self))

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the leading arms and a small picture."""
        return str(import_module("surest.report.notebook").to_fragment(self))

    def __str__(self) -> str:
        said = [verdict(self), *after_verdict(self), next_words(self), *(f"Warning: {one}" for one in self.warnings)]
        health = f"\n\n{visible(health_line(self.health))}" if self.health else ""
        return "\n".join(filter(None, said)) + f"\n\n{self.arms}{health}"


def algorithm_name(algorithm: Any) -> str:
    """The name of an algorithm, built in or a function of the user."""
    name = getattr(algorithm, "name", None) or getattr(algorithm, "__name__", None)
    return algorithm if isinstance(algorithm, str) else str(name or algorithm)
