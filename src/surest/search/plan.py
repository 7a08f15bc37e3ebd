"""How many evaluations a search will need, before the first one: `plan`, a simulation by the search's own algorithm."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from surest.algorithms import lookup, running_on
from surest.arms.files import is_frame, is_log
from surest.arms.finite import FiniteArms, bernoulli, recorded
from surest.arms.instances import KINDS, parse_source
from surest.arms.kinds import Simulated, kind_of_arms, read_source
from surest.arms.recorded import Records
from surest.arms.tables import Table, table_of
from surest.arms.totals import Totals
from surest.core.costs import money
from surest.core.keywords import FUNCTION, check_keywords, number, several
from surest.core.problem import Problem, checked, problem_of, takes_settings
from surest.core.protocol import FloatArray
from surest.core.scale import checked_scale
from surest.errors import UsageError
from surest.result.table import aligned
from surest.search.cells import searched
from surest.search.loading import resolved
from surest.search.simulate import answer_from
from surest.text import count, rounded, seconds_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDED = "rewards drawn from recorded ones"
LEVELS = (0.1, 0.5, 0.9, 0.99)
"""The quantiles that a plan shows."""
FEWEST = 20
"""Runs that are made even if time is up."""
MOST_PULLS = 10**8
"""Pulls after which a simulated search counts as undecided."""
OWN = {
    "arms": number("the number of arms, at least 2", lambda x: x >= 2, whole=True),
    "baseline": number("a rate, at least 0 and below 1", lambda x: 0 <= x < 1),
    "lift": several(number("a number above 0, or several", lambda x: 0 < x <= 1)),
    "items": number("the number of items, at least 1", lambda x: x >= 1, whole=True),
    "score": number("a share of the items, from 0 to 1", lambda x: 0 <= x <= 1),
    "gap": several(number("a number above 0, or several", lambda x: 0 < x <= 1)),
    "agreement": number("a share of the items, from 0 to 1", lambda x: 0 <= x <= 1, optional=False),
    "power": number("a number between 0 and 1", lambda x: 0 < x < 1, optional=False),
    "each": number("seconds, above 0", lambda x: x > 0),
    "workers": number("a whole number, at least 1", lambda x: x >= 1, whole=True, optional=False),
    "runs": number("a whole number, at least 1", lambda x: x >= 1, whole=True, optional=False),
    "seconds": number("a number ≥ 0, or None for no limit", lambda x: x >= 0),
    "progress": FUNCTION,
}
"""Keywords of plans."""
SPANS = {
    "s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Row:
    """What simulated searches needed, for one guess."""

    gap: float
    """How far the best arm is ahead of the runner-up."""
    evaluations: FloatArray
    """Of each run; infinite where it did not decide."""
    cost: FloatArray
    fixed: float
    """Evaluations of a test with a fixed sample, at the same δ and the plan's power; NaN where there is no gap."""
    whole: int | None = None
    """On a list: all cells."""

    def quantiles(self, of: FloatArray | None = None) -> FloatArray:
        """Evaluations, or what is given, at the levels of a plan."""
        return np.quantile(self.evaluations if of is None else of, LEVELS, method="higher")


