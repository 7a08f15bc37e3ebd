"""Pages for people: what studies there are, and how each stands. `do` has those that change something."""

import asyncio
import json
from typing import Any, cast

from starlette.datastructures import FormData
from starlette.responses import Response

from surest.decision.write import is_checkable
from surest.errors import SurestError
from surest.report.page import LONG, reproduction, settings_rows
from surest.report.report import report_on
from surest.result.data import Result
from surest.result.questions import question
from surest.search.session import may_grow
from surest.server import api
from surest.server.endpoints import Asked, Endpoint
from surest.server.errors import reason_of
from surest.server.events import streamed
from surest.server.pages import do, view
from surest.server.pages.files import FILES, decided
from surest.server.pages.render import TEMPLATES, joining, page
from surest.study.outcome import Moment
from surest.study.study import Study

STATES = ("running", "paused", "decided", "ended")
NOTICES = {
    "made": "The study is made. Workers can join now; below are the commands.",
    "arms": "The arms are added. The algorithm learns of them once its current request is answered.",
    "paused": "Paused: no more tickets are handed out. Rewards for outstanding tickets still count.",
    "resumed": "Tickets are handed out again.",
    "left": "You returned your ticket: somebody else gets it.",
    "failed": "The ticket has failed; the log says so.",
    "deleted": "The study is deleted.",
}
"""What a page says after a form was sent: the address names one of these, so that nobody else can put words there."""


async def studies(request: Asked) -> Response:
    """All studies, or those that fit a search."""
    names = await request.service.studies.names()
    found = await asyncio.gather(*(_line(request, name) for name in names))
    wanted, chosen = request.query_params.get("q", "")[:200], request.query_params.get("state", "all")
    text, kinds = wanted.strip().casefold(), (chosen,) if chosen in STATES else STATES
    lines, broken = [], []
    for line in found:
        if isinstance(line, tuple):
            broken.append(line)
        elif line["kind"] in kinds and any(
            text in one.casefold() for one in (line["name"], line["note"], *line["arms"])
        ):
            lines.append(line)
    lines.sort(key=lambda line: (-(line["last"] or 0.0), line["name"]))
    notice = NOTICES["deleted"] if request.query_params.get("done") == "deleted" else None
    return page(
        request, "studies.html", lines=lines, broken=broken, total=len(names), notice=notice, q=wanted, chosen=chosen
    )


async def _line(request: Asked, name: str) -> dict[str, Any] | tuple[str, str]:
    """A study in the list, or why it cannot be read: one that is damaged does not hide the others."""
    try:
        return await request.service.studies.of(name).made("line", view.line_of)
    except SurestError as error:
        return name, reason_of(error)


async def study(request: Asked) -> Response:
    """How a study stands."""
    shown, service, has_tokens = await _shown(request), request.public_url, bool(request.service.tokens)
    result, at = shown.progress.result, (shown.study.id, len(shown.study.labels), service, has_tokens)
    about = await request.study.made("about", lambda study: _about(study, result, service, has_tokens), at)
    notice = NOTICES.get(request.query_params.get("done", ""))
    return page(request, "study.html", shown.study, shown=shown, notice=notice, **about)


def _about(study: Study, result: Result, service: str, has_tokens: bool) -> dict[str, Any]:
    """What a study's page says that changes with its arms alone: what is asked, how to join, and how to do it again."""
    report, macros = report_on(study, result, service), cast(Any, TEMPLATES.get_template("pictures.html").module)
    return {
        "asked": question(result.problem),
        "note": result.problem.note,
        "joining": joining(study, service, has_tokens),
        "again": macros.again_lines(reproduction(report), LONG),
        "may_grow": may_grow(result.problem),
        "checkable": is_checkable(result.problem),
        "settings": settings_rows(report),
    }


async def live(request: Asked) -> Response:
    """The parts of a study's page, sent as server-sent events whenever they change."""

    async def told(moment: Moment) -> str:
        return (await _shown(request, moment)).event()

    return await streamed(request, told, "event: beat\ndata:\n\n")


async def _shown(request: Asked, at: Moment | None = None) -> view.Shown:
    """The page of a study, made once for all who look at it at the same moment."""
    served, path = request.study, request.path_of(request.name)
    may_work = request.who is not None and request.who.may("work")
    return await served.made((path, may_work), lambda study: view.shown(study, served, path, may_work), at)


async def check(request: Asked) -> Response:
    """The hash of a study's decision, and how somebody else can check it."""
    chain = await request.study.call(decided)
    claim = json.loads(chain.lines[-2])["words"]
    return page(request, "check.html", await request.study.opened(), claim=claim, known_by=chain.known_by)


async def log(request: Asked) -> Response:
    """The log of a study, a page at a time."""
    number, show = page_number(request), "events" if request.query_params.get("show") == "events" else "tickets"
    rows, pages = await request.study.call(view.log_page, number, show)
    return page(request, "log.html", await request.study.opened(), rows=rows, page=number, pages=pages, show=show)


async def cells(request: Asked) -> Response:
    """The cells of a study on a list of items, a page at a time."""
    number = page_number(request)
    table = await request.study.call(lambda study: view.cell_table(study, study.status().result, number))
    study, pages = await request.study.opened(), 1 if table is None else view.pages_for(table["seen"])
    return page(request, "cells.html", study, table=table, paged=True, page=number, pages=pages)


def page_number(request: Asked) -> int:
    """The page that the address asks for; the first where it says nothing that makes sense."""
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), 10**9) if text.isdecimal() and len(text) < 10 else 1


STUDY = "/studies/{name:name}"
PAGES = [
    Endpoint("GET", "/", "look", studies),
    Endpoint("GET POST", "/new", "administer", do.create, body=FormData, upload=True),
    Endpoint("GET POST", "/login", None, do.login, body=FormData),
    Endpoint("POST", "/logout", "look", do.logout, body=FormData),
    Endpoint("GET", STUDY, "look", study),
    Endpoint("GET", f"{STUDY}/live", "look", live),
    Endpoint("GET", f"{STUDY}/log", "look", log),
    Endpoint("GET", f"{STUDY}/cells", "look", cells, heavy=True),
    Endpoint("GET POST", f"{STUDY}/arms", "administer", do.arms, body=FormData),
    Endpoint("POST", f"{STUDY}/pause", "administer", do.then(api.pause, "paused"), body=FormData),
    Endpoint("POST", f"{STUDY}/resume", "administer", do.then(api.resume, "resumed"), body=FormData),
    Endpoint("GET POST", f"{STUDY}/delete", "administer", do.delete, body=FormData),
    Endpoint("GET", f"{STUDY}/evaluate", "work", do.evaluate),
    Endpoint("POST", f"{STUDY}/ask", "work", do.ask, body=FormData),
    Endpoint("POST", f"{STUDY}/tell", "work", do.tell, body=FormData),
    Endpoint("POST", f"{STUDY}/leave", "work", do.leave, body=FormData),
    Endpoint("GET POST", f"{STUDY}/tickets/{{number:name}}/fail", "work", do.fail, body=FormData),
    Endpoint("GET", f"{STUDY}/check", "look", check, heavy=True),
    *(Endpoint("GET", f"{STUDY}/{ending}", "look", file, heavy=True) for ending, file in FILES.items()),
]
