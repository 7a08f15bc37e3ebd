"""duels: who beats all others head to head, from a judge who only says which of two is better.

The arms that it pulls are ordered pairs of players (`core.duels`): who is on the first side, by a coin that is tossed once the
pair and the bets on it are fixed. docs/questions/duels.md has its theorems.
"""

from collections.abc import Sequence
from itertools import count
from math import exp, inf
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Option, Task
from surest.core.duels import pair_number, players_of
from surest.core.protocol import Answer, IntArray, Procedure, Pull, Statistic, Status
from surest.errors import UsageError
from surest.evidence.duels import ROUNDS, Tournament, groups_of, side_interval
from surest.result.duels import NO_WINNER, Duels

GROWTH = 0.01  # a request is for so much of all duels so far, at least: what it costs more, it saves in time …
RANK_GROWTH = 0.05  # … and, for a ranking, for so much of each pair's
Rows = Sequence[Sequence[Sequence[int]]]
"""Of players a < b, a number for each recorded duel of theirs, in order: 1 where a was on the first side."""


def duels(
    task: Task, *, players: Sequence[str], strict: bool = False, rank: bool = False, batch: int = 1, workers: int = 1,
    rows: Rows | None = None,
) -> Procedure[Answer]:  # fmt: skip
    """Who beats all others head to head, wrong with probability at most δ, whenever it stops."""
    n, top = len(players), task.question.top
    if len(task.arms) != n * (n - 1) or n < 2:
        raise UsageError(f"duels of {n} players have {n * (n - 1)} pairs, not {len(task.arms)}; leave out players")
    if top >= n:
        raise UsageError(f"top is {top}; with {n} arms it must be less than {n}")
    if rank and top > 1:
        raise UsageError("rank conflicts with top; leave one of them out")
    book = Tournament(n, task.delta, task.epsilon, top, strict)
    desk = _Desk(book, task, rank, max(batch, workers), rows)

    def status() -> Status:
        return _status(book, rank, desk.sided)

    for k in count():
        if k < len(task.script):
            pairs, times, _ = task.script[k]
        else:
            ended = _answer(book, rank, status)
            if ended is not None:
                return ended
            pairs, times = desk.request()
            if not len(pairs):
                return Answer(status().chosen, False, "more duels needed", status())
        reply = yield Pull(pairs, times, Statistic.REWARDS, status, evidence=lambda: _evidence(book))
        first, second = players_of(np.repeat(pairs, times), n)
        book.count(first, second, reply)
        desk.played += len(reply)
    raise AssertionError


