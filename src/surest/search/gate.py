"""A gate for a build: is the candidate worse than the baseline by more than a margin? From scores on the same items.

It is the question whether the baseline is better than the candidate, as the algorithm `gate` of the registry answers it, with
words and statuses of its own. Functions are evaluated by the one runner; scores that are there are judged as they are.
"""

import inspect
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import fsum, inf, nan
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surest.arms.pairs import Pair, has_value, in_both, named, of_length, older_rows, pair_in, pair_of, row_of
from surest.arms.tables import Table
from surest.core.keywords import SEED, Kind, check_columns, check_keywords, number
from surest.core.problem import problem_of
from surest.core.protocol import Cells, FloatArray
from surest.core.scale import Scale, checked_scale
from surest.errors import UsageError
from surest.evidence.lists.gate import UNKNOWN, Found, Predictions, directions, judge
from surest.evidence.lists.units import in_random_order
from surest.kernels.constants import PLAIN
from surest.result.gate import Gate, Verdict
from surest.search.call import Work, is_async, work_of
from surest.search.executor import IN_FLIGHT, Workers, drive
from surest.search.run import Run
from surest.search.watching import Hook
from surest.text import be, counted

if TYPE_CHECKING:
    from surest.study.ledger import Entry
    from surest.study.study import Study

OWN = {
    "seed": SEED,
    "history": Kind(lambda it: not isinstance(it, Real), "a table, or files"),
    "ledger": Kind(lambda it: it is None or isinstance(it, str | Path) or hasattr(it, "begin"), "a file, or a URL"),
    "items": Kind(
        lambda it: it is None or hasattr(it, "__iter__") or (isinstance(it, Integral) and not isinstance(it, bool)),
        "a file, a list, or how many there are",
    ),
}
"""Keywords that mean something else here than at other doors."""
MOST_WANTED = 10_000
"""Maximum number of cells to evaluate next that a result lists."""
ROUNDED = 2.0**-50
"""What rounding can make of a mean difference on [-1, 1]: sums are exact, differences and the margin are rounded once."""
SAME = ("margin", "delta", "target", "seed", "equivalent", "level", "share")
"""What a `Gate` says of what was asked."""
Sides = tuple[Any, Any]
"""The functions to call; None for scores that are there."""


