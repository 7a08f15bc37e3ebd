"""The decision of a search for the cheapest arm that is good enough: its rewards are counted again and written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from surest.core.protocol import Pull
from surest.decision.chain import Chain, checked_names, header_of
from surest.decision.lists import CERTAIN, Round, count, in_order
from surest.decision.pulls import in_own_units
from surest.evidence.cheapest import Cheapest
from surest.result.data import Result
from surest.result.words import KNOWN
from surest_verify_lists import cheapest_sentence


def decision_on_cheapest(result: Result) -> Chain:
    """The lines of a decision, on a list or by fresh pulls.

    >>> import surest
    >>> table = {"a": [1.0] * 60, "b": [0.5, 1.0] * 30}
    >>> found = surest.evaluate(table, cheapest=0.1, cost={"a": 2, "b": 1}, seed=1, simulate=True)
    >>> decision_on_cheapest(found).lines[1][75:]
    b'"kind":"scores","item":41,"arms":[0,1],"values":[1.0,1.0]}\\n'
    """
    if result.listed is not None and result.reason.startswith(KNOWN):  # by what is certain alone
        result = replace(result, problem=msgspec.structs.replace(result.problem, delta=CERTAIN, slack=0.0))
    problem, asked, listed = result.problem, result.problem.question, result.listed
    labels, more = checked_names(problem.labels, "arms"), dict[str, Any]()
    if listed is not None:
        more = {"items": checked_names(listed.items, "items"), "target": problem.target}
    header = header_of(problem, labels, prices=list(asked.prices), within=problem.cheapest, slack=problem.slack, **more)
    total = len(more["items"]) if more and problem.target == "items" else None
    chain, evidence = Chain(header), Cheapest(np.array(asked.prices), total, problem.delta, asked.within, asked.slack)
    counted, _, events = count(chain, evidence, result, in_order(result) if listed is not None else _pulled(result))
    left = np.flatnonzero(~evidence.out).tolist()
    claim = {
        "arms": list(result.indices), "certified": result.certified,
        "contenders": list(result.indices) if result.certified else left, "delta": problem.delta,
        "events": dict(events), "exact": result.exact,
    }  # fmt: skip
    return chain.conclude(cheapest_sentence(header, claim), counted=counted, decided=[], claim=claim)


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
