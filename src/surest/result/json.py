"""A result as JSON, both ways: what ``surest identify --json`` prints, and what reports read."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from surest.core.problem import DEFAULTS, Problem, checked
from surest.core.protocol import FloatArray, Point
from surest.errors import UsageError
from surest.result.duels import Duels, DuelsDocument, duels_from, duels_json
from surest.result.lead import Lead
from surest.result.listed import Gaps, Listed
from surest.result.questions import WORDS, verdict_words

if TYPE_CHECKING:
    from surest.result.data import Result

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Level = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Threshold = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Evidence = Annotated[float, msgspec.Meta(le=1e18)]
ALWAYS = ("delta", "epsilon", "algorithm", "seed", "bounds")
"""Settings that JSON always has; others only where they are not the usual ones."""


class ArmVerdict(msgspec.Struct):
    """What was found of one arm, where the question asks something of each."""

    arm: str
    verdict: str


class LeadDocument(msgspec.Struct):
    """By how much one arm is ahead of another."""

    arm: str
    over: str
    difference: float | None
    low: float | None
    high: float | None


class Document(msgspec.Struct):
    """A result as JSON has it, but for the settings of its problem, which stand beside these."""

    index: Whole | None
    arm: str | None
    certified: bool
    reason: str
    standing: str
    pulls: Whole
    pulls_per_arm: Annotated[list[Whole], msgspec.Meta(min_length=1)]
    rounds: Whole
    labels: list[str]
    means: list[float | None]
    delta: Level
    epsilon: Annotated[float, msgspec.Meta(ge=0)]
    algorithm: str
    evaluations: Whole | None = None
    seconds: float | None = None
    achieved_delta: Annotated[float, msgspec.Meta(ge=0)] | None = None
    epsilon_certified: Annotated[float, msgspec.Meta(ge=0)] | None = None
    indices: list[Whole] | None = None
    verdicts: list["ArmVerdict"] | None = None
    contenders: list[str] | None = None
    apart: Annotated[float, msgspec.Meta(ge=0)] | None = None
    nominees: list[str] = []
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    differences_low: list[float | None] | None = None
    differences_high: list[float | None] | None = None
    lead: LeadDocument | None = None
    forecast: float | None = None
    resampled: bool = False
    duels: DuelsDocument | None = None
    history: list[tuple[Whole, Evidence | None, Threshold]] = []
    warnings: list[str] = []
    health: dict[str, dict[str, int]] | None = None
    estimated: tuple[float, float, float, Whole] | None = None
    cost_by_arm: list[Annotated[float, msgspec.Meta(ge=0)]] | None = None
    cost_of_all: Annotated[float, msgspec.Meta(ge=0)] | None = None


def to_dict(result: "Result") -> dict[str, Any]:
    """A result as plain data; None for what is infinite or not known."""
    if result.listed is not None:
        return _listed_json(result, result.listed)
    return _plain_json(result)


def _listed_json(result: "Result", listed: Listed) -> dict[str, Any]:
    """A result on a list of items: evaluations instead of pulls."""
    data = _plain_json(result)
    per_arm = data.pop("pulls_per_arm")
    for name in ("pulls", "rounds", "nominees"):
        del data[name]
    low, high = listed.differences or (None, None)
    return {
        **data,
        "exact": result.exact,
        "cells": result.cells,
        "items": len(listed.items),
        "items_used": listed.items_used,
        "evaluations_per_arm": per_arm,
        "target": result.problem.target,
        "differences_low": None if low is None else _list(low),
        "differences_high": None if high is None else _list(high),
        **_table_json(result, listed),
    }


def _table_json(result: "Result", listed: Listed) -> dict[str, Any]:
    """What the result of a table has beside: what a search would have needed, the other target's answer, gaps."""
    said: dict[str, Any] = {}
    if listed.needed is not None:
        said["needed"] = listed.needed
    if listed.needed_cost is not None:
        said["needed_cost"] = listed.needed_cost
    if listed.misled:
        said["needed_wrong"] = True
    if listed.beside is not None:
        said["population" if result.problem.target == "items" else "on_items"] = _short_json(listed.beside)
    if listed.gaps is not None:
        whole = listed.gaps.complete
        said["gaps"] = {
            "missing": listed.gaps.missing,
            "out": [str(result.labels[arm]) for arm in listed.gaps.out],
            "complete": None if whole is None else _short_json(whole),
        }
    return said


