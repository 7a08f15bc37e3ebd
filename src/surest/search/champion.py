"""Candidates come one after another: each replaces the champion only if it is certified to be better on a list of items."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import nan
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surest.core.keywords import FUNCTION, SEED, Kind, check_keywords, number
from surest.core.problem import problem_of
from surest.core.scale import checked_scale
from surest.decision.chain import Chain
from surest.decision.two import decision_of_challenge
from surest.errors import UsageError
from surest.evidence.lists.champion import Contest, fresh_order, order_key
from surest.search.call import is_async
from surest.search.executor import IN_FLIGHT
from surest.study.champions import Kept
from surest.text import counted

Cell = tuple[bool, int]
"""Whether it is the champion's, and the item's place on the list."""
Steps = Iterator[list[Cell]]
OWN = {
    "score": Kind(callable, "a function of a candidate and an item"),
    "items": Kind(lambda it: isinstance(it, Iterable), "a list of items"),
    "seed": SEED,
    "progress": FUNCTION,
    "executor": Kind(lambda it: it is None or hasattr(it, "submit"), "a concurrent.futures executor"),
    "storage": Kind(lambda it: it is None or isinstance(it, str | PathLike), "a file, or the URL of a storage"),
    "budget": number("a whole number of evaluations, at least 1", lambda x: x >= 1, whole=True),
}
"""Keywords that mean something else here than at other doors."""


@dataclass(frozen=True)
class Challenge:
    """The outcome of a challenge."""

    verdict: Literal["promoted", "rejected", "undecided"]
    evaluations: int
    """How many scores it took, of the candidate and of the champion."""
    items_counted: int
    difference: float
    """The candidate's mean less the champion's, on the items counted."""
    number: int
    """Which challenge it was; 0 if there was nothing to decide."""
    level: float
    """With which probability at most "promoted" is wrong."""
    note: str = ""
    fought: Callable[[], Chain] | None = field(default=None, repr=False, compare=False)
    """Puts together what the verdict rests on; None before there is one."""

    @property
    def promoted(self) -> bool:
        """Whether the candidate is the champion now."""
        return self.verdict == "promoted"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: value for name, value in vars(self).items() if name != "fought"}

    def write_decision(self, path: str | PathLike[str]) -> str:
        """Write the verdict with all that it rests on, for ``surest-verify``; returns the hash by which it is known."""
        if self.fought is None:
            raise UsageError(f"there is no decision to write: {self.note or 'the challenge is under way'}")
        return self.fought().write(path)

    def __str__(self) -> str:
        if not self.number:
            return self.note
        said = f"{self.verdict} after {self.items_counted:,} items and {counted(self.evaluations, 'evaluation')}"
        said += f", {self.difference:+.3g} on these items" if self.items_counted else ""
        return said + (f": {self.note}" if self.note else "")


class Champion:
    """The best candidate so far. Others challenge it, one after another, and replace it if they are certified to be better.

    Of all promotions an expected share of at most `delta` is wrong, that is of a candidate whose mean on the list is not higher,
    however many challenges there are. A candidate that is better by more than `worth` is rejected with probability at most
    `delta`. Each challenge goes through the items in a random order of its own until either is certain: docs/champion.md.

    Parameters
    ----------
    score : function
        Of a candidate and an item: the score, once and for all. Use `achallenge` for an async function.
    items : sequence
        The list that means are about.
    delta : float
        The allowed share of wrong promotions.
    worth : float
        The least improvement that matters, in the units of the scores: a candidate is rejected once it is certain that it is not
        better by more than this. The larger, the sooner. With 0, a candidate that is as good takes the whole list.
    storage : str or Path, optional
        A file, or the URL of a study's storage: keeps the champion, all scores and the ledger. Candidates must be
        plain data then.
    name : str
        Of this champion in the storage.
    bounds : (float, float)
        The lowest and the highest possible score.
    minimise : bool
        Scores are costs, times or losses.
    seed : int or str, optional
        Draws the orders, with the number of the challenge; default fresh. Whoever makes candidates must not know it, and without
        a storage it must not serve twice.
    executor : Executor, optional
        Calls `score`.
    in_flight : int
        Items evaluated at a time with an executor, and in `achallenge`.
    budget : int, optional
        Evaluations after which a challenge ends undecided.
    progress : function, optional
        Called with the challenge so far after each item or batch of items, such as ``print``.

    Examples
    --------
    >>> def score(rate, item):  # right or wrong
    ...     return float((item * 0.618) % 1 < rate)
    >>> champion = Champion(score, range(1000), worth=0.05, seed=1)
    >>> for candidate in (0.5, 0.45, 0.7, 0.7):
    ...     print(champion.challenge(candidate).verdict)
    promoted
    rejected
    promoted
    rejected
    >>> champion.best
    0.7
    """

    def __init__(
        self,
        score: Callable[[Any, Any], Any],
        items: Sequence[Any],
        *,
        delta: float = 0.05,
        worth: float = 0.0,
        storage: str | Path | None = None,
        name: str = "champion",
        bounds: tuple[float, float] = (0.0, 1.0),
        minimise: bool = False,
        seed: int | str | None = None,
        executor: Executor | None = None,
        in_flight: int = IN_FLIGHT,
        budget: int | None = None,
        progress: Callable[[Challenge], object] | None = None,
    ) -> None:
        self._scale = checked_scale(bounds, minimise)
        width = self._scale.width
        check_keywords(
            locals(),
            **OWN,
            worth=number(f"a number at least 0 and below {width:g}", lambda x: 0 <= x < width, optional=False),
        )
        problem_of(2, delta=delta)  # refuses what it cannot be
        self.score, self.items = score, list(items)
        if not self.items:
            raise UsageError("there are no items; give at least one")
        if executor is not None and is_async(score):
            raise UsageError("executor requires a function that is not async; leave it out")
        self.delta, self.worth = float(delta), float(worth)
        self._executor, self._in_flight, self._progress = executor, in_flight, progress
        self.budget = budget  # that of the next challenge: who pays for several may change it
        self._seed = secrets.token_hex(16) if seed is None else str(seed)
        listed = sha256("\n".join(map(repr, self.items)).encode(errors="replace")).hexdigest()
        ends = [self._scale.low, self._scale.high]
        settings = {"items": listed, "bounds": ends, "minimise": minimise, "delta": delta}
        self._book = Kept(storage, name, settings, self.delta)

    @property
    def best(self) -> Any:
        """The champion; None before there is one."""
        found = self._book.champion()
        return None if found is None else found[1]

    @property
    def known(self) -> dict[int, float]:
        """The champion's scores so far, by the places of items on the list."""
        found = self._book.champion()
        return {} if found is None else self._book.scores(found[0])

    def challenge(self, candidate: Any) -> Challenge:
        """Let a candidate challenge the champion; the first one becomes the champion without an evaluation."""
        if is_async(self.score):
            raise UsageError("score is an async function: use await champion.achallenge(…)")
        run = _UnderWay(self, candidate, 1 if self._executor is None else self._in_flight)
        for cells in run.steps():
            if self._executor is None:
                for cell in cells:
                    run.tell(cell, self.score(*run.call(cell)))
            else:
                futures = {self._executor.submit(self.score, *run.call(cell)): cell for cell in cells}
                wait(futures)
                for future in sorted(futures, key=lambda it: it.exception() is not None):  # what was measured is kept
                    run.tell(futures[future], future.result())
        return run.found

    async def achallenge(self, candidate: Any) -> Challenge:
        """`challenge` for an async `score`, with up to `in_flight` items at a time."""
        import asyncio  # slow to load

        if not is_async(self.score):
            raise UsageError("score is not an async function: use champion.challenge(…)")
        run = _UnderWay(self, candidate, self._in_flight)

        async def told(cell: Cell) -> None:
            run.tell(cell, await self.score(*run.call(cell)))

        for cells in run.steps():
            for error in await asyncio.gather(*map(told, cells), return_exceptions=True):
                if error is not None:
                    raise error
        return run.found


