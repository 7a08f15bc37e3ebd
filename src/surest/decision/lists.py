"""The decision of a search on a list of items, by race or race-top: its cells are counted again and written."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from surest.algorithms.race import evidence_on
from surest.core.problem import Problem
from surest.decision.chain import Chain, checked_names, header_of
from surest.errors import UsageError
from surest.evidence.cheapest import Cheapest
from surest.evidence.lists.bars import EachArm
from surest.evidence.lists.top import Sets, Top
from surest.evidence.lists.units import in_random_order
from surest.evidence.lists.verdict import Verdict
from surest.kernels.constants import TOLERANCE_ON_LISTS
from surest.result.data import Result
from surest.result.words import KNOWN
from surest_verify import sentence
from surest_verify_lists import UNIT, units

Evidence = Verdict | Top
Round = tuple[dict[int, float], dict[int, Any], dict[str, Any]]
"""A reward of each arm, its item or number among the rewards of its arm, and further fields of its line."""
Counted = tuple[list[int], list[list[float]], Counter[str]]
"""The number of scores that count for each arm, the lines after which arms were decided, and the number of events."""


def _evidence(n: int, total: int, problem: Problem) -> Evidence:
    """The evidence of the search itself."""
    epsilon, population = problem.epsilon / problem.scale.width, problem.target == "population"
    more = {"spread": problem.unit_spread} if problem.unit_spread < 1 else {}
    found = evidence_on(problem.question, n, np.ones(total), problem.delta, epsilon, population, **more)
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
        certain = msgspec.structs.replace(result.problem, delta=CERTAIN, epsilon=0.0, spread=None)
        result = replace(result, problem=certain)
    problem = result.problem
    _refuse_unknown(problem)
    labels, items = [str(label) for label in problem.labels], checked_names(listed.items, "items")
    more: dict[str, Any] = {"top": problem.question.top} if problem.algorithm == "race-top" else {}
    if problem.unit_spread < 1:
        more = {"version": 2, "spread": problem.spread}
    header = header_of(problem, labels, items=items, target=problem.target, **more)
    chain, evidence = Chain(header), _evidence(len(labels), len(items), problem)
    counted, decided, events = count(chain, evidence, result, in_order(result))
    claim = _claim(result, evidence, events, len(items))
    return chain.conclude(sentence(header, claim), claim=claim, counted=counted, decided=decided)


NOT_KNOWN = {"group": "clusters", "weights": "weights", "reserve": "a reserve for arms that come later"}
"""Options of lists that the verifier does not know."""
CERTAIN = 1e-300
"""An error level that no wealth reaches: only what is certain puts an arm out."""


def _refuse_unknown(problem: Problem) -> None:
    """Refuse what the verifier does not know."""
    for name, what in NOT_KNOWN.items():
        if problem.options.get(name):
            raise UsageError(
                f"surest-verify does not know lists with {what}, so there is no decision file; leave out {name}"
            )


def in_order(result: Result) -> Iterator[Round]:
    """The scores on one item after another, in the order of the seed."""
    problem, listed = result.problem, result.listed
    assert listed is not None
    scores: list[dict[int, float]] = [{} for _ in listed.items]
    values = np.clip(listed.values, *problem.bounds)
    for arm, place, value in zip(listed.arms.tolist(), listed.places.tolist(), values.tolist(), strict=True):
        scores[place][arm] = value
    rng = np.random.default_rng([problem.seed % 2**64, len(problem.labels)])
    for item in in_random_order(len(scores), rng).items.tolist()[: listed.items_used]:
        yield scores[item], dict.fromkeys(range(len(problem.labels)), item), {"item": item}


def count(chain: Chain, evidence: Evidence | Cheapest, result: Result, rounds: Iterable[Round]) -> Counted:
    """Write a line for each item or round that counts."""
    problem, at_item = result.problem, result.listed is not None
    happened: dict[tuple[int, Any], Counter[str]] = {}
    for what, reward, arm, item in result.events:
        happened.setdefault((arm, item if at_item else reward), Counter())[what] += 1
    n = len(problem.labels)
    counted, decided, events, undecided = [0] * n, list[list[float]](), Counter[str](), list(range(n))
    for row, places, own in rounds:
        play = evidence.play.tolist()
        if not play or (isinstance(evidence, Cheapest) and evidence.named is not None):
            break  # what follows a verdict does not count
        values = np.array([row.get(arm, math.nan) for arm in play])
        if np.isnan(values).any():
            raise UsageError("this result does not have all its scores; write the decision where the search is run")
        for arm in play:
            counted[arm] += 1
            for what, times in happened.get((arm, places[arm]), {}).items():
                chain.add("event", what=what, arm=arm, times=times)
                events[what] += times
        at = chain.add("scores", **own, arms=play, values=values.tolist())
        evidence.count(problem.scale.to_unit(values))
        if not isinstance(evidence, Cheapest):
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
    """Whether the answer is within ε of the best only up to `TOLERANCE_ON_LISTS`, which the search allows for rounding.

    Sums are exact here: integer multiples of the smallest double.
    """
    undecided, own = evidence.undecided.tolist(), evidence.scores
    widest = UNIT
    if isinstance(evidence, Verdict):
        own, widest = evidence.own, units(evidence.spread)
    scores = own.values[: evidence.t]
    sums = {arm: sum(map(units, scores[:, arm].tolist())) for arm in undecided}
    to_come, room = (total - len(scores)) * widest, total * units(epsilon)
    lacks = [to_come - sums[i] + sums[j] - room for i in arms for j in undecided if i in sums and j not in arms]
    return any(0 < lack * 10**9 <= total * widest for lack in lacks)
