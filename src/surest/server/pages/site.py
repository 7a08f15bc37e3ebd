"""Pages for people: what studies there are and how each stands, and forms that only our own page can send."""

import asyncio
import json
from math import inf
from typing import Any, cast
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from surest.decision.write import is_checkable
from surest.errors import RewardError, SurestError, UsageError
from surest.report.page import LONG, reproduction, settings_rows
from surest.report.report import report_on
from surest.result.data import Result
from surest.result.questions import question
from surest.search.plan import plan as plan_of
from surest.search.session import may_grow
from surest.server import api
from surest.server.auth import COOKIE, csrf_of, holder_of, log_out, set_cookie
from surest.server.endpoints import Answer, Asked, Endpoint
from surest.server.errors import Refused, reason_of
from surest.server.events import streamed
from surest.server.pages import forms, view
from surest.server.pages.files import FILES, decided
from surest.server.pages.render import TEMPLATES, joining, page
from surest.server.studies import Moment
from surest.study.log import StoredTicket
from surest.study.study import Study
from surest.study.telling import Ask, Failure, Tell

STATES = ("running", "paused", "decided", "ended")
NONE_NOW = "There is nothing to evaluate right now: rewards of others are awaited. Try again shortly."
NONE_PAUSED = "The study is paused: no tickets are handed out."


# What there is


async def studies(request: Asked) -> Response:
    """All studies, or those that fit a search."""
    names = await request.service.studies.names()
    found = await asyncio.gather(*(_line(request, name) for name in names))
    wanted, chosen = request.query_params.get("q", "")[:200], request.query_params.get("state", "all")
    text, kinds = wanted.strip().casefold(), (chosen,) if chosen in STATES else STATES
    lines = [
        line
        for line in found
        if line["kind"] in kinds and any(text in one.casefold() for one in (line["name"], line["note"], *line["arms"]))
    ]
    lines.sort(key=lambda line: (-(line["last"] or 0.0), line["name"]))
    broken = [line for line in found if line["kind"] == "broken"]
    return page(request, "studies.html", lines=lines, broken=broken, total=len(names), q=wanted, chosen=chosen)


async def _line(request: Asked, name: str) -> dict[str, Any]:
    """A study in the list, or why it cannot be read: one that is damaged does not hide the others."""
    try:
        return await request.service.studies.of(name).made("line", view.line_of)
    except SurestError as error:
        return {"name": name, "kind": "broken", "reason": reason_of(error)}


async def study(request: Asked) -> Response:
    """How a study stands."""
    shown, service, has_tokens = await _shown(request), request.public_url, bool(request.service.tokens)
    result, at = shown.progress.result, (shown.study.id, len(shown.study.labels), service, has_tokens)
    about = await request.study.made("about", lambda study: _about(study, result, service, has_tokens), at)
    return page(request, "study.html", shown.study, shown=shown, **about)


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
    return page(request, "cells.html", await request.study.opened(), table=table, paged=True, page=number)


def page_number(request: Asked) -> int:
    """The page that the address asks for; the first where it says nothing that makes sense."""
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), 10**9) if text.isdecimal() and len(text) < 10 else 1


# What changes something


def to(path: str, **query: str) -> Response:
    """Go on to a page: a form that was sent is not sent again when that page is loaded anew."""
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)


def to_study(request: Asked, done: str) -> Response:
    """Go on to the page of the study, which says what was done."""
    return to(request.path_of(request.name), done=done)


def then(answer: Answer, done: str) -> Answer:
    """What a program can ask for too, from a page: it goes on to that of the study, which says what was done."""

    async def do(request: Asked, _: FormData) -> Response:
        await answer(request)
        return to_study(request, done)

    return do


