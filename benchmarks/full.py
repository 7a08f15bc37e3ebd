"""Run every algorithm on every suite: rows to docs/data/benchmarks, from which the site's tables are made, and pictures.

    python benchmarks/full.py [--data FOLDER] [--workers W] [--effort E] [--resume]

How often a case is run is settled by a pilot run that is not counted: as often as fits into `EFFORT` by the usual cost of a run,
between `LEAST` and `MOST` times. That number, like every replication, is the same on every machine. `--effort 0.1` tries it all
in a tenth of the time, of half an hour on two cores.
"""

import argparse
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from surest.algorithms import REGISTRY
from surest.lab.bench import pictures
from surest.lab.bench.record import Done, benchmark
from surest.lab.bench.run import Case, cases, processors, replications
from surest.lab.bench.suites import Instance, instances_of
from surest.lab.bench.tables import QUOTED, Row, as_csv, rows_of

SEED = 2021
EFFORT, OWN_EFFORT = 0.6, 1.2
"""Seconds of processor a case may take, roughly, and one of Wager's, with which all others are compared."""
LEAST, MOST, COSTLIEST = 5, 100, 3
"""Runs of a case at least, at most, and of one that takes seconds a run."""
BRIEF = 0.4
"""Seconds a run up to which Wager, or a rule without a proof, is run as often as prose asks for: `QUOTED` times."""
SLOW, SLOW_SUITE, SLOW_ARMS, SLOW_BUDGET = ("betting-racing", "peak", "k-inf-track-and-stop"), "literature", 20, 20_000
"""A pull of these costs up to a millisecond: they are run on one suite, with few arms, and up to so many pulls."""
BUDGET = 2_000_000
"""Pulls at which a run that decides pull by pull is stopped."""
PILOT = 10**6
"""The number of the run that settles how many there are."""
LONG = 4.0
"""Seconds a run from which on a case counts as one that takes seconds."""
MANY = 100
"""With more arms than this only `FEW` are run: for others a pull costs as much as there are arms."""
FEW = ("wager", "kl-lucb", "kl-lucb-heuristic", "lil-kl-ucb", "lil-ucb-heuristic", "naive-best-arm", "vd-best-arm-id")
REAL = ("*_top20", "*_n20_mid", "*_n20_hard", "books_n100_mid", "lcb_repair", "lcb_testgen", "c540u_n100_mid")
REAL_MOST = 12
HERE = Path(__file__).resolve().parent.parent
PICTURED = (
    "wager",
    "kl-lucb",
    "lil-kl-ucb",
    "kl-lucb-heuristic",
    "lil-ucb-heuristic",
    "naive-best-arm",
    "vd-best-arm-id",
)
ALLOCATED = ("wager", "track-and-stop", "top-two", "top-two-ids", "kl-lucb", "successive-elimination")


@dataclass(frozen=True)
class Section:
    """A suite with what is run of it."""

    suite: str
    instances: list[Instance]
    deltas: tuple[float, ...]


def sections(data: Path | None) -> list[Section]:
    found = [
        Section("paper", instances_of("paper"), (0.1,)),
        Section("literature", instances_of("literature"), (0.1, 0.01)),
        Section("low-variance", instances_of("low-variance"), (0.1,)),
        Section("near-ties", instances_of("near-ties"), (0.1,)),
    ]
    if data is not None:
        globs = [f"*/{glob}" for glob in REAL]
        found.append(Section("real", spread(instances_of("real", data=data, only=globs), REAL_MOST), (0.05,)))
    return found


