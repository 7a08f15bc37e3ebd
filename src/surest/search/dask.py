"""What Dask does not say: that its workers cannot load an arm. They drop the connection then, and a run waits for ever."""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from importlib import import_module
from typing import Any

from surest.errors import UsageError
from surest.search.failures import described
from surest.search.session import Ticket


class Reach:
    """Makes sure, before the first evaluation of a module's functions, that an executor's workers can load them."""

    def __init__(self) -> None:
        self._known: set[tuple[int, str]] = set()

    def check(self, pool: Executor, ticket: Ticket, function: Callable[..., Any]) -> None:
        """Let every Dask worker load the function once; other executors say by themselves what they cannot load."""
        key = id(pool), home(function)
        if key in self._known:
            return
        self._known.add(key)
        if not type(pool).__module__.startswith("distributed."):
            return
        pickle: Any = import_module("distributed.protocol.pickle")
        client: Any = pool._client  # type: ignore[attr-defined]
        try:
            client.run(pickle.loads, pickle.dumps(function))
        except Exception as error:
            raise UsageError(
                f"a Dask worker cannot load arm {ticket.label!r}: {described(error)}. Make its module known to the workers, for "
                "instance with client.upload_file('module.py')"
            ) from error


def home(function: Callable[..., Any]) -> str:
    """The module that a worker must import to call a function.

    >>> home(partial(home, 1)), home(partial)
    ('surest.search.dask', 'functools')
    """
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__module__", None) or type(function).__module__
