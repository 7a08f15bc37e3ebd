"""HTTP for workers and programs: one table of endpoints, from which routes and the OpenAPI document are made."""

from typing import Annotated, Any

import msgspec
from starlette.responses import PlainTextResponse, Response

from surest.algorithms import lookup
from surest.errors import UsageError
from surest.search.tickets import Ticket
from surest.server.endpoints import ASKED, Asked, Endpoint, decoded, json_response
from surest.server.errors import Refused
from surest.server.events import streamed
from surest.server.logs import BUCKETS, resident_bytes
from surest.server.openapi import document
from surest.server.pages.files import again, export
from surest.server.pages.render import TEMPLATES
from surest.server.studies import Moment
from surest.study.settings import storable
from surest.study.study import Study
from surest.study.telling import Ask, Failure, Handed, Tell
from surest.study.transfer import import_study

HEALTH_SECONDS = 5.0  # in which the database must answer
MOST_NOTE = 2000  # characters of a study's note
MOST_REASON = 10_000  # … and of the reason for which an evaluation failed


def _said(text: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=text, **limits)


Name = Annotated[str, _said("One line of text.", min_length=1, max_length=500)]
Number = Annotated[int, _said("A ticket's number.", ge=0, le=2**63 - 1)]
Worker = Annotated[Name, _said("What the log calls the worker; default: the token's name and the address.")]
Cost = Annotated[float, msgspec.Meta(ge=0)]


