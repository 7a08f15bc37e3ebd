"""A result as JSON, both ways: what ``surest identify --json`` prints, and what reports read."""

import math
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from surest.core.problem import DEFAULTS, Problem, checked
from surest.core.protocol import FloatArray, Point
from surest.errors import UsageError
from surest.result.duels import DuelsDocument, duels_from, duels_json
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
    data, listed = _on_pulls(result), result.listed
    if listed is None:
        return data
    per_arm = data.pop("pulls_per_arm")  # on a list of items: evaluations instead of pulls
    for name in ("pulls", "rounds", "nominees"):
        del data[name]
    low, high = listed.differences or (None, None)
    beside = "population" if result.problem.target == "items" else "on_items"
    known: dict[str, Any] = {
        "needed": listed.needed,
        "needed_cost": listed.needed_cost,
        "needed_wrong": listed.misled or None,
    }
    known |= {
        beside: listed.beside and _in_short(listed.beside),
        "gaps": listed.gaps and _gaps_json(result, listed.gaps),
    }
    return {
        **data,
        "exact": result.exact,
        "cells": result.cells,
        "items": len(listed.items),
        "items_used": listed.items_used,
        "evaluations_per_arm": per_arm,
        "target": result.problem.target,
        "differences_low": _data(low),
        "differences_high": _data(high),
        **{name: value for name, value in known.items() if value is not None},
    }


def _gaps_json(result: "Result", gaps: Gaps) -> dict[str, Any]:
    out = [str(result.labels[arm]) for arm in gaps.out]
    return {"missing": gaps.missing, "out": out, "complete": gaps.complete and _in_short(gaps.complete)}


def _in_short(result: "Result") -> dict[str, Any]:
    """What another claim on the same arms says."""
    names = ("certified", "exact", "reason", "delta", "verdicts", "apart", "epsilon_certified", "means")
    return {
        "chosen": [*map(str, result.chosen)],
        "contenders": None if result.contenders is None else [*map(str, result.contenders)],
        **{name: _data(getattr(result, name)) for name in names},
        "items": result.cells // len(result.labels),
    }


def _on_pulls(result: "Result") -> dict[str, Any]:
    problem, lead = result.problem, result.lead
    low, high = result.intervals or (None, None)
    apart = result.differences if result.certified or result.differences_told is not None else None
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
        **(
            {}
            if words is None
            else {"verdicts": [{"arm": str(a), "verdict": w} for a, w in zip(result.labels, words, strict=True)]}
        ),
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
        **(
            {}
            if result.cost is None
            else {"cost": result.cost, "cost_by_arm": _data(result.cost_by_arm), "cost_of_all": result.cost_of_all}
        ),
        "seconds": _data(result.seconds),
        "achieved_delta": result.achieved_delta,
        "epsilon_certified": result.epsilon_certified,
        "contenders": None if result.contenders is None else [*map(str, result.contenders)],
        "apart": result.apart,
        "nominees": [*map(str, result.nominees)],
        "labels": [*map(str, result.labels)],
        "means": _data(result.means),
        "low": _data(low),
        "high": _data(high),
        **({} if apart is None else {"differences_low": _data(apart.low), "differences_high": _data(apart.high)}),
        "lead": lead and {**_data(lead._asdict()), "arm": str(lead.arm), "over": str(lead.over)},
        "forecast": _data(result.forecast),
        **({"resampled": True} if result.resampled else {}),
        **({} if result.duels is None else {"duels": duels_json(result)}),
        "warnings": list(result.warnings),
        # What is certain has infinite evidence, which JSON does not know: it has at least what a decision needs.
        "history": [[at, _data(threshold if e == math.inf else e), threshold] for at, e, threshold in result.history],
        **({"health": result.health} if result.health is not None else {}),
    }


def from_json(raw: Any, source: str) -> dict[str, Any]:
    """The fields of a result that parsed JSON holds, checked. Messages call it `source`."""
    listed = isinstance(raw, dict) and "evaluations_per_arm" in raw
    try:
        data = msgspec.convert(_as_pulls(raw) if listed else raw, Document)
        raw = {**raw, "cost": raw.get("prices")}  # the cost of a result is what was spent
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
    try:
        duels = None if data.duels is None else duels_from(data.duels, data.labels)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{source} is not a result: {error}") from None
    same = (
        "certified", "reason", "standing", "pulls", "rounds", "achieved_delta", "epsilon_certified", "forecast",
        "apart",
    )  # fmt: skip
    fields = {
        "evaluations": data.pulls if data.evaluations is None else data.evaluations,  # results of old do not say
        **{name: getattr(data, name) for name in (*same, "health", "resampled", "cost_of_all")},
        "problem": problem,
        "indices": indices,
        "verdicts": _verdicts(data, problem, source),
        "duels": duels,
        "seconds": _float(data.seconds),
        "pulls_per_arm": np.array(data.pulls_per_arm, np.int64),
        "means": _array(data.means),
        "contender_indices": None if data.contenders is None else tuple(map(data.labels.index, data.contenders)),
        "nominees": tuple(data.nominees),
        "warnings": tuple(data.warnings),
        "lead_told": data.lead
        and Lead(data.lead.arm, data.lead.over, *map(_float, msgspec.structs.astuple(data.lead)[2:])),
        "intervals": _arrays(data.low, data.high),
        "differences_told": None if listed else _arrays(data.differences_low, data.differences_high),
        "cost_by_arm": None if data.cost_by_arm is None else np.array(data.cost_by_arm),
        "estimated": data.estimated and import_module("surest.result.data").Estimate(*data.estimated),
        "history": tuple(Point(at, -math.inf if e is None else e, needed) for at, e, needed in data.history),
    }
    return _on_items(fields, msgspec.convert(raw, _Cells)) if listed else fields


