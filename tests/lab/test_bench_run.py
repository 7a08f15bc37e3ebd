"""Replications: the same whoever makes them, counted whatever comes of them, kept when interrupted."""

import json
import time
from dataclasses import replace

import pytest

from surest.algorithms import REGISTRY
from surest.arms.finite import bernoulli
from surest.core.protocol import Answer, Pull, Statistic
from surest.lab.bench import run as bench_run
from surest.lab.bench.record import benchmark
from surest.lab.bench.run import Case, cases, replicate, usual_runs
from surest.lab.bench.suites import Instance, instances_of
from surest.lab.bench.tables import rows_of
from surest.numerics import at_least
from surest.search.simulate import simulate

EASY = Instance("easy", bernoulli([0.2, 0.8, 0.3]))


def timeless(done):
    return {case.key: [replace(r, seconds=0.0) for r in found] for case, found in done.items()}


def test_two_processes_and_one_make_the_same_replications_in_any_order_of_cases():
    names = ["wager", "kl-lucb-heuristic", "naive-best-arm", "sequential-halving"]
    wanted = cases([EASY, *instances_of("skewed")], names, [0.2], budget=20_000)
    alone = benchmark(wanted, 5, seed=3)
    together = benchmark(wanted[::-1], 5, seed=3, workers=2)
    assert timeless(alone) == timeless(together)
    assert all([r.run for r in found] == list(range(5)) for found in alone.values())


def test_an_algorithm_that_always_names_its_first_arm_is_right_by_chance_only(monkeypatch):
    def first(problem):
        yield Pull(problem.arms[:1], 1, Statistic.MEAN)
        return Answer(0, True)

    entry = replace(REGISTRY["naive-best-arm"], start=first)
    monkeypatch.setitem(REGISTRY, "naive-best-arm", entry)
    best_first = Instance("best first", bernoulli([0.9, 0.1, 0.1, 0.1]))
    done = [replicate(Case(best_first, "naive-best-arm", 0.1), 0, run) for run in range(200)]
    assert sum(r.right for r in done) == 42  # 50 ± 6 are to be expected
    assert {r.per_arm.index(1) for r in done} == {0, 1, 2, 3}
    assert all(r.arm == r.per_arm.index(1) for r in done)


def test_resuming_gives_what_an_uninterrupted_run_gives(tmp_path):
    wanted, path = cases([EASY], ["wager", "lucb"], [0.1]), tmp_path / "done.jsonl"
    whole = timeless(benchmark(wanted, 6, seed=1))
    benchmark(wanted[:1], 4, seed=1, output=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # as a crash leaves it
    fresh = []
    again = benchmark(wanted, 6, seed=1, output=path, resume=True, notice=lambda case, count: fresh.append(count))
    assert timeless(again) == whole
    assert fresh[0] == 3
    assert sum(fresh) == 12
    assert len(path.read_text().splitlines()) == 12
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_only_replications_of_the_same_thing_are_taken_over_and_without_resume_the_file_is_put_aside(tmp_path):
    path, wanted = tmp_path / "done.jsonl", cases([EASY], ["wager"], [0.1])
    less = cases([EASY], ["wager"], [0.1], budget=50)
    for some, seed, lines in ((wanted, 1, 2), (wanted, 2, 4), (less, 1, 6), (wanted, 1, 6)):
        benchmark(some, 2, seed=seed, output=path, resume=lines > 2)
        assert len(path.read_text().splitlines()) == lines
    before = path.read_text()
    benchmark(wanted, 1, output=path)
    assert (tmp_path / "done.jsonl.bak").read_text() == before
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize("slow", ["distribution-based-elimination", pytest.param("", marks=pytest.mark.slow)])
def test_the_whole_quick_suite(slow):
    """One algorithm takes more time than all others together."""
    found, entries = instances_of("quick"), [entry for name, entry in REGISTRY.items() if name != slow]
    wanted = cases(found, [entry.name for entry in entries], [0.05], left_out=lambda message: None)
    assert len(wanted) == len(found) * sum(
        entry.goal != "ε-optimal arm" and entry.works_on != "items" and "best" in entry.answers for entry in entries
    )
    rows = rows_of(benchmark(wanted, lambda case: usual_runs(case, 1), seed=7, workers=2))
    proven = [row for row in rows if row.standing == "proven" and row.goal != "fixed budget"]
    assert all(row.max <= row.budget and row.undecided == 0 for row in rows if row.goal == "fixed budget")
    assert at_least(sum(row.wrong for row in proven), sum(row.runs for row in proven), 0.05) > 0.001
    for row in proven:
        assert row.undecided == 0, row
        assert row.mean > 0.2 * row.lower_bound, row  # of one run: far below it something is wrong


def test_a_dask_cluster_makes_the_same_replications():
    distributed = pytest.importorskip("distributed")
    wanted = cases([EASY], ["naive-best-arm", "lucb"], [0.1])
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings, protocol="tcp://") as cluster:
        far = benchmark(wanted, 4, seed=2, workers=cluster.scheduler_address)
    assert timeless(far) == timeless(benchmark(wanted, 4, seed=2))


@pytest.mark.parametrize("name", ["lil-ucb", "kl-lucb", "track-and-stop"])
def test_the_benchmark_runs_pull_by_pull_rules_many_times_faster_than_their_generators(name):
    """A ratio within one run, as machines differ: a generator's pull takes some 20 µs where the benchmark's takes one."""
    ten = Instance("ten", bernoulli([0.5] + [0.45] * 9))
    fast, slow = Case(ten, name, 0.1, budget=20_000), Case(ten, name, 0.1, budget=2_000)
    done = min((replicate(fast, 1, run) for run in range(3)), key=lambda r: r.seconds / r.pulls)
    began = time.thread_time()
    pulls = simulate(bench_run._procedure(slow, 1), ten.arms.simulate(1), budget=2_000).pulls
    assert (time.thread_time() - began) / pulls > 8 * done.seconds / done.pulls