async def create(request: Asked, form: FormData) -> Response:
    """Make a study, or say how many evaluations it will need. A mistake is told beside what was written."""
    problem, plan = None, ""
    try:
        if form:
            labels = forms.lines_of(form, "arms")
            if not labels:
                raise UsageError("there are no arms; write one per line")
            settings = forms.settings_of(form)
            api.check_settings(settings)
            items = await forms.items_of(form)
            if not forms.text_of(form, "plan"):
                name = forms.text_of(form, "name")
                await request.service.studies.create(name, labels, items=items, **settings)
                return to(request.path_of(name), done="made")
            plan = await asyncio.to_thread(_planned, form, labels, items, settings)
    except (UsageError, Refused) as error:  # refused: the name is taken
        problem = error
    return page(
        request,
        "new.html",
        problem=problem,
        plan=plan,
        fields=forms.fields(),
        questions=forms.QUESTIONS,
        further=forms.FURTHER,
        given={key: value for key, value in form.items() if isinstance(value, str)},
        file=getattr(form.get("items_file"), "filename", None),
    )


def _planned(form: FormData, arms: list[str], items: list[Any] | None, settings: dict[str, Any]) -> str:
    """How many evaluations such a study will need, from what somebody guesses."""
    rate = forms.number_of(forms.text_of(form, "guess"), "the guessed score")
    lead = forms.number_of(forms.text_of(form, "lead"), "the lead")
    names = ("delta", "epsilon", "cost", "cost_unit", "budget")
    given = {name: value for name, value in settings.items() if name in names}
    given |= {"baseline": rate, "lift": lead} if items is None else {"items": len(items), "score": rate, "gap": lead}
    return str(plan_of(arms=len(arms), runs=100, seconds=5.0, **given))


async def arms(request: Asked, form: FormData) -> Response:
    """Add arms."""
    problem = None
    if form:
        try:
            await request.study.change(Study.add_arms, forms.lines_of(form, "arms"))
            return to_study(request, "arms")
        except UsageError as error:
            problem = error
    study, _ = await request.study.there()
    return page(request, "arms.html", study, problem=problem, given=forms.text_of(form, "arms"))


async def delete(request: Asked, form: FormData) -> Response:
    """Delete a study, if its name is typed once more."""
    problem = None
    if form:
        if forms.text_of(form, "again") == request.name.strip():
            await request.study.delete()
            return to(f"{request.root}/", done="deleted")
        problem = UsageError("That is not the study's name. Nothing was deleted.")
    study, facts = await request.study.there()
    return page(request, "delete.html", study, problem=problem, told=facts.tickets - facts.open)


# A person as the evaluator


def person(request: Asked) -> str:
    """What the log calls whoever evaluates by hand: the token's name, and what tells browsers apart."""
    assert request.who is not None
    return f"{request.who.name} by hand ({csrf_of(request)[:6]})"


async def evaluate(request: Asked, problem: UsageError | None = None, waiting: str = "") -> Response:
    """The evaluation that is in a person's hands, with fields for its reward; or a button that asks for one."""
    ticket, finished = await request.study.call(_in_hand, person(request))
    study = await request.study.opened()
    told = request.query_params.get("told", "")
    return page(
        request,
        "evaluate.html",
        study,
        problem=problem,
        ticket=ticket,
        finished=finished,
        waiting=waiting,
        notice=f"Told: ticket {told}." if told.isdecimal() else None,
    )


def _in_hand(study: Study, worker: str) -> tuple[StoredTicket | None, bool]:
    """The ticket that a worker has, and whether there is nothing left to ask."""
    with study.at_one_moment(check=False) as (log, follower, facts):
        held = [t for t in log.read_tickets(study.id, open_by=inf) if t.worker == worker and t.lease > facts.now]
        return (held[0] if held else None), follower.catch_up(log).finished


async def ask(request: Asked, _: FormData, **query: str) -> Response:
    """Take a ticket; the one that is in hand, if there is one."""
    handed = await request.study.desk.submit(Ask(1, person(request), frozenset()))
    if handed.tickets or handed.finished:
        return to(f"{request.path_of(request.name)}/evaluate", **query)
    return await evaluate(request, waiting=NONE_PAUSED if handed.paused else NONE_NOW)


async def tell(request: Asked, form: FormData) -> Response:
    """Tell a reward, and go on to the next ticket."""
    number, text = forms.text_of(form, "ticket"), forms.text_of(form, "reward")
    try:
        study, _ = await request.study.there()
        low, high = study.settings.problem.bounds
        reward = forms.number_of(text, "the reward")
        if not low <= reward <= high:
            raise RewardError(f"the reward is {text[:60]}; give a number from {low:g} to {high:g}")
        await request.study.desk.submit(Tell([_ticket(number)], [reward], person(request)))
    except UsageError as error:
        return await evaluate(request, error)
    return await ask(request, form, told=number)