def _indices(data: Document, source: str) -> tuple[int, ...]:
    """The positions of the chosen arms. Results of old had one: the best arm's."""
    if data.index is not None and (data.index >= len(data.labels) or data.labels[data.index] != data.arm):
        raise UsageError(f"{source} is not a result: arm {data.arm!r} is not number {data.index} of its labels")
    indices = [data.index] if data.index is not None else data.indices
    if indices is None or len(set(indices)) < len(indices) or max(indices, default=0) >= len(data.labels):
        raise UsageError(f"{source} is not a result: it does not say which of its arms answer the question")
    return tuple(indices)


def _verdicts(data: Document, problem: Problem, source: str) -> tuple[int, ...] | None:
    if data.verdicts is None:
        return None
    values = {word: value for value, word in WORDS.get(problem.question.kind, {}).items()} | {"control": 0}
    words = [said.verdict for said in data.verdicts]
    if [said.arm for said in data.verdicts] != data.labels or not set(words) <= set(values):
        raise UsageError(f"{source} is not a result: its verdicts are not one of each of its arms")
    return tuple(values[word] for word in words)


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


def _on_items(fields: dict[str, Any], data: _Cells) -> dict[str, Any]:
    """The fields of a result on a list of items, with what the result of a table has beside."""
    differences, empty = _arrays(data.differences_low, data.differences_high), np.empty(0, np.int64)
    listed = Listed(range(data.items), data.items_used, empty, empty, np.empty(0), differences)
    fields |= {"evaluations": data.evaluations, "listed": listed}
    result, target = import_module("surest.result.data").Result(**fields), "items" if data.on_items else "population"
    short, gaps = data.on_items or data.population, None
    if data.gaps is not None:
        gaps = Gaps(data.gaps.missing, _places(result, data.gaps.out), _of_short(result, data.gaps.complete, "items"))
    known = data.on_items is not None or result.reason.startswith("exact: all scores known")
    listed = replace(
        listed, known=known, needed=data.needed, misled=data.needed_wrong, needed_cost=data.needed_cost,
        beside=_of_short(result, short, target), gaps=gaps,
    )  # fmt: skip
    return {**fields, "listed": listed}


def _of_short(result: "Result", data: _Short | None, target: str) -> "Result | None":
    if data is None:
        return None
    n, listed = len(result.labels), result.listed
    verdicts = None if data.verdicts is None else tuple(data.verdicts)
    if len(data.means) != n or len(verdicts or range(n)) != n or listed is None:
        raise UsageError("this is not a result: another claim in it is not about the same arms")
    return replace(
        result, problem=msgspec.structs.replace(result.problem, target=target), indices=_places(result, data.chosen),
        certified=data.certified, reason=data.reason, means=_array(data.means),
        contender_indices=None if data.contenders is None else _places(result, data.contenders), verdicts=verdicts,
        apart=data.apart, achieved_delta=0.0 if data.reason.startswith("exact") else None,
        epsilon_certified=data.epsilon_certified, intervals=None, lead_told=None,
        listed=replace(listed, items=range(data.items), differences=None, needed=None),
    )  # fmt: skip


def _places(result: "Result", labels: list[str]) -> tuple[int, ...]:
    if not set(labels) <= set(result.labels):
        raise UsageError("this is not a result: it has arms that are not among its labels")
    return tuple(map(result.labels.index, labels))


def _data(value: Any) -> Any:
    """Plain data, with None for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {name: _data(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | tuple):
        return [*map(_data, value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _float(value: float | None) -> float:
    return math.nan if value is None else value


def _array(values: list[float | None]) -> FloatArray:
    return np.array([*map(_float, values)], float)


def _arrays(low: list[float | None] | None, high: list[float | None] | None) -> tuple[FloatArray, FloatArray] | None:
    return None if low is None or high is None else (_array(low), _array(high))