def gate(
    baseline: Any,
    candidate: Any,
    margin: float = 0.0,
    delta: float = 0.05,
    *,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    **how: Any,
) -> Gate:
    """Decide whether a candidate is worse than a baseline by more than a margin, from their scores on the same items.

    The verdict `pass` says that the candidate's mean is not worse by more than `margin`, `fail` that it is worse. Either is wrong
    with probability at most `delta`, however often the gate is run while the scores come in. When all items of the list
    have both scores, the verdict is exact.

    Parameters
    ----------
    baseline, candidate : path, mapping, Series, data frame, sequence or function
        The scores: a file (.csv with the columns item and value, or .jsonl with such fields), ``{item: value}``, a pandas
        Series or data frame, or a list of numbers in the order of the items. NaN and None in Python, and an empty value in a
        file, say that an item is not evaluated yet. Or the log of an evaluation by inspect_ai, lm-evaluation-harness or
        promptfoo. A function of an item is called on the items in their order, until it is decided.
        With `table`, the labels of two arms.
    margin, equivalent : float
        How much worse the candidate may be, in the units of the scores; or ask whether both are equal within ± `equivalent`:
        `fail` then says that they differ.
    delta : float
        The allowed probability of a wrong verdict.
    history : table, or list of files, optional
        Scores of older versions on the same items: the candidate's are predicted from them and the baseline's. Better
        predictions need fewer items; bad ones never make a verdict wrong.
    predict : bool
        Whether to predict the candidate's scores at all. Disable it if the baseline is evaluated along with the candidate.
    ledger : str, Path or Ledger, optional
        A file or URL that remembers all gates of a team: of all that pass, the expected share of wrong ones is at most `delta`.
    table : table or Study, optional
        What `evaluate` takes as a table, or a study on a list of items: `baseline` and `candidate` are two of its arms.
    items : path, sequence or int, optional
        The list that the claim is about: a file, the items' names, or how many there are. Otherwise the items of the
        baseline (those of the table or study).
    target : {"items", "population"}
        Whether the claim is about the mean on the list, or about what the items are an independent random sample of.
    bounds, minimise : optional
        As for `evaluate`: the lowest and the highest possible score, and whether larger is worse.
    seed : int or str, optional
        Draws, with the number of items, the order in which they count. If not given, it is fresh for functions and otherwise 0,
        so that it stays the same while scores come in. Where the same items serve many changes, give each change its own,
        such as its commit.
    shuffled : bool
        The list stands in a random order already, drawn before anything was evaluated, and counts in that order.
    common, strict : bool
        Items that only one side has are left out of the list, or refused.
    columns : mapping, optional
        Other names of the columns of files and tables: ``{"item": "question", "value": "score"}``.
    scorer : str, optional
        The scorer that counts, where a log has several.
    executor, in_flight, retries, on_failure, storage, name, progress
        For functions, as for `evaluate`.

    Returns
    -------
    Gate
        With `.verdict`, `.passed`, `.failed`, `.difference`, `.interval`, `.items_counted`, `.wanted`, `.flips`, `.to_dict()` and
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
    check_keywords(locals())
    asked, functions, run = _asked(baseline, candidate, margin, delta, **how)
    if not any(functions):
        if executor is not None:
            raise UsageError("executor applies to functions only; these are scores")
        return asked.judged()
    in_flight = 1 if executor is None else in_flight
    with asked.run(functions, in_flight, **run) as running:
        drive(running.desk, asked.work(functions), executor, in_flight)
    return asked.found(running)


async def agate(
    baseline: Any, candidate: Any, margin: float = 0.0, delta: float = 0.05, *, in_flight: int = IN_FLIGHT, **how: Any
) -> Gate:
    """`gate` for async functions: up to `in_flight` evaluations are awaited at a time.

    Examples
    --------
    >>> import asyncio
    >>> async def candidate(item):
    ...     return 1.0
    >>> asyncio.run(agate([0.0, 1.0] * 50, candidate, 0.1)).passed
    True
    """
    check_keywords(locals())
    asked, functions, run = _asked(baseline, candidate, margin, delta, **how)
    with asked.run(functions, in_flight, asynchronous=True, **run) as running:
        await running.await_all(asked.work(functions, asynchronous=True), in_flight)
    return asked.found(running)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a gate is about: two arms on a list, in the order in which its items count."""

    pair: Pair
    scale: Scale
    margin: float
    delta: float
    target: str
    seed: str | None
    equivalent: bool = False
    share: float = 1.0
    """The part of the wealth that bets without predictions."""
    older: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """Rows of older versions, on [0, 1]."""
    level: float | None = None
    """The level at which it passes, if not δ: from a ledger."""
    entry: "Entry | None" = None

    @property
    def known(self) -> FloatArray | None:
        """The baseline's row on [0, 1], where there are to be predictions and none of it is missing."""
        row: FloatArray = self.scale.to_unit(self.pair.values[0])
        complete = self.share < 1 and not self.pair.unnamed and not np.isnan(row).any()
        return row if complete else None

    def work(self, functions: Sides, asynchronous: bool = False) -> Work:
        """What to call for a ticket: the score that is there, where a side is not a function."""

        async def waited(scores: Mapping[Hashable, float], item: Any) -> float:
            return scores[item]

        def there(scores: Mapping[Hashable, float]) -> Callable[[Any], Any]:
            return partial(waited, scores) if asynchronous else scores.__getitem__

        sides = [there(scores) if f is None else f for f, scores in zip(functions, self.pair.scores, strict=True)]
        return work_of(sides, 0, items=self.pair.items)

    def run(
        self, functions: Sides, in_flight: int, *, asynchronous: bool = False, progress: Hook | bool | None = None,
        **how: Any,
    ) -> Run:  # fmt: skip
        """The search: both arms go through the items in their order, until it is decided or a score is not there."""
        given = [function for function in functions if function is not None]
        if not given:
            raise UsageError("neither side is a function; use surest.gate(…)")
        for function in given:
            if is_async(function) != asynchronous:
                raise UsageError(f"{function!r:.60}: use {'surest.gate' if asynchronous else 'await surest.agate'}(…)")
        pair, known, scale = self.pair, self.known, self.scale
        settings: dict[str, Any] = {
            "algorithm": "gate", "control": pair.names[1], "margin": self.margin, "delta": self.delta, "shuffled": True,
            "target": self.target, "bounds": (scale.low, scale.high), "minimise": scale.minimise,
            "equivalent": self.equivalent, "level": 1.0 if self.level is None else self.level / self.delta,
        }  # fmt: skip
        if known is not None:
            settings |= {"known": known.tolist(), "older": self.older.tolist()}
        there = [scores for function, scores in zip(functions, pair.scores, strict=True) if function is None]
        gap = next((k for k, item in enumerate(pair.items) if not all(has_value(row, item) for row in there)), None)
        if gap is not None:
            settings["budget"] = gap * (1 if known is not None else 2)
        how |= {"progress": progress, "ticks": in_flight == 1}
        return Run.begun(pair.names, in_flight=in_flight, items=pair.items, **how, **settings)

    def found(self, run: Run) -> Gate:
        """What came of a search."""
        result = run.found()
        assert result.listed is not None
        items, sides = self.pair.items, [dict(scores) for scores in self.pair.scores]
        for arm, place, value in result.listed.cells:
            sides[arm][items[place]] = value
        events = tuple((what, arm, items[item]) for what, _, arm, item in result.events if item is not None)
        return replace(self, pair=replace(self.pair, scores=(sides[0], sides[1]), events=events)).judged()

    def judged(self, fact: Verdict | None = None) -> Gate:
        """The verdict on the scores that are there. With a `fact`, what the items say of a population beside it."""
        pair, scale, population = self.pair, self.scale, self.target == "population"
        values, margin = pair.values, self.margin / scale.width
        apart = np.diff(scale.to_unit(values), axis=0)[0]
        known = ~np.isnan(apart)
        used = len(apart) if known.all() else int(known.argmin())
        total = inf if population else float(len(pair.items) + pair.unnamed)
        row, told, features = self.known, UNKNOWN, np.empty((len(apart), 0))
        if row is not None:
            features = directions(row, self.older)
            told = Predictions(row, features).extend(apart[:used])
        found = judge(
            apart[:used], total, margin, self.delta, told, self.share, equivalent=self.equivalent, level=self.level
        )
        difference = fsum(apart[:used].tolist()) / used if used else nan
        verdict, exact = _verdict(found, apart[known], total, margin, self.equivalent)
        if fact is not None:
            verdict = _beside(found, fact, self.equivalent or difference < 0)
        difference, low, high = _estimate(difference, found, apart[known], total)
        compared = {item for item, both in zip(pair.items, known.tolist(), strict=True) if both}
        events = tuple((what, side, str(item)) for what, side, item in pair.events if item in compared)
        sign = -scale.width if scale.minimise else scale.width
        ends = sorted((sign * low + 0.0, sign * high + 0.0))  # -0.0 becomes 0.0
        means = [float(side[:used].mean()) if used else nan for side in values]
        beside: dict[str, Any] = {}
        if used == total:
            early, after = _early(found)
            further = replace(self, target="population", share=1.0, level=None, entry=None).judged(fact=verdict)
            beside = {"needed": after, "needed_verdict": early, "population": further}
        open_ = verdict == "undecided"
        gaps = np.argwhere(np.isnan(values[:, used:]).T)[:MOST_WANTED].tolist() if open_ else []
        made = Gate(
            verdict=verdict,
            exact=exact,
            difference=sign * difference + 0.0,
            interval=(ends[0], ends[1]),
            means=(means[0], means[1]),
            names=pair.names,
            minimise=scale.minimise,
            items=None if population else len(pair.items) + pair.unnamed,
            items_counted=used,
            decided_after={"pass": found.passed, "fail": found.failed}.get(verdict),
            wanted=tuple((pair.names[side], pair.items[used + at]) for at, side in gaps),
            notes=(*pair.notes, *self._notes(values, used, int(known.sum()), open_, events)),
            bounds=(scale.low, scale.high),
            features=tuple(map(tuple, features.tolist())) if row is not None else (),
            scores=tuple(zip(map(str, pair.items), *values.tolist(), strict=True)),
            places=pair.places,
            events=events,
            **{name: getattr(self, name) for name in SAME},
            **beside,
        )
        if self.entry is None:
            return made
        said = self.entry.end(made.verdict, [row[1:] for row in made.scores[:used]])
        return replace(made, notes=(*made.notes, said))

    def _notes(
        self, values: FloatArray, used: int, known: int, undecided: bool, events: Sequence[tuple[str, int, str]]
    ) -> Iterator[str]:
        """What is worth knowing of the scores, of which `used` items count and `known` have both."""
        pair = self.pair
        for side, name in enumerate(pair.names):
            off, gaps = pair.off_list(side), int(np.isnan(values[side]).sum())
            if off:
                they = f": {off[0]!r} does" if len(off) == 1 else f", such as {off[0]!r}: they do"
                yield f"{counted(len(off), 'item')} of {name} {be(len(off))} not on the list{they} not count"
            if gaps and undecided:
                yield f"{name} has no value for {counted(gaps, 'item')} of the list"
        if known > used and undecided:
            which = f"only the first {used:,} in the order drawn count" if used else "none counts yet"
            yield (
                f"{counted(known, 'item')} {'has' if known == 1 else 'have'} both values, but {which}: the next item, "
                f"{pair.items[used]!r}, lacks one. Evaluate that next"
            )
        imputed = Counter(side for what, side, _ in events if what == "imputed")
        for side in sorted(imputed):
            yield f"{counted(imputed[side], 'item')} of {pair.names[side]} with a score that was not measured but imputed"
        if self.share < 1 and self.known is None and undecided:
            unused = ", and history is not used" if len(self.older) else ""
            yield (
                f"predictions wait until {pair.names[0]} has all scores: {self.share:g} of the evidence counts until then"
                f"{unused}. If it is evaluated along with the candidate, say predict=False (--no-predict) from the first look on"
            )


