"""How much a newcomer has to read to understand what a call does."""

import pytest

from surest.search.loading import module_of_file
from transcripts import ROOT


@pytest.mark.filterwarnings("ignore:Using `httpx`")  # of Starlette
@pytest.mark.parametrize("walk", ["identify", "evaluate", "tell"])
def test_walks_are_short(walk: str) -> None:
    """Distinct functions and files of surest that a call runs through."""
    walks = module_of_file(str(ROOT / "benchmarks" / "walks.py"), "walks")
    walked, (functions, files) = getattr(walks, walk)(), walks.MOST[walk]
    assert len(walked) <= functions
    assert len({file for file, _ in walked}) <= files
