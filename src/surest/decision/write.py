"""The decision of a result, whatever the algorithm."""

from typing import Any

from surest.core.duels import DUELS
from surest.core.problem import Problem
from surest.decision.chain import Chain
from surest.decision.duels import decision_on_duels
from surest.decision.pulls import decision_on_pulls
from surest.decision.rounds import NOT_KNOWN, decision_by_rounds
from surest.errors import UsageError
from surest.result.data import LEFT_OVER, Result, algorithm_name

ON_PULLS, ON_ITEMS = ("wager", "wager-top"), ("race", "race-top")
CHEAPEST = ("wager-cheapest", "race-cheapest")
CHECKABLE = (*ON_PULLS, *ON_ITEMS, *CHEAPEST, DUELS)
"""Algorithms whose decisions surest-verify checks."""


def decision_of(result: Result) -> Chain:
    """The lines of a decision, from the record that a search kept."""
    check_algorithm(result.problem.algorithm)
    if result.listed is not None:
        return decision_by_rounds(result)
    if result.reason == LEFT_OVER:
        raise UsageError(f"nothing is certified: {LEFT_OVER}; there is no decision to write")
    if result.transcript is None:
        raise UsageError("this search kept no record of its rewards; run it with record=True (--decision FILE)")
    if result.duels is not None:
        return decision_on_duels(result)
    if result.problem.algorithm in CHEAPEST:
        return decision_by_rounds(result)
    return decision_on_pulls(result.problem, result.transcript, result.additions, result.events)


def is_checkable(problem: Problem) -> bool:
    """Whether surest-verify checks the decision: on lists, it does not know all options."""
    beyond = problem.items is not None and NOT_KNOWN.keys() & problem.options.keys()
    return problem.algorithm in CHECKABLE and not beyond


def check_algorithm(algorithm: Any) -> None:
    """Refuse an algorithm whose decisions cannot be checked."""
    if algorithm not in CHECKABLE:
        raise UsageError(
            f"a decision can be checked where {', '.join(CHECKABLE)} made it; there is no checker for {algorithm_name(algorithm)}"
        )