def _asked(
    baseline: Any, candidate: Any, margin: float, delta: float, *, equivalent: float | None = None, history: Any = None,
    predict: bool = True, ledger: Any = None, table: Any = None,
    items: int | str | Path | Sequence[Hashable] | None = None, target: str = "items",
    bounds: tuple[float, float] | None = None, minimise: bool = False, seed: int | str | None = None,
    shuffled: bool = False, common: bool = False, strict: bool = False, columns: Mapping[str, str] | None = None,
    scorer: str | None = None, **run: Any,
) -> tuple[Asked, Sides, dict[str, Any]]:  # fmt: skip
    """What is asked, the functions to call (None for scores that are there), and how to run these."""
    unknown = next((name for name in run if name not in RUN), None)
    if unknown is not None:
        raise TypeError(f"gate() got an unexpected keyword argument {unknown!r}")
    check_keywords({**locals(), **run}, **OWN)
    study: Study | None = table if hasattr(table, "store") else None
    if study is not None and (bounds is not None or minimise):
        raise UsageError("a study has its bounds and its direction; leave out bounds and minimise")
    if study is not None and (items is not None or columns is not None):
        raise UsageError("a study has its list of items; leave out items and columns")
    scale = study.settings.problem.scale if study is not None else checked_scale(bounds or (0.0, 1.0), minimise)
    problem_of(2, items=1, delta=delta, target=target)  # refuses what they cannot be
    width = scale.width
    end = f"and below {width:g}, the width of the bounds"
    check_keywords(
        {"margin": margin, "equivalent": equivalent},
        margin=number(f"a number at least 0 {end}", lambda x: 0 <= x < width, optional=False),
        equivalent=number(f"a number above 0 {end}", lambda x: 0 < x < width),
    )
    if equivalent is not None and margin:
        raise UsageError("margin and equivalent are mutually exclusive")
    margin = margin if equivalent is None else equivalent
    check_columns(columns, baseline, candidate, table, *(history if isinstance(history, list) else [history]))
    pair = _compared(_pair(baseline, candidate, table, columns, items, scorer), scale, strict=strict, common=common)
    _check_list(pair, shuffled, target)
    one, two = (side if callable(side) else None for side in (baseline, candidate))
    if run and not (one or two):
        raise UsageError(f"{next(iter(run))} applies to functions only; these are scores")
    keep = shuffled or target == "population"
    if ledger is not None and keep:  # each look at such a list, which may grow, would be a gate of its own
        raise UsageError(
            "a ledger requires a list of items in an order that a seed draws, not shuffled or a population"
        )
    if seed is None and not keep and not pair.drawn:
        if one or two:
            seed = secrets.randbits(32)  # nothing has to stay the same from call to call
        elif ledger is not None:
            raise UsageError("with a ledger every change needs an order of its own: give a seed, such as its commit")
    drawn, used = _in_order(pair, seed, keep=keep)
    if history is not None and not predict:
        raise UsageError(
            "history (--history) is what to predict scores from, and predict=False (--no-predict) says to predict none; "
            "leave out one of them"
        )
    predict = predict and target == "items" and one is None and not pair.drawn
    if history is not None and not predict:
        raise UsageError("history requires a list of items and a baseline with all its scores")
    older = np.empty((0, len(drawn.items))) if history is None else older_rows(history, drawn.items, columns, scorer)
    there = ~np.isnan(older)
    older[there] = scale.to_unit(scale.numbers(older[there], "a score in history"))
    unused = int((~there.any(axis=1)).sum())
    if unused:
        which = "has no score" if unused == 1 else "have no scores"
        note = f"{counted(unused, 'row')} of history {which} on the items of the list, such as {drawn.items[0]!r}: not used"
        drawn = replace(drawn, notes=(*drawn.notes, note))
    asked = Asked(
        pair=drawn, scale=scale, margin=float(margin), delta=float(delta), target=target, seed=used,
        equivalent=equivalent is not None, share=PLAIN if predict else 1.0, older=older,
    )  # fmt: skip
    if ledger is not None:
        asked = _entered(asked, ledger, [margin, equivalent], resumes=not (one or two) or "storage" in run)
    return asked, (one, two), run


