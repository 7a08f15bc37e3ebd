"""A gate for a build: is the candidate worse than the baseline by more than a margin? From scores on the same items."""

import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from math import fsum, inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surest.arms.files import is_log
from surest.arms.pairs import Pair, has_value, in_both, named, of_length, pair_in, pair_of, row_of
from surest.arms.tables import Table
from surest.core.problem import problem_of
from surest.core.protocol import Cells, FloatArray
from surest.core.scale import Scale, checked_scale
from surest.errors import UsageError
from surest.evidence.lists.gate import Found, judge
from surest.evidence.lists.units import in_random_order
from surest.result.gate import Gate, Verdict

if TYPE_CHECKING:
    from surest.study.study import Study

MOST_WANTED = 10_000
"""Cells to evaluate next that a result lists, at most."""
ROUNDED = 2.0**-50
"""What rounding can make of a mean difference on [-1, 1]: sums are exact, differences and the margin are rounded once."""
LOOKS = 50
"""How often, at least, it is seen whether functions have decided it, on the way through the list."""


def gate(
    baseline: Any,
    candidate: Any,
    margin: float = 0.0,
    delta: float = 0.05,
    *,
    table: Any = None,
    items: int | str | Path | Sequence[Hashable] | None = None,
    target: str = "items",
    bounds: tuple[float, float] | None = None,
    minimise: bool = False,
    seed: int | str | None = None,
    shuffled: bool = False,
    common: bool = False,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
) -> Gate:
    """Tell whether a candidate is worse than a baseline by more than a margin, from their scores on the same items.

    The verdict `pass` says that the candidate's mean is not worse by more than `margin`, `fail` that it is worse. Either is wrong
    with probability at most `delta`, however often the gate is run while the scores come in. When all items of the list
    have both scores, the verdict is exact.

    Parameters
    ----------
    baseline, candidate : path, mapping, Series, sequence or function
        The scores: a file (.csv with the columns item and value, or .jsonl with such fields), ``{item: value}``, a pandas
        Series, or a list of numbers in the order of the items. NaN and None in Python, and an empty value in a file, say
        that an item is not evaluated yet. Or the log of an evaluation by inspect_ai, lm-evaluation-harness or promptfoo. A
        function of an item is called on the items in their order, until it is decided.
        With `table`, the labels of two arms.
    margin : float
        How much worse the candidate may be, in the units of the scores.
    delta : float
        The allowed probability of a wrong verdict.
    table : table or Study, optional
        What `evaluate` takes as a table, or a study on a list of items: `baseline` and `candidate` are two of its arms.
    items : path, sequence or int, optional
        The list that the claim is about: a file, the items' names, or how many there are. Otherwise the items of the
        baseline (those of the table or study).
    target : {"items", "population"}
        Whether the claim is about the mean on the list, or about what the items are an independent random sample of.
    bounds : (float, float), optional
        The lowest and the highest possible score; default (0, 1).
    minimise : bool
        Scores are costs, times or losses: larger is worse.
    seed : int or str, optional
        Draws, with the number of items, the order in which they count. If not given, it is fresh for functions and otherwise 0,
        so that it stays the same while scores come in. Where the same items serve many changes, give each change its own,
        such as its commit.
    shuffled : bool
        The list stands in a random order already, drawn before anything was evaluated, and counts in that order.
    common : bool
        The list is what both sides have: items that only one of them has are left out.
    strict : bool
        Refuse items that only one side has.
    columns : mapping, optional
        Other names of the columns of files and tables: ``{"item": "question", "value": "score"}``.
    scorer : str, optional
        The scorer that counts, where a log has several.

    Returns
    -------
    Gate
        With `.verdict`, `.passed`, `.failed`, `.difference`, `.interval`, `.items_counted`, `.wanted`, `.to_dict()` and
        `.to_markdown()`. Of a complete list also `.population`, the verdict on further items like these, and `.needed`.

    Examples
    --------
    >>> old = {f"q{i}": float(i % 4 > 0) for i in range(200)}
    >>> new = {**old, "q0": 1.0, "q1": 0.0, "q2": 0.0}
    >>> found = gate(old, new, margin=0.02)
    >>> found.verdict, found.exact, found.difference
    ('pass', True, -0.005)
    >>> gate(old, {}, margin=0.1).wanted[0]
    ('candidate', 'q67')
    """
    baseline, candidate, table, told = _from_logs(baseline, candidate, table, scorer)
    study = _study_in(table)
    scale = _scale(study, bounds, minimise)
    problem_of(2, items=1, delta=delta, target=target)  # refuses what they cannot be
    if not 0 <= margin < scale.width:
        raise UsageError(f"margin is {margin}; it must be from 0 on and below {scale.width:g}, the width of the bounds")
    if study is None:
        pair = _given(baseline, candidate, table, columns, items)
    elif items is None:
        pair = _of_study(study, baseline, candidate)
    else:
        raise UsageError("a study has its list of items; leave out items")
    if strict:
        _refuse_unpaired(pair)
    if common:
        pair = in_both(pair)
    _check_list(pair, shuffled, target)
    _check_values(pair, scale)
    functions = (baseline if callable(baseline) else None, candidate if callable(candidate) else None)
    keep = shuffled or target == "population"
    if any(functions) and seed is None and not keep:
        seed = secrets.randbits(32)  # nothing has to stay the same from call to call
    drawn, used = _in_order(pair, seed, keep=keep)
    if any(functions):
        return _evaluated(drawn, functions, scale, margin, delta, target, used)
    found = _judged(drawn, scale, margin, delta, target, used)
    return replace(found, notes=told + found.notes) if told else found


