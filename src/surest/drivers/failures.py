"""What becomes of an evaluation that gave no reward: retried, counted as a stated reward, or the end. Never dropped."""

from collections import Counter

from surest.errors import EvaluationError, SurestError, UsageError
from surest.session import Session, Ticket

RETRIES = 3
"""Retries of a failed evaluation where nothing else is said."""


class Failures:
    """Counts a session's failed evaluations and decides what becomes of each.

    Parameters
    ----------
    retries : int, optional
        How often an evaluation is retried: 3 times, or not at all where `on_failure` is given.
    on_failure : float, optional
        The reward as which an evaluation counts that failed once more than that. Without it, the run ends with an error.
    """

    def __init__(self, session: Session, retries: int | None = None, on_failure: float | None = None) -> None:
        self.retries = retries if retries is not None else RETRIES if on_failure is None else 0
        if self.retries < 0:
            raise UsageError(f"retries is {retries}; it must be a whole number ≥ 0")
        if on_failure is not None and not session.low <= on_failure <= session.high:
            raise UsageError(
                f"a failure is to count as {on_failure}, which is outside the bounds [{session.low:g}, {session.high:g}]"
            )
        self.session, self.on_failure = session, on_failure
        self._by_ticket: Counter[int] = Counter()
        self.by_arm: Counter[str] = Counter()
        """How many evaluations of each arm failed so far."""

    def count(self, ticket: Ticket, error: BaseException) -> None:
        """Take note of a failed evaluation. A mistake of the caller's, which would only come again, and `Stop` are raised."""
        if isinstance(error, SurestError):
            raise error
        self.by_arm[ticket.label] += 1
        self._by_ticket[ticket.id] += 1
        failed = self._by_ticket[ticket.id]
        if failed <= self.retries:
            self.session.fail(ticket.id, str(error))
        elif self.on_failure is not None:
            self.session.tell(ticket.id, self.on_failure)
        else:
            raise EvaluationError(
                f"arm {ticket.label!r}: an evaluation (ticket {ticket.id}) failed {_times(failed)}; mend the arm, allow more "
                f"retries, or say which reward a failure counts as (on_failure). The last time: {described(error)}"
            ) from error


def described(error: BaseException) -> str:
    """An exception in words.

    >>> described(ValueError("no such file")), described(KeyboardInterrupt())
    ('ValueError: no such file', 'KeyboardInterrupt')
    """
    name, text = type(error).__name__, str(error).strip()
    return f"{name}: {text}" if text else name


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