class _Desk:
    """Which duels to ask for next."""

    def __init__(self, book: Tournament, task: Task, rank: bool, batch: int, rows: Rows | None) -> None:
        self.book, self.rng, self.rank, self.batch, self.budget = book, task.rng, rank, batch, task.budget
        self.rows, self.played, self.rounds = rows, 0, 0
        self.used = np.zeros((book.n, book.n), int)  # recorded duels that were asked for, of players a < b
        self.left = np.full((book.n, book.n), inf)
        if rows is not None:
            self.left = np.array(
                [[len(rows[min(a, b)][max(a, b)]) for b in range(book.n)] for a in range(book.n)], float
            )
        self.sided = rows is None or _balanced(rows)

    def request(self) -> tuple[IntArray, IntArray]:
        """Ordered pairs, and how many duels of each; none where recorded duels cannot decide any more."""
        a, b, times = self._pairs()
        room = inf if self.budget is None else max(self.budget - self.played, 1)
        times = np.minimum(times, np.clip(room - np.cumsum(times) + times, 0, None)).astype(int)
        a, b, times = a[times > 0], b[times > 0], times[times > 0]
        a, b = np.minimum(a, b), np.maximum(a, b)
        firsts = self.rng.binomial(times, 0.5) if self.rows is None else self._recorded(a, b, times)
        n = self.book.n
        pairs = np.concatenate([pair_number(a, b, n), pair_number(b, a, n)])
        asked = np.concatenate([firsts, times - firsts])
        order = np.argsort(pairs)
        pairs, asked = pairs[order], asked[order]
        return pairs[asked > 0], asked[asked > 0]

    def _pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Pairs of players, no pair twice, and how many duels of each."""
        book = self.book
        if self.rank:
            told = book.told[0]
            a, b = np.nonzero(np.triu(~(told | told.T), 1) & (self.left > 0))
            games = book.games[0, a, b]
            order = np.argsort(games, kind="stable")
            return a[order], b[order], np.minimum(np.ceil(RANK_GROWTH * games + 1e-9), self.left[a, b])[order].clip(1)
        if self.rows is None and self.rounds < ROUNDS:
            self.rounds += 1
            met = self.rng.permutation(book.n)[: book.n // 2 * 2].reshape(-1, 2)
            return met[:, 0], met[:, 1], np.ones(len(met), int)
        keys = np.where(self.left > 0, book.keys()[0], inf)
        a, b = np.nonzero(keys < inf)
        many = max(self.batch, int(GROWTH * self.played))
        order = np.argsort(keys[a, b], kind="stable")[:many]
        if not len(order):
            return a[order], b[order], order
        a, b = a[order], b[order]
        times = np.full(len(order), many // len(order)) + (np.arange(len(order)) < many % len(order))
        return a, b, np.minimum(times, self.left[a, b]).astype(int)

    def _recorded(self, a: IntArray, b: IntArray, times: IntArray) -> IntArray:
        """Of the next recorded duels, how many have a on the first side."""
        assert self.rows is not None
        start = self.used[a, b]
        self.used[a, b] += times
        self.left[a, b] -= times
        self.left[b, a] -= times
        return np.array([sum(self.rows[x][y][s : s + t]) for x, y, s, t in zip(a, b, start, times, strict=True)], int)


def _balanced(rows: Rows) -> bool:
    """Whether recorded players were on the first side as often as on the second, in each pair: else no bias can be told."""
    return all(abs(2 * sum(of) - len(of)) <= 1 for one in rows for of in one)


def _answer(book: Tournament, rank: bool, status: Any) -> Answer | None:
    """The answer, where there is one."""
    if rank:
        told = book.told[0]
        if not (told | told.T | np.eye(book.n, dtype=bool)).all():
            return None
        first = groups_of(told)[0]
        if len(first) > 1 and book.epsilon > 0:  # up to ε, everybody may still beat all others
            return Answer(status().chosen, False, "all pairs told apart", status())
        if len(first) > 1:
            return Answer((), reason=NO_WINNER, status=status(), contenders=())
        return Answer(first, reason="all pairs told apart", status=status(), contenders=first)
    verdict = int(book.verdict()[0])
    if verdict < 0:
        return Answer((), reason=NO_WINNER, status=status(), contenders=())
    return Answer(status().chosen, reason="certified", status=status()) if verdict > 0 else None


def _evidence(book: Tournament) -> tuple[float, float]:
    return float(book.evidence()[0]), book.name_at


def _status(book: Tournament, rank: bool, sided: bool) -> Status:
    wins = ((book.seems[0] >= 0.5).sum(axis=1) + 0.01 * np.tanh(book.strength[0])).tolist()
    leaders = sorted(np.flatnonzero(book.leaders[0]).tolist(), key=lambda player: -wins[player])
    left, told = np.flatnonzero(~book.out[0]).tolist(), book.told[0]
    evidence, needed = _evidence(book)
    groups = groups_of(told)
    where = {player: place for place, group in enumerate(groups) for player in group}
    order = sorted(range(book.n), key=lambda player: (where[player], -wins[player]))
    played, score = book.first[0].tolist()
    low, high = side_interval(played, score, book.delta)
    with np.errstate(invalid="ignore"):  # nobody has played at first
        means = book.score[0].sum(axis=1) / book.games[0].sum(axis=1)
    kept = Duels(
        games=book.games[0].astype(np.int64),
        score=book.score[0].copy(),
        beats=told.copy(),
        groups=tuple(tuple(sorted(group, key=order.index)) for group in groups),
        order=tuple(order),
        open=int(np.isfinite(book.keys()[0]).sum()) if not rank else int(np.triu(~(told | told.T), 1).sum()),
        proven=bool(book.proven()[0]) or (rank and len(groups[0]) == 1),
        first=(score / played, low, high) if sided and played else None,
        ranked=rank,
    )
    return Status(
        leader=leaders[0],
        chosen=tuple(leaders),
        contenders=tuple(left),
        in_play=len(left),
        achieved_delta=None if rank else min(1.0, exp(-max(evidence, 0.0)) * (book.delta * exp(needed))),
        evidence=None if rank or evidence == -inf else evidence,
        threshold=None if rank or evidence == -inf else needed,
        means=means,
        duels=kept,
    )


ENTRIES = (
    Entry(
        name="duels",
        start=duels,
        goal="either",
        standing="proven",
        reference="docs/questions/duels.md",
        summary="Who beats all others head to head: bets on who wins each duel, the leader against whom it is least told apart.",
        answers=("best", "top"),
        options={
            "players": Option("value", "who meets whom; its arms are their ordered pairs"),
            "strict": Option("value", "true: also show that an arm beats all others"),
            "rank": Option("value", "true: tell every pair apart"),
            "batch": Option("whole number", "minimum number of duels per request; default 1"),
            "workers": Option("whole number", "duels under way at a time; default 1"),
            "rows": Option("value", "the sides of recorded duels"),
        },
        any_sampling=True,
    ),
)
