"""HTTP for workers and programs: one table of endpoints, from which routes and the OpenAPI document are made."""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from surest.algorithms import lookup
from surest.errors import UsageError
from surest.server import bodies
from surest.server.auth import Answer, Handler
from surest.server.bodies import json_response
from surest.server.errors import Refused
from surest.server.events import Moment, streamed
from surest.server.limits import left
from surest.server.names import check_name
from surest.server.pages.files import exported
from surest.server.studies import ASKED, taken
from surest.server.tokens import Role
from surest.study.log import Store
from surest.study.settings import storable
from surest.study.study import Study
from surest.study.telling import Failure, Handed, Tell
from surest.study.transfer import import_study

HEALTH_SECONDS = 5.0  # in which the database must answer
SOON_SECONDS = 0.05  # after which whoever asked is taken to wait, and may leave
MOST_NOTE = 2000  # characters of a study's note


class Endpoint(NamedTuple):
    """An endpoint of the API: method, path, role, and what it does."""

    method: str
    path: str
    role: Role | None  # none for what anybody may ask
    answer: Answer
    summary: str
    body: Any = None  # the form of its body, or forms, if it has one
    status: int = 200
    query: tuple[tuple[str, str], ...] = ()  # names and descriptions of what may follow a question mark
    kind: str = "application/json"
    gives: Any = None  # the form of its answer, where it is described
    heavy: bool = False  # whether it may take long: then it has few threads of its own


def worker_of(request: Request, given: str | None) -> str:
    """What the log calls a worker: what it says itself, or else its token's name and its address."""
    if given is not None:
        storable(given, "a worker's name")
    address = "?" if request.client is None else request.client.host
    return f"{request.state.who.name}@{address}"[:500] if given is None else given


async def list_studies(request: Request) -> Any:
    """All studies by name."""
    return {"studies": await request.app.state.studies.names()}


async def create(request: Request) -> Any:
    """Make a study."""
    form = await bodies.read(request, bodies.CreateForm, request.app.state.limits.upload)
    settings = dict(form.settings)
    check_settings(settings)
    items: Any = form.items
    if isinstance(items, list):
        items = [(item.key, item.payload) if isinstance(item, bodies.ItemForm) else item for item in items]
    made = await request.app.state.studies.create(form.name, form.arms, items=items, **settings)
    return facts_of(made)


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


def _looked_at(study: Study) -> dict[str, Any]:
    finished, paused = study.finished, study.paused
    return {**facts_of(study), "finished": finished, "paused": paused}


async def import_(request: Request) -> Any:
    """Put an exported study into the store."""
    data = bytes(await bodies.read(request, msgspec.Raw, request.app.state.limits.upload))
    studies, name = request.app.state.studies, request.query_params.get("name")
    there = await studies.names()
    return {"name": await studies.call(_imported, studies.store, data, name, there)}


def _imported(store: Store, document: bytes, name: str | None, there: list[str]) -> str:
    found = bodies.decoded(document, Any)
    settings = found.get("settings") if isinstance(found, dict) else None
    if isinstance(settings, dict):
        check_harmless(settings)
    if isinstance(found, dict):
        called = str(found.get("name")) if name is None else name
        check_name(called)
        if called in there:
            raise taken(called)
    return import_study(store, document, name)


def _items(study: Study) -> Response:
    with study.at_one_moment(check=False):  # another process may have deleted the study and made it anew
        items = study.items
    listed = [{"key": item.key, "payload": msgspec.Raw((item.payload or "null").encode())} for item in items]
    return json_response({"items": listed})


async def delete(request: Request) -> Any:
    """Delete a study."""
    await request.app.state.studies.delete(request.path_params["name"])
    return {"deleted": request.path_params["name"]}


async def ask(request: Request) -> Any:
    """Take tickets."""
    form = await bodies.read(request, bodies.AskForm)
    name, studies = request.path_params["name"], request.app.state.studies
    wait, worker = min(form.wait, request.app.state.limits.wait), worker_of(request, form.worker)
    handed = await _unless_gone(request, studies.desk(name).ask(form.k, worker, wait, form.held))
    study = await studies.study(name)
    if request.headers.get("accept", "").startswith("text/plain"):
        return PlainTextResponse(ticket_lines(study, handed))
    return {
        "tickets": [ticket_json(study, ticket) for ticket in handed.tickets],
        "finished": handed.finished,
        "paused": handed.paused,
        "lease_seconds": study.lease_seconds,
    }