@dataclass(frozen=True, eq=False)
class Plan:
    """What searches like the planned one need. ``print(plan)`` shows it; ``plan.plot()`` draws evaluations against the gap."""

    problem: Problem
    rows: tuple[Row, ...]
    about: str
    """What was assumed."""
    power: float
    rate: float | None = None
    """Evaluations per second."""

    @property
    def quantiles(self) -> dict[float, float]:
        """Evaluations at 10, 50, 90 and 99 % of the runs, of the first gap."""
        return dict(zip(LEVELS, self.rows[0].quantiles().tolist(), strict=True))

    def within(self, budget: float, *, cost: bool = False) -> float:
        """The share of runs, of the first gap, that end within so many evaluations, or, with `cost`, at such a cost."""
        row = self.rows[0]
        return float(((row.cost if cost else row.evaluations) <= budget).mean())

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data; None for what is infinite or not known."""

        def known(values: Any) -> list[float | None]:
            return [float(value) if math.isfinite(value) else None for value in values]

        def row(one: Row) -> dict[str, Any]:
            of = {"evaluations": one.quantiles()}
            if self.problem.cost is not None:
                of["cost"] = one.quantiles(one.cost)
            if self.rate is not None:
                of["seconds"] = one.quantiles() / self.rate
            told = {"gap": one.gap, "runs": len(one.evaluations), **{name: known(at) for name, at in of.items()}}
            return {**told, "fixed_sample": known([one.fixed])[0], "of_all": one.whole}

        limits = {
            name: {"limit": limit, "share": self.within(limit, cost=name == "budget_cost")}
            for name, limit in self._limits()
        }
        asked = {"delta": self.problem.delta, "power": self.power, "levels": list(LEVELS)}
        return {"about": self.about, **asked, "rows": [row(one) for one in self.rows], **limits}

    def _limits(self) -> Iterator[tuple[str, float]]:
        """The budgets that were stated."""
        named = ((name, getattr(self.problem, name)) for name in ("budget", "budget_cost"))
        return ((name, limit) for name, limit in named if limit is not None)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw evaluations against the gap: the median of the runs, the range of 80 % of them, and the fixed-sample test."""
        drawn: Axes = import_module("surest.report.plots").draw_plan(self, ax)
        return drawn

    def __str__(self) -> str:
        lines, unit = [self.about, ""], self.problem.cost_unit
        lines += self._several() if len(self.rows) > 1 else self._one(self.rows[0])
        for name, limit in self._limits():
            cost = name == "budget_cost"
            shown = f"{'' if unit else 'a cost of '}{money(limit, unit)}" if cost else f"{count(limit)} evaluations"
            lines.append(f"{self.within(limit, cost=cost):.0%} of the searches end within {shown}.")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        fragment: str = import_module("surest.report.notebook").plan_fragment(self)
        return fragment

    def _head(self, name: str) -> list[str]:
        return [name, *(f"{level:.0%}" for level in LEVELS), f"fixed sample, power {self.power:.0%}"]

    def _one(self, row: Row) -> list[str]:
        table = [self._head(""), ["evaluations", *map(shown, row.quantiles()), shown(row.fixed)]]
        if self.problem.cost is not None:
            each = row.cost[np.isfinite(row.cost)].sum() / max(row.evaluations[np.isfinite(row.evaluations)].sum(), 1)
            spent = [*row.quantiles(row.cost), row.fixed * each]
            table.append(["cost", *(money(c, self.problem.cost_unit) if math.isfinite(c) else "–" for c in spent)])
        if self.rate is not None:
            spans = [*row.quantiles() / self.rate, row.fixed / self.rate]
            table.append(["time", *(seconds_words(s) if math.isfinite(s) else "–" for s in spans)])
        lines = aligned(table, right=set(table[0]) - {""})
        return lines if row.whole is None else [*lines, f"All of the list are {count(row.whole)} evaluations."]

    def _several(self) -> list[str]:
        table = [self._head("gap")]
        table += [[f"{row.gap:g}", *map(shown, row.quantiles()), shown(row.fixed)] for row in self.rows]
        return ["Evaluations:", *aligned(table, right=set(table[0]) - {"gap"})]


def shown(value: float) -> str:
    """A number of evaluations in two figures; a dash where there is none."""
    return count(rounded(value)) if math.isfinite(value) else "–"


