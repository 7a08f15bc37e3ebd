"""Recorded duels: CSV files, data frames, PGN files of games and outputs of promptfoo."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from surest.arms.files import Columns, Rows, is_frame, text_lines
from surest.arms.order import check_order
from surest.core.duels import TIES, VERSUS, pair_number
from surest.core.protocol import FloatArray
from surest.errors import SourceError

PGN_SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
TAG = re.compile(r'\[(White|Black|Result)\s+"((?:[^"\\]|\\.)*)"\]\s*$')
Game = tuple[str, str, float]  # who was on the first side, who on the second, the first's score


@dataclass(frozen=True)
class Games:
    """Recorded duels, each to be used once, in order."""

    players: tuple[str, ...]
    scores: list[FloatArray]  # of each ordered pair, the first side's scores
    rows: list[list[list[int]]]  # of players a < b, in order: 1 where a was on the first side
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(map(len, self.scores))


def score_of(given: Any, first: Any, second: Any) -> Any:
    """The first's score: a number as it is, else from the label of the winner or a word for a tie.

    >>> score_of("b", "a", "b"), score_of("Tie", "a", "b"), score_of(1, "a", "b")
    (0.0, 0.5, 1)
    """
    if not isinstance(given, str):
        return given
    told = given.strip()
    if told in (str(first), str(second)):
        return 1.0 if told == str(first) else 0.0
    if told.lower() in TIES:
        return 0.5
    try:
        return float(told)
    except ValueError:
        raise ValueError(
            f"{told!r:.80} is neither {str(first)!r} nor {str(second)!r}, a tie, or a score in [0, 1]"
        ) from None


def games_of(source: Any, columns: Columns | None = None, shuffle: int | None = None) -> Games:
    """Duels from a CSV file (first, second, and score or winner), a PGN file, an output of promptfoo, a data frame, or rows.

    Those of a pair are refused where they cannot be in random order; `shuffle` is the seed of a random order for all.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in (".json", ".jsonl"):
            duels, tests, notes = import_module("surest.integrations.eval_logs").selected(path)
            return _gathered(duels, tests, notes, shuffle=shuffle)
        if path.name.lower().removesuffix(".gz").endswith(".pgn"):
            return _pgn(path, shuffle)
    elif not is_frame(source):
        return _gathered(((f"duel {i}", *row) for i, row in enumerate(source)), shuffle=shuffle)
    with Rows(source) as rows:
        return _table(rows, columns, shuffle)


def _table(file: Rows, columns: Columns | None, shuffle: int | None) -> Games:
    """Duels from a file that is open, or from a data frame."""
    calls = {name: (columns or {}).get(name, name).lower() for name in ("score", "winner")}
    last, other = "score", "winner"
    if calls["score"] not in file.names and calls["winner"] in file.names:
        last, other = other, last
    known = {ours: theirs for ours, theirs in (columns or {}).items() if ours != other}
    items: list[Any] = []

    def rows() -> Iterator[tuple[str, Any, Any, Any]]:
        for batch in file.batches(("first", "second", last), ("item",), known):
            items.extend(batch.columns.get("item", ()))
            three = batch.labels("first"), batch.labels("second"), batch.columns[last]
            for line, row in zip(batch.lines, zip(*three, strict=True), strict=True):
                yield f"{file.path}, {batch.unit} {line}", *row

    return _gathered(rows(), items, shuffle=shuffle)


def _pgn(path: Path, shuffle: int | None) -> Games:
    """The results of games. Those that did not end are left out, and counted."""
    found: list[tuple[str, str, str, float]] = []
    tags: dict[str, str] = {}
    unfinished = 0
    for number, line in enumerate(text_lines(path), 1):
        tag = TAG.match(line.strip().lstrip("\ufeff"))
        if tag is None:
            continue
        if tag[1] in tags:
            raise SourceError(f"{path}, line {number}: a game without White, Black or Result ends here")
        tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
        if len(tags) == 3:
            if tags["Result"] in PGN_SCORES:
                found.append((f"{path}, line {number}", tags["White"], tags["Black"], PGN_SCORES[tags["Result"]]))
            else:
                unfinished += 1
            tags = {}
    if not found:
        raise SourceError(f"{path} holds no game with White, Black and a Result of 1-0, 0-1 or 1/2-1/2")
    note = f"{unfinished:,} games without a result were left out" if unfinished else ""
    return _gathered(found, notes=(note,) if note else (), shuffle=shuffle)


def _gathered(
    rows: Iterable[tuple[str, Any, Any, Any]], items: Iterable[Any] = (), notes: tuple[str, ...] = (), *,
    shuffle: int | None = None,
) -> Games:  # fmt: skip
    games: list[Game] = []
    players: dict[str, int] = {}
    for where, first, second, given in rows:
        a, b = str(first), str(second)
        try:
            score = float(score_of(given, a, b))
        except (TypeError, ValueError):
            raise SourceError(f"{where}: {given!r:.60} is not a score of {a!r:.60} against {b!r:.60}") from None
        if not a or not b or a == b:
            raise SourceError(f"{where}: {a!r:.60} against {b!r:.60} is not a duel of two arms")
        if not 0 <= score <= 1:
            raise SourceError(
                f"{where}: the score {given!r:.60} is not in [0, 1]: 1 the first won, 0 the second, 0.5 a tie"
            )
        players.setdefault(a, len(players))
        players.setdefault(b, len(players))
        games.append((a, b, score))
    if not games:
        raise SourceError("there are no duels; give at least one row: first, second, and score or winner")
    shared = _shared(games, list(items))
    if shuffle is not None:
        Random(shuffle).shuffle(games)
    n = len(players)
    scores: list[list[float]] = [[] for _ in range(n * (n - 1))]
    both: dict[tuple[str, str], list[float]] = {}
    sides: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(n)]
    for first, second, score in games:
        i, j = players[first], players[second]
        scores[int(pair_number(np.int64(i), np.int64(j), n))].append(score)  # type: ignore[arg-type]
        sides[min(i, j)][max(i, j)].append(int(i < j))
        both.setdefault((min(first, second), max(first, second)), []).append(score if first < second else 1 - score)
    if shuffle is None:
        check_order([VERSUS.join(pair) for pair in both], [np.array(of, float) for of in both.values()])
    return Games(tuple(players), [np.array(of, float) for of in scores], sides, (*notes, *shared))


def _shared(games: list[Game], items: list[Any]) -> tuple[str, ...]:
    """A warning where an arm met several others on the same item: such duels are not independent."""
    met: dict[tuple[Any, str], str] = {}
    shared = 0
    for (first, second, _), item in zip(games, items, strict=False):
        pair = f"{min(first, second)}\0{max(first, second)}"
        shared += any(met.setdefault((item, player), pair) != pair for player in (first, second))
    if not shared:
        return ()
    return (
        f"{shared:,} of {len(games):,} duels share their item with a duel of the same arm against another. The guarantee takes "
        "every duel for a fresh draw of its item: where items were not drawn anew for each duel, it does not hold",
    )
