"""Pages that change something: each is a form that only our own page can send, and says what came of it."""

import asyncio
from math import inf
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from surest.errors import RewardError, UsageError
from surest.search.plan import plan as plan_of
from surest.server.api import MOST_REASON, check_settings
from surest.server.auth import COOKIE, csrf_of, holder_of, log_out, set_cookie
from surest.server.endpoints import Answer, Asked
from surest.server.errors import Refused
from surest.server.pages import forms
from surest.server.pages.render import page
from surest.study.log import StoredTicket
from surest.study.study import Study
from surest.study.telling import Ask, Failure, Tell

NONE_NOW = "There is nothing to evaluate right now: rewards of others are awaited. Try again shortly."
NONE_PAUSED = "The study is paused: no tickets are handed out."


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


# Studies


async def create(request: Asked, form: FormData | None = None) -> Response:
    """Make a study, or say how many evaluations it will need. A mistake is told beside what was written."""
    problem, plan = None, ""
    try:
        if form is not None:
            labels = forms.lines_of(form, "arms")
            if not labels:
                raise UsageError("there are no arms; write one per line")
            settings = forms.settings_of(form)
            check_settings(settings)
            items = await forms.items_of(form)
            if not forms.text_of(form, "plan"):
                name = forms.text_of(form, "name")
                await request.service.studies.create(name, labels, items=items, **settings)
                return to(request.path_of(name), done="made")
            plan = await asyncio.to_thread(_planned, form, labels, items, settings)
    except (UsageError, Refused) as error:  # refused: the name is taken
        problem = error
    sent = FormData() if form is None else form
    return page(
        request,
        "new.html",
        problem=problem,
        plan=plan,
        fields=forms.fields(),
        questions=forms.QUESTIONS,
        further=forms.FURTHER,
        given={key: value for key, value in sent.items() if isinstance(value, str)},
        file=getattr(sent.get("items_file"), "filename", None),
    )


def _planned(form: FormData, arms: list[str], items: list[Any] | None, settings: dict[str, Any]) -> str:
    """How many evaluations such a study will need, from what somebody guesses."""
    rate = forms.number_of(forms.text_of(form, "guess"), "the guessed score")
    lead = forms.number_of(forms.text_of(form, "lead"), "the lead")
    names = ("delta", "epsilon", "cost", "cost_unit", "budget")
    given = {name: value for name, value in settings.items() if name in names}
    given |= {"baseline": rate, "lift": lead} if items is None else {"items": len(items), "score": rate, "gap": lead}
    return str(plan_of(arms=len(arms), runs=100, seconds=5.0, **given))


async def arms(request: Asked, form: FormData | None = None) -> Response:
    """Add arms."""
    problem = None
    if form is not None:
        try:
            await request.study.change(Study.add_arms, forms.lines_of(form, "arms"))
            return to_study(request, "arms")
        except UsageError as error:
            problem = error
    given = "" if form is None else forms.text_of(form, "arms")
    study, _ = await request.study.there()
    return page(request, "arms.html", study, problem=problem, given=given)


async def delete(request: Asked, form: FormData | None = None) -> Response:
    """Delete a study, if its name is typed once more."""
    problem = None
    if form is not None:
        if forms.text_of(form, "again") == request.name.strip():
            await request.study.delete()
            return to(f"{request.root}/", done="deleted")
        problem = UsageError("That is not the study's name. Nothing was deleted.")
    study, facts = await request.study.there()
    return page(request, "delete.html", study, problem=problem, told=facts.told)


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


async def fail(request: Asked, form: FormData | None = None) -> Response:
    """Say that an evaluation gave no reward: of one's own ticket, or of anybody's, for whoever administers the study."""
    number = _ticket(request.path_params["number"])
    if form is None:
        study, _ = await request.study.there()
        ticket = await request.study.call(_open_ticket, number)
        return page(request, "fail.html", study, ticket=ticket)
    by_hand = forms.text_of(form, "back") == "evaluate"
    worker, reason = person(request) if by_hand else forms.text_of(form, "worker"), forms.text_of(form, "reason")
    if len(reason) > MOST_REASON:
        raise UsageError(f"the reason has {len(reason):,} characters; at most {MOST_REASON:,} are allowed")
    await request.study.desk.submit(Failure(number, reason, None, "failed", worker))
    return await ask(request, form) if by_hand else to_study(request, "failed")


def _open_ticket(study: Study, number: int) -> StoredTicket:
    with study.store.reading() as log:
        found = log.read_tickets(study.id, among=[number], open_by=inf)
    if not found:
        raise Refused(404, f"ticket {number} is not out: it was told, or never handed out")
    return found[0]


# Who is there


async def login(request: Asked, form: FormData | None = None) -> Response:
    """Take a token, and let the browser send it from now on."""
    if form is None and not request.service.tokens:
        return to(f"{request.root}/")  # everybody on this machine is let in
    given = request.query_params.get("next", "") if form is None else forms.text_of(form, "next")
    onward, problem = forms.safe_next(given, request.root), None
    if form is not None:
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
