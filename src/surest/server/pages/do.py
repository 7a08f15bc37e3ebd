"""Pages that change something: each is a form that only our own page can send, and says what came of it."""

import asyncio
import json
from collections.abc import Mapping
from math import inf
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from surest.errors import RewardError, SurestError, UsageError
from surest.search.plan import plan as plan_of
from surest.server.api import check_settings
from surest.server.auth import count_wrong, csrf_of, log_in, log_out, needs
from surest.server.bodies import MOST_REASON
from surest.server.errors import Refused, status_of
from surest.server.pages import forms
from surest.server.pages.render import page, path_of, root_of
from surest.study.log import StoredTicket
from surest.study.study import Study
from surest.study.telling import Failure, Tell

NONE_NOW = "There is nothing to evaluate right now: rewards of others are awaited. Try again shortly."
NONE_PAUSED = "The study is paused: no tickets are handed out."


def to(path: str, **query: str) -> Response:
    """Go on to a page: a form that was sent is not sent again when that page is loaded anew."""
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)


# Studies
@needs("administer")
async def create(request: Request) -> Response:
    """Make a study."""
    if request.method != "POST":
        return _new(request, {})
    form = await forms.form_of(request, request.app.state.limits.upload)
    try:
        labels = forms.lines_of(form, "arms")
        if not labels:
            raise UsageError("there are no arms; write one per line")
        settings = forms.settings_of(form)
        check_settings(settings)
        if forms.text_of(form, "plan"):
            items = await forms.items_of(form)
            told = await asyncio.to_thread(_planned, form, len(labels), None if items is None else len(items), settings)
            return _new(request, form, plan=told)
        made = await request.app.state.studies.create(
            forms.text_of(form, "name"), labels, items=await forms.items_of(form), **settings
        )
    except (UsageError, Refused) as error:  # refused: the name is taken
        return _new(request, form, error)
    finally:
        await form.close()
    return to(path_of(request, made.name), done="made")


def _planned(form: Any, arms: int, items: int | None, settings: dict[str, Any]) -> str:
    """How many evaluations such a study will need, from what somebody guesses."""
    rate = forms.number_of(forms.text_of(form, "guess"), "the guessed score")
    lead = forms.number_of(forms.text_of(form, "lead"), "the lead")
    own = {
        name: value for name, value in settings.items() if name in ("delta", "epsilon", "cost", "cost_unit", "budget")
    }
    guess: dict[str, Any] = (
        {"baseline": rate, "lift": lead} if items is None else {"items": items, "score": rate, "gap": lead}
    )
    return str(plan_of(arms=arms, runs=100, seconds=5.0, **guess, **own))


def _new(request: Request, form: Mapping[str, Any], error: SurestError | None = None, plan: str = "") -> Response:
    """The form for a new study; with what was written before, and what was wrong with it."""
    again = " (choose the file of items again)" if getattr(form.get("items_file"), "filename", "") else ""
    return page(
        request,
        "new.html",
        200 if error is None else status_of(error),
        fields=forms.fields(),
        plan=plan,
        questions=forms.QUESTIONS,
        further=forms.FURTHER,
        problem=None if error is None else f"{error}{again}",
        given={key: value for key, value in form.items() if isinstance(value, str)},
    )


@needs("administer")
async def arms(request: Request) -> Response:
    """Add arms."""
    name, given, problem = request.path_params["name"], "", None
    studies = request.app.state.studies
    if request.method == "POST":
        form = await forms.form_of(request)
        given = forms.text_of(form, "arms")
        try:
            await studies.add_arms(name, forms.lines_of(form, "arms"))
        except UsageError as error:
            problem = error
        else:
            return to(path_of(request, name), done="arms")
    status = 200 if problem is None else status_of(problem)
    return page(request, "arms.html", status, study=await studies.there(name), given=given, problem=problem)


