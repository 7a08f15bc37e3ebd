"""A result as JSON, both ways: what ``surest identify --json`` prints, and what reports read."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from surest.core.problem import DEFAULTS, Problem, checked
from surest.core.protocol import FloatArray, Point
from surest.errors import UsageError
from surest.result.data import Estimate, Listed, Result
from surest.result.duels import Duels
from surest.result.leads import Lead
from surest.result.questions import WORDS, verdict_words
from surest.result.words import KNOWN
from surest.text import plain_data

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Items = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Level = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Size = Annotated[float, msgspec.Meta(ge=0)]
Threshold = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Evidence = Annotated[float, msgspec.Meta(le=1e18)]
Numbers = tuple[float | None, ...]  # none for what is not known: JSON has no NaN
ALWAYS = ("delta", "epsilon", "algorithm", "seed", "bounds")
"""Settings that JSON always has; others only where they are not the usual ones."""
RARE = {
    "verdicts", "estimated", "differences_low", "differences_high", "resampled", "duels", "health", "cost", "cost_by_arm",
    "needed", "needed_cost", "needed_wrong", "population", "on_items", "gaps",
}  # fmt: skip
"""What JSON has only where it is known."""
SHORT = ("certified", "exact", "reason", "delta", "verdicts", "apart", "epsilon_certified", "means")
"""What JSON has of a second claim on the same arms."""
SAME = (
    "certified", "reason", "standing", "pulls", "rounds", "achieved_delta", "epsilon_certified", "forecast", "apart",
    "health", "resampled", "cost_of_all", "nominees", "warnings",
)  # fmt: skip
"""What a result and its JSON call the same, and hold in the same form."""
NO_CELLS = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)  # JSON has no cells


class LeadDocument(msgspec.Struct):
    """By how much one arm is ahead of another."""

    arm: str
    over: str
    difference: float | None
    low: float | None
    high: float | None


class DuelsDocument(msgspec.Struct):
    """Who met whom, and what came of it."""

    games: list[list[int]]
    score: list[list[float]]
    told: list[list[bool | int]]
    groups: list[list[str]]
    order: tuple[int, ...]
    open: int
    proven: bool
    first_side: dict[str, float] | None = None
    ranked: bool = False


class Claim(msgspec.Struct):
    """Another claim on the same arms."""

    chosen: list[str]
    certified: bool
    reason: str
    means: Numbers
    items: Items
    contenders: list[str] | None = None
    verdicts: tuple[Literal[-1, 0, 1], ...] | None = None
    apart: Size | None = None
    epsilon_certified: Size | None = None


class GapsDocument(msgspec.Struct):
    """What is known of a table with gaps."""

    missing: Whole
    out: list[str]
    complete: Claim | None = None


class Document(msgspec.Struct):
    """A result as JSON has it, but for the settings of its problem, which stand beside these."""

    index: Whole | None
    arm: str | None
    certified: bool
    reason: str
    standing: str
    pulls: Whole
    pulls_per_arm: Annotated[tuple[Whole, ...], msgspec.Meta(min_length=1)]
    rounds: Whole
    labels: list[str]
    means: Numbers
    delta: Level
    epsilon: Size
    algorithm: str
    evaluations: Whole | None = None
    seconds: float | None = None
    achieved_delta: Size | None = None
    epsilon_certified: Size | None = None
    indices: tuple[Whole, ...] | None = None
    verdicts: list[dict[str, str]] | None = None
    contenders: list[str] | None = None
    apart: Size | None = None
    nominees: tuple[str, ...] = ()
    low: Numbers | None = None
    high: Numbers | None = None
    differences_low: Numbers | None = None
    differences_high: Numbers | None = None
    lead: LeadDocument | None = None
    forecast: float | None = None
    resampled: bool = False
    duels: DuelsDocument | None = None
    history: tuple[tuple[Whole, Evidence | None, Threshold], ...] = ()
    warnings: tuple[str, ...] = ()
    health: dict[str, dict[str, int]] | None = None
    estimated: tuple[float, float, float, Whole] | None = None
    cost_by_arm: tuple[Size, ...] | None = None
    cost_of_all: Size | None = None
    # On a list of items:
    items: Items = 1
    items_used: Whole = 0
    needed: Whole | None = None
    needed_wrong: bool = False
    needed_cost: Size | None = None
    population: Claim | None = None
    on_items: Claim | None = None
    gaps: GapsDocument | None = None


def to_dict(result: Result) -> dict[str, Any]:
    """A result as plain data; None for what is infinite or not known."""
    problem, listed = result.problem, result.listed
    data = {"question": problem.question.kind, "chosen": _texts(result.chosen), "certified": result.certified}
    for name, default in DEFAULTS.items():
        if name in ALWAYS or getattr(problem, name) != default:
            data["prices" if name == "cost" else name] = getattr(problem, name)
    data |= {name: getattr(result, name) for name in SAME} | _in_other_form(result)
    if listed is not None:  # its evaluations are not called pulls
        for name in ("pulls", "pulls_per_arm", "rounds", "nominees"):
            del data[name]
        data |= _of_list(result, listed)
    rare = RARE | ({"cost_of_all"} if result.cost is None else set())
    plain: dict[str, Any] = plain_data({name: v for name, v in data.items() if v is not None or name not in rare})
    return plain


def _in_other_form(result: Result) -> dict[str, Any]:
    """What JSON has in another form than a result: arms by their labels, and each bound by itself."""
    low, high = result.intervals or (None, None)
    settled = result.certified and result.listed is None
    less, more = (result.differences if settled else result.known_differences) or (None, None)
    one = result.problem.question.best and len(result.indices) > 0
    words = None if result.verdicts is None else verdict_words(result.problem, result.verdicts)
    return {
        "algorithm": result.algorithm,
        "labels": _texts(result.labels),
        "indices": result.indices,
        "index": result.index if one else None,
        "arm": str(result.best) if one else None,
        "verdicts": words and [{"arm": str(a), "verdict": w} for a, w in zip(result.labels, words, strict=True)],
        "contenders": _texts(result.contenders),
        "nominees": _texts(result.nominees),
        "evaluations": result.evaluations,
        "pulls_per_arm": result.pulls_per_arm,
        "means": result.means,
        "low": low,
        "high": high,
        "differences_low": less,
        "differences_high": more,
        "lead": result.lead and {**result.lead._asdict(), "arm": str(result.lead.arm), "over": str(result.lead.over)},
        "estimated": result.estimated,
        "resampled": result.resampled or None,
        "duels": result.duels and _duels(result, result.duels),
        "cost": result.cost,
        "cost_by_arm": result.cost_by_arm,
        "seconds": result.seconds,
        # What is certain has infinite evidence, which JSON does not know: it has at least what a decision needs.
        "history": [[at, threshold if e == math.inf else e, threshold] for at, e, threshold in result.history],
    }


def _of_list(result: Result, listed: Listed) -> dict[str, Any]:
    """What the JSON of a result on a list of items has beside."""
    gaps = {
        "missing": listed.missing,
        "out": [str(result.labels[arm]) for arm in listed.out],
        "complete": _in_short(listed.complete),
    }
    return {
        "exact": result.exact,
        "cells": result.cells,
        "items": len(listed.items),
        "items_used": listed.items_used,
        "evaluations_per_arm": result.pulls_per_arm,
        "target": result.problem.target,
        "needed": listed.needed,
        "needed_cost": listed.needed_cost,
        "needed_wrong": listed.misled or None,
        "population" if result.problem.target == "items" else "on_items": _in_short(listed.beside),
        "gaps": None if listed.missing is None else gaps,
    }


def _in_short(result: Result | None) -> dict[str, Any] | None:
    """What another claim on the same arms says."""
    if result is None:
        return None
    named = {"chosen": _texts(result.chosen), "contenders": _texts(result.contenders)}
    return named | {name: getattr(result, name) for name in SHORT} | {"items": len(result._on_items().items)}


def _duels(result: Result, duels: Duels) -> dict[str, Any]:
    return {
        "games": duels.games,
        "score": duels.score,
        "told": duels.beats.astype(int),
        "groups": [_texts([result.labels[player] for player in group]) for group in duels.groups],
        **{name: getattr(duels, name) for name in ("order", "open", "proven", "ranked")},
        "first_side": duels.first and dict(zip(("mean", "low", "high"), duels.first, strict=True)),
    }


def _texts(labels: Sequence[Any] | None) -> list[str] | None:
    return None if labels is None else [*map(str, labels)]


def from_json(raw: Any, source: str) -> Result:
    """The result that parsed JSON holds, checked. Messages call it `source`."""
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
    try:
        _check_columns(data, problem)
        result = _result(data, problem)
        return replace(result, listed=_listed(result, data)) if listed else result
    except (ValueError, KeyError) as error:
        raise UsageError(f"{source} is not a result: {error}") from None


def _result(data: Document, problem: Problem) -> Result:
    """The result of a document; ValueError where its parts do not fit together."""
    return Result(
        **{name: getattr(data, name) for name in SAME},
        evaluations=data.pulls if data.evaluations is None else data.evaluations,  # older results do not say
        problem=problem,
        indices=_indices(data),
        verdicts=_verdicts(data, problem),
        duels=None if data.duels is None else _duels_of(data.duels, data.labels),
        seconds=_float(data.seconds),
        pulls_per_arm=np.array(data.pulls_per_arm, np.int64),
        means=np.array(data.means, float),  # NaN for None
        contender_indices=None if data.contenders is None else _places(data, data.contenders),
        known_lead=None if data.lead is None else Lead(*map(_float, msgspec.structs.astuple(data.lead))),
        intervals=_arrays(data.low, data.high),
        known_differences=_arrays(data.differences_low, data.differences_high),
        cost_by_arm=None if data.cost_by_arm is None else np.array(data.cost_by_arm),
        estimated=data.estimated and Estimate(*data.estimated),
        history=tuple(Point(at, -math.inf if e is None else e, needed) for at, e, needed in data.history),
    )


def _check_columns(data: Document, problem: Problem) -> None:
    columns = [column for column in (data.means, data.low, data.high) if column is not None]
    every = [data.labels, *columns, *filter(None, (data.differences_low, data.differences_high))]
    if any(len(column) != len(data.pulls_per_arm) for column in every) or (data.low is None) != (data.high is None):
        raise ValueError("its lists of labels, pulls, means and bounds differ in length")
    low, high = problem.bounds
    slack = 1e-6 * (high - low)
    if any(v is not None and not low - slack <= v <= high + slack for column in columns for v in column):
        raise ValueError(f"it has means or intervals outside of its bounds [{low:g}, {high:g}]")


def _indices(data: Document) -> tuple[int, ...]:
    """The positions of the chosen arms. Older results have one: the best arm's."""
    if data.index is not None and (data.index >= len(data.labels) or data.labels[data.index] != data.arm):
        raise ValueError(f"arm {data.arm!r} is not number {data.index} of its labels")
    indices = (data.index,) if data.index is not None else data.indices
    if indices is None or len(set(indices)) < len(indices) or max(indices, default=0) >= len(data.labels):
        raise ValueError("it does not say which of its arms answer the question")
    return indices


