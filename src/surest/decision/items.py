"""The decision of a search on a list of items, by race or race-top: its cells are counted again, and written as they count."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from surest.core.problem import Problem
from surest.core.protocol import FloatArray
from surest.decision.chain import Chain, check_apart, header_of
from surest.errors import UsageError
from surest.evidence.item_bets import TOLERANCE
from surest.evidence.item_top import Sets
from surest.evidence.item_top_verdict import Top
from surest.evidence.item_units import in_random_order
from surest.evidence.item_verdict import SHARE, SHARE_WITH_EPSILON, Verdict
from surest.evidence.items import Standings
from surest.result.data import Result
from surest.result.listed import Listed
from surest_verify import sentence
from surest_verify_lists import UNIT, units


class Best:
    """What counting says of the best arm."""

    def __init__(self, n: int, total: int, problem: Problem) -> None:
        epsilon = problem.epsilon / problem.scale.width
        share, population = SHARE_WITH_EPSILON if epsilon > 0 else SHARE, problem.target == "population"
        self.evidence = Standings(n, np.ones(total), problem.delta, share=share, population=population)
        self.verdict = Verdict(self.evidence, problem.delta, epsilon, np.full(n, 1 / n))

    @property
    def play(self) -> list[int]:
        """The arms that the next item needs; none when it is decided."""
        return [] if self.verdict.chosen is not None else self.left

    @property
    def left(self) -> list[int]:
        """The arms that may be right."""
        found: list[int] = self.evidence.play.tolist()
        return found

    @property
    def undecided(self) -> list[int]:
        """The arms of which it is not settled whether they are in the answer."""
        return self.left if len(self.left) > 1 else []

    @property
    def equal(self) -> list[int]:
        """When all is seen: the arms that are as good as the answer."""
        return list(self.verdict.tied)

    @property
    def least(self) -> float:
        """The least evidence by which anything was decided; infinite where no bet was needed."""
        evidence = self.evidence
        out = np.setdiff1d(np.arange(len(evidence.sums)), evidence.play)
        return float(evidence.most[out].min(initial=math.inf))

    @property
    def scores(self) -> FloatArray:
        """The scores so far: a row an item, a column an arm."""
        return self.evidence.scores[: self.evidence.t]

    def count(self, values: FloatArray) -> None:
        """Take in the next item."""
        self.evidence.count(values)
        self.verdict.look()


class Several:
    """What counting says of the m best arms."""

    def __init__(self, n: int, total: int, problem: Problem) -> None:
        epsilon, population = problem.epsilon / problem.scale.width, problem.target == "population"
        self.evidence = Top(n, problem.question.top, np.ones(total), problem.delta, epsilon, population)
        if not isinstance(self.evidence.evidence, Sets):
            raise UsageError(
                f"there are too many sets of {problem.question.top} of {n} arms for a decision file; ask for fewer arms"
            )
        self.sets = self.evidence.evidence

    @property
    def play(self) -> list[int]:
        """The arms that the next item needs; none when it is decided."""
        found: list[int] = self.evidence.play.tolist()
        return found

    @property
    def left(self) -> list[int]:
        """The arms that may be right."""
        found: list[int] = np.flatnonzero(self.sets.members()).tolist()
        return found

    @property
    def undecided(self) -> list[int]:
        """The arms of which it is not settled whether they are in the answer."""
        found: list[int] = self.evidence.undecided.tolist()
        return found

    @property
    def equal(self) -> list[int]:
        """When all is seen: the answer, and the arms that are as good as the last of it."""
        top, scores = self.evidence, self.evidence.scores
        mine = np.setdiff1d(top.named, top.inside)
        last = scores.sums[mine].min(initial=math.inf)
        others = top.undecided[scores.sums[top.undecided] >= last - scores.least]
        found: list[int] = np.union1d(top.named, others).tolist()
        return found

    @property
    def least(self) -> float:
        """The least evidence by which anything was decided; infinite where no bet was needed."""
        return self.evidence.share * self.sets.refuted

    @property
    def scores(self) -> FloatArray:
        """The scores so far: a row an item, a column an arm."""
        return self.evidence.scores.values[: self.evidence.t]

    def count(self, values: FloatArray) -> None:
        """Take in the next item."""
        self.evidence.count(values)


def decision_on_items(result: Result) -> Chain:
    """The lines of a decision on a list of items.

    >>> import surest
    >>> table = {"a": {i: 1.0 for i in range(60)}, "b": {i: float(i % 2) for i in range(60)}}
    >>> chain = decision_on_items(surest.evaluate(table, seed=1))
    >>> len(chain.lines), chain.lines[1][75:]
    (13, b'"kind":"scores","item":41,"arms":[0,1],"values":[1.0,1.0]}\\n')
    """
    problem, listed = result.problem, result.listed
    if listed is None or problem.algorithm not in EVIDENCE:
        raise UsageError(f"a decision on a list of items is by race or race-top; this one is by {result.algorithm}")
    _refuse_unknown(problem)
    labels, items = [str(label) for label in problem.labels], [str(item) for item in listed.items]
    check_apart(items, "items")
    top = {"top": problem.question.top} if problem.algorithm == "race-top" else {}
    header = header_of(problem, labels, items=items, target=problem.target, **top)
    chain, evidence = Chain(), EVIDENCE[problem.algorithm](len(labels), len(items), problem)
    chain.add("surest decision", **header)
    counted, decided, events = _count(chain, evidence, result, listed)
    claim = _claim(result, evidence, events, len(items))
    chain.add("conclusion", words=sentence(header, claim), claim=claim, counted=counted, decided=decided)
    chain.end()
    return chain


EVIDENCE: dict[Any, type[Best] | type[Several]] = {"race": Best, "race-top": Several}


def _refuse_unknown(problem: Problem) -> None:
    """Refuse what the verifier does not know: clusters, weights and arms that come later."""
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
    chain: Chain, evidence: Best | Several, result: Result, listed: Listed
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
        play = evidence.play
        own = values[play, item]
        if not play or np.isnan(own).any():
            raise UsageError("this result does not have all its scores; write the decision where the search is run")
        for arm in play:
            for what, times in happened.get((arm, item), {}).items():
                chain.add("event", what=what, arm=arm, times=times)
                events[what] += times
            counted[arm] += 1
        at = chain.add("scores", item=item, arms=play, values=own.tolist())
        evidence.count(problem.scale.to_unit(own))
        nats = 0.0 if evidence.least == math.inf else math.log(evidence.least)
        decided += [[arm, at, nats] for arm in undecided if arm not in evidence.undecided]
        undecided = evidence.undecided
    return counted, decided, events


def _claim(result: Result, evidence: Best | Several, events: Mapping[str, int], total: int) -> dict[str, Any]:
    problem, arms = result.problem, sorted(result.indices)
    ended = len(evidence.scores) == total and problem.target == "items"
    right = (evidence.equal if ended else arms) if result.certified else evidence.left
    within = problem.epsilon
    if _is_rounded(evidence, arms, total, within / problem.scale.width) and problem.target == "items":
        within += TOLERANCE * problem.scale.width
    return {
        "arms": arms,
        "certified": result.certified,
        "contenders": sorted(right),
        "within": within if result.certified else problem.scale.width,
        "delta": problem.delta,
        "events": dict(events),
        "exact": result.exact,
    }


def _is_rounded(evidence: Best | Several, arms: list[int], total: int, epsilon: float) -> bool:
    """Whether the answer is within ε of the best only up to `TOLERANCE`, which the search allows its sums of doubles.

    Sums are exact here, as whole numbers of the smallest double.
    """
    undecided, scores = evidence.undecided, evidence.scores
    sums = {arm: sum(map(units, scores[:, arm].tolist())) for arm in undecided}
    to_come, room = (total - len(scores)) * UNIT, total * units(epsilon)
    lacks = [to_come - sums[i] + sums[j] - room for i in arms for j in undecided if i in sums and j not in arms]
    return any(0 < lack * 10**9 <= total * UNIT for lack in lacks)