def _from_logs(baseline: Any, candidate: Any, table: Any, scorer: str | None) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """The two sides and the table, read where they are logs of evaluations; and what is to be said of these."""
    given = [table] if table is not None else [baseline, candidate]
    paths = [source for source in given if isinstance(source, str | Path) and is_log(source)]
    if not paths:
        if scorer is not None:
            raise UsageError("scorer goes with logs of evaluations; these are not")
        return baseline, candidate, table, ()
    found = import_module("surest.integrations.eval_logs").logs(paths, scorer, common=False)
    read: Table = found.table
    if table is not None:
        return baseline, candidate, read, found.notes
    if len(read.labels) != len(paths):
        runs = ", ".join(map(repr, read.labels[:8]))
        raise UsageError(
            f"these logs hold the runs {runs}; give a log for each side, or a folder and two of them as arms"
        )
    rows = iter(read.values.tolist())
    sides = [
        {item: value for item, value in zip(read.items, next(rows), strict=True) if value == value}
        if source in paths
        else source
        for source in given
    ]
    if len(paths) == 1:
        return sides[0], sides[1], None, found.notes
    listed = tuple(sides[0])
    values = np.array([[side.get(item, nan) for item in listed] for side in sides])
    return read.labels[0], read.labels[1], Table(read.labels, listed, values), found.notes


def _given(baseline: Any, candidate: Any, table: Any, columns: Mapping[str, str] | None, items: Any) -> Pair:
    """Two arms from whatever holds their scores, on the list that is asked for."""
    length = items if isinstance(items, int) else None
    names = named(items) if items is not None and length is None else None
    if table is not None:
        pair = pair_in(table, baseline, candidate, columns)
        pair = pair if names is None else replace(pair, items=names)
    else:
        first, second = ({} if callable(source) else source for source in (baseline, candidate))
        pair = pair_of(first, second, columns, names)
    return pair if length is None else of_length(pair, length)


def _study_in(table: Any) -> "Study | None":
    if table is None or isinstance(table, str | Path | Mapping):
        return None
    from surest.study.study import Study

    return table if isinstance(table, Study) else None


def _scale(study: "Study | None", bounds: tuple[float, float] | None, minimise: bool) -> Scale:
    if study is None:
        return checked_scale((0.0, 1.0) if bounds is None else bounds, minimise)
    if bounds is not None or minimise:
        raise UsageError("a study has its bounds and its direction; leave out bounds and minimise")
    return study.settings.problem.scale


def _of_study(study: "Study", baseline: Hashable, candidate: Hashable) -> Pair:
    """Two arms of a study on a list of items, which count in the order that the study drew.

    An arm that came later may have been made with the first items of that order in view, so it gets an order of its own.
    """
    from surest.study.outcome import events_of

    problem = study.settings.problem
    if problem.items is None:
        raise UsageError(f"study {study.name!r} is not on a list of items; a gate compares scores on the same items")
    if {"group", "weights"} & set(problem.options):
        raise UsageError(f"study {study.name!r} has clusters or weights; a gate counts every item alike")
    keys = [item.key for item in study.items]
    with study.store.reading() as log:
        first = [arm.label for arm in log.read_arms(study.id) if arm.added_at == 0]
    request = study.settings.session(first).running.request
    order = [*request.items.tolist(), *request.ahead.tolist()] if isinstance(request, Cells) else []
    drawn = sorted(order) == list(range(len(keys))) and {baseline, candidate} <= set(first)
    listed = study.session().result(items=keys).listed
    assert listed is not None
    values = np.full((len(study.labels), len(keys)), nan)
    values[listed.arms, listed.places] = listed.values
    pair = pair_in(Table(study.labels, tuple(keys), values), baseline, candidate)
    sides = {row_of(study.labels, label): side for side, label in enumerate((baseline, candidate))}
    events = tuple(
        (what, sides[arm], keys[item]) for what, _, arm, item in events_of(study) if arm in sides and item is not None
    )
    return replace(pair, items=tuple(keys[i] for i in order) if drawn else pair.items, drawn=drawn, events=events)