@takes_settings
def plan(
    source: Any = None,
    delta: float = 0.05,
    *,
    arms: int | None = None,
    baseline: float | None = None,
    lift: float | Sequence[float] | None = None,
    items: int | None = None,
    score: float | None = None,
    gap: float | Sequence[float] | None = None,
    agreement: float = 0.8,
    power: float = 0.8,
    rate: float | str | None = None,
    each: float | None = None,
    workers: int = 1,
    runs: int = 200,
    seconds: float | None = 15.0,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int], object] | None = None,
    **settings: Any,
) -> Plan:
    """Predict how many evaluations a search will need, before the first one.

    It is a simulation: the search's own algorithm runs on arms as they are guessed, or as an earlier table, study or file of
    rewards has them. The result has quantiles of what it needed, and the size of a fixed-sample test.

    Parameters
    ----------
    source : optional
        A table of scores or a log, a study, recorded rewards or totals, simulated arms, ``"bernoulli:0.11,0.1,0.1"``. A table is
        searched in random orders; rewards are drawn with replacement.
    delta : float
        The allowed probability of a wrong answer.
    arms, baseline, lift : optional
        A guess at rates: this many arms, all at `baseline` but one, which is `lift` above it. Several lifts give a row each.
    items, score, gap, agreement : optional
        A guess at a list of this many items: the best arm solves a share `score` of them, the others `gap` less, and each agrees
        with the best arm on a share `agreement` of the items.
    power : float
        Power of the fixed-sample test.
    rate : float or str, optional
        Evaluations per second, or text such as ``"1200/day"``; or `each`, the seconds per evaluation, on this many `workers`.
    runs, seconds : optional
        Searches to simulate, at least 20, and a time limit for them (None for no limit).
    columns : mapping, optional
        Other names of a table's columns, as for `evaluate`.
    progress : callable, optional
        Called with the runs made and their number after each run.
    **settings
        Those of the search. A budget ends no simulated search: the plan says how many end within it.

    Examples
    --------
    >>> planned = plan(arms=3, baseline=0.2, lift=0.3, runs=20, seed=1)
    >>> planned.quantiles[0.5] < planned.quantiles[0.9] < 2000
    True
    """
    check_keywords(locals(), **OWN)
    per_second = _per_second(rate, each, workers)
    limits = {name: settings.pop(name, None) for name in ("budget", "budget_cost")}
    settings = {"delta": delta, **resolved(settings)}
    checked(Problem(**limits, seed=settings.get("seed") or 0))  # refuses what they cannot be, before the first run
    seed = settings.pop("seed", None) or 0
    guessed = {"arms": arms, "baseline": baseline, "lift": lift, "items": items, "score": score, "gap": gap}
    gaps, used = (lift, ("arms", "baseline", "lift")) if items is None else (gap, ("arms", "items", "score", "gap"))
    given = [name for name, value in guessed.items() if value is not None and (source is not None or name not in used)]
    if given:
        what = "a source says" if source is not None else f"{', '.join(used)} say"
        raise UsageError(f"{what} how arms do; leave out {', '.join(given)}")
    if source is None and columns is not None:
        raise UsageError("columns requires a table; leave it out")
    if source is not None:
        laws = [_law_of(source, settings, columns)]
    else:
        leads = gaps if isinstance(gaps, Sequence) else [gaps]
        laws = [
            _rates(arms, baseline, lead) if items is None else _list(arms, items, score, lead, agreement)
            for lead in leads
        ]
    law, left = laws[0], None if seconds is None else seconds / len(laws)
    problem = problem_of(law.labels, items=law.items, **settings)
    rows = [_simulated(one, problem, seed, runs, left, power, progress) for one in laws]
    made, name = min(len(row.evaluations) for row in rows), lookup(problem.algorithm).name
    about = law.about if len(rows) == 1 else law.several
    words = f"Simulation: {made:,} searches by {name}, δ = {problem.delta:g}, {about}."
    return Plan(checked(msgspec.structs.replace(problem, **limits)), tuple(rows), words, power, per_second)


@dataclass(frozen=True)
class _Law:
    """What is simulated: arms, or a table of so many items, from the seed of a run."""

    labels: tuple[Any, ...]
    draw: Callable[[int], FiniteArms | Table]
    about: str
    several: str = ""
    items: int | None = None


def _rates(arms: int | None, baseline: float | None, lift: float | None) -> _Law:
    if arms is None or baseline is None or lift is None:
        raise UsageError("give a source, or guesses: arms, baseline and lift; on a list arms, items, score and gap")
    if baseline + lift > 1:
        raise UsageError(f"baseline is {baseline} and lift {lift}; together they must be at most 1")
    law = bernoulli([baseline + lift, *[baseline] * (arms - 1)])
    others = f"{arms} arms, {arms - 1} of them at {baseline:g}"
    return _Law(law.labels, lambda seed: law, f"{others} and one {lift:g} above", f"{others} and one above")


