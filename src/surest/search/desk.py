"""Who hands out evaluations and takes what came of them, or decides on failed ones: a session here, a study in `study.work`."""

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Protocol

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.errors import EvaluationError, TicketError, UsageError
from surest.search.session import Session
from surest.search.tickets import RETRIES, Ticket

Hook = Callable[[Running[Answer]], None]


class Desk(Protocol):
    """What the loop needs of a session or a study."""

    lasting: bool
    """Whether somebody may go on with it later: then evaluations that run are finished even when the run ends with an error."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask."""

    def ask(self, k: int) -> list[Ticket]:
        """Up to k tickets."""

    def tell(self, ticket: Ticket, reward: Any) -> None:
        """Say what an evaluation gave. It may be written with others, at the next `ask` or `flush`."""

    def flush(self) -> None:
        """Write what was told and is not written yet."""

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Say that an evaluation gave no reward: retried, counted as a stated reward, or an error. Never dropped."""

    def look(self) -> None:
        """Let the hook look at the run. It may raise `Stop`."""

    def keep(self, tickets: Collection[Ticket]) -> None:
        """Say that these are still being evaluated."""

    def give_back(self, tickets: Collection[Ticket]) -> None:
        """Say that these are not being evaluated any more."""

    def wait_for_others(self) -> None:
        """Called where there is nothing to evaluate, and yet no end."""


class SessionDesk:
    """A session whose tickets this process alone evaluates."""

    lasting = False

    def __init__(
        self, session: Session, retries: int | None = None, on_failure: float | None = None,
        on_request: Hook | None = None,
    ) -> None:  # fmt: skip
        self.session, self.on_request = session, on_request
        self.failures = Failures(session.problem.bounds, retries, on_failure)

    @property
    def finished(self) -> bool:
        return self.session.finished

    def ask(self, k: int) -> list[Ticket]:
        return self.session.ask(k)

    def tell(self, ticket: Ticket, reward: Any) -> None:
        self.session.tell(ticket.id, reward)

    def flush(self) -> None:
        """Nothing waits here."""

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        self.session.fail(ticket.id, str(error), kind=kind_of(error))
        stated = self.failures.count(ticket, error, self.session.on_item(ticket.item))
        if stated is not None:
            self.session.note(ticket.id, "imputed")
            self.session.tell(ticket.id, stated)

    def look(self) -> None:
        """Let the hook look at the run, before each request and between evaluations."""
        if self.on_request is not None and not self.finished:
            self.on_request(self.session.running)

    def keep(self, tickets: Collection[Ticket]) -> None:
        """Nobody else is handed what is being evaluated here."""

    def give_back(self, tickets: Collection[Ticket]) -> None:
        """Let tickets be handed out again, to whoever goes on with the session."""
        for ticket in tickets:
            with suppress(TicketError):
                self.session.fail(ticket.id, kind="interrupted")

    def wait_for_others(self) -> None:
        """There are no others."""
        raise TicketError("the session's tickets were all handed out to others; nothing is left to evaluate here")


class Failures:
    """Decides what becomes of each failed evaluation: retried, `retries` times; then recorded as `on_failure`, or an error.

    >>> failures = Failures((0, 1), retries=1, on_failure=0.0)
    >>> ticket = Ticket(0, 0, "a")
    >>> failures.count(ticket, OSError("no answer")), failures.count(ticket, OSError("no answer"))
    (None, 0.0)
    """

    def __init__(
        self, bounds: tuple[float, float], retries: int | None = None, on_failure: float | None = None
    ) -> None:
        if retries is not None and retries < 0:
            raise UsageError(f"retries is {retries}; it must be a whole number ≥ 0")
        low, high = bounds
        if on_failure is not None and not low <= on_failure <= high:
            raise UsageError(f"on_failure is {on_failure}, which is outside the bounds [{low:g}, {high:g}]")
        self.retries, self.on_failure = RETRIES if retries is None else retries, on_failure
        self._by_ticket: Counter[int] = Counter()

    def count(self, ticket: Ticket, error: BaseException, on: str = "") -> float | None:
        """The reward to record for a failed evaluation; None where it is to be retried. Otherwise an error ends the run.

        `on` says on which item it was, for the message.
        """
        self._by_ticket[ticket.id] += 1
        failed = self._by_ticket[ticket.id]
        if failed <= self.retries:
            return None
        if self.on_failure is None:
            raise EvaluationError(
                f"arm {ticket.label!r}: an evaluation{on} (ticket {ticket.id}) failed "
                f"{'once' if failed == 1 else f'{failed} times'}; fix the arm, allow more retries, or say which reward a failure "
                f"counts as (on_failure). The last time: {described(error)}"
            ) from error
        return self.on_failure


def failing(on_failure: float | None, retries: int | None) -> dict[str, Any]:
    """What a study is to know of failures: how often to retry goes with a stated reward, else it is each worker's affair.

    >>> failing(0.0, None), failing(None, 5)
    ({'on_failure': 0.0, 'retries': None}, {})
    """
    return {} if on_failure is None else {"on_failure": on_failure, "retries": retries}


def kind_of(error: BaseException) -> str:
    """What a health line calls a failure."""
    return "timed out" if isinstance(error, TimeoutError) else "failed"


def described(error: BaseException) -> str:
    """An exception in words.

    >>> described(ValueError("no such file")), described(KeyboardInterrupt())
    ('ValueError: no such file', 'KeyboardInterrupt')
    """
    name, text = type(error).__name__, str(error).strip()
    return f"{name}: {text}" if text else name
