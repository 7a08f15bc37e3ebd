"""Rows, the reading of them, and pictures."""

from dataclasses import replace
from pathlib import Path

import pytest

from pages import same_as_kept
from surest.arms.finite import bernoulli
from surest.errors import UsageError
from surest.lab.bench import pictures
from surest.lab.bench.record import benchmark
from surest.lab.bench.run import Case, Replication, cases
from surest.lab.bench.suites import Instance, instances_of
from surest.lab.bench.tables import row_of, rows_of

THREE = Instance("three", bernoulli([0.5, 0.4, 0.2]))


def row(algorithm, pulls, *, instance=THREE, arms=(), undecided=0):
    """The row of runs with so many pulls each, of which the first name these arms, and the first are undecided."""
    named = [*arms, *[0] * (len(pulls) - len(arms))]
    made = enumerate(zip(pulls, named, strict=True))
    runs = [Replication(k, arm, arm == 0, k >= undecided, p, 1, 0.5, (p, 0, 0)) for k, (p, arm) in made]
    return row_of(Case(instance, algorithm, 0.1), runs)


def test_rows_and_the_reading_of_them(request) -> None:
    same_as_kept(Path(__file__).with_name("tables.txt"), request, names=globals())


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
