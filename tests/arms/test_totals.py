"""Totals of trials: read from files and frames, refused where they cannot be, and judged whatever their order was."""

import html
import json
import math
from typing import Any

import numpy as np
import pytest

from one_pair import above, below
from surest import identify
from surest.algorithms.tally import _lead
from surest.arms.totals import totals_of
from surest.evidence.pulls.digest import Digests
from surest.report.page import to_html, to_markdown
from surest.report.report import read_report
from surest.search.identify import judge_totals


def test_a_report_says_what_is_assumed_and_calls_no_visitor_simulated() -> None:
    totals = {"a": {"successes": 90, "trials": 100}, "b": {"successes": 20, "trials": 100}}
    result = identify(totals)
    report = read_report(json.dumps(result.to_dict()))
    for text in (to_html(report), to_markdown(report)):
        assert "This holds if every trial of an arm had the same chance of success" in text
        assert "simulated" not in text
        assert "algorithm='tally'" in html.unescape(text)  # the call that a report shows, which works:
    assert identify(totals, algorithm="tally").best == result.best
    assert "This holds if" in result._repr_html_()


def test_the_evidence_is_the_infimum_over_all_levels() -> None:
    """Compared with both wealths on a fine grid, computed apart."""
    totals = totals_of({"a": (130, 200), "b": (90, 210), "c": (3, 10)})
    digests = Digests(3)
    for arm in range(3):
        digests.add([arm, arm], [1.0, 0.0], [totals.successes[arm], (totals.trials - totals.successes)[arm]])
    levels = np.linspace(0.001, 0.999, 4000)
    for epsilon in (0.0, 0.05):
        found = _lead(digests, 0, np.array([1, 2]), epsilon)
        for place, other in enumerate((1, 2)):
            inside = levels[(levels > 0.001) & (levels + epsilon < 0.999)]
            grid = [above(digests, x)[0] + below(digests, x + epsilon)[other] for x in inside[::10]]
            assert found[place] <= min(grid)
            assert found[place] == pytest.approx(min(grid), abs=0.02)


LOOKS = [int(50 * 1.5**k) for k in range(10)]
"""Trials of each arm at which somebody looks; the test ends at the first look that decides."""


def test_the_worse_of_two_arms_is_named_at_any_look_at_most_as_often_as_allowed() -> None:
    """Two arms that nearly tie, at a high δ: looking often at growing totals must not help the worse one."""
    delta, runs, wrong = 0.5, 600, 0
    rng = np.random.default_rng(14)
    goal = math.log(1 / delta)
    for _ in range(runs):
        won = np.zeros(2)
        for before, now in zip([0, *LOOKS], LOOKS, strict=False):
            won += rng.binomial(now - before, [0.3, 0.3 - 1e-6])
            digests = Digests(2)
            digests.add(np.arange(2), 1.0, won)
            digests.add(np.arange(2), 0.0, now - won)
            best = int(won.argmax())
            if _lead(digests, best, np.array([1 - best]), 0.0)[0] >= goal:
                wrong += best == 1
                break
    assert wrong == 8
    assert wrong <= delta * runs


@pytest.mark.parametrize(("top", "pairs"), [(1, 4), (2, 6), (3, 6)])
def test_a_set_must_beat_every_arm_outside_at_its_share_of_delta(top: int, pairs: int) -> None:
    """Any of the m(n − m) pairs may be the one that is wrong. With 6 pairs, evidence that suffices for one does not for all."""
    totals = {name: (won, 400) for name, won in zip("abcde", (200, 195, 160, 30, 20), strict=True)}
    status = judge_totals(totals_of(totals), delta=0.1, top=top)[0].value.status
    assert status.threshold == pytest.approx(math.log(pairs / 0.1))
    assert status.achieved_delta == pytest.approx(min(1.0, pairs * math.exp(-status.evidence)))


def test_visitors_must_not_count_as_their_outcomes_become_known() -> None:
    """What docs/questions/totals.md warns of: conversions are known at once, their absence a day later, and one of two equal
    arms began later. With the visitors of earlier days alone the arms are as equal as they are."""
    rng, named, runs = np.random.default_rng(5), {"known": 0, "earlier days": 0}, 20
    for _ in range(runs):
        converted = rng.binomial(300, 0.1, (2, 8))
        for way in named:
            named[way] += any(_named_on(day, converted, way == "known") for day in range(3, 8))
    assert (named["known"], named["earlier days"]) == (runs, 0)


def _named_on(day: int, converted: Any, as_known: bool) -> bool:
    found = {}
    for arm, began in enumerate((0, 3)):
        early = int(converted[arm, day]) if as_known else 0  # today's conversions, without those who do not convert
        won = int(converted[arm, began:day].sum()) + early
        found[f"begun on {began}"] = {"successes": won, "trials": 300 * (day - began) + early}
    return identify(found).certified