def spread(instances: list[Instance], most: int) -> list[Instance]:
    """Evenly many instances of each file, by name."""
    files: dict[str, list[Instance]] = {}
    for instance in sorted(instances, key=lambda i: i.name):
        files.setdefault(instance.name.partition("/")[0], []).append(instance)
    return [instance for own in files.values() for instance in own[: max(1, most // len(files))]]


def section_cases(section: Section, algorithms: list[str]) -> list[Case]:
    found = []
    for instance in section.instances:
        names = [name for name in algorithms if name in FEW or len(instance.arms) <= MANY]
        if section.suite != SLOW_SUITE or len(instance.arms) > SLOW_ARMS:
            names = [name for name in names if name not in SLOW]
        for case in cases([instance], names, section.deltas, left_out=lambda message: None):
            pullwise = REGISTRY[case.algorithm].stepwise is not None and REGISTRY[case.algorithm].goal != "fixed budget"
            slow = case.algorithm in SLOW
            most = SLOW_BUDGET if slow else BUDGET
            found.append(Case(instance, case.algorithm, case.delta, case.epsilon, most) if pullwise or slow else case)
    return found


def runs_of(wanted: list[Case], effort: float, workers: int) -> dict[Case, int]:
    """How often to run each case."""
    exact = {
        c for c in wanted if (REGISTRY[c.algorithm].stepwise is None or c.algorithm in SLOW) and c.algorithm != "wager"
    }  # pulls cost nothing, or so much that there is no need to find out
    runs = {
        c: COSTLIEST if REGISTRY[c.algorithm].costly > 1 else max(LEAST, min(MOST, int(MOST * effort))) for c in exact
    }
    for case, (pilot,) in replications([(c, [PILOT]) for c in wanted if c not in exact], seed=SEED, workers=workers):
        each = seconds(case, pilot.pulls)
        most = effort * (OWN_EFFORT if case.algorithm == "wager" else EFFORT)
        quoted = REGISTRY[case.algorithm].standing != "proven" or case.algorithm == "wager"
        least = QUOTED if quoted and each < BRIEF else LEAST if each < LONG else COSTLIEST
        runs[case] = int(min(MOST, max(least * min(effort, 1.0), COSTLIEST, most / each)))
    return runs


def seconds(case: Case, pulls: int) -> float:
    """What a run costs, roughly: rates measured once and written down, so that they are the same on every machine."""
    arms, zeros_and_ones = len(case.instance.arms), set(case.instance.arms.values.tolist()) <= {0.0, 1.0}
    if case.algorithm == "wager":
        return 0.03 + pulls * (0.4 + arms / 400) * 1e-6
    if case.algorithm.startswith("top-two"):  # K_inf of the leader against every other arm, without a formula
        return pulls * (1.0 if zeros_and_ones else 1.3 * arms) * 1e-6
    return pulls * (max(1.0, arms / 20) if case.algorithm.startswith("track-and-stop") else 0.5) * 1e-6


def compact(row: Row) -> Row:
    """The row with nine digits of each number, which is more than the tables show."""
    return replace(
        row, **{key: float(f"{value:.9g}") for key, value in asdict(row).items() if isinstance(value, float)}
    )


def draw(done: dict[str, Done], folder: Path) -> None:
    """The pictures of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {suite: rows_of(found) for suite, found in done.items()}
    every = [row for own in rows.values() for row in own if row.n <= MANY and row.delta in (0.1, 0.05)]
    everywhere = {
        name for name in REGISTRY if sum(r.algorithm == name for r in every) == len({r.instance for r in every})
    }
    profiled = [row for row in every if row.algorithm in everywhere]
    first = {
        c: runs
        for c, runs in done["literature"].items()
        if c.instance.name.startswith("bernoulli:0.5") and c.delta == 0.1
    }
    second = {
        c: runs
        for c, runs in done["literature"].items()
        if c.instance.name.startswith("bernoulli:0.3") and c.delta == 0.1
    }
    made = [
        (
            "bench-pulls.png",
            pictures.pulls_against_n(rows["paper"], PICTURED),
        ),
        (
            "bench-profile.png",
            pictures.performance_profile(profiled),
        ),
        (
            "bench-times.png",
            pictures.stopping_times(second),
        ),
        (
            "bench-allocation.png",
            pictures.allocation(first, [name for name in ALLOCATED if name in REGISTRY]),
        ),
    ]
    for file, figure in made:
        pictures.save(figure, folder / file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of recorded rewards; without it the suite 'real' is left out")
    parser.add_argument("--workers", type=int, default=processors())
    parser.add_argument("--effort", type=float, default=1.0, help="fewer or more runs")
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    parser.add_argument(
        "--algorithms", type=lambda text: text.split(","), default=list(REGISTRY), help="not all of them"
    )
    parser.add_argument("--docs", type=Path, default=HERE / "docs", help="the folder of pictures and rows")
    parser.add_argument(
        "--log", type=Path, default=HERE / "build" / "benchmarks.jsonl", help="where finished replications go"
    )
    given = parser.parse_args()
    given.log.parent.mkdir(parents=True, exist_ok=True)
    began, done = time.monotonic(), {}
    for number, section in enumerate(sections(given.data)):
        wanted = section_cases(section, given.algorithms)
        runs = runs_of(wanted, given.effort, given.workers)
        print(
            f"{section.suite}: {len(wanted)} cases, {sum(runs.values())} runs, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        done[section.suite] = benchmark(
            wanted,
            runs.__getitem__,
            seed=SEED,
            workers=given.workers,
            output=given.log,
            resume=given.resume or number > 0,
        )
    draw(done, given.docs / "img")
    data = given.docs / "data" / "benchmarks"
    data.mkdir(parents=True, exist_ok=True)
    for suite, found in done.items():
        (data / f"{suite}.csv").write_text(as_csv(list(map(compact, rows_of(found)))), encoding="utf-8")
    print(f"{data} written after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
