"""HTTP for workers and programs: one table of endpoints, from which routes and the OpenAPI document are made."""

from functools import cache
from typing import Any

import msgspec
from starlette.responses import PlainTextResponse, Response

from surest.algorithms import lookup
from surest.errors import UsageError
from surest.search.tickets import Ticket
from surest.server import bodies
from surest.server.endpoints import ASKED, Asked, Endpoint, json_response
from surest.server.errors import Refused
from surest.server.events import streamed
from surest.server.openapi import document
from surest.server.pages.files import again, export
from surest.study.outcome import Moment
from surest.study.settings import storable
from surest.study.study import Study
from surest.study.telling import Ask, Failure, Handed, Tell
from surest.study.transfer import import_study

HEALTH_SECONDS = 5.0  # in which the database must answer
MOST_NOTE = 2000  # characters of a study's note


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


async def create(request: Asked, form: bodies.CreateForm) -> Any:
    """Make a study."""
    settings = dict(form.settings)
    check_settings(settings)
    items: Any = form.items
    if isinstance(items, list):
        items = [(item.key, item.payload) if isinstance(item, bodies.ItemForm) else item for item in items]
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
        "settings": msgspec.json.decode(study.settings.text()),
        "lease_seconds": study.lease_seconds,
    }


async def import_(request: Asked, document: msgspec.Raw) -> Any:
    """Put an exported study into the store."""
    studies, data, name = request.service.studies, bytes(document), request.query_params.get("name")
    found = await studies.call(bodies.decoded, data, Any)
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
    return await request.study.call(_items)


def _items(study: Study) -> Response:
    with study.at_one_moment(check=False):  # another process may have deleted the study and made it anew
        items = study.items
    listed = [{"key": item.key, "payload": msgspec.Raw((item.payload or "null").encode())} for item in items]
    return json_response({"items": listed})


async def delete(request: Asked) -> Any:
    """Delete a study."""
    await request.study.delete()
    return {"deleted": request.name}


async def ask(request: Asked, form: bodies.AskForm) -> Any:
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


async def tell(request: Asked, form: bodies.TellForm) -> Any:
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


async def fail(request: Asked, form: bodies.FailForm) -> Any:
    """Say that an evaluation gave no reward."""
    worker = worker_of(request, form.worker)
    await request.study.desk.submit(Failure(form.ticket, form.reason, form.reward, form.kind, worker))
    return {"ticket": form.ticket}


async def lengthen(request: Asked, form: bodies.HeldForm) -> Any:
    """Lengthen leases."""
    return form.answer(await request.study.call(Study.renew, form.tickets, worker_of(request, form.worker)))


async def return_tickets(request: Asked, form: bodies.HeldForm) -> Any:
    """Let tickets be handed out again."""
    return form.answer(await request.study.change(Study.give_back, form.tickets, worker_of(request, form.worker)))


async def add_arms(request: Asked, form: bodies.ArmsForm) -> Any:
    """Add arms."""
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
    """How a study stands."""
    return await request.study.call(lambda study: {**study.status().to_dict(), "paused": study.paused})


async def result(request: Asked) -> Any:
    """The verdict."""
    history = request.query_params.get("history") == "1"
    if history:
        ASKED.set(("heavy", request.sender))

    def made(study: Study) -> Response:
        return json_response((again(study) if history else study).result(history=history).to_dict())

    return await request.study.call(made)


async def events(request: Asked) -> Any:
    """What changes, as it changes."""

    async def told(moment: Moment) -> str:
        return f"event: change\ndata: {msgspec.json.encode(moment.json()).decode()}\n\n"

    return await streamed(request, told, ": still here\n\n")


async def healthz(request: Asked) -> Any:
    """Whether the service and its database work."""
    if not await request.service.studies.answers(HEALTH_SECONDS):
        raise Refused(503, f"the database did not respond within {HEALTH_SECONDS:g} seconds")
    return {"status": "ok"}


async def metrics(request: Asked) -> Any:
    """For Prometheus."""
    text = request.service.metrics.text(request.service)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def openapi(_: Asked) -> Any:
    """This document."""
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    """The document, made once: anybody may ask for it."""
    return msgspec.json.encode(document(ENDPOINTS))


NAME = ("name", "A new name for it.")
HELD, EXPORT = bodies.HeldForm, bodies.Document
HISTORY = ("history", "1 adds the evidence over time.")
STUDY = "/api/studies/{name:name}"
ENDPOINTS = [
    Endpoint("GET", "/api/studies", "look", list_studies, "All studies by name."),
    Endpoint("POST", "/api/studies", "administer", create, "Make a study.", bodies.CreateForm, 201, upload=True),
    Endpoint(
        "POST", "/api/import", "administer", import_, "Put an export into the store.", EXPORT, 201, (NAME,),
        heavy=True, upload=True,
    ),
    Endpoint("GET", STUDY, "look", look, "A study's settings and arms, and whether it is finished."),
    Endpoint("DELETE", STUDY, "administer", delete, "Delete a study and all its rewards."),
    Endpoint("GET", f"{STUDY}/items", "look", items, "The items of a study.", heavy=True),
    Endpoint("POST", f"{STUDY}/ask", "work", ask, "Take tickets.", bodies.AskForm, waits=True),
    Endpoint("POST", f"{STUDY}/tell", "work", tell, "Tell rewards.", bodies.TellForm),
    Endpoint("POST", f"{STUDY}/fail", "work", fail, "Say that an evaluation gave no reward.", bodies.FailForm),
    Endpoint("POST", f"{STUDY}/renew", "work", lengthen, "Lengthen the leases of tickets.", HELD, gives=bodies.HeldAnswer),
    Endpoint("POST", f"{STUDY}/return", "work", return_tickets, "Give tickets back.", HELD, gives=bodies.HeldAnswer),
    Endpoint("POST", f"{STUDY}/arms", "administer", add_arms, "Add arms while a study runs.", bodies.ArmsForm),
    Endpoint("POST", f"{STUDY}/pause", "administer", pause, "Hand out no more tickets."),
    Endpoint("POST", f"{STUDY}/resume", "administer", resume, "Hand out tickets again."),
    Endpoint("GET", f"{STUDY}/status", "look", status, "Who leads, how sure that is, how much is out."),
    Endpoint("GET", f"{STUDY}/result", "look", result, "The verdict, or the answer so far.", query=(HISTORY,)),
    Endpoint("GET", f"{STUDY}/export", "look", export, "All of a study, as 'surest study export' writes it.", heavy=True),
    Endpoint("GET", f"{STUDY}/events", "look", events, "Changes as server-sent events.", kind="text/event-stream"),
    Endpoint("GET", "/healthz", None, healthz, "Whether the service and its database work."),
    Endpoint("GET", "/metrics", "look", metrics, "Numbers for Prometheus.", kind="text/plain"),
    Endpoint("GET", "/openapi.json", None, openapi, "This document."),
]  # fmt: skip
