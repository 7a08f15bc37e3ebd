"""How much a newcomer has to read to understand a search."""

from surest.search.loading import module_of_file
from transcripts import ROOT


def test_the_walk_of_identify_is_short() -> None:
    """Distinct functions and files of surest that a search on two functions runs through."""
    walked = module_of_file(str(ROOT / "benchmarks" / "walks.py"), "walks").identify()
    assert (len(walked) <= 101, len({file for file, _ in walked}) <= 20) == (True, True)
