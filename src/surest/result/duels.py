"""The results of duels, and their words: who met whom, who won, and which groups are certain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from surest.core.problem import Problem
from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.result.questions import NAMED, every, listed_words, names
from surest.text import be, capital, count, counted, percent, visible

if TYPE_CHECKING:
    from surest.result.data import Result

NO_WINNER = "no Condorcet winner"


@dataclass(frozen=True, eq=False)
class Duels:
    """The results of duels between players, by position: a row is a player, a column an opponent."""

    games: IntArray
    """How often each pair has met."""
    score: FloatArray
    """The row's wins against the column, ties counted half."""
    beats: BoolArray
    """Whether the row is certified to beat the column, or to fall short of ½ by at most ε; all together at 1 − δ."""
    groups: tuple[tuple[int, ...], ...]
    """In order: each player of a group is certified to beat each player of all later groups."""
    order: tuple[int, ...]
    """All players, best first: by group, and within a group by score."""
    open: int
    """Pairs that are still open and that the answer needs."""
    proven: bool
    """Whether the chosen players are certified to beat all others; otherwise they do if any player does."""
    first: tuple[float, float, float] | None
    """The mean score of the first side, with anytime bounds at 1 − δ; None if sides were neither random nor balanced."""
    ranked: bool = False
    """Whether a ranking was asked for."""


def on_players(problem: Problem) -> Problem:
    """The problem with players as its arms; the search itself pulls pairs of them."""
    if "players" not in problem.options:
        return problem
    left = {name: value for name, value in problem.options.items() if name not in ("players", "rows")}
    return msgspec.structs.replace(problem, labels=tuple(problem.options["players"]), options=left)


def duels_verdict(result: "Result") -> str:
    """Who beats all others, and how sure that is."""
    duels, m = result.duels, result.problem.question.top
    assert duels is not None
    sure = f"wrong with probability at most {result.delta:g}"
    whom = "every other arm" if m == 1 else f"each of the {len(result.labels) - m:,} others"
    short = f" (or falls short of an even score by no more than {result.epsilon:g})" if result.epsilon else ""
    if result.certified and result.reason == NO_WINNER:
        who = "no arm beats" if m == 1 else f"no {m} arms beat"
        close = f" or comes within {result.epsilon:g} of it" if result.epsilon else ""
        return f"There is no Condorcet winner: {who} {whom} head to head{close}, {sure}."
    named = capital(names(result.chosen))
    if result.certified:
        unless = "" if duels.proven else ", if any arm does" if m == 1 else f", if any {m} arms do"
        return f"{named} {'beats' if m == 1 else 'beat'} {whom} head to head{short}{unless}: {sure}."
    if result.pulls == 0:
        return f"Not decided ({result.reason}). No duel has been counted yet."
    lead = f"{named} {'leads' if m == 1 else 'lead'}."
    left = result.contenders or ()
    if duels.ranked:
        rest = f"{count(duels.open)} of {count(len(result.labels) * (len(result.labels) - 1) // 2)} pairs are not told apart yet."
    elif len(left) == len(result.labels):
        rest = f"{every(len(left))} may still beat every other."
    elif len(left) <= 1:
        rest = "It beats all others if any arm does; whether one does is open."
    else:
        few = listed_words(left, "or") if len(left) <= NAMED else f"one of {len(left):,} arms"
        rest = f"If any arm beats every other, it is {few} ({percent(1 - result.delta)})."
    return f"Not decided ({result.reason}). {lead} {rest}"


def after_duels(result: "Result") -> list[str]:
    """What follows the verdict: the groups, the sides, the cost."""
    duels, said, ranking, place = result.duels, list[str](), list[str](), 1
    assert duels is not None
    for group in duels.groups:
        last = place + len(group) - 1
        places = f"{place}" if last == place else f"{place}–{last}"
        ranking.append(f"{places} {', '.join(visible(result.labels[player]) for player in group)}")
        place = last + 1
    if len(ranking) > 1:
        said.append(f"Ranking: {'; '.join(ranking)}. All of it holds at {percent(1 - result.delta)}.")
    if duels.first is not None:
        mean, low, high = duels.first
        side = f"The first side scores {mean:.2f} ({low:.2f} to {high:.2f})"
        biased = low > 0.5 or high < 0.5
        said.append(f"{side}: {'the judge favours a side' if biased else 'no bias of sides is seen'}.")
    seconds = "" if np.isnan(result.seconds) else f", {result.seconds:.2f} s"
    return [*said, f"It took {counted(result.pulls, 'duel')} in {counted(result.rounds, 'round')}{seconds}."]


SHOWN = 20  # a table of wins shows up to this many players


class Score(NamedTuple):
    """A player's mean score against another, None if they never met; and whether it is certified who beats whom."""

    share: float | None
    certain: bool
    text: str
    """In percent; a dot where they never met, nothing where both are the same."""


def wins_of(result: "Result") -> tuple[list[str], list[list[Score]]]:
    """The leading players in the order found, and what each scored against each."""
    duels = result.duels
    assert duels is not None
    shown = duels.order[:SHOWN]

    def score(a: int, b: int) -> Score:
        share = float(duels.score[a, b] / duels.games[a, b]) if duels.games[a, b] else None
        text = "" if a == b else "·" if share is None else f"{100 * share:.0f}"
        return Score(share, bool(duels.beats[a, b] or duels.beats[b, a]), text)

    return [visible(result.labels[player]) for player in shown], [[score(a, b) for b in shown] for a in shown]


def wins_note(result: "Result") -> str:
    """What a table of wins shows, and what is open."""
    duels, n = result.duels, len(result.labels)
    assert duels is not None
    pairs, met = n * (n - 1) // 2, int((np.triu(duels.games, 1) > 0).sum())
    certain = int(np.triu(duels.beats | duels.beats.T, 1).sum())
    rest = f" The first {SHOWN} of {n:,} are shown." if n > SHOWN else ""
    left = f" {counted(duels.open, 'pair')} {be(duels.open)} open." if duels.open else ""
    return (
        f"Each row's score against each column, in percent, in the order found. {count(certain)} of {count(pairs)} pairs are "
        f"told apart (in bold; all together at {percent(1 - result.delta)}), {count(pairs - met)} never met.{left}{rest}"
    )
