"""Every rival does what its slow transcription says, and seeded mistakes are seen; tests/kernels compares with plain Python."""

from pathlib import Path

import pytest

from agreement.rivals_agreement import RIVALS, RULES, WALKS, check, check_settings, check_ties, mistaken_rivals
from mistakes import mistakes_in

CONTROLS = {"uniform-bonferroni", "peeking-z-test"}
"""No author published these; tests/algorithms has the sample size of one, tests/statistical how often the other errs."""


def test_every_published_rival_has_a_transcription() -> None:
    assert RULES.keys() | WALKS.keys() == RIVALS.keys() - CONTROLS


SLOW = ("track-and-stop", "top-two", "top-two-ids", "ucb-e-adaptive", "betting-racing", "peak")
CHEAP_FIRST = [*WALKS, *sorted(RULES, key=lambda name: name in SLOW)]
"""So that a disagreement shows in seconds, with -x at the latest after the cheap ones."""


@pytest.mark.parametrize("name", CHEAP_FIRST)
def test_a_rival_does_what_its_transcription_says(name: str) -> None:
    check(name, RIVALS[name])


CHECKS = {"check_settings": check_settings, "check_ties": check_ties}
MISTAKES = mistakes_in(Path(__file__).with_name("mistakes.txt"))


@pytest.mark.parametrize("check_all", CHECKS.values())
def test_what_few_decisions_depend_on(check_all) -> None:
    check_all(RIVALS)


@pytest.mark.parametrize(("module", "seen_by", "right", "wrong"), MISTAKES)
def test_a_mistake_is_seen(module: str, seen_by: str, right: str, wrong: str) -> None:
    """By the transcription of a rival, which disagrees, or by a check that fails."""
    entries = mistaken_rivals(module, right, wrong)
    with pytest.raises((AssertionError, ValueError, ZeroDivisionError, OverflowError)):
        CHECKS[seen_by](entries) if seen_by in CHECKS else check(seen_by, entries[seen_by])
