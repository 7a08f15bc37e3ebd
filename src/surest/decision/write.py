"""The decision of a result, whatever the algorithm."""

from typing import Any

import numpy as np

from surest.core.duels import DUELS, players_of
from surest.core.problem import Problem
from surest.core.protocol import Pull
from surest.decision.chain import Chain, Events, checked_names, header_of
from surest.decision.pulls import decision_on_pulls
from surest.decision.rounds import NOT_KNOWN, decision_by_rounds
from surest.errors import UsageError
from surest.evidence.duels import Tournament
from surest.result.data import LEFT_OVER, Result, algorithm_name
from surest.result.duels import NO_WINNER

ON_PULLS, ON_ITEMS = ("wager", "wager-top"), ("race", "race-top")
CHEAPEST = ("wager-cheapest", "race-cheapest")
CHECKABLE = (*ON_PULLS, *ON_ITEMS, *CHEAPEST, DUELS)  # algorithms whose decisions surest-verify checks
CONTROL = "race-control"  # the same, if the scores of the control were known beforehand


def decision_of(result: Result) -> Chain:
    """The lines of a decision, from the record that a search kept."""
    if not is_checkable(result.problem):
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
    options = problem.options.keys()
    beyond = problem.items is not None and NOT_KNOWN.keys() & options
    return (problem.algorithm in CHECKABLE and not beyond) or (problem.algorithm == CONTROL and "known" in options)


def check_algorithm(algorithm: Any) -> None:
    """Refuse an algorithm whose decisions cannot be checked."""
    if algorithm == "gate":
        raise UsageError(
            "a gate writes its own decision: surest gate --decision FILE, or write_decision of what it returns"
        )
    if algorithm not in CHECKABLE:
        raise UsageError(
            f"a decision can be checked where {', '.join(CHECKABLE)} made it, or {CONTROL} with a known row; there is no "
            f"checker for {algorithm_name(algorithm)}"
        )


def decision_on_duels(result: Result) -> Chain:
    """The lines of a decision on duels: the record is replayed and written, each bet before its scores."""
    problem, duels = result.problem, result.duels
    assert duels is not None
    assert result.transcript is not None
    players, top = checked_names(problem.labels, "arms"), problem.question.top
    header, n = header_of(problem, players, top=top), len(players)
    chain, events = Chain(header), Events(result.events)
    book = Tournament(n, problem.delta, problem.epsilon, top, bool(problem.options.get("strict")))
    for request, reply in result.transcript:
        assert isinstance(request, Pull)
        first, second = players_of(request.arms, n)
        sides = list(zip(first.tolist(), second.tolist(), strict=True))
        bets = [[float(of[0, x, y]) for of in (book.bet, book.oust) for x, y in ((a, b), (b, a))] for a, b in sides]
        chain.add("bets", first=first.tolist(), second=second.tolist(), bets=bets)
        events.write(chain, request)
        scores = np.asarray(reply)
        parts = np.split(scores, np.cumsum(request.times)[:-1])
        chain.add("rewards", arms=request.arms.tolist(), values=[part.tolist() for part in parts], times=[])
        before = book.nominations[0]
        book.count(*players_of(np.repeat(request.arms, request.times), n), scores)
        if book.nominations[0] > before:
            chain.add("nomination", arms=np.flatnonzero(book.named[0]).tolist())
    none = result.certified and result.reason == NO_WINNER
    claim = {
        "arms": sorted(result.indices),
        "certified": result.certified,
        "none": none,
        "proven": duels.proven and result.certified and not none,
        "contenders": sorted(result.contender_indices or ()),
        "groups": [list(group) for group in duels.groups],
        "delta": problem.delta,
        "events": dict(sorted(events.total.items())),
    }
    games = duels.games.astype(float).tolist()
    return chain.conclude(claim=claim, games=games)