def _entered(asked: Asked, ledger: Any, margins: list[float | None], *, resumes: bool) -> Asked:
    """The same gate with the level that a ledger gives it, and its entry there; `margins` are as they were given."""
    from surest.study.ledger import ledger_of

    pair, scale = asked.pair, asked.scale
    listed = list(map(str, pair.items))
    ordering = (asked.seed, len(listed)) if asked.seed is not None else listed
    known, ends = sha256(asked.older.tobytes()).hexdigest(), (scale.low, scale.high, scale.minimise)
    settings = [*margins, asked.target, ends, asked.share < 1, known, pair.unnamed, listed]
    entry = ledger_of(ledger).begin(ordering, settings, pair.names, asked.delta, asked.seed, resumes=resumes)
    return replace(asked, level=entry.level, entry=entry)


RUN = ("retries", "on_failure", "storage", "name", "progress")
"""How functions are run, as `evaluate` takes it."""
for _door in (gate, agate):  # help and completion see all keywords
    _shown = [p for p in inspect.signature(_door).parameters.values() if p.kind is not p.VAR_KEYWORD]
    _more = [p for p in inspect.signature(_asked).parameters.values() if p.kind is p.KEYWORD_ONLY]
    _run = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in RUN]
    setattr(_door, "__signature__", inspect.Signature([*_shown, *_more, *_run], return_annotation=Gate))  # noqa: B010


