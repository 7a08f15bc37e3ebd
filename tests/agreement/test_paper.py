"""Every procedure of the paper against its slow transcription."""

from dataclasses import replace

import pytest

from agreement import paper_transcription as slow
from agreement.paper_agreement import (
    LEAN,
    NAMES,
    PROCEDURES,
    check_agreement,
    check_scripted_stars,
    check_star,
    constants_of,
)
from surest.algorithms.paper.constants import PRINTED, Constants


@pytest.mark.parametrize("name", PROCEDURES)
def test_with_lean_constants(name: str) -> None:
    for seed in range(40):
        check_agreement(name, 1 + seed % 16, LEAN, seed)


@pytest.mark.parametrize("name", PROCEDURES)
def test_as_printed(name: str) -> None:
    for seed in range(4):
        check_agreement(name, 2 + seed, slow.PRINTED, seed)


def test_star_interleaved_fast_forwarded_and_transcribed_agree() -> None:
    winners = [check_star(2 + seed % 4, 0.1, seed) for seed in range(24)]
    assert (winners.count(1), winners.count(2)) == (23, 1)


def test_star_agrees_whichever_copy_is_first() -> None:
    assert len(check_scripted_stars(200)) >= 4, "several copies must win for this to say something"


def test_lean_constants_are_the_printed_ones_but_for_the_named() -> None:
    """So that a constant which the transcription prints as a number is the printed one in the library too."""
    printed = {name: slow.PRINTED[key] for key, name in NAMES.items()}
    assert replace(constants_of(LEAN), **printed) == PRINTED == Constants()
