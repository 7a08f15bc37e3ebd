"""The decision of a search on a list of items, by race or race-top: its cells are counted again, and written as they count."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from surest.algorithms.race import evidence_on
from surest.core.problem import Problem
from surest.decision.chain import Chain, check_apart, header_of
from surest.errors import UsageError
from surest.evidence.lists.bars import EachArm
from surest.evidence.lists.top import Sets, Top
from surest.evidence.lists.units import in_random_order
from surest.evidence.lists.verdict import Verdict
from surest.kernels.constants import TOLERANCE_ON_LISTS
from surest.result.data import Result
from surest.result.listed import Listed
from surest.result.words import KNOWN
from surest_verify import sentence
from surest_verify_lists import UNIT, units

Evidence = Verdict | Top


def _evidence(n: int, total: int, problem: Problem) -> Evidence:
    """What counting says in answer to the question, as the search itself counts."""
    epsilon, population = problem.epsilon / problem.scale.width, problem.target == "population"
    found = evidence_on(problem.question, n, np.ones(total), problem.delta, epsilon, population)
    assert not isinstance(found, EachArm)
    if isinstance(found, Top) and not isinstance(found.evidence, Sets):
        raise UsageError(
            f"there are too many sets of {problem.question.top} of {n} arms for a decision file; ask for fewer arms"
        )
    return found


def decision_on_items(result: Result) -> Chain:
    """The lines of a decision on a list of items.

    >>> import surest
    >>> table = {"a": {i: 1.0 for i in range(60)}, "b": {i: float(i % 2) for i in range(60)}}
    >>> chain = decision_on_items(surest.evaluate(table, seed=1, simulate=True))
    >>> len(chain.lines), chain.lines[1][75:]
    (13, b'"kind":"scores","item":41,"arms":[0,1],"values":[1.0,1.0]}\\n')
    """
    listed = result.listed
    if listed is None or result.problem.algorithm not in ("race", "race-top"):
        raise UsageError(f"a decision on a list of items is by race or race-top; this one is by {result.algorithm}")
    if listed.gaps is not None and result.certified and "missing" in result.reason:
        raise UsageError("this verdict rests on scores of a table beyond the order drawn, which no decision file has")
    if result.reason.startswith(KNOWN):  # by what is certain alone
        certain = msgspec.structs.replace(result.problem, delta=CERTAIN, epsilon=0.0)
        result = replace(result, problem=certain)
    problem = result.problem
    _refuse_unknown(problem)
    labels, items = [str(label) for label in problem.labels], [str(item) for item in listed.items]
    check_apart(items, "items")
    top = {"top": problem.question.top} if problem.algorithm == "race-top" else {}
    header = header_of(problem, labels, items=items, target=problem.target, **top)
    chain, evidence = Chain(), _evidence(len(labels), len(items), problem)
    chain.add("surest decision", **header)
    counted, decided, events = _count(chain, evidence, result, listed)
    claim = _claim(result, evidence, events, len(items))
    chain.add("conclusion", words=sentence(header, claim), claim=claim, counted=counted, decided=decided)
    chain.end()
    return chain


CERTAIN = 1e-300
"""An error level that no wealth reaches: arms are out only when they cannot catch up."""


def _refuse_unknown(problem: Problem) -> None:
    """Refuse what the verifier does not know: a spread, clusters, weights and arms that come later."""
    if problem.spread is not None:
        raise UsageError(
            "surest-verify does not know lists with a spread, so there is no decision file; leave out spread"
        )
    for name, what in (
        ("group", "clusters"),
        ("weights", "weights"),
        ("reserve", "a reserve for arms that come later"),
    ):
        if problem.options.get(name):
            raise UsageError(
                f"surest-verify does not know lists with {what}, so there is no decision file; leave out {name}"
            )


def _count(
    chain: Chain, evidence: Evidence, result: Result, listed: Listed
) -> tuple[list[int], list[list[float]], Counter[str]]:
    """Write a line for each item that counts: how many count for each arm, where which arms were decided, and what happened."""
    problem, n, total = result.problem, len(result.labels), len(listed.items)
    values = np.full((n, total), np.nan)
    values[listed.arms, listed.places] = np.clip(listed.values, *problem.bounds)
    order = in_random_order(total, np.random.default_rng([problem.seed % 2**64, n])).items.tolist()
    happened: dict[tuple[int, int | None], Counter[str]] = {}
    for what, _, arm, at_item in result.events:
        happened.setdefault((arm, at_item), Counter())[what] += 1
    counted, decided, events, undecided = [0] * n, list[list[float]](), Counter[str](), list(range(n))
    for item in order[: listed.items_used]:
        play = evidence.play.tolist()
        own = values[play, item]
        if not play and (listed.known or problem.estimate is not None):  # what follows a verdict does not count
            break
        if not play or np.isnan(own).any():
            raise UsageError("this result does not have all its scores; write the decision where the search is run")
        for arm in play:
            for what, times in happened.get((arm, item), {}).items():
                chain.add("event", what=what, arm=arm, times=times)
                events[what] += times
            counted[arm] += 1
        at = chain.add("scores", item=item, arms=play, values=own.tolist())
        evidence.count(problem.scale.to_unit(own))
        nats = 0.0 if evidence.weakest == math.inf else math.log(evidence.weakest)
        decided += [[arm, at, nats] for arm in undecided if arm not in evidence.undecided]
        undecided = evidence.undecided.tolist()
    return counted, decided, events


def _claim(result: Result, evidence: Evidence, events: Mapping[str, int], total: int) -> dict[str, Any]:
    problem, arms = result.problem, sorted(result.indices)
    ended = evidence.t == total and problem.target == "items"
    right = (evidence.tied if ended else arms) if result.certified else evidence.left.tolist()
    within = problem.epsilon
    if _is_rounded(evidence, arms, total, within / problem.scale.width) and problem.target == "items":
        within += TOLERANCE_ON_LISTS * problem.scale.width
    return {
        "arms": arms,
        "certified": result.certified,
        "contenders": sorted(right),
        "within": within if result.certified else problem.scale.width,
        "delta": problem.delta,
        "events": dict(events),
        "exact": result.exact,
    }


def _is_rounded(evidence: Evidence, arms: list[int], total: int, epsilon: float) -> bool:
    """Whether the answer is within ε of the best only up to `TOLERANCE_ON_LISTS`, which the search allows its sums of doubles.

    Sums are exact here, as whole numbers of the smallest double.
    """
    undecided, scores = evidence.undecided.tolist(), evidence.scores.values[: evidence.t]
    sums = {arm: sum(map(units, scores[:, arm].tolist())) for arm in undecided}
    to_come, room = (total - len(scores)) * UNIT, total * units(epsilon)
    lacks = [to_come - sums[i] + sums[j] - room for i in arms for j in undecided if i in sums and j not in arms]
    return any(0 < lack * 10**9 <= total * UNIT for lack in lacks)