@needs("administer")
async def pause(request: Request) -> Response:
    """Hand out no more tickets, or, where the address says so, hand them out again."""
    await forms.form_of(request)
    name, paused = request.path_params["name"], request.url.path.endswith("/pause")
    await request.app.state.studies.pause(name, paused)
    return to(path_of(request, name), done="paused" if paused else "resumed")


@needs("administer")
async def delete(request: Request) -> Response:
    """Delete a study, if its name is typed once more."""
    name, problem = request.path_params["name"], None
    studies = request.app.state.studies
    if request.method == "POST":
        form = await forms.form_of(request)
        if forms.text_of(form, "again") == name.strip():
            await studies.delete(name)
            return to(f"{root_of(request)}/", done="deleted")
        problem = "That is not the study's name. Nothing was deleted."
    study, told = await studies.there(name), await studies.with_study(name, _told)
    return page(request, "delete.html", 400 if problem else 200, study=study, told=told, problem=problem)


def _told(study: Study) -> int:
    with study.store.reading() as log:
        return study.facts(log).told


# A person as the evaluator
def person(request: Request) -> str:
    """What the log calls whoever evaluates by hand: the token's name, and what tells browsers apart."""
    return f"{request.state.who.name} by hand ({csrf_of(request)[:6]})"


@needs("work")
async def evaluate(request: Request) -> Response:
    """The evaluation that is in a person's hands, with fields for its reward; or a button that asks for one."""
    return await _evaluate(request)


async def _evaluate(request: Request, problem: SurestError | None = None, waiting: str = "") -> Response:
    name = request.path_params["name"]
    ticket, finished = await request.app.state.studies.with_study(name, _in_hand, person(request))
    study = await request.app.state.studies.study(name)
    low, high = study.settings.problem.bounds
    return page(
        request, "evaluate.html", 200 if problem is None else status_of(problem), study=study,
        ticket=None if ticket is None else ticket_words(study, ticket), finished=finished, waiting=waiting, problem=problem,
        notice=f"Told: ticket {told}." if (told := request.query_params.get("told", "")).isdecimal() else None,
        low=low, high=high, minimise=study.settings.problem.minimise,
    )  # fmt: skip


def _in_hand(study: Study, worker: str) -> tuple[StoredTicket | None, bool]:
    """The ticket that a worker has, and whether there is nothing left to ask."""
    with study.at_one_moment(check=False) as (log, follower, facts):
        held = [t for t in log.read_tickets(study.id, open_by=inf) if t.worker == worker and t.lease > facts.now]
        return (held[0] if held else None), follower.catch_up(log).finished


def ticket_words(study: Study, ticket: StoredTicket) -> dict[str, Any]:
    """A ticket as a page shows it, with what is known of its item."""
    item = None if ticket.item is None else study.items[ticket.item]
    known = None if item is None or item.payload is None else json.loads(item.payload)
    fields = [(name, _text(value)) for name, value in known.items()] if isinstance(known, dict) else []
    payload = None if known is None else _text(known)
    arm, key = study.labels[ticket.arm], None if item is None else item.key
    words = {"number": ticket.number, "arm": arm, "item": key, "worker": ticket.worker}
    return {**words, "payload": payload, "fields": fields}


def _text(value: Any) -> str:
    """What an item holds, for a person."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


@needs("work")
async def ask(request: Request) -> Response:
    """Take a ticket; the one that is in hand, if there is one."""
    await forms.form_of(request)
    return await _next(request)


async def _next(request: Request, **query: str) -> Response:
    name = request.path_params["name"]
    handed = await request.app.state.studies.desk(name).ask(1, person(request), held=())
    if handed.tickets or handed.finished:
        return to(f"{path_of(request, name)}/evaluate", **query)
    return await _evaluate(request, waiting=NONE_PAUSED if handed.paused else NONE_NOW)


@needs("work")
async def tell(request: Request) -> Response:
    """Tell a reward, and go on to the next ticket."""
    form, name = await forms.form_of(request), request.path_params["name"]
    number = forms.text_of(form, "ticket")
    try:
        reward = await _reward(request, name, forms.text_of(form, "reward"))
        await request.app.state.studies.desk(name).submit(Tell([_ticket(number)], [reward], person(request)))
    except UsageError as error:
        return await _evaluate(request, error)
    return await _next(request, told=number)


async def _reward(request: Request, name: str, text: str) -> float:
    """A reward that a person wrote; refused in words for a person where it is out of the study's bounds."""
    low, high = (await request.app.state.studies.there(name)).settings.problem.bounds
    reward = forms.number_of(text, "the reward")
    if not low <= reward <= high:
        raise RewardError(f"the reward is {text[:60]}; give a number from {low:g} to {high:g}")
    return reward