def _short_json(result: "Result") -> dict[str, Any]:
    """What another claim on the same arms says."""
    return {
        "chosen": [*map(str, result.chosen)],
        "certified": result.certified,
        "exact": result.exact,
        "reason": result.reason,
        "delta": result.delta,
        "contenders": None if result.contenders is None else [*map(str, result.contenders)],
        "verdicts": None if result.verdicts is None else list(result.verdicts),
        "apart": result.apart,
        "epsilon_certified": result.epsilon_certified,
        "means": _list(result.means),
        "items": result.cells // len(result.labels),
    }


def _plain_json(result: "Result") -> dict[str, Any]:
    problem = result.problem
    low, high = result.intervals or (None, None)
    settings: dict[str, Any] = {
        name: getattr(problem, name)
        for name, default in DEFAULTS.items()
        if name in ALWAYS or getattr(problem, name) != default
    }
    settings = {"prices" if name == "cost" else name: value for name, value in settings.items()}
    one = problem.question.kind == "best" and len(result.indices) > 0
    words = None if result.verdicts is None else verdict_words(problem, result.verdicts)
    return {
        "question": problem.question.kind,
        "chosen": [*map(str, result.chosen)],
        "indices": list(result.indices),
        "index": result.index if one else None,
        "arm": str(result.best) if one else None,
        **({} if words is None else {"verdicts": [*map(_verdict_json, result.labels, words)]}),
        "certified": result.certified,
        "reason": result.reason,
        **settings,
        "algorithm": result.algorithm,
        "bounds": list(problem.bounds),
        "standing": result.standing,
        "pulls": result.pulls,
        "evaluations": result.evaluations,
        "pulls_per_arm": result.pulls_per_arm.tolist(),
        "rounds": result.rounds,
        **({} if result.estimated is None else {"estimated": list(result.estimated)}),
        **_costs(result),
        "seconds": finite(result.seconds),
        "achieved_delta": result.achieved_delta,
        "epsilon_certified": result.epsilon_certified,
        "contenders": None if result.contenders is None else [*map(str, result.contenders)],
        "apart": result.apart,
        "nominees": [*map(str, result.nominees)],
        "labels": [*map(str, result.labels)],
        "means": _list(result.means),
        "low": None if low is None else _list(low),
        "high": None if high is None else _list(high),
        **_apart(result),
        "lead": None if result.lead is None else _lead_json(result.lead),
        "forecast": None if result.forecast is None else finite(result.forecast),
        **({"resampled": True} if result.resampled else {}),
        **({} if result.duels is None else {"duels": duels_json(result)}),
        "warnings": list(result.warnings),
        # What is certain has infinite evidence, which JSON does not know: it has at least what a decision needs.
        "history": [[at, finite(threshold if e == math.inf else e), threshold] for at, e, threshold in result.history],
        **({"health": result.health} if result.health is not None else {}),
    }


def _estimate(told: tuple[float, float, float, int]) -> Any:
    from surest.result.data import Estimate

    return Estimate(*told)


def _costs(result: "Result") -> dict[str, Any]:
    if result.cost_by_arm is None:
        return {}
    return {"cost": result.cost, "cost_by_arm": result.cost_by_arm.tolist(), "cost_of_all": result.cost_of_all}


def _apart(result: "Result") -> dict[str, Any]:
    """Bounds of the differences on fresh pulls: from a control, or, of what is decided, from the chosen arm."""
    apart = result.differences if result.certified or result.differences_told is not None else None
    return {} if apart is None else {"differences_low": _list(apart.low), "differences_high": _list(apart.high)}


def _lead_json(lead: Lead) -> dict[str, Any]:
    numbers = {"difference": lead.difference, "low": lead.low, "high": lead.high}
    return {"arm": str(lead.arm), "over": str(lead.over), **{name: finite(value) for name, value in numbers.items()}}


def _lead(data: LeadDocument | None) -> Lead | None:
    if data is None:
        return None
    numbers = (math.nan if value is None else value for value in (data.difference, data.low, data.high))
    return Lead(data.arm, data.over, *numbers)


def _verdict_json(label: Any, word: str) -> dict[str, str]:
    return {"arm": str(label), "verdict": word}


