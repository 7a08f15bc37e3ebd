"""The decision of a search by duels: its record is replayed and written, each bet before its scores."""

import numpy as np

from surest.core.duels import players_of
from surest.core.protocol import Pull
from surest.decision.chain import Chain, Events, checked_names, header_of
from surest.evidence.duels import Tournament
from surest.result.data import Result
from surest.result.duels import NO_WINNER


def decision_on_duels(result: Result) -> Chain:
    """The lines of a decision, from what was asked and answered."""
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
