"""A study as a download: read in one go, however slowly somebody takes it."""

import tempfile
from collections.abc import AsyncIterator
from typing import IO

from starlette.responses import StreamingResponse

from surest.service.names import quoted
from surest.service.studies import Studies
from surest.study.study import Study
from surest.study.transfer import export_text

IN_MEMORY = 4 << 20
"""Bytes from which on an export goes through a file."""
PIECE = 1 << 16


async def exported(studies: Studies, name: str) -> StreamingResponse:
    """All of a study as JSON. While it is read nobody else can ask, so it is not read at the pace of whoever downloads it."""
    file = await studies.with_study(name, _spooled)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted(name)}.json"}
    return StreamingResponse(_pieces(studies, file), media_type="application/json", headers=headers)


def _spooled(study: Study) -> IO[bytes]:
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  (it is closed when it was sent)
    file.writelines(export_text(study))
    file.seek(0)
    return file


async def _pieces(studies: Studies, file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await studies.call(file.read, PIECE):
            yield piece
