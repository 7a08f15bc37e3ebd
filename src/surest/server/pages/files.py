"""What can be taken away from a study's page: everything as JSON, rewards as CSV, a report."""

import asyncio
import csv
import gzip
import io
from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from surest.decision.chain import Chain
from surest.decision.write import decision_of
from surest.report.page import to_html, to_markdown
from surest.report.report import report_of_study, to_json
from surest.server.auth import Handler, needs
from surest.server.names import quoted
from surest.server.pages.render import service_of
from surest.server.studies import Studies
from surest.study.study import Study
from surest.study.transfer import spooled

FORMS = {"html": (to_html, "text/html"), "md": (to_markdown, "text/markdown"), "json": (to_json, "application/json")}
"""Forms of a report: how it is written, and what browsers call it."""


def as_file(name: str, suffix: str) -> dict[str, str]:
    """Headers by which a browser keeps a response as a file, and never shows it as a page of ours."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted(name)}{suffix}"}


def download(write: Callable[[Study, str], bytes], kind: str, suffix: str, called: str | None = None) -> Handler:
    """What a function writes of a study, given the service's address, as a file: called as the study unless a name is given."""

    async def file(request: Request) -> Response:
        name, studies = request.path_params["name"], request.app.state.studies
        data = await studies.with_study(name, write, service_of(request))
        return Response(data, media_type=kind, headers=as_file(called or name, suffix))

    return Handler(file, "look", heavy=True)


def report_as(form: str) -> Handler:
    """A report, as a file of its own: a page with pictures, Markdown or JSON."""
    write, kind = FORMS[form]

    def made(study: Study, service: str) -> bytes:
        own = Study(study.store, study.name)  # its replay keeps nobody waiting
        return write(report_of_study(own, service)).encode("utf-8", "replace")

    return download(made, kind, f".{form}")


def decided(study: Study) -> Chain:
    """The decision of a study as it stands."""
    return decision_of(Study(study.store, study.name).result(record=True))  # its replay keeps nobody waiting


PORTION = 1000  # tickets read at a time


def csv_of(study: Study) -> Iterator[str]:
    """The rewards of a study, a portion at a time.

    >>> import surest
    >>> study = surest.open_study("memory:csv", "demo", ["a, b", "c"], 0.1)
    >>> ticket, = study.ask(worker="me")
    >>> study.tell(ticket.id, 0.5)
    >>> print("".join(csv_of(study)).splitlines()[1].rpartition(",")[0])
    "a, b",0.5,0,me
    """
    heads = ["arm", *(["item"] if study.items else []), "value", "ticket", "worker", "told"]
    yield _csv([heads])
    with study.store.reading() as log:
        labels, items = study.labels, study.items
        for first in range(0, study.facts(log).tickets, PORTION):
            told = [t for t in log.read_tickets(study.id, first, first + PORTION) if t.reward is not None]
            yield _csv(
                [
                    labels[t.arm],
                    *(() if t.item is None else [items[t.item].key]),
                    repr(t.reward),
                    t.number,
                    t.worker,
                    t.told,
                ]
                for t in told
            )


rewards = download(lambda study, _: "".join(csv_of(study)).encode("utf-8", "replace"), "text/csv", ".csv")
"""Every told reward, as CSV: with columns that ``surest identify`` and ``surest evaluate`` read."""
decision = download(
    lambda study, _: gzip.compress(b"".join(decided(study).lines), mtime=0),
    "application/gzip",
    ".jsonl.gz",
    called="decision",
)
"""The verdict, or what is known so far, with all that it rests on."""


def _csv(rows: object) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


@needs("look", heavy=True)
async def export(request: Request) -> Response:
    """All of a study, as ``surest study export`` writes it."""
    return await exported(request.app.state.studies, request.path_params["name"])


PIECE = 1 << 16


async def exported(studies: Studies, name: str) -> StreamingResponse:
    """All of a study as JSON. It is read at one moment, and not at the pace of whoever downloads it."""
    file = await studies.with_study(name, _spooled)
    return StreamingResponse(_pieces(file), media_type="application/json", headers=as_file(name, ".json"))


def _spooled(study: Study) -> IO[bytes]:
    return spooled(Study(study.store, study.name))  # its replay keeps nobody waiting


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