class Form(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a request says. A misspelt field is refused."""


def worker_of(request: Asked, given: str | None) -> str:
    """What the log calls a worker: what it says itself, or else its token's name and its address."""
    if given is not None:
        storable(given, "a worker's name")
        return given
    assert request.who is not None
    return f"{request.who.name}@{request.address}"[:500]


async def list_studies(request: Asked) -> Any:
    """All studies by name."""
    return {"studies": await request.service.studies.names()}


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


async def create(request: Asked, form: CreateForm) -> Any:
    """Make a study."""
    settings = dict(form.settings)
    check_settings(settings)
    items: Any = form.items
    if isinstance(items, list):
        items = [(item.key, item.payload) if isinstance(item, ItemForm) else item for item in items]
    return facts_of(await request.service.studies.create(form.name, form.arms, items=items, **settings))


def check_settings(settings: dict[str, Any]) -> None:
    """Refuse unknown settings, and those that would run a file of the service's machine."""
    if not isinstance(settings.get("options", {}), dict):
        raise UsageError("options must be an object of names and values")
    settings.update(settings.pop("options", {}))
    own = {"name", "arms", "items", "storage", "load_if_exists"} & settings.keys()
    if own:
        raise UsageError(f"{', '.join(sorted(own))} cannot be given as settings")
    check_harmless(settings)


def check_harmless(settings: dict[str, Any]) -> None:
    """Refuse a note that nobody would read, and an algorithm that would run a file of the service's machine."""
    algorithm, note = settings.get("algorithm"), settings.get("note")
    if isinstance(note, str) and len(note) > MOST_NOTE:
        raise UsageError(f"the note has {len(note):,} characters; at most {MOST_NOTE:,} are allowed")
    if algorithm is not None:
        if not isinstance(algorithm, str) or ".py" in algorithm:
            raise UsageError("a service accepts algorithms by name only; 'surest algorithms' lists them")
        lookup(algorithm)


def facts_of(study: Study) -> dict[str, Any]:
    """The fixed facts of a study, and its arms."""
    return {
        "name": study.name,
        "arms": list(study.labels),
        "items": len(study.items),
        "settings": study.settings.plain(),
        "lease_seconds": study.lease_seconds,
    }


Document = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
"""An export: decoded where it is put into the store, since it may be long."""


async def import_(request: Asked, document: msgspec.Raw) -> Any:
    """Put an export into the store."""
    studies, data, name = request.service.studies, bytes(document), request.query_params.get("name")
    found = await studies.call(decoded, data, Any)
    if isinstance(found, dict):
        if isinstance(found.get("settings"), dict):
            check_harmless(found["settings"])
        name = str(found.get("name")) if name is None else name
    await studies.make(str(name), import_study, data, name)
    return {"name": name}


async def look(request: Asked) -> Any:
    """A study's settings and arms, and whether it is finished."""

    def looked_at(study: Study) -> dict[str, Any]:
        finished, paused = study.finished, study.paused  # first: they see which arms there are by now
        return {**facts_of(study), "finished": finished, "paused": paused}

    return await request.study.call(looked_at)


async def items(request: Asked) -> Any:
    """The items of a study."""

    def listed(study: Study) -> Response:
        with study.at_one_moment(check=False):  # another process may have deleted the study and made it anew
            items = study.items
        rows = [{"key": item.key, "payload": msgspec.Raw((item.payload or "null").encode())} for item in items]
        return json_response({"items": rows})

    return await request.study.call(listed)


async def delete(request: Asked) -> Any:
    """Delete a study and all its rewards."""
    await request.study.delete()
    return {"deleted": request.name}


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


async def ask(request: Asked, form: AskForm) -> Any:
    """Take tickets."""
    held, wait = None if form.held is None else frozenset(form.held), min(form.wait, request.service.limits.wait)
    handed = await request.study.desk.submit(Ask(form.k, worker_of(request, form.worker), held), wait)
    study = await request.study.opened()
    if request.headers.get("accept", "").startswith("text/plain"):
        return PlainTextResponse(ticket_lines(study, handed))
    return {
        "tickets": [ticket_json(study, ticket) for ticket in handed.tickets],
        "finished": handed.finished,
        "paused": handed.paused,
        "lease_seconds": study.lease_seconds,
    }


def ticket_json(study: Study, ticket: Ticket) -> dict[str, Any]:
    """A ticket: its number, the arm to evaluate, and the item with what its evaluation needs to know, if there is one."""
    row: dict[str, Any] = {"ticket": ticket.id, "index": ticket.arm, "arm": ticket.label}
    if ticket.draw is not None:
        row["draw"] = ticket.draw
    item = study.item_of(ticket)
    if item is not None:
        row |= {"item": item.key, "item_index": ticket.item}
        if item.payload is not None:
            row["payload"] = msgspec.Raw(item.payload.encode())
    return row


def ticket_lines(study: Study, handed: Handed) -> str:
    """Tickets for a shell: on each line a number, the arm and the item, with tabs between; ``finished`` at the end."""
    rows = ((ticket, study.item_of(ticket)) for ticket in handed.tickets)
    lines = ["\t".join([str(t.id), t.label, *([] if item is None else [item.key])]) for t, item in rows]
    return "\n".join(["finished"] if handed.finished else lines) + "\n"


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
    costs: Annotated[list[Cost | None], _said("What they cost, in the same order.", max_length=10_000)] = []


async def tell(request: Asked, form: TellForm) -> Any:
    """Tell rewards."""
    tickets, rewards, costs = form.tickets, form.rewards, form.costs or [None] * len(form.rewards)
    several, one = bool(tickets), (form.ticket is not None) + (form.reward is not None)
    if one != (0 if several else 2) or len(tickets) != len(rewards) or len(costs) != len(rewards):
        raise Refused(422, "give a ticket and its reward, or as many tickets as rewards; see /openapi.json")
    if form.ticket is not None and form.reward is not None:
        tickets, rewards, costs = [form.ticket], [form.reward], [form.cost]
    told = [reward if cost is None else (reward, cost) for reward, cost in zip(rewards, costs, strict=True)]
    await request.study.desk.submit(Tell(tickets, told, form.worker))
    return {"tickets": tickets, "rewards": rewards}


class FailForm(Form):
    """Say that an evaluation gave no reward."""

    ticket: Number
    reason: Annotated[str, _said("What went wrong, for the log.", max_length=MOST_REASON)] = ""
    reward: Annotated[float | None, _said("Count the evaluation as this reward instead of retrying it.")] = None
    kind: Annotated[str, _said("What reports call it.", min_length=1, max_length=40)] = "failed"
    worker: Worker | None = None


async def fail(request: Asked, form: FailForm) -> Any:
    """Say that an evaluation gave no reward."""
    worker = worker_of(request, form.worker)
    await request.study.desk.submit(Failure(form.ticket, form.reason, form.reward, form.kind, worker))
    return {"ticket": form.ticket}


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


async def lengthen(request: Asked, form: HeldForm) -> Any:
    """Lengthen the leases of tickets."""
    return form.answer(await request.study.call(Study.renew, form.tickets, worker_of(request, form.worker)))


async def return_tickets(request: Asked, form: HeldForm) -> Any:
    """Give tickets back."""
    return form.answer(await request.study.change(Study.give_back, form.tickets, worker_of(request, form.worker)))


class ArmsForm(Form):
    """Arms to add."""

    labels: Annotated[list[Name], _said("Their labels.", min_length=1, max_length=100_000)]


async def add_arms(request: Asked, form: ArmsForm) -> Any:
    """Add arms while a study runs."""
    await request.study.change(Study.add_arms, form.labels)
    study = await request.study.opened()
    return {"name": study.name, "arms": list(study.labels)}


async def pause(request: Asked) -> Any:
    """Hand out no more tickets."""
    await request.study.change(Study.pause)
    return {"name": request.name, "paused": True}


async def resume(request: Asked) -> Any:
    """Hand out tickets again."""
    await request.study.change(Study.resume)
    return {"name": request.name, "paused": False}


async def status(request: Asked) -> Any:
    """Who leads, how sure that is, how much is out."""
    return await request.study.call(lambda study: {**study.status().to_dict(), "paused": study.paused})


async def result(request: Asked) -> Any:
    """The verdict, or the answer so far."""
    history = request.query_params.get("history") == "1"
    if history:
        ASKED.set(("heavy", request.sender))

    def made(study: Study) -> Response:
        return json_response((again(study) if history else study).result(history=history).to_dict())

    return await request.study.call(made)


async def events(request: Asked) -> Any:
    """Changes as server-sent events."""

    async def told(moment: Moment) -> str:
        said = {name: value for name, value in moment._asdict().items() if name != "study"}
        return f"event: change\ndata: {msgspec.json.encode(said).decode()}\n\n"

    return await streamed(request, told, ": still here\n\n")


async def healthz(request: Asked) -> Any:
    """Whether the service and its database work."""
    if not await request.service.studies.answers(HEALTH_SECONDS):
        raise Refused(503, f"the database did not respond within {HEALTH_SECONDS:g} seconds")
    return {"status": "ok"}


async def metrics(request: Asked) -> Any:
    """Numbers for Prometheus."""
    service, studies = request.service, request.service.studies
    text = TEMPLATES.get_template("metrics.txt").render(
        counts=service.metrics,
        buckets=BUCKETS,
        studies=studies,
        waiting=sum(len(study.desk.waiting) for study in studies.served.values()),
        watching=service.watching.total(),
        resident_bytes=resident_bytes(),
    )
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def openapi(_: Asked) -> Any:
    """This document."""
    return document(ENDPOINTS)


NAME = ("name", "A new name for it.")
HISTORY = ("history", "1 adds the evidence over time.")
STUDY = "/api/studies/{name:name}"
ENDPOINTS = (
    Endpoint("GET", "/api/studies", "look", list_studies),
    Endpoint("POST", "/api/studies", "administer", create, CreateForm, 201, upload=True),
    Endpoint("POST", "/api/import", "administer", import_, Document, 201, (NAME,), heavy=True, upload=True),
    Endpoint("GET", STUDY, "look", look),
    Endpoint("DELETE", STUDY, "administer", delete),
    Endpoint("GET", f"{STUDY}/items", "look", items, heavy=True),
    Endpoint("POST", f"{STUDY}/ask", "work", ask, AskForm, waits=True),
    Endpoint("POST", f"{STUDY}/tell", "work", tell, TellForm),
    Endpoint("POST", f"{STUDY}/fail", "work", fail, FailForm),
    Endpoint("POST", f"{STUDY}/renew", "work", lengthen, HeldForm, gives=HeldAnswer),
    Endpoint("POST", f"{STUDY}/return", "work", return_tickets, HeldForm, gives=HeldAnswer),
    Endpoint("POST", f"{STUDY}/arms", "administer", add_arms, ArmsForm),
    Endpoint("POST", f"{STUDY}/pause", "administer", pause),
    Endpoint("POST", f"{STUDY}/resume", "administer", resume),
    Endpoint("GET", f"{STUDY}/status", "look", status),
    Endpoint("GET", f"{STUDY}/result", "look", result, query=(HISTORY,)),
    Endpoint("GET", f"{STUDY}/export", "look", export, heavy=True),
    Endpoint("GET", f"{STUDY}/events", "look", events, kind="text/event-stream"),
    Endpoint("GET", "/healthz", None, healthz),
    Endpoint("GET", "/metrics", "look", metrics, kind="text/plain"),
    Endpoint("GET", "/openapi.json", None, openapi),
)