async def _unless_gone(request: Request, asked: "asyncio.Future[Handed]") -> Handed:
    """Wait for tickets as long as whoever asked is there. Most get some at once."""
    leaves: asyncio.Future[None] | None = None
    try:
        await asyncio.wait([asked], timeout=SOON_SECONDS)
        if not asked.done():
            leaves = asyncio.ensure_future(left(request.receive))
            both: list[asyncio.Future[Any]] = [asked, leaves]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise Refused(499, "the worker left")
        return asked.result()
    finally:
        asked.cancel()
        if leaves is not None:
            leaves.cancel()


def ticket_json(study: Study, ticket: Any) -> dict[str, Any]:
    """A ticket: its number, the arm to evaluate, and the item with what its evaluation needs to know, if there is one."""
    row = {"ticket": ticket.id, "index": ticket.arm, "arm": ticket.label}
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


async def tell(request: Request) -> Any:
    """Tell rewards."""
    form = await bodies.read(request, bodies.TellForm)
    tickets, rewards = form.both()
    await request.app.state.studies.desk(request.path_params["name"]).submit(Tell(tickets, rewards, form.worker))
    return {"tickets": tickets, "rewards": [reward.value for reward in rewards]}


async def fail(request: Request) -> Any:
    """Say that an evaluation gave no reward."""
    form = await bodies.read(request, bodies.FailForm)
    worker = worker_of(request, form.worker)
    failure = Failure(form.ticket, form.reason, form.reward, form.kind, worker)
    await request.app.state.studies.desk(request.path_params["name"]).submit(failure)
    return {"ticket": form.ticket}


async def lengthen(request: Request) -> Any:
    """Lengthen leases."""
    return await _of_held(request, Study.renew)


async def _of_held(request: Request, function: Callable[[Study, list[int], str], list[int]]) -> bodies.HeldAnswer:
    form = await bodies.read(request, bodies.HeldForm)
    worker = worker_of(request, form.worker)
    held: list[int] = await request.app.state.studies.with_study(
        request.path_params["name"], function, form.tickets, worker
    )
    return bodies.HeldAnswer(held, sorted(set(form.tickets).difference(held)))


async def return_tickets(request: Request) -> Any:
    """Let tickets be handed out again."""
    answer = await _of_held(request, Study.give_back)
    request.app.state.studies.stir(request.path_params["name"])
    return answer


async def add_arms(request: Request) -> Any:
    """Add arms."""
    form = await bodies.read(request, bodies.ArmsForm)
    study = await request.app.state.studies.add_arms(request.path_params["name"], form.labels)
    return {"name": study.name, "arms": list(study.labels)}


def paused(name: str, paused: bool) -> Answer:
    """An endpoint called `name` that stops handing out tickets, or resumes."""

    async def answer(request: Request) -> Any:
        await request.app.state.studies.pause(request.path_params["name"], paused)
        return {"name": request.path_params["name"], "paused": paused}

    return _called(name, answer)


def of_study(name: str, function: Callable[[Study], Any]) -> Answer:
    """An endpoint called `name` that calls a function of one study in a thread."""

    async def answer(request: Request) -> Any:
        return await request.app.state.studies.with_study(request.path_params["name"], function)

    return _called(name, answer)


def _called(name: str, answer: Any) -> Answer:
    answer.__name__ = name
    return cast(Answer, answer)


def _status(study: Study) -> dict[str, Any]:
    return {**study.status().to_dict(), "paused": study.paused}


def _result(study: Study, history: bool) -> Response:
    study = Study(study.store, study.name) if history else study  # its replay keeps nobody waiting
    return json_response(study.result(history=history).to_dict())


async def result(request: Request) -> Any:
    """The verdict."""
    history = request.query_params.get("history") == "1"
    if history:
        ASKED.set(("heavy", request.state.sender))
    return await request.app.state.studies.with_study(request.path_params["name"], _result, history)