@needs("work")
async def leave(request: Request) -> Response:
    """Let the ticket that is in a person's hands be handed out to somebody else."""
    form, name = await forms.form_of(request), request.path_params["name"]
    studies = request.app.state.studies
    await studies.with_study(name, Study.give_back, [_ticket(forms.text_of(form, "ticket"))], person(request))
    studies.stir(name)
    return to(path_of(request, name), done="left")


def _ticket(text: str) -> int:
    if not text.isdecimal() or len(text) > 19:
        raise UsageError(f"the ticket is {text[:60]!r}; give its number")
    return int(text)


@needs("work")
async def fail(request: Request) -> Response:
    """Say that an evaluation gave no reward: of one's own ticket, or of anybody's, for whoever administers the study."""
    name, number = request.path_params["name"], _ticket(request.path_params["number"])
    studies = request.app.state.studies
    if request.method == "POST":
        form = await forms.form_of(request)
        by_hand = forms.text_of(form, "back") == "evaluate"
        worker, reason = person(request) if by_hand else forms.text_of(form, "worker"), forms.text_of(form, "reason")
        if len(reason) > MOST_REASON:
            raise UsageError(f"the reason has {len(reason):,} characters; at most {MOST_REASON:,} are allowed")
        await studies.desk(name).submit(Failure(number, reason, None, "failed", worker))
        return await _next(request) if by_hand else to(path_of(request, name), done="failed")
    study = await studies.there(name)
    ticket = await studies.with_study(name, _open_ticket, number)
    return page(request, "fail.html", study=study, ticket=ticket_words(study, ticket), effect=_effect(study))


def _open_ticket(study: Study, number: int) -> StoredTicket:
    with study.store.reading() as log:
        found = log.read_tickets(study.id, among=[number], open_by=inf)
    if not found:
        raise Refused(404, f"ticket {number} is not out: it was told, or never handed out")
    return found[0]


def _effect(study: Study) -> str:
    """What becomes of a ticket that fails."""
    handling = study.settings.handling
    if handling.on_failure is None:
        return "Its evaluation is then handed out again."
    often = "once" if handling.retries == 1 else f"{handling.retries} times"
    when = f"as soon as it has failed more than {often}" if handling.retries else "at once"
    return f"It then counts as the reward {handling.on_failure:g} {when}, as the study's settings say."


# Who is there
@needs(None)
async def login(request: Request) -> Response:
    """Take a token, and let the browser send it from now on."""
    root = root_of(request)
    if request.method != "POST" and not request.app.state.tokens:
        return to(f"{root}/")  # everybody on this machine is let in
    if request.method != "POST":
        onward = forms.safe_next(request.query_params.get("next", ""), root)
        return page(request, "login.html", problem=None, next=onward)
    form = await forms.form_of(request)
    onward, token = forms.safe_next(forms.text_of(form, "next"), root), forms.text_of(form, "token")
    if request.app.state.tokens.identify(token) is None:
        count_wrong(request, request.app.state.wrong)
        problem = "Unknown token. Check that all of it was copied."
        return page(request, "login.html", 401, problem=problem, next=onward)
    return log_in(request, to(onward), token)


@needs("look")
async def logout(request: Request) -> Response:
    """Let the browser forget its token."""
    await forms.form_of(request)
    return log_out(to(f"{root_of(request)}/login"))
