"""The one runner behind every front door: what keeps the rewards of a search, who looks on, and what came of it.

A door says what is asked and who answers. A `Run` watches, ends in good order at `Stop` and Ctrl-C, and tells what was found:
functions that are called and functions that are awaited differ in one line between ``with`` and ``found``.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from surest.core.problem import Problem, default_algorithm, problem_of
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.errors import Interrupted, Stop, UsageError
from surest.result.data import Result
from surest.result.making import result_of
from surest.search.call import Work
from surest.search.desk import Desk, failing
from surest.search.executor import keep_busy
from surest.search.loading import resolved
from surest.search.session import Session
from surest.search.simulate import Calls
from surest.search.watching import Looks, Pressed, Watch

if TYPE_CHECKING:
    from surest.study.study import Study

    Book = Session | Study | Running[Answer]


class Run:
    """A search under way.

    The `book` hands out evaluations and keeps what came of them; the `problem` has the caller's own labels, and `items` are what
    the caller calls those of a list. `record` says whether a study is to tell what was asked and answered (a session was told
    when it began). `calls` are the functions that answer a `Running`: not all of what they gave may count yet.

    >>> from surest.search.executor import drive
    >>> with Run.begun(["a", "b"], Watch(), delta=0.1) as run:
    ...     drive(run.desk, lambda ticket: (float, ticket.label == "b"), None, in_flight=1)
    >>> run.found().best
    'b'
    """

    def __init__(
        self, book: "Book", problem: Problem, watch: Watch, *, items: Sequence[Any] | None = None,
        history: bool = False, record: bool = False, retries: int | None = None, calls: Calls | None = None,
    ) -> None:  # fmt: skip
        self.book, self.problem, self.watch, self.items = book, problem, watch, items
        self.history, self.record, self.calls = history, record, calls
        self._looks = Looks() if history and isinstance(book, Session | Running) else None
        if self._looks is not None:  # a study's log tells it afterwards
            watch.hooks.insert(0, self._looks)
        self.desk: Desk
        """What a driver needs of a session or a study."""
        if not isinstance(book, Running):
            self.desk = Desk(book, retries, watch)
        self.stopped: str | None = None
        """Why it ended before its time, if it did."""
        self._began = time.perf_counter()

    @classmethod
    def begun(
        cls, labels: Sequence[Any], watch: Watch, *, in_flight: int = 1, seed: int | None = None,
        items: Sequence[Any] | None = None, storage: Any = None, name: str | None = None, record: bool = False,
        retries: int | None = None, on_failure: float | None = None, history: bool = False, **settings: Any,
    ) -> "Run":  # fmt: skip
        """A run on a new session or, where `storage` is named, on a study, made if it is not there.

        Where no `seed` is given, it is a random one; a study that is there has its own.
        """
        count = None if items is None else len(items)
        if in_flight != 1:
            algorithm = settings.get("algorithm") or default_algorithm({**settings, "items": count})
            settings = keep_busy(algorithm, in_flight, settings)
        book: Session | Study
        if storage is None and name is None:
            seed = secrets.randbits(32) if seed is None else seed
            problem = problem_of(labels, seed=seed, items=count, **resolved(settings))
            book = Session.of(problem, record=record, on_failure=on_failure, retries=retries)
            book.item_names = items
            return cls(book, problem, watch, items=items, history=history, retries=retries)
        if storage is None or name is None:
            raise UsageError("storage and name go together: storage='sqlite:///studies.db', name='buttons'")
        from surest.study.study import open_study

        own: dict[str, Any] = {"seed": seed, "items": None if items is None else item_keys(items)}
        if on_failure is not None:
            own |= failing(on_failure, retries)
        book = open_study(storage, name, [str(label) for label in labels], **own, **settings)
        problem = msgspec.structs.replace(book.settings.problem, labels=tuple(labels))
        return cls(book, problem, watch, items=items, history=history, record=record, retries=retries)

    def __enter__(self) -> "Run":
        self.watch.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        self.watch.__exit__(kind, error, tb)
        if not isinstance(error, Stop | Pressed):
            return False
        self.watch.interrupted = self.watch.interrupted or isinstance(error, Pressed)
        self.stopped = "interrupted" if isinstance(error, Pressed) else str(error) or "stopped"
        return True

    @property
    def session(self) -> Session:
        """The session, where nothing is kept."""
        assert isinstance(self.book, Session)
        return self.book

    async def await_all(self, work: Work, in_flight: int) -> None:
        """Let tasks of this event loop do the work, so many at a time."""
        from surest.search.asynchronous import drive  # asyncio takes a while to load

        await drive(self.desk, work, in_flight)

    def found(self) -> Result:
        """What came of it; where Ctrl-C ended it, `Interrupted` with that."""
        seconds = time.perf_counter() - self._began
        points = () if self._looks is None else tuple(self._looks.points)
        kept = False
        if isinstance(self.book, Session):
            found = self.book.result(points, items=self.items, stopped=self.stopped)
        elif isinstance(self.book, Running):
            found = result_of(self.book, self.problem, history=points, stopped=self.stopped)
            if self.calls is not None:
                found = replace(found, evaluations=self.calls.made, health={})
        else:
            # What a study came to, with the caller's own labels and items.
            found, kept = self.book.result(history=self.history, record=self.record), True
            theirs = found.problem.labels
            labels = (*self.problem.labels, *theirs[len(self.problem.labels) :])  # others may have added arms
            found = replace(found, problem=msgspec.structs.replace(found.problem, labels=labels))
            if self.stopped is not None and found.reason == "still running":
                found = replace(found, reason=self.stopped)
            if found.listed is not None and self.items is not None:
                from surest.study.outcome import events_of

                events = events_of(self.book) if found.health else ()
                found = replace(found, listed=replace(found.listed, items=tuple(self.items)), events=events)
        found = replace(found, seconds=seconds)
        if self.watch.interrupted and not found.certified:
            raise Interrupted(found, kept=kept)
        return found


def item_keys(items: Sequence[Any]) -> list[str]:
    """What a study calls items: their text, or, where that is long or not one of its kind, position and digest.

    >>> item_keys(["q1", "q2"]), item_keys([1, 1])
    (['q1', 'q2'], ['0-6b86b273ff34', '1-6b86b273ff34'])
    """
    texts = [str(item) for item in items]
    plain = len(set(texts)) == len(texts) and all(0 < len(text) <= 200 and text.isprintable() for text in texts)
    if plain and all(text.strip() for text in texts):
        return texts
    return [f"{i}-{sha256(text.encode(errors='replace')).hexdigest()[:12]}" for i, text in enumerate(texts)]
