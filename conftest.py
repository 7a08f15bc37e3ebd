"""What holds for all tests and for the examples in docstrings: they go the same way every time."""

import pkgutil
import random
import secrets
import zlib
from importlib import import_module

import numpy as np
import pytest

from surest import kernels
from surest.search import session
from surest.study import settings

collect_ignore = [
    "src/surest/integrations/inspect_ai.py",
    "src/surest/integrations/ray.py",
    "tests/integrations/inspect_logs.py",
]
"""What they import takes seconds to load, in every worker: inspect_logs.py is a program, and runs the example of inspect_ai.py;
those of ray.py need a cluster."""
# As compiled: for the examples of a module that is not loaded yet, pytest loads its source.
for found in pkgutil.walk_packages(kernels.__path__, "surest.kernels."):
    import_module(found.name)


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
    monkeypatch.setattr(settings, "_in_memory", {})
