"""Templates, and what every page needs."""

import json
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from jinja2 import ChoiceLoader, PackageLoader
from starlette.responses import HTMLResponse, JSONResponse, Response

from surest import __version__
from surest.errors import SurestError
from surest.report.pictures import TEMPLATES as REPORTS
from surest.server.auth import COOKIE, VISIT, csrf_of, log_out, set_cookie
from surest.server.endpoints import Asked, quoted
from surest.server.errors import RETRY_SECONDS, Refused, reason_of, status_of
from surest.study.study import Study
from surest.text import count, counted, guessed, seconds_words, shell_line, shortened, visible


def moment(at: float) -> str:
    """A time as pages and programs read it.

    >>> moment(0.0)
    '1970-01-01 00:00:00Z'
    """
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (OverflowError, ValueError, OSError):  # an imported log may say anything
        return "–"


def clipped(text: object, most: int = 100) -> str:
    """Text of users in a row of a table: what is long is cut in the middle."""
    return shortened(visible(str(text)), most)


def opening(text: object) -> str:
    """The beginning of a text that may be long."""
    said = visible(str(text))
    return said if len(said) <= 200 else f"{said[:199].rstrip()}…"


def written(value: object) -> str:
    """What an item holds, for a person."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


TEMPLATES = REPORTS.overlay(loader=ChoiceLoader([PackageLoader("surest.server"), PackageLoader("surest.report")]))
TEMPLATES.filters |= {"shown_lines": partial(visible, keep="\n\t"), "shortened": partial(clipped, most=24)}
TEMPLATES.filters |= {"clipped": clipped, "opening": opening, "counted": count, "number_of": counted, "moment": moment}
TEMPLATES.filters |= {"read": json.loads, "written": written, "guessed": guessed}
TEMPLATES.globals["seconds_words"] = seconds_words


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


def page(request: Asked, template: str, study: Study | None = None, status: int = 0, **values: Any) -> Response:
    """A page, with what every page needs: which study it is about, and the problem with what was sent, if there was one."""
    problem = values.setdefault("problem", None)
    values.setdefault("notice", NOTICES.get(request.query_params.get("done", "")))
    text = TEMPLATES.get_template(template).render(
        who=request.who,
        csrf=csrf_of(request),
        root=request.root,
        version=__version__,
        has_tokens=bool(request.service.tokens),
        study_path=request.path_of,
        study=study,
        path=None if study is None else request.path_of(study.name),
        **values,
    )
    response = HTMLResponse(text, status or (200 if problem is None else status_of(problem)))
    if request.secret not in request.cookies.values():
        set_cookie(request, response, VISIT, request.secret)  # which its forms need
    return response


def response_to(request: Asked, error: Exception) -> Response:
    """What went wrong, as JSON for programs and as a page for people."""
    status, headers = status_of(error), dict(getattr(error, "headers", None) or {})
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="surest"'
    after = error.retry_after if isinstance(error, Refused) else RETRY_SECONDS if status == 503 else None
    if after is not None:
        headers["Retry-After"] = f"{max(1, round(after))}"
    where = request.service.studies.store.shown  # which is nobody's business
    reason = reason_of(error).replace(where, "this service")
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        # Clients raise it again.
        kind = type(error).__name__ if isinstance(error, SurestError) else "SurestError"
        return JSONResponse({"error": {"kind": kind, "message": reason}}, status, headers)
    words = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Error"
    query, back = request.url.query, ""
    if request.method == "GET":
        back = request.scope["path"] + (f"?{query}" if query else "")
    is_login = status == 401 and request.method == "GET" and not request.cookies.get(COOKIE)
    template = "login.html" if is_login else "error.html"
    made = page(request, template, status=status, code=status, words=words, reason=reason, next=back)
    made.headers.update(headers)
    return log_out(made) if status == 401 else made  # else a token that was revoked would keep a browser out of /login


def joining(study: Study, service: str, has_tokens: bool) -> dict[str, str]:
    """What to run in order to evaluate tickets, by what it is good for."""
    words = ["./evaluate", "{arm}", *(["{item}"] if study.items else [])]
    named = ["--", study.name] if study.name.startswith("-") else [study.name, "--"]
    item = ", study.item_of(ticket).key" if study.items else ""
    token = '-H "Authorization: Bearer $SUREST_TOKEN" ' if has_tokens else ""
    curl = f"curl -s {token}-H 'Content-Type: application/json' {service}/api/studies/{quoted(study.name)}"
    ask, tell = '{"worker": "ann", "wait": 30, "held": []}', '{"worker": "ann", "ticket": 0, "reward": 0.71}'
    of_token = "; its token is in the variable SUREST_TOKEN" if has_tokens else ""
    return {
        f"A command of yours whose last line is the reward{of_token}": shell_line(
            ["surest", "study", "work", "--storage", service, *named, *words]
        ),
        "In Python": f"study = surest.open_study({service!r}, {study.name!r})\n"
        "while not study.finished:\n"
        "    for ticket in study.ask():\n"
        f"        study.tell(ticket.id, evaluate(ticket.label{item}))",
        "Over HTTP, from any language": f"{curl}/ask -d '{ask}'\n{curl}/tell -d '{tell}'",
    }
