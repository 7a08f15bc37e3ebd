"""Let async functions work on a study: any number of processes may do so at a time, and go on with what others have begun."""

from surest.search import asynchronous
from surest.search.call import Work
from surest.search.desk import Desk, Hook
from surest.study.study import Study


async def awork_on(
    study: Study, work: Work, *, in_flight: int, retries: int | None = None, on_request: Hook | None = None
) -> None:
    """Keep up to `in_flight` evaluations of a study under way until it is finished.

    A failed evaluation is retried as the study's settings say. Where they name no reward for a failure, it is retried so
    often (`retries`, default 3), and then the work ends with an error. Whatever ends the work before its time, what runs is
    finished and told first; only a second interrupt abandons it. The database is used in the event loop: milliseconds at a time.

    >>> import asyncio, tempfile
    >>> from surest import open_study
    >>> async def judged(label):
    ...     return label == "b"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(f"sqlite:///{folder}/studies.db", "demo", ["a", "b"], 0.1, seed=1, batch=8)
    ...     asyncio.run(awork_on(study, lambda ticket: (judged, ticket.label), in_flight=8))
    ...     study.result().best
    'b'
    """
    await asynchronous.drive(Desk(study, retries, on_request), work, in_flight)
