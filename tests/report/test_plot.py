"""Pictures: what they show, how many arms, and what is refused. How they look, a person has to see."""

import html
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

import surest
from surest.arms.finite import bernoulli
from surest.core.protocol import Point
from surest.report import plots as plot
from surest.report.page import Report, to_html
from surest.report.report import read_report
from surest.result.data import Result
from surest.result.leads import leads_of, overlap_note


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def many(n: int) -> Result:
    totals = {f"arm number {i}": {"successes": 5 * i // n, "trials": 5} for i in range(n)}
    return replace(surest.identify(totals), history=(Point(0, -1.0, 3.0), Point(10, 4.0, 3.0)))


def scores(seed: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    hard = rng.random(300)
    return {
        arm: (hard * rng.random(300) ** 0.2 < p) * 1.0 for arm, p in zip("abcd", (0.7, 0.6, 0.55, 0.4), strict=True)
    }


DECIDED = {
    "pulls": lambda seed: surest.identify(bernoulli([0.6, 0.5, 0.45, 0.3]), seed=seed),
    "costs": lambda seed: surest.identify(bernoulli([0.2, 0.4, 0.5]), seed=seed, minimise=True, bounds=(0, 5)),
    "close": lambda seed: surest.identify(bernoulli([0.6, 0.55, 0.3]), seed=seed, epsilon=0.1),
    "set": lambda seed: surest.identify(bernoulli([0.8, 0.7, 0.4, 0.3]), seed=seed, top=2),
    "control": lambda seed: surest.identify(bernoulli([0.8, 0.6, 0.4]), seed=seed, control="1"),
    "bar": lambda seed: surest.identify(bernoulli([0.7, 0.6, 0.3]), seed=seed, above=0.5, error="fdr"),
    "list": lambda seed: surest.evaluate(scores(seed), seed=seed, simulate=True),
    "list, set": lambda seed: surest.evaluate(scores(seed), seed=seed, simulate=True, top=2),
    "list, control": lambda seed: surest.evaluate(scores(seed), seed=seed, simulate=True, control="c", margin=0.05),
}


@pytest.mark.parametrize("kind", DECIDED)
def test_no_picture_of_what_is_decided_contradicts_it_without_a_word(kind: str) -> None:
    for seed in range(3):
        result = DECIDED[kind](seed)
        assert result.certified
        page, leads = to_html(Report(result)), leads_of(result)
        assert (leads is None) == (kind == "bar")
        if leads is not None:
            assert page.index(leads.heading) < page.index("Intervals by arm")
            assert leads_of(read_report(json.dumps(result.to_dict())).result) == leads
            drawn = [segment[:, 0].tolist() for lines in result.plot().collections for segment in lines.get_segments()]
            assert drawn == [[row.low, row.high] for row in leads.rows]
        for row in () if leads is None else leads.rows:
            verdict = 1 if result.verdicts is None else result.verdicts[row.arm]
            assert row.low < row.high
            assert row.low >= -result.epsilon if verdict > 0 else row.high <= result.problem.margin
            low, high = sorted(abs(end) for end in result.differences[str(result.labels[row.arm])])
            assert {abs(row.low), abs(row.high)} & {low, high}  # at least one end is not the verdict's
        low, high = result.intervals
        chosen = [result.labels.index(result.problem.control)] if "control" in kind else list(result.indices)
        rest = [i for i in range(len(low)) if i not in chosen]
        sign = -1 if result.minimise else 1
        overlap = (
            max(sign * high[rest]) >= min(sign * low[chosen]) if kind != "bar" else any((low < 0.5) & (high > 0.5))
        )
        assert bool(overlap_note(result)) >= bool(overlap)
        assert overlap_note(result) in html.unescape(page)


def test_history_changes_nothing() -> None:
    one, other = (
        surest.identify(bernoulli([0.5, 0.6, 0.4]), seed=7, history=keep, record=True) for keep in (False, True)
    )
    assert one.pulls_per_arm.tolist() == other.pulls_per_arm.tolist()
    assert one.achieved_delta == other.achieved_delta
    assert all(a.same_as(b) for (a, _), (b, _) in zip(one.transcript, other.transcript, strict=True))
    assert len(other.history) > 2  # how often it looks depends on how long that takes
    assert [point.pulls for point in other.history] == sorted({point.pulls for point in other.history})


@pytest.mark.parametrize("n", [1, 4, 20, 100, 1000])
def test_the_picture_fits_any_number_of_arms(n: int) -> None:
    page = plot.figure(many(n), "verdict")
    page.canvas.draw()
    left = page.axes[0]
    boxes = [label.get_window_extent() for label in left.get_yticklabels()]
    assert len(boxes) == min(n, plot.MOST)
    assert all(not a.overlaps(b) for a, b in pairwise(boxes))
    assert all(page.bbox.containsx(box.x0) and page.bbox.containsy(box.y0) for box in boxes)
    assert (f"{n - plot.MOST:,} more" in " ".join(left.get_xlabel().split())) == (n > plot.MOST)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_file_by_its_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{suffix}"
    plot.save(path, many(4))
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