def _verdicts(data: Document, problem: Problem) -> tuple[int, ...] | None:
    if data.verdicts is None:
        return None
    values = {word: value for value, word in WORDS.get(problem.question.kind, {}).items()} | {"control": 0}
    words = [said["verdict"] for said in data.verdicts]
    if [said["arm"] for said in data.verdicts] != data.labels or not set(words) <= set(values):
        raise ValueError("its verdicts are not one of each of its arms")
    return tuple(values[word] for word in words)


def _duels_of(data: DuelsDocument, labels: list[str]) -> Duels:
    n, games, score = len(labels), np.array(data.games), np.array(data.score, float)
    beats, side = np.array(data.told, bool), data.first_side
    if not games.shape == score.shape == beats.shape == (n, n) or sorted(data.order) != list(range(n)):
        raise ValueError("its duels are not between its arms")
    if sorted(player for group in data.groups for player in group) != sorted(labels):
        raise ValueError("its groups are not of its arms")
    groups = tuple(tuple(map(labels.index, group)) for group in data.groups)
    first = None if side is None else (side["mean"], side["low"], side["high"])
    return Duels(games, score, beats, groups, data.order, data.open, data.proven, first, data.ranked)


def _as_pulls(raw: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a result on a list of items, with evaluations called pulls."""
    per_arm = raw["evaluations_per_arm"]
    total = sum(per_arm) if isinstance(per_arm, list) and all(isinstance(n, int) for n in per_arm) else None
    return {**raw, "pulls_per_arm": per_arm, "pulls": total, "rounds": raw.get("items_used")}


def _listed(result: Result, data: Document) -> Listed:
    """What the result of a table has beside."""
    gaps, more = data.gaps, dict[str, Any]()
    if gaps is not None:
        complete = _claimed(result, data, gaps.complete, "items")
        more = {"missing": gaps.missing, "out": _places(data, gaps.out), "complete": complete}
    return Listed(
        range(data.items),
        data.items_used,
        *NO_CELLS,
        known=data.on_items is not None or result.reason.startswith(KNOWN),
        needed=data.needed,
        misled=data.needed_wrong,
        needed_cost=data.needed_cost,
        beside=_claimed(result, data, data.on_items or data.population, "items" if data.on_items else "population"),
        **more,
    )


def _claimed(result: Result, data: Document, claim: Claim | None, target: str) -> Result | None:
    """Another claim on the same arms."""
    if claim is None:
        return None
    n = len(data.labels)
    if len(claim.means) != n or len(claim.verdicts or range(n)) != n:
        raise ValueError("another claim in it is not about the same arms")
    return replace(
        result,
        problem=msgspec.structs.replace(result.problem, target=target),
        **{name: getattr(claim, name) for name in ("certified", "reason", "verdicts", "apart", "epsilon_certified")},
        indices=_places(data, claim.chosen),
        means=np.array(claim.means, float),  # NaN for None
        contender_indices=None if claim.contenders is None else _places(data, claim.contenders),
        achieved_delta=0.0 if claim.reason.startswith("exact") else None,
        intervals=None,
        known_differences=None,
        known_lead=None,
        listed=Listed(range(claim.items), data.items_used, *NO_CELLS),
    )


def _places(data: Document, labels: list[str]) -> tuple[int, ...]:
    strange = next((label for label in labels if label not in data.labels), None)
    if strange is not None:
        raise ValueError(f"{strange!r} is not one of its labels")
    return tuple(map(data.labels.index, labels))


def _float(value: Any) -> Any:
    return math.nan if value is None else value


def _arrays(low: Numbers | None, high: Numbers | None) -> tuple[FloatArray, FloatArray] | None:
    return None if low is None or high is None else (np.array(low, float), np.array(high, float))
