"""What a table of scores says for certain: the exact answer if it is complete, and what no missing score can change if not."""

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import Any, NamedTuple

import msgspec
import numpy as np

from surest.core.problem import Problem
from surest.core.protocol import FloatArray
from surest.kernels.constants import TOLERANCE_ON_LISTS
from surest.result.data import Listed, Result
from surest.result.leads import base_of
from surest.result.words import KNOWN

ANYHOW = "exact: whatever the missing scores are"  # the reason of a verdict that no missing score can change …
ANYHOW_LEFT = "certified, whatever the missing scores are"
"""… and of one where bets left some arms, of which missing scores leave only the answer."""


class Certain(NamedTuple):
    """The answer that bounds of all means give for certain."""

    indices: tuple[int, ...]
    possible: tuple[int, ...]  # the arms that may be right; if all means are known, those that are tied
    verdicts: tuple[int, ...] | None
    decided: bool


def ranges(problem: Problem, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Each arm's mean of its known scores, and the least and the largest mean that it can have on the list.

    Sums are rounded once, so they do not depend on the order of the items.
    """
    weights = problem.options.get("weights")
    each = np.ones(values.shape[1]) if weights is None else np.asarray(weights, np.float64)
    total, (worst, best) = fsum(each.tolist()), problem.bounds
    rows = []
    for row in values:
        there = ~np.isnan(row)
        seen, known = fsum((each * row)[there].tolist()), total if there.all() else fsum(each[there].tolist())
        ends = [(seen + (total - known) * end) / total if known < total else seen / total for end in (worst, best)]
        rows.append([seen / known if known else np.nan, *ends])
    means, low, high = np.clip(np.array(rows).T, worst, best)
    return means, low, high


def certain(problem: Problem, means: FloatArray, low: FloatArray, high: FloatArray) -> Certain:
    """The answer to a question from bounds of all means; exact if the bounds are the means."""
    asked, n, sign = problem.question, len(means), -1.0 if problem.minimise else 1.0
    slack = TOLERANCE_ON_LISTS * problem.scale.width
    least, most = (low, high) if sign > 0 else (-high, -low)
    if asked.each_arm:
        bar = sign * float(problem.above or 0.0)
        above, below = least >= bar - slack, most < bar - slack
        if (control := asked.reference) is not None:
            above, below = least > most[control] + slack, most <= least[control] + problem.margin + slack
        verdicts = np.where(above, 1, np.where(below, -1, 0))
        if control is not None:
            verdicts[control] = 0
        named = tuple(np.flatnonzero(verdicts == 1).tolist())
        return Certain(named, named, tuple(verdicts.tolist()), np.count_nonzero(verdicts) == asked.judged(n))
    if asked.kind == "cheapest":
        near = float(problem.cheapest or 0.0)
        by_price = np.argsort(asked.prices, kind="stable").tolist()
        first, *others = [arm for arm in by_price if most[arm] >= least.max() - near - slack]
        sure = bool((least == most).all())
        sure = sure or all(least[first] >= np.delete(most, first) - near - problem.slack - slack)
        return Certain((first,), (first,) if sure else tuple(sorted([first, *others])), None, sure)
    m = asked.top
    worse = np.array([(least > end + slack).sum() for end in most])  # how many are better for certain
    possible = tuple(np.flatnonzero(worse < m).tolist())
    order = np.argsort(-np.nan_to_num(sign * means, nan=-np.inf), kind="stable")
    best = [int(arm) for arm in order if arm in possible][:m]
    settled = len(possible) == m or bool((high[list(possible)] == low[list(possible)]).all())
    return Certain(tuple(best), possible, None, settled and len(best) == m and n > 0)


def known(problem: Problem, items: Sequence[Any], values: FloatArray) -> Result:
    """The exact result of a table without gaps."""
    n, count = values.shape
    means, *_ = ranges(problem, values)
    found = certain(problem, means, means, means)
    tied = ", tied" if len(found.possible) > len(found.indices) else ""
    apart = means - means[base_of(problem, found.indices) or 0]
    arms, places = np.indices(values.shape).reshape(2, -1)
    return Result(
        problem=problem,
        indices=found.indices,
        certified=True,
        reason="the only arm" if n == 1 and problem.question.best else KNOWN + tied,
        standing="proven",
        pulls=n * count,
        rounds=count,
        seconds=float("nan"),
        pulls_per_arm=np.full(n, count),
        means=means,
        contender_indices=found.possible,
        verdicts=found.verdicts,
        achieved_delta=0.0,
        epsilon_certified=0.0,
        intervals=(means, means),
        evaluations=n * count,
        known_differences=(apart, apart),
        listed=Listed(items, count, arms, places, values.ravel(), known=True),
    )


def is_right(exact: Result, other: Result) -> bool:
    """Whether an answer is right, by means that are known exactly."""
    problem, means = exact.problem, exact.means
    sign, slack = (-1.0 if problem.minimise else 1.0), problem.epsilon + TOLERANCE_ON_LISTS * problem.scale.width
    asked, scores = problem.question, sign * means
    if asked.ranks:
        return bool(scores[list(other.indices)].min() >= np.sort(scores)[-len(other.indices)] - slack)
    if asked.kind == "cheapest":
        (named,), prices = other.indices, asked.prices
        good = scores[named] >= scores.max() - float(problem.cheapest or 0.0) - problem.slack - slack
        return bool(good) and prices[named] <= prices[exact.indices[0]]
    against = asked.reference is not None
    bar = scores[asked.control] if against else sign * float(problem.above or 0.0)
    more = problem.margin if against else 0.0
    verdicts = np.array(other.verdicts)
    # An arm on the bar is above it; one like the control is not better.
    strict = -slack if against else slack
    return not (((verdicts == 1) & (scores < bar - strict)) | ((verdicts == -1) & (scores > bar + more + slack))).any()


def agreeing(exact: Result, other: Result) -> Result:
    """A claim about further items without what the items at hand contradict: it says less, so it holds as well."""
    if other.verdicts is not None and exact.verdicts is not None:
        pairs = zip(other.verdicts, exact.verdicts, strict=True)
        both = tuple(verdict if verdict == fact else 0 for verdict, fact in pairs)
        named = tuple(arm for arm, verdict in enumerate(both) if verdict == 1)
        return replace(other, verdicts=both, indices=named, certified=other.certified and both == other.verdicts)
    left, best = set(other.contender_indices or range(len(exact.means))), set(exact.indices)
    if (other.certified and is_right(exact, other)) or (not other.certified and best <= left):
        return other
    return replace(
        other, certified=False, reason="all items seen", indices=exact.indices, contender_indices=tuple(sorted(left | best)),
        apart=None, epsilon_certified=None, achieved_delta=None,
    )  # fmt: skip


def with_gaps(found: Result, values: FloatArray) -> Result:
    """A result from a table with gaps, with what all known scores say beyond the items that count: they may decide."""
    problem, listed = found.problem, found.listed
    assert listed is not None
    there = ~np.isnan(values)
    means, low, high = ranges(problem, values)
    sure = certain(problem, means, low, high)
    whole = np.asarray(there.all(axis=0))
    part = None
    if whole.any():
        options = dict(problem.options)
        options |= {name: np.asarray(options[name])[whole].tolist() for name in ("group", "weights") if name in options}
        smaller = msgspec.structs.replace(problem, items=int(whole.sum()), target="items", options=options)
        part = known(
            smaller, [item for item, all_ in zip(listed.items, whole.tolist(), strict=True) if all_], values[:, whole]
        )
    out = set(range(len(means))) - set(sure.possible) if problem.target == "items" else set()
    arms, places = np.nonzero(there)
    gaps: dict[str, Any] = {"missing": int((~there).sum()), "out": tuple(sorted(out)), "complete": part}
    listed = replace(listed, arms=arms, places=places, values=values[there], **gaps)
    found = replace(found, listed=listed, means=means, pulls=int(there.sum()), pulls_per_arm=there.sum(axis=1))
    return found if problem.target == "population" else _narrowed(found, sure, low, high)


def _narrowed(found: Result, sure: Certain, low: FloatArray, high: FloatArray) -> Result:
    """The result with what is certain, whatever the missing scores are."""
    before, found = base_of(found.problem, found.indices) or 0, _decided(found, sure)
    base = base_of(found.problem, found.indices) or 0
    less, more = low - high[base], high - low[base]
    if base == before and found.known_differences is not None:  # bounds from bets are from the arm that led by itself
        less, more = _inside(found.known_differences, less, more)
    less[base] = more[base] = 0.0
    ends = None if found.intervals is None else _inside(found.intervals, low, high)
    return replace(found, intervals=ends, known_differences=(less, more))


def _decided(found: Result, sure: Certain) -> Result:
    """The answer, or the leader by all known scores, with what is certain."""
    asked = found.problem.question
    if found.certified:
        return found
    if sure.decided:
        tied = ", tied" if len(sure.possible) > len(sure.indices) else ""
        return replace(
            found, certified=True, reason=ANYHOW + tied, indices=sure.indices, contender_indices=sure.possible,
            verdicts=sure.verdicts, achieved_delta=0.0, epsilon_certified=0.0, apart=None, wanted_cells=(), history=(),
        )  # fmt: skip
    if sure.verdicts is not None and found.verdicts is not None:
        both = tuple(one or other for one, other in zip(found.verdicts, sure.verdicts, strict=True))
        done = sum(map(bool, both)) == asked.judged(len(both))
        named = tuple(arm for arm, verdict in enumerate(both) if verdict == 1)
        found = replace(found, verdicts=both, indices=named)
        return replace(found, certified=True, reason=ANYHOW_LEFT, wanted_cells=()) if done else found
    if found.standing != "proven" or found.contender_indices is None:
        return found
    left = tuple(arm for arm in found.contender_indices if arm in sure.possible)
    if not asked.best:
        return replace(found, contender_indices=left) if set(found.indices) <= set(left) else found
    if not left:
        return found
    sign = -1.0 if found.minimise else 1.0
    leader = max(left, key=lambda arm: (sign * np.nan_to_num(found.means[arm], nan=-sign * np.inf), -arm))
    if leader not in found.indices:
        found = replace(found, indices=(leader,), achieved_delta=None, epsilon_certified=None)
    if len(left) > 1 or found.epsilon > 0:
        return replace(found, contender_indices=left)
    return replace(found, certified=True, reason=ANYHOW_LEFT, contender_indices=left, apart=None, wanted_cells=())


def _inside(ends: tuple[FloatArray, FloatArray], low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds cut to what is certain; if nothing would be left, they are wrong, and what is certain stays."""
    least, most = np.maximum(ends[0], low), np.minimum(ends[1], high)
    empty = least > most
    return np.where(empty, low, least), np.where(empty, high, most)