def _refuse_unpaired(pair: Pair) -> None:
    for side in (0, 1):
        alone = pair.only_in(side)
        if alone:
            raise UsageError(
                f"{_items(len(alone))} with a value in {pair.names[side]} and none in {pair.names[1 - side]}, such as "
                f"{alone[0]!r}; evaluate both on the same items, or leave out strict"
            )


def _check_list(pair: Pair, shuffled: bool, target: str) -> None:
    if not pair.items and not pair.unnamed:
        raise UsageError(f"{pair.names[0]} holds no items; give it scores, or say with items what the list is")
    if target == "population" and pair.unnamed:
        raise UsageError("a population has no number of items; leave out items, or ask for target='items'")
    if pair.unnamed and not shuffled:
        raise UsageError(
            f"of {pair.unnamed} items on the list the names are not known, so no order of them can be drawn. Give items as "
            "a file or a list of names; or say shuffled, if the items were evaluated in a random order drawn beforehand"
        )


def _check_values(pair: Pair, scale: Scale) -> None:
    for name, scores in zip(pair.names, pair.scores, strict=True):
        for item, value in scores.items():
            if value == value:
                scale.number(value, f"item {item!r} of {name}")


def _in_order(pair: Pair, seed: int | str | None, *, keep: bool) -> tuple[Pair, str | None]:
    """The list in the order in which its items count, and what the order was drawn from.

    It depends on the seed and the number of items alone, so it stays the same while values come in, whatever items are called.
    """
    if keep or pair.drawn:
        if seed is not None:
            raise UsageError("seed draws an order, but the order of these items is given")
        return pair, None
    used = "0" if seed is None else str(seed)
    rng = np.random.default_rng(int.from_bytes(sha256(used.encode(errors="replace")).digest()[:16], "big"))
    places = in_random_order(len(pair.items), rng).items.tolist()
    return replace(pair, items=tuple(pair.items[place] for place in places), places=tuple(places)), used


