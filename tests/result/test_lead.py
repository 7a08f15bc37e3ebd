"""The lead of the best arm over the runner-up: its bounds, its sentence, in text, JSON and pages."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from one_pair import above, below
from surest.core.question import Question
from surest.evidence.lists.bars import EachArm
from surest.evidence.lists.scores import Scores
from surest.evidence.lists.top import Top
from surest.evidence.lists.units import in_random_order
from surest.evidence.lists.verdict import Verdict
from surest.evidence.pulls.apart import lead_of
from surest.evidence.pulls.digest import Digests
from surest.kernels.differences import differences


def digests_of(won: Any, trials: Any) -> Digests:
    digests, n = Digests(len(won)), len(won)
    digests.add(np.arange(n), 1.0, won)
    digests.add(np.arange(n), 0.0, np.asarray(trials) - won)
    return digests


def test_the_bounds_are_where_the_evidence_passes_the_level() -> None:
    """Compared with the bounds from a control, and with the wealths themselves on a grid."""
    digests = digests_of([130, 90, 20], [200, 210, 30])
    for first, second in permutations(range(3), 2):
        arm, over, low, high = lead_of(digests, first, second, 0.1)()
        level = math.log(6 / 0.1)
        less, more = differences(*digests.told(), second, level)
        assert (arm, over, low) == (first, second, pytest.approx(less[first], abs=2e-4))
        assert high == pytest.approx(more[first], abs=2e-4)
        x = np.linspace(0.005, 0.995, 40)
        inside = x[(x + low > 0) & (x + low < 1)]
        reached = [above(digests, level_)[first] for level_ in inside + low]
        other = [below(digests, level_)[second] for level_ in inside]
        assert min(np.array(reached) + other) >= level - 1e-6


@pytest.mark.parametrize("trials", [3, 400, 5000])
def test_arms_without_a_success_have_the_bounds_of_arms_without_a_failure(trials: int) -> None:
    """Bets on an arm whose rewards are all 0 do not depend on the level; a search for the bounds must not end there."""
    none, all_ = digests_of([0, 0], [trials, trials]), digests_of([trials, trials], [trials, trials])
    assert lead_of(none, 0, 1, 0.1)()[2:] == pytest.approx(lead_of(all_, 0, 1, 0.1)()[2:], abs=1e-4)
    for found, mirrored in zip(differences(*none.told(), 0, 4.0), differences(*all_.told(), 0, 4.0), strict=True):
        assert found == pytest.approx(mirrored, abs=1e-4)
    some = digests_of([0, trials // 3], [trials, trials])
    assert differences(*some.told(), 0, 4.0)[1][1] == pytest.approx(-differences(*some.told(), 1, 4.0)[0][0], abs=1e-4)
    assert differences(*some.told(), 0, 4.0)[1][1] < (0.5 if trials > 3 else 1.1)


def test_a_record_in_two_parts_is_one_record() -> None:
    whole, early, late = (
        digests_of([130, 90], [200, 210]),
        digests_of([30, 40], [50, 80]),
        digests_of([100, 50], [150, 130]),
    )
    assert lead_of(early, 0, 1, 0.1, late)() == lead_of(whole, 0, 1, 0.1)()
    assert lead_of(Digests(2), 1, 0, 0.1)() == (1, 0, -1.0, 1.0)


def test_all_pairs_hold_at_all_looks_at_least_as_often_as_promised() -> None:
    """At a very high δ, arms are pulled as their means say, and every pair is looked at again and again."""
    delta, runs, means, missed = 0.9, 250, np.array([0.5, 0.45, 0.5]), 0
    rng = np.random.default_rng(41)
    for _ in range(runs):
        won, trials = rng.binomial(5, means).astype(float), np.full(3, 5.0)
        wrong = False
        for more in (10, 20, 40, 80, 160):
            often = np.where((won / trials).argmax() == np.arange(3), more, more // 2)
            won, trials = won + rng.binomial(often, means), trials + often
            for first, second in permutations(range(3), 2):
                _, _, low, high = lead_of(digests_of(won, trials), first, second, delta)()
                wrong |= not low <= means[first] - means[second] <= high
        missed += wrong
    assert missed == 8
    assert missed <= delta * runs


def test_on_a_list_all_pairs_share_the_level() -> None:
    """The leader and the runner-up are chosen by the scores, so each of the 6 pairs of 4 arms has a sixth of δ."""
    scores, weights, delta = np.random.default_rng(4).random((12, 4)), np.ones(40), 0.05
    race, top, against = (
        Verdict(4, weights, delta, 0.0),
        Top(4, 2, weights, delta),
        EachArm(4, weights, Question("control", control=1, margin=0.2), delta),
    )
    counted = Scores(4, weights)
    for row in scores:
        counted.count(np.arange(4), row)
        race.count(row)
        top.count(row)
        against.count(row)
    assert len(race.play) == len(top.play) == len(against.play) == 4
    found = [
        (race.standings.leader, race.status(), delta / 6),
        (top.chosen[-1], top.status(), delta / 6),
        (1, against.status(), delta / 3),
    ]
    for arm, status, level in found:
        assert status.differences is not None
        for told, right in zip(status.differences, counted.intervals(level, less=arm), strict=True):
            assert told.tolist() == right.tolist()


def test_on_a_list_all_pairs_hold_at_all_looks_at_least_as_often_as_promised() -> None:
    """A table of coins with weighted items, at a very high δ, looked at again and again."""
    rng, delta, runs, missed = np.random.default_rng(6), 0.5, 40, 0
    table, weights = (rng.random((3, 60)) < 0.5).astype(float), 0.2 + 3 * rng.random(60)
    means = table @ weights / weights.sum()
    for _ in range(runs):
        units = in_random_order(60, rng, weights=weights.tolist())
        scores, wrong = Scores(3, units.weights), False
        for t, item in enumerate(units.items):
            scores.count(np.arange(3), table[:, item])
            for arm in range(3) if t in (2, 6, 12, 20, 35, 50, 59) else ():
                low, high = scores.intervals(delta / 3, less=arm)
                apart = means - means[arm]
                wrong |= bool(((apart < low - 1e-9) | (apart > high + 1e-9)).any())
        missed += wrong
    assert missed == 13
    assert missed <= delta * runs