def from_json(raw: Any, source: str) -> dict[str, Any]:
    """The fields of a result that parsed JSON holds, checked. Messages call it `source`."""
    listed = isinstance(raw, dict) and "evaluations_per_arm" in raw
    try:
        data = msgspec.convert(_as_pulls(raw) if listed else raw, Document)
        raw = (
            {**raw, "cost": raw.get("prices")} if isinstance(raw, dict) else raw
        )  # the cost of a result is what was spent
        settings = {name: raw[name] for name in DEFAULTS if raw.get(name) is not None}
        problem = checked(msgspec.convert({**settings, "labels": data.labels}, Problem))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{source} is not a result ({error}); give a file with what 'surest identify --json' prints"
        ) from None
    columns: list[list[Any]] = [data.labels, data.means, *(c for c in (data.low, data.high) if c is not None)]
    apart = [ends for ends in (data.differences_low, data.differences_high) if ends is not None]
    if any(len(column) != len(data.pulls_per_arm) for column in [*columns, *apart]) or (data.low is None) != (
        data.high is None
    ):
        raise UsageError(f"{source} is not a result: its lists of labels, pulls, means and bounds differ in length")
    indices = _indices(data, source)
    strange = next((label for label in data.contenders or () if label not in data.labels), None)
    if strange is not None:
        raise UsageError(f"{source} is not a result: its contender {strange!r} is not one of its labels")
    low, high = problem.bounds
    slack = 1e-6 * (high - low)
    if any(v is not None and not low - slack <= v <= high + slack for column in columns[1:] for v in column):
        raise UsageError(
            f"{source} is not a result: it has means or intervals outside of its bounds [{low:g}, {high:g}]"
        )
    same = (
        "certified",
        "reason",
        "standing",
        "pulls",
        "rounds",
        "achieved_delta",
        "epsilon_certified",
        "forecast",
        "apart",
    )
    fields = {
        "evaluations": data.pulls if data.evaluations is None else data.evaluations,  # results of old do not say
        **(_listed_fields(raw, problem) if listed else {}),
        **{name: getattr(data, name) for name in (*same, "health", "resampled")},
        "problem": problem,
        "indices": indices,
        "verdicts": _verdicts(data, problem, source),
        "duels": _duels(data, source),
        "seconds": math.nan if data.seconds is None else data.seconds,
        "pulls_per_arm": np.array(data.pulls_per_arm, np.int64),
        "means": _array(data.means),
        "contender_indices": None if data.contenders is None else tuple(map(data.labels.index, data.contenders)),
        "nominees": tuple(data.nominees),
        "warnings": tuple(data.warnings),
        "lead_told": _lead(data.lead),
        "intervals": None if data.low is None or data.high is None else (_array(data.low), _array(data.high)),
        "differences_told": None if listed else _differences(data.differences_low, data.differences_high),
        "cost_by_arm": None if data.cost_by_arm is None else np.array(data.cost_by_arm),
        "cost_of_all": data.cost_of_all,
        "estimated": None if data.estimated is None else _estimate(data.estimated),
        "history": tuple(Point(at, -math.inf if e is None else e, needed) for at, e, needed in data.history),
    }
    return _of_table(fields, msgspec.convert(raw, _Cells)) if listed else fields


def _duels(data: Document, source: str) -> Duels | None:
    try:
        return None if data.duels is None else duels_from(data.duels, data.labels)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{source} is not a result: {error}") from None


def _indices(data: Document, source: str) -> tuple[int, ...]:
    """The positions of the chosen arms. Results of old had one: the best arm's."""
    if data.index is not None and (data.index >= len(data.labels) or data.labels[data.index] != data.arm):
        raise UsageError(f"{source} is not a result: arm {data.arm!r} is not number {data.index} of its labels")
    indices = [data.index] if data.index is not None else data.indices
    if indices is None or len(set(indices)) < len(indices) or max(indices, default=0) >= len(data.labels):
        raise UsageError(f"{source} is not a result: it does not say which of its arms answer the question")
    return tuple(indices)


def _verdicts(data: Document, problem: Problem, source: str) -> tuple[int, ...] | None:
    """Each arm's verdict as a number, from its word."""
    if data.verdicts is None:
        return None
    values = {word: value for value, word in WORDS.get(problem.question.kind, {}).items()} | {"control": 0}
    words = [said.verdict for said in data.verdicts]
    if [said.arm for said in data.verdicts] != data.labels or not set(words) <= set(values):
        raise UsageError(f"{source} is not a result: its verdicts are not one of each of its arms")
    return tuple(values[word] for word in words)


