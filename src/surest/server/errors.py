"""Errors as HTTP statuses, with the reason in JSON or on a page."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

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
    """The HTTP status of an error.

    >>> status_of(TicketError("told")), status_of(UsageError("what?")), status_of(KeyError("x"))
    (409, 400, 500)
    """
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


def kind_of(error: Exception) -> str:
    """The error's class, for clients that raise it again."""
    return type(error).__name__ if isinstance(error, SurestError) else "SurestError"


def headers_of(error: Exception) -> dict[str, str]:
    """Headers that belong to a status."""
    status = status_of(error)
    found = dict(getattr(error, "headers", None) or {})
    if status == 401:
        found["WWW-Authenticate"] = 'Bearer realm="surest"'
    after = error.retry_after if isinstance(error, Refused) else RETRY_SECONDS if status == 503 else None
    if after is not None:
        found["Retry-After"] = f"{max(1, round(after))}"
    return found


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that wants a page."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


async def respond(request: Request, error: Exception) -> Response:
    """What went wrong, as JSON for programs and as a page for people."""
    status, headers = status_of(error), headers_of(error)
    reason = reason_of(error).replace(
        request.app.state.studies.store.shown, "this service"
    )  # it is nobody's business where
    if wants_page(request):
        from surest.server.pages.show import error_page

        return error_page(request, status, reason, headers)
    return JSONResponse({"error": {"kind": kind_of(error), "message": reason}}, status, headers)