def _pair(
    baseline: Any, candidate: Any, table: Any, columns: Mapping[str, str] | None, items: Any, scorer: str | None
) -> Pair:
    """Two arms from whatever holds their scores, on the list that is asked for."""
    if hasattr(table, "store"):
        return _of_study(table, baseline, candidate)
    names = None if items is None or isinstance(items, int) else named(items)
    if table is not None:
        pair = pair_in(table, baseline, candidate, columns, scorer)
        pair = pair if names is None else replace(pair, items=names)
    else:
        pair = pair_of(baseline, candidate, columns, names, scorer)
    return of_length(pair, items) if isinstance(items, int) else pair


def _compared(pair: Pair, scale: Scale, *, strict: bool, common: bool) -> Pair:
    """The same pair, or what both sides have in common; items that only one side has may be refused, and scores out of range."""
    for side, name in enumerate(pair.names) if strict else ():
        only = pair.only_in(side)
        if only:
            raise UsageError(
                f"{counted(len(only), 'item')} with a value in {name} and none in {pair.names[1 - side]}, such as {only[0]!r}; "
                "evaluate both on the same items, or leave out strict"
            )
    pair = in_both(pair) if common else pair
    for name, scores in zip(pair.names, pair.scores, strict=True):
        for item, value in scores.items():
            if value == value:
                scale.number(value, f"item {item!r} of {name}")
    return pair


