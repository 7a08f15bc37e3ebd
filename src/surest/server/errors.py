"""Errors as HTTP statuses, and what is said of them."""

from starlette.exceptions import HTTPException

from surest.errors import RewardError, StorageError, SurestError, TicketError, UnknownStudyError, UsageError


class Refused(SurestError):
    """A request that is refused, with the HTTP status that says why."""

    def __init__(
        self, status: int, reason: str, *, retry_after: float | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.retry_after, self.headers = status, retry_after, headers


STATUSES: dict[type[Exception], int] = {
    UnknownStudyError: 404,
    TicketError: 409,
    RewardError: 422,
    UsageError: 400,
    StorageError: 503,
    SurestError: 500,
}
"""By the first class that fits."""
PLAIN = {
    404: "there is nothing at this address; /openapi.json lists all addresses",
    405: "this address does not accept that method; see /openapi.json",
}
RETRY_SECONDS = 1  # after which to try again where the database could not be reached


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, HTTPException):
        return error.status_code
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


def reason_of(error: Exception) -> str:
    """What to say of an error. Details of internal errors go to the log only."""
    if isinstance(error, HTTPException):
        return PLAIN.get(error.status_code, error.detail)
    return str(error) if isinstance(error, SurestError) else "internal error of the service; see its log"
