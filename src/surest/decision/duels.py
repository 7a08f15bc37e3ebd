"""The decision of a search by duels: its record is replayed, and written as it goes, each bet before the scores it is on."""

from collections import Counter

import numpy as np

from surest.core.duels import players_of
from surest.core.protocol import Pull
from surest.decision.chain import Chain, check_apart, header_of
from surest.evidence.duels import Tournament
from surest.result.data import Result
from surest.result.duels import NO_WINNER
from surest_verify_duels import duels_sentence


def decision_on_duels(result: Result) -> Chain:
    """The lines of a decision, from what was asked and answered."""
    problem, duels = result.problem, result.duels
    assert duels is not None
    assert result.transcript is not None
    players, top = [str(label) for label in problem.labels], problem.question.top
    check_apart(players, "arms")
    n, chain = len(players), Chain()
    header = header_of(problem, players, top=top)
    chain.add("surest decision", **header)
    book = Tournament(n, problem.delta, problem.epsilon, top, bool(problem.options.get("strict")))
    counted, events, pending = Counter[int](), Counter[str](), list(result.events)
    for request, reply in result.transcript:
        assert isinstance(request, Pull)
        first, second = players_of(request.arms, n)
        sides = list(zip(first.tolist(), second.tolist(), strict=True))
        bets = [[float(of[0, x, y]) for of in (book.bet, book.oust) for x, y in ((a, b), (b, a))] for a, b in sides]
        chain.add("bets", first=first.tolist(), second=second.tolist(), bets=bets)
        counted.update(dict(zip(request.arms.tolist(), request.times.tolist(), strict=True)))
        now = [event for event in pending if event[1] < counted[event[2]]]
        pending = [event for event in pending if event[1] >= counted[event[2]]]
        for (what, arm), times in sorted(Counter((what, arm) for what, _, arm, _ in now).items()):
            chain.add("event", what=what, arm=arm, times=times)
            events[what] += times
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
        "events": dict(sorted(events.items())),
    }
    games = duels.games.astype(float).tolist()
    chain.add("conclusion", words=duels_sentence(header, claim), claim=claim, games=games)
    chain.end()
    return chain
