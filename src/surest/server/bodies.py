"""What requests and answers say, as JSON: each form with its types, checked as it is read, and described in OpenAPI."""

import asyncio
from typing import Annotated, Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from surest.core.costs import Scored
from surest.server.errors import Refused

T = TypeVar("T")
MOST_REASON = 10_000  # characters of the reason for which an evaluation failed


def _said(text: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=text, **limits)


Name = Annotated[str, _said("One line of text.", min_length=1, max_length=500)]
Number = Annotated[int, _said("A ticket's number.", ge=0, le=2**63 - 1)]
Worker = Annotated[
    str,
    _said("What the log calls the worker; default: the token's name and the address.", min_length=1, max_length=500),
]


class Form(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a request says. A misspelt field is refused."""


class AskForm(Form):
    """Take tickets."""

    k: Annotated[int, _said("At most this many tickets.", ge=1, le=10_000)] = 1
    worker: Worker | None = None
    wait: Annotated[float, _said("Seconds to wait for a ticket if there is none now.", ge=0, le=3600)] = 0.0
    held: Annotated[
        list[Number] | None,
        _said(
            "The tickets that the worker knows it has. Others which it was given come first: an answer may get lost."
        ),
    ] = None


class TellForm(Form):
    """Tell the reward of a ticket; or those of several: all of them, or none."""

    worker: Annotated[
        Worker | None,
        _said("The worker, as in ask: the log names it, even if another has the ticket now."),
    ] = None
    ticket: Number | None = None
    reward: Annotated[float | None, _said("In the units of the study.")] = None
    cost: Annotated[float, _said("What the evaluation cost.", ge=0)] | None = None
    tickets: Annotated[list[Number], _said("Several tickets.", max_length=10_000)] = []
    rewards: Annotated[list[float], _said("Their rewards, in the same order.", max_length=10_000)] = []

    costs: Annotated[
        list[Annotated[float, msgspec.Meta(ge=0)] | None],
        _said("What they cost, in the same order.", max_length=10_000),
    ] = []

    def both(self) -> tuple[list[int], list[Scored]]:
        """Tickets, and their rewards with what they cost."""
        given = (self.ticket is not None) + (self.reward is not None)
        if (
            given != (0 if self.tickets else 2)
            or len(self.tickets) != len(self.rewards)
            or (self.costs and len(self.costs) != len(self.rewards))
        ):
            raise Refused(422, "give a ticket and its reward, or as many tickets as rewards; see /openapi.json")
        if self.ticket is not None and self.reward is not None:
            return [self.ticket], [Scored(self.reward, self.cost)]
        costs = self.costs or [None] * len(self.rewards)
        return self.tickets, [*map(Scored, self.rewards, costs)]


class FailForm(Form):
    """Say that an evaluation gave no reward."""

    ticket: Number
    reason: Annotated[str, _said("What went wrong, for the log.", max_length=MOST_REASON)] = ""
    reward: Annotated[float | None, _said("Count the evaluation as this reward instead of retrying it.")] = None
    kind: Annotated[str, _said("What reports call it.", min_length=1, max_length=40)] = "failed"
    worker: Worker | None = None


class HeldAnswer(msgspec.Struct):
    """What became of tickets that a worker named."""

    tickets: Annotated[list[Number], _said("Those that the worker held.")]
    gone: Annotated[
        list[Number],
        _said(
            "The others, for which nothing was done: told, failed or given back, with another worker, or never handed out."
        ),
    ]


class HeldForm(Form):
    """Tickets that a worker has."""

    tickets: Annotated[list[Number], _said("Their numbers.", max_length=10_000)]
    worker: Worker | None = None


class ArmsForm(Form):
    """Arms to add."""

    labels: Annotated[list[Name], _said("Their labels.", min_length=1, max_length=100_000)]


class ItemForm(Form):
    """An item of a list."""

    key: Name
    payload: Annotated[Any, _said("What its evaluations need to know.")] = None


class CreateForm(Form):
    """Make a study."""

    name: Name
    arms: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=100_000)] | Annotated[list[Name], msgspec.Meta(min_length=1, max_length=100_000)],
        _said("How many arms, or their labels."),
    ]  # fmt: skip
    items: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | list[Name | ItemForm] | None,
        _said(
            "A list that all arms are compared on: how many items, their keys, or keys with what evaluations need to know."
        ),
    ] = None
    settings: Annotated[
        dict[str, Any], _said("As for open_study: delta, bounds, minimise, top, budget, lease_seconds, options, …")
    ] = {}


async def read(request: Request, form: type[T], most: int | None = None) -> T:
    """The body of a request, which must say that it is JSON, read as a form."""
    limits = request.app.state.limits
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(
            415, f"the body is {kind[:60] or 'of no stated type'!r}; send JSON, as 'Content-Type: application/json'"
        )
    return decoded(await body_of(request, limits.body if most is None else most, limits.body_seconds), form)


async def body_of(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request; raises if it is too large or too slow, without keeping more than is allowed."""
    stated = request.headers.get("content-length", "0")
    if stated.isdigit() and int(stated) > most:
        raise too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {seconds:g} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "the connection was closed before the whole body arrived") from None
    return b"".join(parts)


def too_large(most: int) -> Refused:
    """The refusal of a body that is too large."""
    return Refused(413, f"the request is larger than {most:,} bytes, the maximum")


def json_response(found: Any, status: int = 200) -> Response:
    """An answer as JSON. What may be large is written in a thread."""
    return Response(msgspec.json.encode(found), status, media_type="application/json")


def decoded(data: bytes, form: type[T]) -> T:
    """JSON, read as a form."""
    try:
        return msgspec.json.decode(data, type=form)
    except msgspec.ValidationError as error:
        raise Refused(422, f"invalid body: {error}; see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
