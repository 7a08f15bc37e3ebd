"""What requests and answers say, as JSON: each form with its types, checked as it is read, and described in OpenAPI."""

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from surest.server.auth import check_csrf
from surest.server.errors import Refused

if TYPE_CHECKING:
    from surest.server.endpoints import Asked

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

    def answer(self, held: list[int]) -> HeldAnswer:
        """Those that the worker held, and the others."""
        return HeldAnswer(held, sorted(set(self.tickets).difference(held)))


class ArmsForm(Form):
    """Arms to add."""

    labels: Annotated[list[Name], _said("Their labels.", min_length=1, max_length=100_000)]


class ItemForm(Form):
    """An item of a list."""

    key: Name
    payload: Annotated[Any, _said("What its evaluations need to know.")] = None


Document = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
"""An export: decoded where it is put into the store, since it may be long."""


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


async def parsed(request: "Asked", form: Any) -> Any:
    """The body of a request, read as a form: one of HTML that one of our own pages sent, or JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form is not FormData and kind != "application/json":
        stated = f"the body is {kind[:60] or 'of no stated type'!r}"
        raise Refused(415, f"{stated}; send JSON, as 'Content-Type: application/json'")
    if form is FormData and kind not in ("multipart/form-data", "application/x-www-form-urlencoded"):
        raise Refused(415, f"the body is {kind[:60]!r}; this address accepts forms")
    body = await request.body()
    if form is not FormData:
        return decoded(body, form)
    try:
        sent = await request.form(max_files=1, max_fields=100, max_part_size=len(body) + 1)
    except (HTTPException, UnicodeDecodeError, KeyError) as error:
        raise Refused(400, f"the form cannot be read: {getattr(error, 'detail', error)}") from None
    check_csrf(request, sent.get("csrf"))
    return sent


def decoded(data: bytes, form: type[T]) -> T:
    """JSON, read as a form."""
    try:
        return msgspec.json.decode(data, type=form)
    except msgspec.ValidationError as error:
        raise Refused(422, f"invalid body: {error}; see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