def _of_study(study: "Study", baseline: Hashable, candidate: Hashable) -> Pair:
    """Two arms of a study on a list of items, which count in the order that the study drew.

    An arm that came later may have been made with the first items of that order in view, so it gets an order of its own.
    """
    from surest.study.outcome import events_of

    problem = study.settings.problem
    if problem.items is None:
        raise UsageError(f"study {study.name!r} is not on a list of items; a gate compares scores on the same items")
    if {"group", "weights"} & set(problem.options):
        raise UsageError(f"study {study.name!r} has clusters or weights; a gate needs equally weighted items")
    keys = [item.key for item in study.items]
    with study.store.reading() as log:
        first = [arm.label for arm in log.read_arms(study.id) if arm.added_at == 0]
    request = study.settings.session(first).running.request
    order = [*request.items.tolist(), *request.ahead.tolist()] if isinstance(request, Cells) else []
    drawn = sorted(order) == list(range(len(keys))) and {baseline, candidate} <= set(first)
    listed = study.session().result(items=keys).listed
    assert listed is not None
    pair = pair_in(Table(study.labels, tuple(keys), listed.grid(len(study.labels))), baseline, candidate)
    sides = {row_of(study.labels, label): side for side, label in enumerate((baseline, candidate))}
    events = tuple(
        (what, sides[arm], keys[item]) for what, _, arm, item in events_of(study) if arm in sides and item is not None
    )
    return replace(pair, items=tuple(keys[i] for i in order) if drawn else pair.items, drawn=drawn, events=events)


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


def _beside(found: Found, fact: Verdict, may_fail: bool) -> Verdict:
    """The verdict on further items that stands beside a fact: no difference makes both verdicts wrong, so that one may choose."""
    if (found.passed if fact == "pass" else found.failed) is not None:
        return fact
    return "fail" if fact == "pass" and found.failed is not None and may_fail else "undecided"


def _early(found: Found) -> tuple[Verdict | None, int | None]:
    """What bets said first, and after how many items."""
    if found.passed is not None and (found.failed is None or found.passed <= found.failed):
        return "pass", found.passed
    return (None, None) if found.failed is None else ("fail", found.failed)


def _verdict(found: Found, known: FloatArray, total: float, margin: float, equivalent: bool) -> tuple[Verdict, bool]:
    """The verdict, and whether it is certain whatever the missing values are."""
    if total < inf:
        least, most = _certain(known, total)
        end = margin + ROUNDED
        if least >= -end and (most <= end or not equivalent):
            return "pass", True
        if most < -end or (equivalent and least > end):
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