async def leave(request: Asked, form: FormData) -> Response:
    """Let the ticket that is in a person's hands be handed out to somebody else."""
    await request.study.change(Study.give_back, [_ticket(forms.text_of(form, "ticket"))], person(request))
    return to_study(request, "left")


def _ticket(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise UsageError(f"the ticket is {text[:60]!r}; give its number")
    return int(text)


async def fail(request: Asked, form: FormData) -> Response:
    """Say that an evaluation gave no reward: of one's own ticket, or of anybody's, for whoever administers the study."""
    number = _ticket(request.path_params["number"])
    if not form:
        study, _ = await request.study.there()
        ticket = await request.study.call(_open_ticket, number)
        return page(request, "fail.html", study, ticket=ticket)
    by_hand = forms.text_of(form, "back") == "evaluate"
    worker, reason = person(request) if by_hand else forms.text_of(form, "worker"), forms.text_of(form, "reason")
    if len(reason) > api.MOST_REASON:
        raise UsageError(f"the reason has {len(reason):,} characters; at most {api.MOST_REASON:,} are allowed")
    await request.study.desk.submit(Failure(number, reason, None, "failed", worker))
    return await ask(request, form) if by_hand else to_study(request, "failed")


def _open_ticket(study: Study, number: int) -> StoredTicket:
    with study.store.reading() as log:
        found = log.read_tickets(study.id, among=[number], open_by=inf)
    if not found:
        raise Refused(404, f"ticket {number} is not out: it was told, or never handed out")
    return found[0]


# Who is there


async def login(request: Asked, form: FormData) -> Response:
    """Take a token, and let the browser send it from now on."""
    if not form and not request.service.tokens:
        return to(f"{request.root}/")  # everybody on this machine is let in
    given = forms.text_of(form, "next") if form else request.query_params.get("next", "")
    onward, problem = forms.safe_next(given, request.root), None
    if form:
        token = forms.text_of(form, "token")
        if holder_of(request, token) is not None:
            response = to(onward)
            set_cookie(request, response, COOKIE, token)
            return response
        problem = Refused(401, "Unknown token. Check that all of it was copied.")
    return page(request, "login.html", problem=problem, next=onward)


async def logout(request: Asked, _: FormData) -> Response:
    """Let the browser forget its token."""
    return log_out(to(f"{request.root}/login"))


STUDY = "/studies/{name:name}"
PAGES = [
    Endpoint("GET", "/", "look", studies),
    Endpoint("GET POST", "/new", "administer", create, body=FormData, upload=True),
    Endpoint("GET POST", "/login", None, login, body=FormData),
    Endpoint("POST", "/logout", "look", logout, body=FormData),
    Endpoint("GET", STUDY, "look", study),
    Endpoint("GET", f"{STUDY}/live", "look", live),
    Endpoint("GET", f"{STUDY}/log", "look", log),
    Endpoint("GET", f"{STUDY}/cells", "look", cells, heavy=True),
    Endpoint("GET POST", f"{STUDY}/arms", "administer", arms, body=FormData),
    Endpoint("POST", f"{STUDY}/pause", "administer", then(api.pause, "paused"), body=FormData),
    Endpoint("POST", f"{STUDY}/resume", "administer", then(api.resume, "resumed"), body=FormData),
    Endpoint("GET POST", f"{STUDY}/delete", "administer", delete, body=FormData),
    Endpoint("GET", f"{STUDY}/evaluate", "work", evaluate),
    Endpoint("POST", f"{STUDY}/ask", "work", ask, body=FormData),
    Endpoint("POST", f"{STUDY}/tell", "work", tell, body=FormData),
    Endpoint("POST", f"{STUDY}/leave", "work", leave, body=FormData),
    Endpoint("GET POST", f"{STUDY}/tickets/{{number:name}}/fail", "work", fail, body=FormData),
    Endpoint("GET", f"{STUDY}/check", "look", check, heavy=True),
    *(Endpoint("GET", f"{STUDY}/{ending}", "look", file, heavy=True) for ending, file in FILES.items()),
]