def _list(arms: int | None, items: int, score: float | None, gap: float | None, agreement: float) -> _Law:
    """A list on which one arm is ahead of the others by a gap, and agrees with each of them on a share of the items."""
    if arms is None or score is None or gap is None:
        raise UsageError("a guess at a list needs arms, items, score and gap")
    worse, better = (1 - agreement + gap) / 2, (1 - agreement - gap) / 2  # shares lost and won against the best
    if not (0 <= better <= 1 - score and 0 <= worse <= score):
        raise UsageError(
            f"no arms have a score of {score}, a gap of {gap} and agree on {agreement} of the items; the best arm must solve at "
            "least (1 − agreement + gap)/2 of them, and they disagree on at least the gap"
        )

    def draw(seed: int) -> Table:
        rng, solved = np.random.default_rng([seed, items]), round(score * items)
        rows = np.zeros((arms, items))
        rows[:, :solved] = 1.0
        for row in rows[1:]:
            row[rng.choice(solved, min(round(worse * items), solved), replace=False)] = 0.0
            row[solved + rng.choice(items - solved, min(round(better * items), items - solved), replace=False)] = 1.0
        return Table(tuple(map(str, range(arms))), tuple(range(items)), rows)

    these = f"{items:,} items and {arms} arms that agree on {agreement:.0%} of them, the best with a score of {score:g}"
    return _Law(tuple(map(str, range(arms))), draw, f"{these}, {gap:g} ahead", these, items)


def _law_of(source: Any, settings: Mapping[str, Any], columns: Mapping[str, str] | None) -> _Law:
    """What an earlier table, study, file or simulation says of the arms, whose large rewards are good."""
    scale, named = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False)), "these arms"
    if hasattr(source, "store") and hasattr(source, "labels"):  # a study
        source = _told(source)
    elif isinstance(source, str) and source.partition(":")[0] in KINDS:
        source, named = parse_source(source), source
    elif isinstance(source, str | Path):
        read = table_of(source) if is_log(source) else read_source(source, scale, columns, law=True, tables=True)
        source, named = read, RECORDED
    elif _is_table(source, columns):
        source = table_of(source, columns)
    if isinstance(source, Table):
        return _of_table(source)
    arms = kind_of_arms(source, scale, columns=columns)
    if isinstance(arms, Records):
        units = {str(label): scale.to_unit(values) for label, values in zip(arms.labels, arms.rewards, strict=True)}
        arms = Simulated(arms.labels, recorded(units), resampled=True)
    if isinstance(arms, Totals):
        rates = arms.successes / arms.trials
        law, on = bernoulli(1 - rates if scale.minimise else rates, arms.labels), "on successes with the rates so far"
    elif isinstance(arms, Simulated) and isinstance(arms.source, FiniteArms):
        law, on = arms.source, f"on {RECORDED if arms.resampled else named}"
    else:
        raise UsageError("a plan simulates: give recorded rewards, a table or simulated arms, not functions to call")
    return _Law(law.labels, lambda seed: law, on)


def _told(study: Any) -> Table | dict[Any, list[float]]:
    """What a study was told: its table of scores, or the rewards of each arm."""
    found = study.result()
    if found.listed is not None:
        return Table(found.labels, tuple(found.listed.items), found.listed.grid(len(found.labels)))
    with study.store.reading() as log:
        told = [(t.arm, t.reward) for t in log.read_tickets(study.id) if t.reward is not None]
    return {label: [r for arm, r in told if arm == place] for place, label in enumerate(found.labels)}


def _is_table(source: Any, columns: Mapping[str, str] | None) -> bool:
    """Whether data in memory are scores on items, and not rewards."""
    if is_frame(source):
        names = {str(name).lower() for name in source.columns}
        arm, item = ((columns or {}).get(n, n).lower() for n in ("arm", "item"))
        return arm not in names or item in names
    if isinstance(source, Mapping):
        return all(isinstance(row, Mapping) and "trials" not in row for row in source.values())
    return isinstance(source, np.ndarray) and source.ndim == 2


