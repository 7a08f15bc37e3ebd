"""The service as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.convertors import register_url_convertor
from starlette.types import ASGIApp

from surest.server import api
from surest.server.events import Watches
from surest.server.guard import Guard
from surest.server.limits import Limits, Rate
from surest.server.logs import Metrics
from surest.server.names import NameConvertor
from surest.server.pages import show as pages
from surest.server.pages.live import Live
from surest.server.studies import Studies
from surest.server.tokens import Tokens
from surest.study.log import Store


class Service(Starlette):
    """Routes behind a guard, which also says what went wrong: Starlette's own layers for that would be in the way."""

    def build_middleware_stack(self) -> ASGIApp:
        """The guard, and the routes behind it."""
        return Guard(self.router, self.state)


def make_app(
    storage: str | Store, *, tokens: Tokens | Path | str | None = None, limits: Limits | None = None
) -> Starlette:
    """The service on a store.

    `tokens` say who may do what. Without them, or where there are none, every request from this machine may do everything, and
    requests under another name than localhost are refused.

    >>> app = make_app("memory:docs")
    >>> str(app.url_path_for("ask", name="prompts/2"))
    '/api/studies/prompts%2F2/ask'
    """
    known = tokens if isinstance(tokens, Tokens) else Tokens(None if tokens is None else Path(tokens))
    bounds = Limits() if limits is None else limits
    studies = Studies(storage, bounds)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await studies.call(lambda: studies.store.prepare(create=True))
        yield
        studies.end()

    register_url_convertor("name", NameConvertor())  # before routes are made that use it
    app = Service(routes=[*api.routes(), *pages.routes()], lifespan=lifespan)
    app.state.studies, app.state.tokens, app.state.limits = studies, known, bounds
    app.state.wrong = Rate(bounds.wrong_tokens, seconds=50.0)
    app.state.watches, app.state.metrics, app.state.live = Watches(studies), Metrics(), Live()
    return app
