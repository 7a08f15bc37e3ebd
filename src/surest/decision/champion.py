"""The decision of a challenge: both scores on each item, in the order in which items count, and what was known beforehand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from surest.core.scale import Scale
from surest.decision.chain import VERSION, Chain, check_apart
from surest_verify_lists import challenge_sentence


class Fought(NamedTuple):
    """A challenge that has ended."""

    names: tuple[str, str]  # of the champion and of the challenger
    items: Sequence[Any]
    scale: Scale
    delta: float
    worth: float
    level: float
    number: int
    key: str  # draws the order
    known: Mapping[int, float]
    """The champion's scores that were known when it began, by the places of items."""
    scores: Sequence[tuple[int, float, float]]
    """Of each item that counted: its place, the champion's score and the challenger's."""
    verdict: str
    wealth: float  # what the bets that decided it came to


def decision_of_challenge(fought: Fought) -> Chain:
    """The lines of a challenge's decision.

    >>> import surest
    >>> champion = surest.Champion(lambda rate, item: float(item % 10 < rate), range(300), worth=0.1, seed=1)
    >>> found = [champion.challenge(rate) for rate in (5, 4)][-1]
    >>> chain = decision_of_challenge(found.fought)
    >>> found.verdict, len(chain.lines) - found.items_counted, chain.lines[1][75:]
    ('rejected', 3, b'"kind":"scores","item":237,"arms":[0,1],"values":[0.0,0.0]}\\n')
    """
    items, chain = [str(item) for item in fought.items], Chain()
    check_apart(list(fought.names), "candidates")
    check_apart(items, "items")
    header = {
        "version": VERSION,
        "algorithm": "champion",
        "labels": list(fought.names),
        "delta": fought.delta,
        "epsilon": fought.worth,
        "bounds": [fought.scale.low, fought.scale.high],
        "minimise": fought.scale.minimise,
        "seed": fought.key,
        "note": "",
        "items": items,
        "target": "items",
        "level": fought.level,
        "number": fought.number,
        "known": [list(pair) for pair in sorted(fought.known.items())],
    }
    chain.add("surest decision", **header)
    for item, old, new in fought.scores:
        chain.add("scores", item=item, arms=[0, 1], values=[old, new])
    said = fought.verdict != "undecided"
    by_bets = said and fought.wealth < math.inf
    claim = {"verdict": fought.verdict, "exact": said and not by_bets, "delta": fought.delta, "events": {}}
    counted = [len(fought.scores)] * 2
    decided = [[counted[0], math.log(fought.wealth)]] if by_bets else []
    chain.add("conclusion", words=challenge_sentence(header, claim), claim=claim, counted=counted, decided=decided)
    chain.end()
    return chain
