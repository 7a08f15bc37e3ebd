"""What holds for all tests and for the examples in docstrings: they go the same way every time."""

import random
import secrets
import zlib

import numpy as np
import pytest

from surest.search import session
from surest.study import log

collect_ignore = [f"src/surest/integrations/{name}.py" for name in ("inspect_ai", "ray")]
"""Each imports a package that takes seconds. tests/integrations has the examples of one, and those of the other do not run."""


@pytest.fixture(autouse=True)
def repeatable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds that nobody gave, and the generators that everybody shares, follow from the name of the test.

    Stores in memory are those of one test.
    """
    seed = zlib.crc32(request.node.name.encode())
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    fresh = random.Random(seed).getrandbits
    monkeypatch.setattr(secrets, "randbits", fresh)
    monkeypatch.setattr(session, "randbits", fresh)
    monkeypatch.setattr(log, "_memory", {})