def _differences(
    low: list[float | None] | None, high: list[float | None] | None
) -> tuple[FloatArray, FloatArray] | None:
    return None if low is None or high is None else (_array(low), _array(high))


def _as_pulls(raw: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a result on a list of items, with evaluations called pulls."""
    per_arm = raw["evaluations_per_arm"]
    total = sum(per_arm) if isinstance(per_arm, list) and all(isinstance(n, int) for n in per_arm) else None
    return {**raw, "pulls_per_arm": per_arm, "pulls": total, "rounds": raw.get("items_used")}


class _Short(msgspec.Struct):
    """Another claim on the same arms."""

    chosen: list[str]
    certified: bool
    reason: str
    means: list[float | None]
    items: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    contenders: list[str] | None = None
    verdicts: list[Literal[-1, 0, 1]] | None = None
    apart: Annotated[float, msgspec.Meta(ge=0)] | None = None
    epsilon_certified: Annotated[float, msgspec.Meta(ge=0)] | None = None


class _Gaps(msgspec.Struct):
    """What is known of a table with gaps."""

    missing: Whole
    out: list[str]
    complete: _Short | None = None


class _Cells(msgspec.Struct):
    """What the JSON of a result on a list of items has beside."""

    evaluations: Whole
    items: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    items_used: Whole
    differences_low: list[float | None] | None = None
    differences_high: list[float | None] | None = None
    needed: Whole | None = None
    needed_wrong: bool = False
    needed_cost: Annotated[float, msgspec.Meta(ge=0)] | None = None
    population: _Short | None = None
    on_items: _Short | None = None
    gaps: _Gaps | None = None


def _listed_fields(raw: dict[str, Any], problem: Problem) -> dict[str, Any]:
    data = msgspec.convert(raw, _Cells)
    differences = _differences(data.differences_low, data.differences_high)
    empty = np.empty(0, np.int64)
    return {
        "evaluations": data.evaluations,
        "listed": Listed(range(data.items), data.items_used, empty, empty, np.empty(0), differences),
    }


def _of_table(fields: dict[str, Any], data: _Cells) -> dict[str, Any]:
    """The fields of a result, with what the result of a table has beside."""
    from surest.result.data import Result

    result, target = Result(**fields), "items" if data.on_items is not None else "population"
    short, gaps = data.on_items or data.population, None
    if data.gaps is not None:
        part = None if data.gaps.complete is None else _of_short(result, data.gaps.complete, "items")
        gaps = Gaps(data.gaps.missing, _places(result, data.gaps.out), part)
    other = None if short is None else _of_short(result, short, target)
    known = data.on_items is not None or result.reason.startswith("exact: all scores known")
    more = {
        "known": known,
        "needed": data.needed,
        "misled": data.needed_wrong,
        "needed_cost": data.needed_cost,
        "beside": other,
        "gaps": gaps,
    }
    return {**fields, "listed": replace(fields["listed"], **more)}


def _of_short(result: "Result", data: _Short, target: str) -> "Result":
    n, listed = len(result.labels), result.listed
    verdicts = None if data.verdicts is None else tuple(data.verdicts)
    if len(data.means) != n or len(verdicts or range(n)) != n or listed is None:
        raise UsageError("this is not a result: another claim in it is not about the same arms")
    return replace(
        result,
        problem=msgspec.structs.replace(result.problem, target=target),
        indices=_places(result, data.chosen),
        certified=data.certified,
        reason=data.reason,
        means=_array(data.means),
        contender_indices=None if data.contenders is None else _places(result, data.contenders),
        verdicts=verdicts,
        apart=data.apart,
        achieved_delta=0.0 if data.reason.startswith("exact") else None,
        epsilon_certified=data.epsilon_certified,
        intervals=None,
        lead_told=None,
        listed=replace(listed, items=range(data.items), differences=None, needed=None),
    )


def _places(result: "Result", labels: list[str]) -> tuple[int, ...]:
    if not set(labels) <= set(result.labels):
        raise UsageError("this is not a result: it has arms that are not among its labels")
    return tuple(map(result.labels.index, labels))


def finite(value: float) -> float | None:
    """A number for JSON, which knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def _list(values: FloatArray) -> list[float | None]:
    return [*map(finite, values.tolist())]


def _array(values: list[float | None]) -> FloatArray:
    return np.array([math.nan if value is None else value for value in values], float)
