"""What becomes of an evaluation that gave no reward: retried, counted as a stated reward, or the end. Never dropped."""

from collections import Counter
from typing import Any

from surest.errors import EvaluationError, UsageError
from surest.search.tickets import Ticket

RETRIES = 3
"""Retries of a failed evaluation, by default."""


class Failures:
    """Decides what becomes of each failed evaluation.

    Parameters
    ----------
    bounds : (float, float)
        The range of the rewards.
    retries : int, optional
        How often an evaluation is retried, default 3.
    on_failure : float, optional
        The reward as which an evaluation counts whose last retry failed too. Without it, the run ends with an error.

    Examples
    --------
    >>> failures = Failures((0, 1), retries=1, on_failure=0.0)
    >>> ticket = Ticket(0, 0, "a")
    >>> failures.count(ticket, OSError("no answer")), failures.count(ticket, OSError("no answer"))
    (None, 0.0)
    """

    def __init__(
        self, bounds: tuple[float, float], retries: int | None = None, on_failure: float | None = None
    ) -> None:
        self.retries = checked_retries(retries)
        low, high = bounds
        if on_failure is not None and not low <= on_failure <= high:
            raise UsageError(f"a failure is to count as {on_failure}, which is outside the bounds [{low:g}, {high:g}]")
        self.on_failure = on_failure
        self._by_ticket: Counter[int] = Counter()

    def count(self, ticket: Ticket, error: BaseException, on: str = "") -> float | None:
        """The reward as which a failed evaluation counts; None where it is to be retried. Otherwise an error ends the run.

        `on` says on which item it was, for the message.
        """
        self._by_ticket[ticket.id] += 1
        failed = self._by_ticket[ticket.id]
        if failed <= self.retries:
            return None
        if self.on_failure is None:
            raise exhausted(ticket, failed, error, on) from error
        return self.on_failure


def checked_retries(retries: int | None) -> int:
    """How often to retry a failed evaluation."""
    if retries is not None and retries < 0:
        raise UsageError(f"retries is {retries}; it must be a whole number ≥ 0")
    return RETRIES if retries is None else retries


def failing(on_failure: float | None, retries: int | None) -> dict[str, Any]:
    """What a study is to know of failures: how often to retry goes with a stated reward, else it is each worker's affair.

    >>> failing(0.0, None), failing(None, 5)
    ({'on_failure': 0.0, 'retries': None}, {})
    """
    return {} if on_failure is None else {"on_failure": on_failure, "retries": retries}


def kind_of(error: BaseException) -> str:
    """What a health line calls a failure."""
    return "timed out" if isinstance(error, TimeoutError) else "failed"


def exhausted(ticket: Ticket, failed: int, error: BaseException, on: str = "") -> EvaluationError:
    """What to say when an evaluation cannot be retried any more."""
    return EvaluationError(
        f"arm {ticket.label!r}: an evaluation{on} (ticket {ticket.id}) failed {_times(failed)}; mend the arm, allow more "
        f"retries, or say which reward a failure counts as (on_failure). The last time: {described(error)}"
    )


def described(error: BaseException) -> str:
    """An exception in words.

    >>> described(ValueError("no such file")), described(KeyboardInterrupt())
    ('ValueError: no such file', 'KeyboardInterrupt')
    """
    name, text = type(error).__name__, str(error).strip()
    return f"{name}: {text}" if text else name


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
