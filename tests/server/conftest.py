"""A service for the tests that only need one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from serving_support import Service

from surest.server.tokens import Tokens
from visiting import serving


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Of tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One without tokens, on SQLite."""
    folder = tmp_path_factory.mktemp("service")
    with Service(folder) as running:
        yield running


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database for the tests of one file."""
    return f"sqlite:///{tmp_path_factory.mktemp('site')}/s.db"


@pytest.fixture(scope="module")
def site(storage: str) -> Iterator[str]:
    """The address of a service on it, in a thread of this process."""
    with serving(storage) as address:
        yield address


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, str]]]:
    """One with a token for each role."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = Tokens(folder / "tokens.json")
    made = {role: tokens.add(f"the one who may {role}", role) for role in ("look", "work", "administer")}
    with Service(folder) as running:
        yield running, made
