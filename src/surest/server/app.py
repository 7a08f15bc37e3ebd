"""The service as an ASGI application."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.convertors import register_url_convertor
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from surest.server import api
from surest.server.endpoints import NameConvertor
from surest.server.guard import Guard, Rate
from surest.server.limits import Limits
from surest.server.logs import Metrics
from surest.server.pages import site
from surest.server.studies import Studies
from surest.server.tokens import Tokens
from surest.study.log import Store


class Service(Starlette):
    """Routes behind a guard, which also says what went wrong: Starlette's own layers for that would be in the way."""

    def __init__(self, storage: str | Store, tokens: Tokens, limits: Limits) -> None:
        register_url_convertor("name", NameConvertor())  # before routes are made that use it
        self.studies, self.tokens, self.limits = Studies(storage, limits), tokens, limits
        self.wrong = Rate(limits.wrong_tokens, seconds=50.0)
        self.watching: Counter[str] = Counter()  # browsers that watch a study, by sender
        self.metrics = Metrics()
        pages = [endpoint.route() for endpoint in (*api.ENDPOINTS, *site.PAGES)]
        files = Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
        super().__init__(routes=[*pages, files], lifespan=self._lifetime)

    def build_middleware_stack(self) -> ASGIApp:
        """The guard, and the routes behind it."""
        return Guard(self.router, self)

    @asynccontextmanager
    async def _lifetime(self, _: Starlette) -> AsyncIterator[None]:
        await self.studies.call(lambda: self.studies.store.prepare(create=True))
        yield
        self.studies.end()


def make_app(
    storage: str | Store, *, tokens: Tokens | Path | str | None = None, limits: Limits | None = None
) -> Service:
    """The service on a store.

    `tokens` say who may do what. Without them, or where there are none, every request from this machine may do everything, and
    requests under another name than localhost are refused.

    >>> app = make_app("memory:docs")
    >>> str(app.url_path_for("ask", name="prompts/2"))
    '/api/studies/prompts%2F2/ask'
    """
    known = tokens if isinstance(tokens, Tokens) else Tokens(None if tokens is None else Path(tokens))
    return Service(storage, known, Limits() if limits is None else limits)
