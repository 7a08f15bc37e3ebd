"""Rows, the reading of them, and pictures."""

import csv
import io
import math
from dataclasses import replace

import pytest
from _benchmarks import from_csv
from _reading import reading, summary_rows  # of docs
from syrupy.assertion import SnapshotAssertion

from surest.arms.finite import bernoulli
from surest.errors import UsageError
from surest.lab.bench import pictures
from surest.lab.bench.record import benchmark
from surest.lab.bench.run import Case, Replication, cases
from surest.lab.bench.suites import Instance, instances_of
from surest.lab.bench.tables import (
    as_csv,
    as_markdown,
    cells,
    notes,
    number,
    row_of,
    rows_of,
    too_often_wrong,
)

THREE = Instance("three", bernoulli([0.5, 0.4, 0.2]))


def replication(run, pulls, *, arm=0, decided=True):
    return Replication(run, arm, arm == 0, decided, pulls, rounds=1, seconds=0.5, per_arm=(pulls, 0, 0))


def row(algorithm, pulls, *, instance=THREE, delta=0.1, arms=(), undecided=0):
    found = [
        replication(run, p, arm=dict(enumerate(arms)).get(run, 0), decided=run >= undecided)
        for run, p in enumerate(pulls)
    ]
    return row_of(Case(instance, algorithm, delta), found)


def test_a_row_counts_what_happened():
    found = row("wager", [100, 200, 300, 1000], arms=[1])
    assert (found.n, found.standing, found.runs, found.wrong, found.undecided) == (3, "proven", 4, 1, 0)
    assert (found.mean, found.median, found.max) == (400.0, 250.0, 1000)
    assert found.q95 == pytest.approx(895)
    assert found.sem == pytest.approx(math.sqrt(((300**2 + 200**2 + 100**2 + 600**2) / 3) / 4))
    assert found.ratio == pytest.approx(400 / found.lower_bound)
    assert found.lower_bound == pytest.approx(THREE.characteristic.time * 0.8 * math.log(9))
    assert (found.seconds, found.microseconds) == (2.0, 1250.0)
    assert found.wrong_answers == "arm 1 (0.1 below the best) ×1"


def test_an_undecided_run_is_neither_wrong_nor_dropped_and_the_mean_is_marked():
    found = row("wager", [100, 300], arms=[2], undecided=1)
    assert (found.runs, found.wrong, found.undecided, found.mean) == (2, 0, 1, 200.0)
    assert cells(found, ["mean", "max"]) == ["≥ 200", "≥ 300"]
    assert any("undecided" in note for note in notes([found]))


def test_more_wrong_answers_than_delta_allows_are_marked():
    bad = row("peeking-z-test", [50] * 40, arms=[1] * 20)
    assert too_often_wrong(bad)
    assert cells(bad, ["wrong"]) == ["20!"]
    assert not too_often_wrong(row("peeking-z-test", [50] * 40, arms=[1] * 7))


def test_csv_and_markdown_hold_every_row():
    rows = [row("wager", [100, 200]), row("lucb", [1000, 3000])]
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [float(r["mean"]) for r in read] == [150.0, 2000.0]
    assert set(read[0]) == set(rows[0].columns())
    assert from_csv(as_csv(rows)) == rows
    lines = as_markdown(rows).splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {16}
    assert as_markdown([], ["instance", "mean"]) == "| instance | mean pulls |\n|---|---:|"


def test_the_reading_of_a_table(snapshot: SnapshotAssertion) -> None:
    other = Instance("other", THREE.arms)
    far, near = row("lucb", [1000, 3000] * 20), row("lucb", [90, 210] * 20, instance=other)
    few = [row(name, [9, 10], instance=Instance("few", THREE.arms)) for name in ("wager", "lucb")]  # not quoted
    first = [row("wager", [100, 220] * 20), far, row("wager", [100, 220] * 20, instance=other), near, *few]
    errs = [
        row("wager", [100] * 40),
        row("kl-lucb", [400] * 40, arms=[2]),
        row("kl-lucb-heuristic", [80] * 40, arms=[1] * 20),
        row("peeking-z-test", [10] * 40, arms=[1] * 30),
    ]
    shouted = [row("lucb", [9] * 40, arms=[1] * 20)]
    figures = [number(x) for x in (0, 7, 1234567, 12345678, 0.5, 99.96, 123.4, 3.2e9, 1e7)]
    assert ([*map(reading, (first, errs, shouted))], summary_rows(errs), figures) == snapshot


@pytest.fixture(scope="module")
def small():
    instances = [i for name in ("example1:3", "example1:5", "example1:8") for i in instances_of(name)]
    return benchmark(cases(instances, ["wager", "kl-lucb-heuristic", "naive-best-arm", "sequential-halving"], [0.1]), 4)


def test_pulls_against_n_show_every_algorithm_and_the_bound(small):
    axes = pictures.pulls_against_n(rows_of(small)).axes[0]
    named = {text.get_text() for text in axes.texts}
    assert named == {"lower bound", "wager", "kl-lucb-heuristic", "naive-best-arm"}
    bound = axes.lines[0].get_ydata()
    expected = [i.characteristic.lower_bound(0.1) for i in dict.fromkeys(case.instance for case in small)]
    assert list(bound) == pytest.approx(expected)


def test_a_profile_ends_at_the_share_of_instances_that_were_decided(small):
    gone = "naive-best-arm", "example1:3"
    rows = [replace(row, undecided=1) if (row.algorithm, row.instance) == gone else row for row in rows_of(small)]
    axes = pictures.performance_profile(rows).axes[0]
    drawn = zip(axes.get_legend().get_texts(), axes.lines, strict=False)
    ends = {text.get_text(): line.get_ydata()[-1] for text, line in drawn}
    assert ends == pytest.approx({"wager": 1.0, "kl-lucb-heuristic": 1.0, "naive-best-arm": 2 / 3})


def test_stopping_times_and_allocation_of_one_instance(small, tmp_path):
    first = {case: runs for case, runs in small.items() if case.instance.name == "example1:5"}
    labels = [tick.get_text() for tick in pictures.stopping_times(first).axes[0].get_yticklabels()]
    assert set(labels) == {"wager", "kl-lucb-heuristic", "naive-best-arm"}
    axes = pictures.allocation(first).axes[0]
    weights = next(iter(first)).instance.characteristic.weights
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(weights.tolist())
    for line in axes.lines:
        assert sum(line.get_ydata()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("kind", "suffix"), [("auto", "png"), ("pulls", "svg"), ("profile", "png"), ("times", "svg"), ("allocation", "png")]
)
def test_every_picture_is_written(small, tmp_path, kind, suffix):
    path = tmp_path / f"picture.{suffix}"
    pictures.draw(small, rows_of(small), kind, path)
    assert path.stat().st_size > 5000


def test_pictures_that_cannot_be(small, tmp_path):
    rows = rows_of(small)
    with pytest.raises(UsageError, match="several n"):
        pictures.pulls_against_n([r for r in rows if r.n == 3])
    with pytest.raises(UsageError, match="no algorithm"):
        pictures.performance_profile([r for r in rows if r.goal == "fixed budget"])
    with pytest.raises(UsageError, match="cannot be written"):
        pictures.draw(small, rows, "profile", tmp_path / "no" / "where.png")
