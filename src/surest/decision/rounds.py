"""The decision of a search that goes on by rounds, such as the items of a list: its scores are counted again and written."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from surest.algorithms.race import evidence_on, known_row
from surest.core.problem import Problem
from surest.core.protocol import FloatArray, Pull
from surest.decision.chain import Chain, checked_names, header_of
from surest.decision.pulls import in_own_units
from surest.errors import UsageError
from surest.evidence.cheapest import Cheapest
from surest.evidence.lists.bars import EachArm
from surest.evidence.lists.top import Sets, Top
from surest.evidence.lists.units import Units, as_they_are, in_random_order
from surest.evidence.lists.verdict import Verdict
from surest.kernels.constants import TOLERANCE_ON_LISTS
from surest.result.data import Result
from surest.result.words import KNOWN
from surest_verify import UNIT, units

Evidence = Verdict | Top | Cheapest | EachArm
Round = tuple[dict[int, float], dict[int, Any], dict[str, Any]]
"""A reward of each arm, its item or number among the rewards of its arm, and further fields of its line."""
NOT_KNOWN = {"group": "clusters", "weights": "weights", "reserve": "a reserve for arms that come later"}
"""Options of lists that the verifier does not know."""
CERTAIN = 1e-300  # an error level that no wealth reaches: only what is certain puts an arm out


def decision_by_rounds(result: Result) -> Chain:
    """The lines of a decision on a list of items, or on the cheapest arm."""
    problem, listed = result.problem, result.listed
    if listed is not None and listed.missing is not None and result.certified and "missing" in result.reason:
        raise UsageError(
            "this verdict rests on scores beyond the first gap in the order of the items, where a decision file ends"
        )
    if listed is not None and result.reason.startswith(KNOWN):  # by what is certain alone
        problem = msgspec.structs.replace(problem, delta=CERTAIN, epsilon=0.0, slack=0.0, spread=None)
    for name, what in NOT_KNOWN.items() if listed is not None else ():
        if problem.options.get(name):
            raise UsageError(
                f"surest-verify does not know lists with {what}, so there is no decision file; leave out {name}"
            )
    items = [] if listed is None else checked_names(listed.items, "items")
    header, evidence = _header(problem, items), _evidence(problem, len(items))
    return _counted(Chain(header), evidence, result, problem)


def _header(problem: Problem, items: list[str]) -> dict[str, Any]:
    labels, asked = checked_names(problem.labels, "arms"), problem.question
    on_items = {"items": items, "target": problem.target} if items else {}
    if problem.cheapest is not None:
        own = {"prices": list(asked.prices), "within": problem.cheapest, "slack": problem.slack}
        return header_of(problem, labels) | own | on_items
    if asked.reference is not None:
        row, more = _known(problem, as_they_are(len(items))).values()
        own = {"epsilon": problem.margin, "control": asked.reference, "known": row.tolist(), "features": more.tolist()}
        return header_of(problem, labels) | on_items | own
    own = {"top": asked.top} if problem.algorithm == "race-top" else {}
    if problem.unit_spread < 1:
        own = {"version": 2, "spread": problem.spread}
    return header_of(problem, labels) | on_items | own


def _evidence(problem: Problem, total: int) -> Evidence:
    """The evidence of the search itself."""
    n, asked, population = len(problem.labels), problem.question, problem.target == "population"
    if problem.cheapest is not None:
        on = total if total and not population else None
        return Cheapest(np.array(asked.prices), on, problem.delta, asked.within, asked.slack)
    epsilon, spread = problem.epsilon / problem.scale.width, problem.unit_spread
    more: dict[str, Any] = {"spread": spread} if spread < 1 else {}
    if asked.reference is not None:
        more = _known(problem, _order(problem, total))
    found = evidence_on(asked, n, np.ones(total), problem.delta, epsilon, population, **more)
    if isinstance(found, Top) and not isinstance(found.evidence, Sets):
        raise UsageError(f"there are too many sets of {asked.top} of {n} arms for a decision file; ask for fewer arms")
    return found


def _known(problem: Problem, units: Units) -> dict[str, FloatArray]:
    """The row of the control and what older rows tell of the items, in the order in which these come."""
    rows = problem.options["known"], problem.options.get("older", ())
    return known_row(len(rows[0]), *rows, units, False, True)


def _counted(chain: Chain, evidence: Evidence, result: Result, problem: Problem) -> Chain:
    """Write a line for each item or round that counts, and conclude."""
    at_item = result.listed is not None
    happened: dict[tuple[int, Any], Counter[str]] = {}
    for what, reward, arm, item in result.events:
        happened.setdefault((arm, item if at_item else reward), Counter())[what] += 1
    counted, decided, events = Counter[int](), list[list[float]](), Counter[str]()
    undecided = evidence.judged.tolist() if isinstance(evidence, EachArm) else list(range(len(problem.labels)))
    for row, places, own in _items_in_order(result) if at_item else _pulled(result):
        play = evidence.play.tolist()
        if not play or (isinstance(evidence, Cheapest) and evidence.named is not None):
            break  # what follows a verdict does not count
        values = np.array([row.get(arm, math.nan) for arm in play])
        if np.isnan(values).any():
            raise UsageError("this result does not have all its scores; write the decision where the search is run")
        for arm in play:
            for what, times in happened.get((arm, places[arm]), {}).items():
                chain.add("event", what=what, arm=arm, times=times)
                events[what] += times
        counted.update(play)
        at = chain.add("scores", **own, arms=play, values=values.tolist())
        evidence.count(problem.scale.to_unit(values))
        if not isinstance(evidence, Cheapest):
            left = evidence.left if isinstance(evidence, EachArm) else evidence.undecided
            decided += [[arm, at, _nats(evidence, arm)] for arm in undecided if arm not in left]
            undecided = left.tolist()
    numbers = {"counted": [counted[arm] for arm in range(len(problem.labels))], "decided": decided}
    claim = _claim(result, problem, evidence, dict(events))
    return chain.conclude(**numbers, claim=claim) if "within" not in claim else chain.conclude(claim=claim, **numbers)


def _nats(evidence: Verdict | Top | EachArm, arm: int) -> float:
    """The evidence by which an arm is settled; 0 where it is certain."""
    wealth = evidence.evidence_on(arm) if isinstance(evidence, EachArm) else evidence.weakest
    return 0.0 if wealth == math.inf else math.log(wealth)


def _claim(result: Result, problem: Problem, evidence: Evidence, events: dict[str, int]) -> dict[str, Any]:
    arms, sure, within = sorted(result.indices), result.certified, {}
    if isinstance(evidence, EachArm):
        said = {"verdicts": [*(result.verdicts or ())], "certified": sure}
        return said | {"delta": problem.delta, "events": events, "exact": result.exact}
    if isinstance(evidence, Cheapest):
        left, tied = np.flatnonzero(~evidence.out), list[int]()
    else:
        on_items, total = problem.target == "items", len(result._on_items().items)
        left, tied = evidence.left, list(evidence.tied) if on_items and evidence.scores.t == total else []
        up_to = problem.epsilon
        if on_items and _is_rounded(evidence, arms, total, up_to / problem.scale.width):
            up_to += TOLERANCE_ON_LISTS * problem.scale.width
        within = {"within": up_to if sure else problem.scale.width}
    right = sorted((tied or arms) if sure else left.tolist())
    said = {"arms": arms, "certified": sure, "contenders": right, **within}
    return said | {"delta": problem.delta, "events": events, "exact": result.exact}


def _items_in_order(result: Result) -> Iterator[Round]:
    """The scores on one item after another, in the order of the seed."""
    problem, listed = result.problem, result.listed
    assert listed is not None
    scores: list[dict[int, float]] = [{} for _ in listed.items]
    low, high = problem.bounds
    for arm, place, value in listed.cells:
        scores[place][arm] = min(max(value, low), high)
    for item in _order(problem, len(scores)).items.tolist()[: listed.items_used]:
        yield scores[item], dict.fromkeys(range(len(problem.labels)), item), {"item": item}


def _order(problem: Problem, items: int) -> Units:
    """The order in which items count."""
    return in_random_order(items, np.random.default_rng([problem.seed % 2**64, len(problem.labels)]))


def _pulled(result: Result) -> Iterator[Round]:
    """The rewards of one round after another, each arm once."""
    seen = Counter[int]()
    for request, reply in result.transcript or ():
        assert isinstance(request, Pull)
        arms, rounds = request.arms.tolist(), int(request.times[0])
        values = in_own_units(result.problem.scale, np.asarray(reply))
        for k in range(rounds):
            yield {arm: values[i * rounds + k] for i, arm in enumerate(arms)}, {arm: seen[arm] + k for arm in arms}, {}
        seen.update(dict.fromkeys(arms, rounds))


def _is_rounded(evidence: Verdict | Top, arms: list[int], total: int, epsilon: float) -> bool:
    """Whether the answer is within ε of the best only up to `TOLERANCE_ON_LISTS`, which the search allows for rounding.

    Sums are exact here: integer multiples of the smallest double.
    """
    undecided, own = evidence.undecided.tolist(), evidence.scores
    widest = UNIT
    if isinstance(evidence, Verdict):
        own, widest = evidence.own, units(evidence.spread)
    scores = own.values[: evidence.scores.t]
    sums = {arm: sum(map(units, scores[:, arm].tolist())) for arm in undecided}
    to_come, room = (total - len(scores)) * widest, total * units(epsilon)
    lacks = [to_come - sums[i] + sums[j] - room for i in arms for j in undecided if i in sums and j not in arms]
    return any(0 < lack * 10**9 <= total * widest for lack in lacks)
