"""Pages for people: what studies there are, and how each stands. `do` has those that change something."""

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from surest.decision.write import is_checkable
from surest.errors import SurestError
from surest.report.page import LONG, reproduction, settings_rows
from surest.report.report import report_on
from surest.result.questions import question
from surest.search.session import may_grow
from surest.server.auth import needs
from surest.server.errors import reason_of
from surest.server.pages import do, files
from surest.server.pages.live import live
from surest.server.pages.render import error_page as error_page  # for errors.py
from surest.server.pages.render import joining, page, service_of
from surest.server.pages.view import StudyLine, cell_table, log_page, named, pages_for
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


@needs("look")
async def studies(request: Request) -> Response:
    """All studies, or those that fit a search."""
    names = await request.app.state.studies.names()
    found = await asyncio.gather(*(_line(request, name) for name in names))
    wanted, chosen = request.query_params.get("q", "")[:200], request.query_params.get("state", "all")
    lines = [line for line in found if isinstance(line, StudyLine) and fits(line, wanted, chosen)]
    lines.sort(key=lambda line: (-(line.last or 0.0), line.name))
    broken = [line for line in found if not isinstance(line, StudyLine)]
    notice = NOTICES["deleted"] if request.query_params.get("done") == "deleted" else None
    values: dict[str, Any] = {"lines": lines, "broken": broken, "total": len(names), "q": wanted, "chosen": chosen}
    return page(request, "studies.html", notice=notice, **values)


async def _line(request: Request, name: str) -> StudyLine | tuple[str, str]:
    """A study in the list, or why it cannot be read: one that is damaged does not hide the others."""
    try:
        line: StudyLine = await request.app.state.live.line(request, name)
        return line
    except SurestError as error:
        return name, reason_of(error)


def fits(line: StudyLine, wanted: str, chosen: str) -> bool:
    """Whether a study is asked for: its name, its note or one of its arms has the words, and its state is the chosen one."""
    if chosen in STATES and line.kind != chosen:
        return False
    text = wanted.strip().casefold()
    return any(text in part.casefold() for part in (line.name, line.note, *line.arms))


@needs("look")
async def study(request: Request) -> Response:
    """How a study stands."""
    shown = await request.app.state.live.show(request, request.path_params["name"])
    seen, service = shown.seen, service_of(request)
    result = seen.report.result
    report = await request.app.state.studies.call(report_on, seen.study, result, service)
    return page(
        request, "study.html", study=seen.study, parts=shown.parts, says=shown.says, title=shown.title,
        told=seen.progress.told, finished=seen.progress.finished, asked=question(result.problem),
        note=result.problem.note, notice=NOTICES.get(request.query_params.get("done", "")),
        joining=joining(seen.study, service, bool(request.app.state.tokens)), again=reproduction(report),
        may_grow=may_grow(result.problem), checkable=is_checkable(result.problem),
        settings=settings_rows(report), long=LONG,
    )  # fmt: skip


@needs("look", heavy=True)
async def check(request: Request) -> Response:
    """The hash of a study's decision, and how somebody else can check it."""
    name = request.path_params["name"]
    chain = await request.app.state.studies.with_study(name, files.decided)
    claim = json.loads(chain.lines[-2])["words"]
    study = await request.app.state.studies.study(name)
    return page(request, "check.html", study=study, claim=claim, known_by=chain.known_by)


@needs("look")
async def log(request: Request) -> Response:
    """The log of a study, a page at a time."""
    name, number = request.path_params["name"], page_number(request)
    show = "events" if request.query_params.get("show") == "events" else "tickets"
    studies = request.app.state.studies
    rows, pages = await studies.with_study(name, log_page, number, show)
    study = await studies.study(name)
    return page(request, "log.html", study=study, rows=rows, page=number, pages=pages, show=show)


@needs("look", heavy=True)
async def cells(request: Request) -> Response:
    """The cells of a study on a list of items, a page at a time."""
    name, number = request.path_params["name"], page_number(request)

    def seen(study: Study) -> object:
        return cell_table(named(study.status().result, study), page=number)

    table = await request.app.state.studies.with_study(name, seen)
    study, pages = await request.app.state.studies.study(name), 1 if table is None else pages_for(table.items)
    return page(request, "cells.html", study=study, table=table, paged=True, page=number, pages=pages)


def page_number(request: Request) -> int:
    """The page that the address asks for; the first where it says nothing that makes sense."""
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), 10**9) if text.isdecimal() and len(text) < 10 else 1


STUDY = "/studies/{name:name}"


PAGES = [
    ("GET", "/", studies),
    ("GET POST", "/new", do.create),
    ("GET POST", "/login", do.login),
    ("POST", "/logout", do.logout),
    ("GET", STUDY, study),
    ("GET", f"{STUDY}/live", live),
    ("GET", f"{STUDY}/log", log),
    ("GET", f"{STUDY}/cells", cells),
    ("GET POST", f"{STUDY}/arms", do.arms),
    ("POST", f"{STUDY}/pause", do.pause),
    ("POST", f"{STUDY}/resume", do.pause),
    ("GET POST", f"{STUDY}/delete", do.delete),
    ("GET", f"{STUDY}/evaluate", do.evaluate),
    ("POST", f"{STUDY}/ask", do.ask),
    ("POST", f"{STUDY}/tell", do.tell),
    ("POST", f"{STUDY}/leave", do.leave),
    ("GET POST", f"{STUDY}/tickets/{{number:name}}/fail", do.fail),
    ("GET", f"{STUDY}/export.json", files.export),
    ("GET", f"{STUDY}/check", check),
    ("GET", f"{STUDY}/decision.jsonl.gz", files.decision),
    ("GET", f"{STUDY}/rewards.csv", files.rewards),
    *(("GET", f"{STUDY}/report.{form}", files.report_as(form)) for form in files.FORMS),
]


def routes() -> list[BaseRoute]:
    """The pages, and the files that they need."""
    return [
        *(Route(path, handler, methods=methods.split()) for methods, path, handler in PAGES),
        Mount("/static", StaticFiles(directory=Path(__file__).parents[1] / "static")),
    ]
