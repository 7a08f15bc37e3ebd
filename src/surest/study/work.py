"""Work on a study: the loop of `drivers` on a log that outlives the process.

Any number of processes may do so at a time. Whoever stops in good order gives its tickets back.
"""

from collections.abc import Callable

from surest.search import asynchronous
from surest.search.call import Work
from surest.search.desk import Desk, Hook
from surest.search.executor import Workers, drive
from surest.study.study import Study


def work_on(
    study: Study, work: Work, executor: Workers | None, *, in_flight: int, retries: int | None = None,
    on_request: Hook | None = None, on_wait: Callable[[], object] | None = None,
) -> None:  # fmt: skip
    """Keep up to `in_flight` evaluations of a study under way until it is finished. The executor stays open.

    A failed evaluation is retried as the study's settings say. Where they name no reward for a failure, it is retried so
    often (`retries`, default 3), and then the work ends with an error. Whatever ends the work before its time, what runs is
    finished and told first; only a second interrupt abandons it. `on_wait` is called while nothing can be done until others
    have told their rewards.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from surest import open_study
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     study = open_study(f"sqlite:///{folder}/studies.db", "demo", ["a", "b"], 0.1, seed=1, batch=8)
    ...     work_on(study, lambda ticket: (float, ticket.label == "b"), pool, in_flight=2)
    ...     study.result().best
    'b'
    """
    drive(Desk(study, retries, on_request, on_wait), work, executor, in_flight)


async def awork_on(
    study: Study, work: Work, *, in_flight: int, retries: int | None = None, on_request: Hook | None = None
) -> None:
    """`work_on` for async functions. The database is used in the event loop: milliseconds at a time.

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
