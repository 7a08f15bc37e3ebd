"""Pictures: what they show, how many arms, and what is refused. How they look, a person has to see."""

import html
import json
import random
import warnings
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
from surest.report.pictures import pictures_of
from surest.report.report import read_report
from surest.result.data import Result
from surest.result.leads import leads_of, overlap_note


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result() -> Result:
    return surest.identify(bernoulli([0.5, 0.8, 0.2], ["a", "cost $x_$", "c"]), seed=1, history=True)


def many(n: int) -> Result:
    totals = {f"arm number {i}": {"successes": 5 * i // n, "trials": 5} for i in range(n)}
    return replace(surest.identify(totals), history=(Point(0, -1.0, 3.0), Point(10, 4.0, 3.0)))


def test_intervals_mark_the_leader(result: Result) -> None:
    ax = result.plot("intervals")
    labels = ax.get_yticklabels()
    assert labels[0].get_text() == r"cost \$x_\$"
    assert [label.get_color() == plot.LEADER for label in labels] == [True, False, False]
    points = [line for line in ax.lines if line.get_marker() in ("D", "o")]
    assert [point.get_marker() for point in points] == ["D", "o", "o"]
    assert points[0].get_xdata()[0] == result.means[1]
    assert "95 % interval" in ax.get_xlabel()
    drawn = ax.collections[0].get_segments()[0]
    assert drawn[:, 0].tolist() == [result.arms[1].low, result.arms[1].high]


def test_axes_go_in_and_come_out(result: Result) -> None:
    _, ax = plt.subplots()
    assert result.plot("pulls", ax) is ax
    assert [bar.get_width() for bar in ax.patches] == [result.arms[i].pulls for i in result.arms.leading(3)]


def test_evidence_ends_at_the_decision(result: Result) -> None:
    ax = result.plot("evidence")
    line, threshold = ax.lines
    assert (threshold.get_ydata()[0], line.get_xdata()[-1]) == (100, result.pulls)
    assert line.get_ydata()[-1] >= 100
    assert min(line.get_ydata()) >= 0


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


def test_others_may_overlap_among_themselves(result: Result) -> None:
    assert overlap_note(replace(result, intervals=(np.array([0.1, 0.7, 0.1]), np.array([0.5, 0.9, 0.5])))) == ""


@pytest.mark.parametrize("more", [{}, {"top": 2}, {"control": "b", "margin": 0.05}])
def test_leads_that_are_known_exactly_are_seen(more: dict[str, object]) -> None:
    """A line from a number to itself has no length: on a complete table the picture was empty."""
    result = surest.evaluate(scores(1), **more)
    leads = leads_of(result)
    assert leads is not None
    dots = [line.get_xdata().item() for line in result.plot("leads").lines if line.get_marker() in ("o", "D")]
    assert dots == [row.low for row in leads.rows] == [row.high for row in leads.rows]
    assert (leads.note, overlap_note(result)) == ("All of this is exact.", "")


def test_a_page_on_a_simulation_says_so_before_and_after_the_verdict() -> None:
    result = surest.evaluate(scores(1), simulate=True)
    first, then = str(result).splitlines()[:2]
    page = to_html(Report(result))
    assert f", in a simulation</p><h1>{then}</h1><p>{first}</p>" in page.replace("\n", "")
    assert not any("\ufffd" in text for text in (page, result._repr_html_())), "a line break is no letter"


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


def test_words_of_users_are_text() -> None:
    arms = surest.identify({"a\x1b[31m$x$<b>": [1.0] * 40, "b": [0.0] * 40}, seed=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        picture = plot.figure(arms, "Arm a\x1b[31m$x$\u202e")
    assert picture.axes[0].get_title(loc="left") == "Lead of a\ufffd[31m\\$x\\$<b> over each other arm"
    assert picture.axes[1].get_yticklabels()[0].get_text() == "a\ufffd[31m\\$x\\$<b>"
    assert picture.get_suptitle() == "Arm a\ufffd[31m\\$x\\$\ufffd"


def test_who_beats_whom_is_drawn_in_the_order_found() -> None:
    rng, labels = random.Random(1), ["good", "<b>&bad", "worse"]
    judge = lambda a, b: rng.random() < (0.9 if labels.index(a) < labels.index(b) else 0.1)  # noqa: E731
    result = surest.duel(labels, judge, seed=1, rank=True)
    picture = pictures_of(result)[0]
    drawn = picture.drawn
    assert (picture.heading, drawn.labels, drawn.chosen) == ("Who beats whom", labels, {labels[0]})
    assert all(told for i, row in enumerate(drawn.cells) for j, (_, told, _) in enumerate(row) if i != j)
    assert drawn.cells[0][1].share > 0.5 > drawn.cells[1][0].share
    assert "3 of 3 pairs are told apart" in picture.note
    assert [text.get_text().split()[0] for text in result.plot().get_yticklabels()] == labels
    for shown in (to_html(Report(result)), result._repr_html_()):
        assert "<b>&bad" not in shown
        assert "&lt;b&gt;" in shown
        assert "<svg" in shown
