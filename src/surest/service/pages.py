"""Pages for people: what studies there are, how each stands, and forms to do something about it."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from surest.service.auth import csrf_of, needs, visited

TEMPLATES = Environment(
    loader=PackageLoader("surest.service", "templates"), autoescape=select_autoescape(default=True), trim_blocks=True
)


def page(request: Request, template: str, /, status: int = 200, **values: object) -> Response:
    """A page, with what every page needs."""
    text = TEMPLATES.get_template(template).render(who=request.state.who, csrf=csrf_of(request), **values)
    return visited(request, HTMLResponse(text, status))


def error_page(request: Request, status: int, reason: str, headers: Mapping[str, str]) -> Response:
    """What went wrong, for people."""
    made = page(request, "error.html", status, code=status, reason=reason)
    made.headers.update(headers)
    return made


@needs("look")
async def studies(request: Request) -> Response:
    """All studies."""
    return page(request, "studies.html", names=await request.app.state.studies.names())


def routes() -> list[BaseRoute]:
    """The pages, and the files that they need."""
    return [
        Route("/", studies),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]