async def export(request: Request) -> Any:
    """All of a study."""
    return await exported(request.app.state.studies, request.path_params["name"])


async def events(request: Request) -> Any:
    """What changes, as it changes."""

    async def told(moment: Moment) -> str:
        return f"event: change\ndata: {msgspec.json.encode(moment.json()).decode()}\n\n"

    return await streamed(request, told, ": still here\n\n")


async def healthz(request: Request) -> Any:
    """Whether the service and its database work."""
    if not await request.app.state.studies.answers(HEALTH_SECONDS):
        raise Refused(503, f"the database did not respond within {HEALTH_SECONDS:g} seconds")
    return {"status": "ok"}


async def metrics(request: Request) -> Any:
    """For Prometheus."""
    state = request.app.state
    return PlainTextResponse(state.metrics.text(state.studies, state.watches), media_type="text/plain; version=0.0.4")


async def openapi(request: Request) -> Any:
    """This document."""
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    """The document, made once: anybody may ask for it."""
    from surest.server.openapi import document

    return msgspec.json.encode(document(ENDPOINTS))


NAME = ("name", "A new name for it.")
HELD, ANY = bodies.HeldForm, dict[str, Any]
HISTORY = ("history", "1 adds the evidence over time.")
STUDY = "/api/studies/{name:name}"
ENDPOINTS = [
    Endpoint("GET", "/api/studies", "look", list_studies, "All studies by name."),
    Endpoint("POST", "/api/studies", "administer", create, "Make a study.", bodies.CreateForm, 201),
    Endpoint("POST", "/api/import", "administer", import_, "Put an export into the store.", ANY, 201, (NAME,), heavy=True),
    Endpoint("GET", STUDY, "look", of_study("look", _looked_at), "A study's settings and arms, and whether it is finished."),
    Endpoint("DELETE", STUDY, "administer", delete, "Delete a study and all its rewards."),
    Endpoint("GET", f"{STUDY}/items", "look", of_study("items", _items), "The items of a study.", heavy=True),
    Endpoint("POST", f"{STUDY}/ask", "work", ask, "Take tickets.", bodies.AskForm),
    Endpoint("POST", f"{STUDY}/tell", "work", tell, "Tell rewards.", bodies.TellForm),
    Endpoint("POST", f"{STUDY}/fail", "work", fail, "Say that an evaluation gave no reward.", bodies.FailForm),
    Endpoint("POST", f"{STUDY}/renew", "work", lengthen, "Lengthen the leases of tickets.", HELD, gives=bodies.HeldAnswer),
    Endpoint("POST", f"{STUDY}/return", "work", return_tickets, "Give tickets back.", HELD, gives=bodies.HeldAnswer),
    Endpoint("POST", f"{STUDY}/arms", "administer", add_arms, "Add arms while a study runs.", bodies.ArmsForm),
    Endpoint("POST", f"{STUDY}/pause", "administer", paused("pause", True), "Hand out no more tickets."),
    Endpoint("POST", f"{STUDY}/resume", "administer", paused("resume", False), "Hand out tickets again."),
    Endpoint("GET", f"{STUDY}/status", "look", of_study("status", _status), "Who leads, how sure that is, how much is out."),
    Endpoint("GET", f"{STUDY}/result", "look", result, "The verdict, or the answer so far.", query=(HISTORY,)),
    Endpoint("GET", f"{STUDY}/export", "look", export, "All of a study, as 'surest study export' writes it.", heavy=True),
    Endpoint("GET", f"{STUDY}/events", "look", events, "Changes as server-sent events.", kind="text/event-stream"),
    Endpoint("GET", "/healthz", None, healthz, "Whether the service and its database work."),
    Endpoint("GET", "/metrics", "look", metrics, "Numbers for Prometheus.", kind="text/plain"),
    Endpoint("GET", "/openapi.json", None, openapi, "This document."),
]  # fmt: skip


def routes() -> list[BaseRoute]:
    """The endpoints as routes."""
    return [
        Route(one.path, Handler(one.answer, one.role, heavy=one.heavy, status=one.status), methods=[one.method])
        for one in ENDPOINTS
    ]
