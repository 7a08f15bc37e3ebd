"""An export over HTTP: made at one moment, sent at the client's pace."""

import asyncio
from collections.abc import AsyncIterator
from typing import IO

from starlette.responses import StreamingResponse

from surest.server.names import quoted
from surest.server.studies import Studies
from surest.study.study import Study
from surest.study.transfer import spooled

PIECE = 1 << 16


async def exported(studies: Studies, name: str) -> StreamingResponse:
    """All of a study as JSON. It is read at one moment, and not at the pace of whoever downloads it."""
    file = await studies.with_study(name, _spooled)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted(name)}.json"}
    return StreamingResponse(_pieces(file), media_type="application/json", headers=headers)


def _spooled(study: Study) -> IO[bytes]:
    return spooled(Study(study.store, study.name))  # its replay keeps nobody waiting


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