def _evaluated(
    pair: Pair, functions: tuple[Any, Any], scale: Scale, margin: float, delta: float, target: str, seed: str | None
) -> Gate:
    """Call functions on the items in their order until it is decided. Looking now and then saves time, and costs few items."""
    at_once = max(len(pair.items) // LOOKS, 1)
    while True:
        found = _judged(pair, scale, margin, delta, target, seed)
        batch = pair.items[found.items_counted : found.items_counted + at_once]
        if found.verdict != "undecided" or not batch:
            return found
        if any(functions[side] is None and not has_value(pair.scores[side], batch[0]) for side in (0, 1)):
            return found
        first, second = (
            {**scored, **{item: _called(function, item, scale) for item in batch if not has_value(scored, item)}}
            if function is not None
            else scored
            for function, scored in zip(functions, pair.scores, strict=True)
        )
        pair = replace(pair, scores=(first, second))


def _called(function: Callable[[Any], Any], item: Hashable, scale: Scale) -> float:
    return scale.number(function(item), f"item {item!r}")


def _judged(
    pair: Pair, scale: Scale, margin: float, delta: float, target: str, seed: str | None, fact: Verdict | None = None
) -> Gate:
    values = pair.values
    first, second = scale.to_unit(values)
    apart = second - first
    known = ~np.isnan(apart)
    counted = len(apart) if known.all() else int(known.argmin())
    total = inf if target == "population" else float(len(pair.items) + pair.unnamed)
    found = judge(apart[:counted], total, margin / scale.width, delta)
    difference = fsum(apart[:counted].tolist()) / counted if counted else nan
    verdict, exact = _verdict(found, apart[known], total, margin / scale.width)
    if fact is not None:
        verdict = _beside(found, fact, difference)
    difference, low, high = _estimate(difference, found, apart[known], total)
    compared = {item for item, both in zip(pair.items, known.tolist(), strict=True) if both}
    events = tuple((what, side, str(item)) for what, side, item in pair.events if item in compared)
    sign = -scale.width if scale.minimise else scale.width
    ends = sorted((sign * low + 0.0, sign * high + 0.0))  # -0.0 becomes 0.0
    means = [float(side[:counted].mean()) if counted else nan for side in values]
    beside: dict[str, Any] = {}
    if counted == total:
        early, after = _early(found)
        further = _judged(pair, scale, margin, delta, "population", seed, fact=verdict)
        beside = {"needed": after, "needed_verdict": early, "population": further}
    return Gate(
        verdict=verdict,
        exact=exact,
        difference=sign * difference + 0.0,
        interval=(ends[0], ends[1]),
        means=(means[0], means[1]),
        names=pair.names,
        margin=float(margin),
        delta=float(delta),
        minimise=scale.minimise,
        target=target,
        items=None if target == "population" else len(pair.items) + pair.unnamed,
        items_counted=counted,
        decided_after={"pass": found.above, "fail": found.below}.get(verdict),
        seed=seed,
        wanted=() if verdict != "undecided" else _wanted(pair, values, counted),
        notes=_notes(pair, values, counted, int(known.sum()), verdict) + _imputed(pair.names, events),
        bounds=(scale.low, scale.high),
        scores=tuple(zip(map(str, pair.items), *values.tolist(), strict=True)),
        places=pair.places,
        events=events,
        **beside,
    )


def _beside(found: Found, fact: Verdict, difference: float) -> Verdict:
    """The verdict on further items that stands beside a fact: no difference makes both verdicts wrong, so that one may choose."""
    if (found.above if fact == "pass" else found.below) is not None:
        return fact
    return "fail" if fact == "pass" and found.below is not None and difference < 0 else "undecided"


def _early(found: Found) -> tuple[Verdict | None, int | None]:
    """What bets said first, and after how many items."""
    if found.above is not None and (found.below is None or found.above <= found.below):
        return "pass", found.above
    return (None, None) if found.below is None else ("fail", found.below)


def _verdict(found: Found, known: FloatArray, total: float, margin: float) -> tuple[Verdict, bool]:
    """The verdict, and whether it is certain whatever the missing values are."""
    if total < inf:
        least, most = _certain(known, total)
        if least >= -margin - ROUNDED:
            return "pass", True
        if most < -margin - ROUNDED:
            return "fail", True
    return _early(found)[0] or "undecided", False


def _certain(known: FloatArray, total: float) -> tuple[float, float]:
    """Between which values the mean difference lies, whatever the missing ones are."""
    seen, missing = fsum(known.tolist()), total - len(known)
    return (seen - missing) / total, (seen + missing) / total


def _estimate(difference: float, found: Found, known: FloatArray, total: float) -> tuple[float, float, float]:
    """The difference so far, if known scores leave it possible, and the interval around it.

    Ends are those of all times, so later items can lead out of them: the interval then reaches to what was seen since.
    """
    least, most = _certain(known, total) if total < inf else (-1.0, 1.0)
    low, high = max(found.low, least), min(found.high, most)
    if low > high:  # ends that contradict each other say nothing
        low, high = least, most
    if difference == difference:
        difference = min(max(difference, least), most)
        low, high = min(low, difference), max(high, difference)
    return difference, low, high


def _wanted(pair: Pair, values: FloatArray, counted: int) -> tuple[tuple[str, Hashable], ...]:
    places = (
        (pair.names[side], pair.items[place])
        for place in range(counted, len(pair.items))
        for side in (0, 1)
        if values[side, place] != values[side, place]
    )
    return tuple(cell for cell, _ in zip(places, range(MOST_WANTED), strict=False))


def _notes(pair: Pair, values: FloatArray, counted: int, known: int, verdict: Verdict) -> tuple[str, ...]:
    notes = []
    for side, name in enumerate(pair.names):
        off, gaps = pair.off_list(side), int(np.isnan(values[side]).sum())
        if off:
            one = len(off) == 1
            which = (
                f"is not on the list: {off[0]!r} does" if one else f"are not on the list, such as {off[0]!r}: they do"
            )
            notes.append(f"{_items(len(off))} of {name} {which} not count")
        if gaps and verdict == "undecided":
            notes.append(f"{name} has no value for {_items(gaps)} of the list")
    if known > counted and verdict == "undecided":
        which = f"only the first {counted:,} in the order drawn count" if counted else "none counts yet"
        notes.append(
            f"{_items(known)} {'has' if known == 1 else 'have'} both values, but {which}: the next item, "
            f"{pair.items[counted]!r}, lacks one. Evaluate that next"
        )
    return tuple(notes)


def _imputed(names: tuple[str, str], events: tuple[tuple[str, int, str], ...]) -> tuple[str, ...]:
    """A note for each side that has scores which were not measured."""
    notes = []
    for side, name in enumerate(names):
        times = sum(what == "imputed" and at == side for what, at, _ in events)
        if times:
            notes.append(f"{_items(times)} of {name} with a score that was not measured but imputed")
    return tuple(notes)


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number:,} items"
