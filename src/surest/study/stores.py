"""From what a user gives as `storage` to a store."""

from surest.errors import UsageError
from surest.masking import masked
from surest.study.log import Store

STORAGE = "sqlite:///surest.db"
"""Where studies are, if nothing else is said."""
MEMORY = "memory:"
SERVICES = ("http://", "https://")
_memory: dict[str, Store] = {}


def is_service(storage: object) -> bool:
    """Whether a storage is the URL of a service.

    >>> is_service("http://localhost:8080"), is_service("sqlite:///studies.db")
    (True, False)
    """
    return isinstance(storage, str) and storage.lower().startswith(SERVICES)


def store_of(storage: "str | Store") -> Store:
    """The store that a URL names, or the object that was given.

    ``memory:`` is a store of this process, gone with it; ``memory:name`` is another one.

    >>> store_of("sqlite:///studies.db").shown, store_of("memory:") is store_of("memory:")
    ('sqlite:///studies.db', True)
    """
    if isinstance(storage, str):
        if storage.startswith(MEMORY):
            from surest.study.memory import MemoryStore

            return _memory.setdefault(storage, MemoryStore())
        from surest.study.sql.store import SqlStore  # either only where it is needed

        return SqlStore(storage)
    if all(hasattr(storage, name) for name in ("prepare", "reading", "writing", "check", "close")):
        return storage
    raise UsageError(
        f"storage is {masked(repr(storage)[:100])}; give a URL (sqlite:///file.db, postgresql://user@host/name, memory:) or a "
        "store, as surest.study.log.Store describes it"
    )
