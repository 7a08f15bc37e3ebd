"""The decision of a challenge: both scores on each item, in the order in which items count, and the scores known before."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from surest.core.scale import Scale
from surest.decision.chain import Chain, checked_names, first_line
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
    """The champion's scores that were known at the start, by the position of the item."""
    scores: Sequence[tuple[int, float, float]]
    """Of each item that counted: its position, the champion's score and the challenger's."""
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
    names, scale = checked_names(fought.names, "candidates"), fought.scale
    asked = fought.delta, fought.worth, (scale.low, scale.high), scale.minimise
    known = [list(pair) for pair in sorted(fought.known.items())]
    more: dict[str, Any] = {"items": checked_names(fought.items, "items"), "target": "items"}
    more |= {"level": fought.level, "number": fought.number, "known": known}
    header = first_line("champion", names, asked, fought.key, **more)
    chain = Chain(header)
    for item, old, new in fought.scores:
        chain.add("scores", item=item, arms=[0, 1], values=[old, new])
    said = fought.verdict != "undecided"
    by_bets = said and fought.wealth < math.inf
    claim = {"verdict": fought.verdict, "exact": said and not by_bets, "delta": fought.delta, "events": {}}
    counted = [len(fought.scores)] * 2
    decided = [[counted[0], math.log(fought.wealth)]] if by_bets else []
    return chain.conclude(challenge_sentence(header, claim), claim=claim, counted=counted, decided=decided)
