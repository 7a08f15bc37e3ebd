"""The one runner behind every front door: what keeps the rewards of a search, who looks on, and what came of it.

A door says what is asked and who answers. A `Run` looks on, ends in good order at `Stop` and Ctrl-C, and tells what was found:
functions that are called and functions that are awaited differ in one line between ``with`` and ``found``.
"""

import secrets
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from surest.core.problem import Problem, default_algorithm, problem_of
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.errors import Interrupted, Stop, UsageError
from surest.result.data import Result
from surest.result.making import result_of
from surest.search.call import Work
from surest.search.desk import Desk
from surest.search.executor import keep_busy
from surest.search.loading import resolved
from surest.search.session import Session
from surest.search.simulate import Calls
from surest.search.watching import Hook, Looks, Pressed, first_interrupt

if TYPE_CHECKING:
    from surest.study.study import Study

    Book = Session | Study | Running[Answer] | None


class Run:
    """A search under way, which looks at it meanwhile.

    The `book` hands out evaluations and keeps what came of them; the `problem` has the caller's own labels, and `items` are what
    the caller calls those of a list. `record` says whether a study is to tell what was asked and answered (a session was told
    when it began). `calls` are the functions that answer a `Running`: not all of what they gave may count yet.

    Called with a `Running`, it shows that to `on_request` and to `progress`, a function or, if told nothing, a live `view`;
    `ticks` says that functions are called in this thread, so that the view is on its own for as long as one takes. The first
    Ctrl-C makes it raise `Stop`, unless there is a `desk`: whoever drives that heeds it, and finishes evaluations that run.
    """

    desk: Desk
    """What a driver needs of a session or a study."""

    def __init__(
        self, book: "Book", problem: Problem, *, labels: Sequence[Any] = (), items: Sequence[Any] | None = None,
        on_request: Hook | None = None, progress: Hook | bool | None = False,
        view: AbstractContextManager[Hook] | None = None, ticks: bool = False, history: bool = False,
        record: bool = False, retries: int | None = None, calls: Calls | None = None,
    ) -> None:  # fmt: skip
        self.book, self.problem, self.items = book, problem, items
        self.history, self.record, self.calls, self._retries = history, record, calls, retries
        # A study's log tells the history afterwards.
        self.looks = Looks() if history and not getattr(book, "lasting", False) else None
        hooks = self.looks, on_request, progress if callable(progress) else None
        self._hooks = [hook for hook in hooks if hook is not None]
        if progress in (None, True) and ("ipykernel" in sys.modules or sys.stderr.isatty()):
            live = import_module("surest.report.live")  # found when asked: nobody else needs a screen
            view = live.shown_live(tuple(labels) or problem.labels, problem.scale, problem.items is not None, ticks)
        self._view, self._open = view, ExitStack()
        self.interrupted = False
        self.stopped: str | None = None
        """Why it ended before its time, if it did."""
        self._began = time.perf_counter()

    @classmethod
    def begun(
        cls, labels: Sequence[Any], *, in_flight: int = 1, seed: int | None = None, items: Sequence[Any] | None = None,
        storage: Any = None, name: str | None = None, record: bool = False, retries: int | None = None,
        on_failure: float | None = None, history: bool = False, on_request: Hook | None = None,
        progress: Hook | bool | None = False, ticks: bool = False, **settings: Any,
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
            book = Session(problem, record=record, on_failure=on_failure, retries=retries)
            book.item_names = items
        elif storage is None or name is None:
            raise UsageError("storage and name go together: storage='sqlite:///studies.db', name='buttons'")
        else:
            from surest.study.study import open_study

            own: dict[str, Any] = {"seed": seed, "items": None if items is None else item_keys(items)}
            if on_failure is not None:
                own |= {"on_failure": on_failure, "retries": retries}  # else that is each worker's affair
            book = open_study(storage, name, [str(label) for label in labels], **own, **settings)
            problem = msgspec.structs.replace(book.settings.problem, labels=tuple(labels))
        return cls(
            book, problem, labels=labels, items=items, on_request=on_request, progress=progress, ticks=ticks,
            history=history, record=record, retries=retries,
        )  # fmt: skip

    def __enter__(self) -> Self:
        if self._view is not None:
            self._hooks.append(self._open.enter_context(self._view))
        if isinstance(self.book, Running | None):
            self._open.enter_context(first_interrupt(self.interrupt))  # unless the view heeds signals itself
        else:
            self.desk = Desk(self.book, self._retries, self if self._hooks else None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        self._open.__exit__(kind, error, tb)
        vars(self).pop("desk", None)
        if not isinstance(error, Stop | Pressed):
            return False
        self.interrupted = self.interrupted or isinstance(error, Pressed)
        self.stopped = "interrupted" if isinstance(error, Pressed) else str(error) or "stopped"
        return True

    def __call__(self, running: Running[Answer]) -> None:
        """Look."""
        if self.interrupted:
            raise Stop("interrupted")
        for hook in self._hooks:
            hook(running)

    def interrupt(self) -> None:
        """End the search at the next look."""
        self.interrupted = True

    @property
    def stopping(self) -> bool:
        """Whether the next look ends the search, as a signal asked that a hook heeds itself."""
        return any(getattr(hook, "stopping", False) for hook in self._hooks)

    @property
    def session(self) -> Session:
        """The session, where nothing is kept."""
        assert isinstance(self.book, Session)
        return self.book

    async def await_all(self, work: Work, in_flight: int) -> None:
        """Let tasks of this event loop do the work, so many at a time."""
        from surest.search.asynchronous import drive  # asyncio takes a while to load

        await drive(self.desk, work, in_flight)

    def found(self, found: Result | None = None) -> Result:
        """What came of it, or else what was `found` without a book; where Ctrl-C ended it, `Interrupted` with that."""
        seconds = time.perf_counter() - self._began
        points = () if self.looks is None else tuple(self.looks.points)
        kept = False
        if isinstance(self.book, Session):
            found = self.book.result(points, items=self.items, stopped=self.stopped)
        elif isinstance(self.book, Running):
            found = result_of(self.book, self.problem, history=points, stopped=self.stopped)
            if self.calls is not None:
                found = replace(found, evaluations=self.calls.made, health={})
        elif self.book is not None:
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
        assert found is not None
        found = replace(found, seconds=seconds)
        if self.interrupted and not found.certified:
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
