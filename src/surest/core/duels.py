"""Duels as arms: what is pulled is an ordered pair of players, so that stores, desks and workers need not know of duels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surest.core.protocol import IntArray
from surest.errors import UsageError

DUELS = "duels"
VERSUS = " vs "
TIES = ("tie", "draw", "tied", "drawn", "1/2", "½", "1/2-1/2")  # what a winner is called where there is none


def pair_labels(players: Sequence[Any]) -> list[str]:
    """All ordered pairs; the player named first is on the first side."""
    names = [str(player) for player in players]
    return [f"{a}{VERSUS}{b}" for i, a in enumerate(names) for j, b in enumerate(names) if i != j]


def pair_number(first: IntArray, second: IntArray, n: int) -> IntArray:
    """The position of a pair among the labels."""
    return np.asarray(first * (n - 1) + second - (second > first), np.int64)


def players_of(pairs: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The players of pairs, by position: who is on the first side, and who on the second."""
    first, second = np.divmod(pairs, n - 1)
    return first, second + (second >= first)


def with_pairs(arms: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arms and settings of a search; where it is one of duels between players, its arms are their pairs."""
    options = {**(given.get("options") or {}), **({"players": given["players"]} if "players" in given else {})}
    if given.get("algorithm") != DUELS or arms is None or "players" in options:
        return arms, dict(given)
    players = [str(i) for i in range(arms)] if isinstance(arms, int) else [str(arm) for arm in arms]
    if len(players) < 2:
        raise UsageError("a duel requires at least two arms")
    if any(VERSUS in player for player in players):
        raise UsageError(f"a label contains {VERSUS!r}, which separates the labels of a pair; rename it")
    if len(set(players)) < len(players):
        raise UsageError("two arms have the same label; labels must differ")
    return pair_labels(players), {**given, "options": {**options, "players": players}}
