"""Who hands out evaluations and takes what came of them: a session here, a study in `study.work`."""

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Protocol

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.errors import TicketError
from surest.search.failures import Failures, kind_of
from surest.search.session import Session, Ticket

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
        self,
        session: Session,
        retries: int | None = None,
        on_failure: float | None = None,
        on_request: Hook | None = None,
    ) -> None:
        self.session, self.on_request = session, on_request
        self.failures = Failures(session.problem.bounds, retries, on_failure)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask."""
        return self.session.finished

    def ask(self, k: int) -> list[Ticket]:
        """Up to k tickets."""
        return self.session.ask(k)

    def tell(self, ticket: Ticket, reward: Any) -> None:
        """Say what an evaluation gave."""
        self.session.tell(ticket.id, reward)

    def flush(self) -> None:
        """Nothing waits here."""

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Retry it, count it as the stated reward, or raise."""
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
