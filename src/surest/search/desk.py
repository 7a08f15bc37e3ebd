"""The one desk: it hands out evaluations to whoever drives a search in this process, and takes what came of them.

A search is kept by a `Book`: a session, in memory, or a study, in a store, where others may work on it too and go on with it.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any, Protocol

from surest.core.costs import parted
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import Scale
from surest.errors import EvaluationError, RewardError, TicketError, UsageError
from surest.search.loading import told
from surest.search.tickets import RETRIES, Ticket
from surest.search.watching import Hook as Hook

LOOK = 0.2
"""Seconds between two looks at a study, at least, and after which a driver comes round again while nothing is done."""
RENEWALS = 4  # how often leases are lengthened in the time of one
MOST_AHEAD = 7  # tickets in stock for each that is asked for at a time, at most


class Book(Protocol):
    """What a desk needs of a session or a study, whose docstrings say what each does."""

    lasting: bool
    """Whether it outlives this process, and others may evaluate its tickets."""
    lease_seconds: float
    """For how long a ticket is left to who asked for it."""
    on_failure: float | None
    """The reward that it records after the last retry; None where it leaves that to whoever evaluates."""
    scale: Scale

    @property
    def finished(self) -> bool: ...
    @property
    def running(self) -> Running[Answer]: ...
    def exchange(self, told: Mapping[int, Any], k: int) -> list[Ticket]: ...
    def tell(self, ticket: int, reward: Any) -> None: ...
    def fail(self, ticket: int, reason: str = "", *, kind: str = "failed") -> None: ...
    def renew(self, numbers: Sequence[int]) -> list[int]: ...
    def give_back(self, numbers: Sequence[int]) -> list[int]: ...
    def on_item(self, item: int | None) -> str: ...


class Desk:
    """Tickets of a session or a study, for the loop.

    Rewards of a study are written with the next ask, in one transaction. Where that takes longer than to evaluate what it gave,
    the next one takes more tickets than are needed at once: a stock, so that quick evaluations do not wait for the disk.

    Parameters
    ----------
    book : Session or Study
        What keeps the search.
    retries : int, optional
        How often a failed evaluation is retried, default 3, where the book records nothing for it.
    on_request : callable, optional
        Looks at the run before each request and between evaluations; at a study now and then: its state comes from the store.
    on_wait : callable, optional
        Called while nothing can be done until others have told their rewards.
    """

    def __init__(
        self, book: Book, retries: int | None = None, on_request: Hook | None = None,
        on_wait: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        if retries is not None and retries < 0:
            raise UsageError(f"retries is {retries}; it must be a whole number ≥ 0")
        self.book, self.lasting = book, book.lasting
        self._retries, self._on_request, self._on_wait = RETRIES if retries is None else retries, on_request, on_wait
        self._failed = Counter[int]()  # how often, by ticket
        self._told: dict[int, float | tuple[float, float]] = {}  # not written yet
        self._stock: list[Ticket] = []  # leased, and not asked for yet
        self._more, self._exchanged = 0, time.monotonic()
        self._looked = self._renewed = -inf

    def ask(self, k: int) -> list[Ticket]:
        """Up to k tickets. What was told and is not written yet is written before; with 0, that is all."""
        if len(self._stock) < k or (k == 0 and self._told):
            began = time.monotonic()
            self._stock += self.book.exchange(self._told, k and k - len(self._stock) + self._more)
            self._told = {}  # what was not written stays, for another try at the end
            taken, evaluated = time.monotonic() - began, began - self._exchanged
            if k:
                self._exchanged = time.monotonic()
                stocks = self.lasting and k > 1 and evaluated < taken
                self._more = min(self._more + k, MOST_AHEAD * k) if stocks else 0
        handed, self._stock = self._stock[:k], self._stock[k:]
        return handed

    def tell(self, ticket: Ticket, reward: Any) -> None:
        """Say what an evaluation gave. If the lease ran out, and another worker was faster, its reward counts."""
        if not self.lasting:
            self.book.tell(ticket.id, reward)
            return
        of = f"ticket {ticket.id} (arm {ticket.label!r})"
        try:
            given, cost = parted(reward, of) if isinstance(reward, tuple) else (reward, None)
            value = self.book.scale.number(given, of)
            self._told[ticket.id] = value if cost is None else (value, cost)
        except RewardError as error:
            raise RewardError(
                f"{error}. A study's bounds are fixed when it is made. To go on with all that was told, let the arm return the "
                "nearer bound instead (--clip, for commands); wider bounds need a new study"
            ) from None

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Say that an evaluation gave no reward: retried, counted as a stated reward, or an error. Never dropped."""
        kind = "timed out" if isinstance(error, TimeoutError) else "failed"
        try:
            self.book.fail(ticket.id, str(error), kind=kind)
        except TicketError:  # another worker was faster: its reward counts
            return
        self._failed[ticket.id] += 1
        times = self._failed[ticket.id]
        if self.book.on_failure is not None or times <= self._retries:
            return
        kept = ". What was told is kept: fix the arm and call again. on_failure is fixed when a study is made"
        raise EvaluationError(
            f"arm {ticket.label!r}: an evaluation{self.book.on_item(ticket.item)} (ticket {ticket.id}) failed "
            f"{'once' if times == 1 else f'{times} times'}; fix the arm, allow more retries, or say which reward a failure "
            f"counts as (on_failure). The last time: {told(error)}{kept if self.lasting else ''}"
        ) from error

    def look(self) -> None:
        """Let the hook look at the run. It may raise `Stop`; one that is `stopping` is not kept waiting."""
        if self._on_request is None or (
            self.lasting and time.monotonic() - self._looked < LOOK and not getattr(self._on_request, "stopping", False)
        ):
            return
        if self.lasting or not self.book.finished:
            self._on_request(self.book.running)
            self._looked = time.monotonic()

    def keep(self, tickets: Collection[Ticket]) -> None:
        """Say that these are still being evaluated."""
        if time.monotonic() - self._renewed >= self.book.lease_seconds / RENEWALS:
            self.book.renew([ticket.id for ticket in (*tickets, *self._stock)])
            self._renewed = time.monotonic()

    def give_back(self, tickets: Collection[Ticket]) -> None:
        """Say that these are not being evaluated any more."""
        self.ask(0)
        held = [ticket.id for ticket in (*tickets, *self._stock)]
        if held:
            self.book.give_back(held)

    def wait_for_others(self) -> None:
        """Called where there is nothing to evaluate, and yet no end: the rewards that others owe are needed first."""
        if not self.lasting:
            raise TicketError("the session's tickets were all handed out to others; nothing is left to evaluate here")
        self.ask(0)
        if self._on_wait is not None:
            self._on_wait()