def _of_table(table: Table) -> _Law:
    """A table, in another order each time; from one with gaps, items that have all scores are drawn with replacement."""
    whole = ~np.isnan(table.values).any(axis=0)
    if not whole.any():
        raise UsageError("no item of this table has a score of every arm; a plan needs some")
    count_, there = len(table.items), table.values[:, whole]

    def draw(seed: int) -> Table:
        if whole.all():
            return table
        some = np.random.default_rng([seed, count_]).integers(there.shape[1], size=count_)
        return Table(table.labels, table.items, there[:, some])

    about = f"on the {count_:,} items of a table, in random orders"
    more = "" if whole.all() else f", drawn from {int(whole.sum()):,} that have all scores"
    return _Law(tuple(table.labels), draw, about + more, items=count_)


def _simulated(
    law: _Law, problem: Problem, seed: int, runs: int, seconds: float | None, power: float,
    progress: Callable[[int, int], object] | None,
) -> Row:  # fmt: skip
    """What searches needed that were simulated with the seeds from `seed` on."""
    needed, spent, began = list[float](), list[float](), time.monotonic()
    prices = np.ones(len(law.labels)) if problem.prices is None else problem.prices
    for run in range(runs):
        drawn, asked = law.draw(seed + run), msgspec.structs.replace(problem, seed=seed + run)
        if isinstance(drawn, Table):
            found = searched(asked, drawn, asked.scale.to_unit(drawn.values))
            certified, pulls = found.certified, found.pulls_per_arm
        else:
            done = running_on(asked, budget=MOST_PULLS)
            answer_from(drawn.simulate(seed + run), done)
            certified, pulls = done.value is not None and done.value.certified, done.pulls_per_arm
        needed.append(float(pulls.sum()) if certified else math.inf)
        spent.append(float(pulls @ prices) if certified else math.inf)
        if progress is not None:
            progress(run + 1, runs)
        if seconds is not None and run + 1 >= FEWEST and time.monotonic() - began > seconds:
            break
    gap, fixed = _fixed_sample(law.draw(seed), problem, power)
    whole = None if law.items is None else len(law.labels) * law.items
    return Row(gap, np.array(needed), np.array(spent), fixed, whole)


def _fixed_sample(drawn: FiniteArms | Table, problem: Problem, power: float) -> tuple[float, float]:
    """The gap to the runner-up, and the evaluations of one-sided tests of the best arm against each other, δ shared among them.

    The size is that of the closest pair, by the normal approximation; on a list pairs of scores on the same item count.
    """
    units: Any = problem.scale.to_unit(drawn.values) if isinstance(drawn, Table) else None
    means = drawn.means if isinstance(drawn, FiniteArms) else units.mean(axis=1)
    n, (best, second) = len(means), np.argsort(-means, kind="stable")[[0, -1 if len(means) < 2 else 1]]
    gap = float(means[best] - means[second])
    if gap == 0:
        return 0.0, math.nan
    if isinstance(drawn, FiniteArms):
        variance, most = float(drawn.variances[[best, second]].sum()), MOST_PULLS
    else:
        variance, most = float((units[best] - units[second]).var()), units.shape[1]
    normal = NormalDist()
    size = (normal.inv_cdf(1 - problem.delta / (n - 1)) + normal.inv_cdf(power)) ** 2 * variance / gap**2
    return gap * problem.scale.width, float(n * min(max(math.ceil(size), 1), most))


def _per_second(rate: float | str | None, each: float | None, workers: int) -> float | None:
    """Evaluations per second.

    >>> _per_second("1200/day", None, 1) * 86400, _per_second(None, 2.0, 8)
    (1200.0, 4.0)
    """
    if (rate is not None and each is not None) or (each is None and workers != 1):
        raise UsageError("give a rate, or how long an evaluation takes (each) and on how many workers")
    if rate is None:
        return None if each is None else workers / each
    times, _, span = str(rate).replace(",", "").partition("/")
    try:
        found = float(times) / SPANS[span.strip().removesuffix("s") or "s"]
    except (KeyError, ValueError):
        found = 0.0
    if not 0 < found < math.inf:
        raise UsageError(f"rate is {rate!r:.60}; write it as 1200/day; spans are {', '.join(SPANS)}")
    return found
