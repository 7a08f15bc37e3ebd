"""Evaluations on a Ray cluster: ``surest.identify(arms, executor=surest.integrations.ray.executor())``."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import ray


def executor(**options: Any) -> Executor:
    """Return an executor whose evaluations are Ray tasks.

    Connects to the cluster that ``ray.init`` finds, or starts one on this machine. Ray runs a task again when its worker or
    node dies, three times by default; what still fails then is a failed evaluation, like any other.

    Parameters
    ----------
    **options
        Options of a Ray task, such as ``num_cpus=2``, ``num_gpus=1``, ``max_retries=10`` or ``runtime_env={…}``.

    Returns
    -------
    concurrent.futures.Executor
        To be given as `executor`. State `in_flight`, the number of evaluations that the cluster runs at a time. Closing it
        does not stop the cluster.

    Examples
    --------
    >>> pool = executor(num_cpus=1)  # doctest: +SKIP
    >>> surest.identify(arms, executor=pool, in_flight=64)  # doctest: +SKIP
    """
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return _Tasks(ray.remote(**options)(_call) if options else ray.remote(_call))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], more: dict[str, Any]) -> Any:
    return function(*arguments, **more)


class _Tasks(Executor):
    def __init__(self, task: Any) -> None:
        self._task = task

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """Start a task. Its future begins to run at once: Ray does not say when a worker takes a task."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def done(found: Future[Any]) -> None:
            error = found.exception()
            if error is None:
                future.set_result(found.result())
            else:
                future.set_exception(getattr(error, "cause", None) or error)

        self._task.remote(function, arguments, more).future().add_done_callback(done)
        return future
