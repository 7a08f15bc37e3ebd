"""What can be taken away from a study's page: everything as JSON, rewards as CSV, a report."""

import gzip
from collections.abc import Callable, Iterator
from typing import IO

from starlette.responses import Response, StreamingResponse

from surest.decision.chain import Chain
from surest.decision.write import decision_of
from surest.report.page import Report, to_html, to_markdown
from surest.report.report import report_of_study, to_json
from surest.server.endpoints import Answer, Asked, quoted
from surest.study.study import Study
from surest.study.transfer import spooled
from surest.writing import as_csv

PORTION = 1000  # tickets read at a time
PIECE = 1 << 16  # bytes of an export sent at a time


def as_file(name: str, suffix: str) -> dict[str, str]:
    """Headers by which a browser keeps a response as a file, and never shows it as a page of ours."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted(name)}{suffix}"}


def download(kind: str, suffix: str, write: Callable[[Study, str], str | bytes], called: str | None = None) -> Answer:
    """What a function writes of a study, given the service's address, as a file: called as the study unless a name is given."""

    def written(study: Study, service: str) -> bytes:
        found = write(study, service)
        return found if isinstance(found, bytes) else found.encode("utf-8", "replace")

    async def file(request: Asked) -> Response:
        data = await request.study.call(written, request.public_url)
        return Response(data, media_type=kind, headers=as_file(called or request.name, suffix))

    return file


def report(kind: str, suffix: str, write: Callable[[Report], str]) -> Answer:
    """A report on a study as a file."""
    return download(kind, suffix, lambda study, service: write(report_of_study(again(study), service)))


def again(study: Study) -> Study:
    """The same study with a session of its own, whose replay keeps nobody waiting."""
    return Study(study.store, study.name)


def decided(study: Study) -> Chain:
    """The decision of a study as it stands."""
    return decision_of(again(study).result(record=True))


def csv_of(study: Study) -> Iterator[str]:
    """The rewards of a study, a portion at a time."""
    listed = ["item"] if study.items else []
    yield as_csv([["arm", *listed, "value", "ticket", "worker", "told"]])
    with study.store.reading() as log:
        labels, items = study.labels, study.items
        for first in range(0, study.facts(log).tickets, PORTION):
            told = [t for t in log.read_tickets(study.id, first, first + PORTION) if t.reward is not None]
            keys = [[] if t.item is None else [items[t.item].key] for t in told]
            yield as_csv(
                [labels[t.arm], *key, repr(t.reward), t.number, t.worker, t.told]
                for t, key in zip(told, keys, strict=True)
            )


async def export(request: Asked) -> StreamingResponse:
    """All of a study, as 'surest study export' writes it.

    It is read at one moment, and not at the pace of whoever downloads it.
    """
    file = await request.study.call(lambda study: spooled(again(study)))
    return StreamingResponse(_pieces(file), media_type="application/json", headers=as_file(request.name, ".json"))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(PIECE), b"")


FILES: dict[str, Answer] = {
    "export.json": export,
    "decision.jsonl.gz": download(
        "application/gzip",
        ".jsonl.gz",
        lambda study, _: gzip.compress(b"".join(decided(study).lines), mtime=0),
        "decision",
    ),
    "rewards.csv": download("text/csv", ".csv", lambda study, _: "".join(csv_of(study))),
    "report.html": report("text/html", ".html", to_html),
    "report.md": report("text/markdown", ".md", to_markdown),
    "report.json": report("application/json", ".json", to_json),
}
"""By the end of the address. Those as CSV are columns that ``surest identify`` and ``surest evaluate`` read."""