class _UnderWay:
    """A challenge under way: which cells to evaluate next, and what they say."""

    def __init__(self, of: Champion, candidate: Any, width: int) -> None:
        self._of, self._book, self._candidate, self._width = of, of._book, candidate, width
        self._key, self._champion = self._book.key(candidate), self._book.champion()
        self._evaluations = 0
        self._told: dict[bool, dict[int, float]] = {}

    def steps(self) -> Steps:
        """Cells to evaluate, one batch after another; each must be told before the next."""
        of, book = self._of, self._book
        if self._champion is None:
            if book.crown(None, self._candidate):
                self.found = Challenge("promoted", 0, 0, nan, 0, 0.0, "the first champion: there was none to beat")
                return
            self._champion = book.champion()
        assert self._champion is not None
        if self._key == self._champion[0]:
            self.found = Challenge("rejected", 0, 0, nan, 0, 0.0, "it is the champion already")
            return
        begun = book.begin((str(self._champion[1])[:60], str(self._candidate)[:60]))
        order = fresh_order(len(of.items), of._seed, begun.number).tolist()
        self._told = {False: book.scores(self._key), True: book.scores(self._champion[0])}
        beforehand = dict(self._told[True])
        known = np.array([beforehand.get(item, nan) for item in order])
        contest = Contest(of._scale.to_unit(known), of.worth / of._scale.width, begun.level, of.delta)
        width, note = of._scale.best - of._scale.worst, ""
        while not contest.verdict:
            batch = order[contest.counted : contest.counted + self._width]
            cells = [(side, item) for item in batch for side in (False, True) if item not in self._told[side]]
            if of.budget is not None and self._evaluations + len(cells) > of.budget:
                note = f"the budget of {of.budget:,} evaluations is spent"
                break
            yield cells
            for item in batch:
                contest.add(float((self._told[False][item] - self._told[True][item]) / width))
            if of._progress is not None:
                of._progress(self._so_far("undecided", contest, begun))
        verdict = contest.verdict or "undecided"
        if verdict == "promoted" and not book.crown(self._champion[0], self._candidate):
            verdict, note = "undecided", "it is better than a champion that another one has replaced meanwhile"
        book.end(begun.number, verdict, contest.path.tolist())
        fought = partial(
            decision_of_challenge, (str(self._champion[1]), str(self._candidate)), of.items, of._scale, of.delta, of.worth,
            level=begun.level, number=begun.number, key=order_key(of._seed, begun.number), known=beforehand,
            scores=[(item, self._told[True][item], self._told[False][item]) for item in order[: contest.counted]],
            verdict=verdict, wealth=contest.wealth,
        )  # fmt: skip
        self.found = replace(self._so_far(verdict, contest, begun, note), fought=fought)

    def call(self, cell: Cell) -> tuple[Any, Any]:
        """The arguments for `score`."""
        assert self._champion is not None
        return self._champion[1] if cell[0] else self._candidate, self._of.items[cell[1]]

    def tell(self, cell: Cell, score: object) -> None:
        """Keep a score."""
        assert self._champion is not None
        side, item = cell
        value = self._of._scale.number(
            score, f"item {self._of.items[item]!r:.60} of {'the champion' if side else 'a candidate'}"
        )
        self._book.keep(self._champion[0] if side else self._key, {item: value})
        self._told[side][item] = value
        self._evaluations += 1

    def _so_far(self, verdict: Any, contest: Contest, begun: Any, note: str = "") -> Challenge:
        scale, counted = self._of._scale, contest.counted
        difference = (scale.best - scale.worst) * float(contest.path.mean()) if counted else nan
        return Challenge(verdict, self._evaluations, counted, difference, begun.number, begun.level, note)
