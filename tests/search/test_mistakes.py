"""What Python callers are told of their mistakes. `tests/cli/mistakes` has those of the command line.

Each page of `mistakes` has calls, and below each what is said of it: --snapshot-update writes that anew.
"""

import asyncio
import gzip
import math
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surest
from pages import same_as_kept
from surest.algorithms import start
from surest.arms.files import read_items
from surest.arms.finite import finite_arms
from surest.arms.instances import parse_source
from surest.arms.kinds import read_source
from surest.arms.recorded import read_csv
from surest.arms.tables import read_table, table_of
from surest.arms.totals import named_pair, totals_of
from surest.core.scale import Scale
from surest.search.call import ticket_seed
from surest.testing import check_algorithm


def arm() -> float:
    return 0.5


async def one(*_: object) -> float:
    return 1.0


class Bandit:
    labels = ("a", "b")

    def answer(self, request: object) -> object:
        raise AssertionError


def written(content: str | bytes, name: str = "it.csv") -> Path:
    """A file of this content."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(name)


NAMES: dict[str, Any] = {
    **{"surest": surest, "asyncio": asyncio, "math": math, "random": random, "np": np, "pd": pd},
    **{made.__name__: made for made in (surest.Session, surest.open_study, arm, one, Bandit, written)},
    **{made.__name__: made for made in (check_algorithm, finite_arms, named_pair, parse_source, read_csv, read_items)},
    **{made.__name__: made for made in (read_source, read_table, start, table_of, ticket_seed, totals_of, Scale)},
    "identify": lambda **settings: surest.identify({"a": arm, "b": arm}, **settings),
    "aidentify": lambda arms, **settings: asyncio.run(surest.aidentify(arms, **settings)),
    "judge": lambda first, second: first == "a",
    "POOL": ThreadPoolExecutor(1),
    "PLAYERS": ["a", "b", "c", "d"],
    "SCORES": {f"q{i}": 1.0 for i in range(9)},
    "TABLE": {"a": {"q": 1.0}, "b": {"q": 0.0}},
    "TWICE": pd.DataFrame([("a", "q", 1.0), ("a", "q", 0.0)], columns=["arm", "item", "value"]),
    "FAR": pd.DataFrame({"a": [0.5] * 5, "b": [0.5, 0.5, 0.5, 7.0, 9.0]}),
    "LONG": {"arm": ["a", "a", "b", "b"], "item": ["y", "x", "x", "z"], "value": [1.0, 0.5, 0.25, 0.0]},
    "HEAD": "arm,item,value\n",
    "PACKED": gzip.compress(b"arm,value\na,1\nb,0.5\na,0\na,1\na,1\n", mtime=0),
}
"""What the pages may use."""


@pytest.mark.parametrize("page", sorted(Path(__file__).parent.glob("mistakes/*.txt")), ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.usefixtures("run")
def test_mistakes_are_named_with_what_is_allowed(page: Path, request: pytest.FixtureRequest) -> None:
    same_as_kept(page, request, names=NAMES, mistaken=True)
