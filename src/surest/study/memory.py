"""Studies in the memory of one process: for trying out, and for tests."""

from surest.study.sql import MEMORY, SqlStore


def MemoryStore() -> SqlStore:
    """Studies that live as long as this object. One transaction at a time.

    Examples
    --------
    >>> from surest import open_study
    >>> study = open_study(MemoryStore(), "demo", ["a", "b"], 0.1, algorithm="naive-best-arm")
    >>> [ticket.label for ticket in study.ask(2)]
    ['a', 'a']
    """
    return SqlStore(MEMORY)
