"""Write docs/benchmarks.md: every suite, every algorithm, tables, pictures and what they say.

    python benchmarks/full.py [--data FOLDER] [--workers W] [--effort E] [--resume]

How often a case is run is settled by a pilot run that is not counted: as often as fits into `EFFORT` by the usual cost of a run,
between `LEAST` and `MOST` times. That number, like every replication, is the same on every machine. `--effort 0.1` tries it all
in a tenth of the time, of half an hour on two cores.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from surest import __version__
from surest.algorithms import REGISTRY
from surest.bench import pictures
from surest.bench.reading import QUOTED, SUMMARY, reading, summary_rows
from surest.bench.record import Done, benchmark
from surest.bench.run import Case, cases, processors, replications
from surest.bench.suites import SUITES, Instance, instances_of
from surest.bench.tables import Row, as_markdown, notes, rows_of

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
WIDTH = 120
"""Letters in a line of prose."""
HERE = Path(__file__).resolve().parent.parent
SHOWN = ("algorithm", "standing", "runs", "wrong", "undecided", "mean", "median", "q95", "max", "ratio", "microseconds")
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
    """A suite on the page."""

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


def page(done: dict[str, Done], minutes: float | None, workers: int, pictures_made: list[tuple[str, str]]) -> str:
    rows = {suite: rows_of(found) for suite, found in done.items()}
    every = [row for own in rows.values() for row in own]
    unique = list({(r.instance, r.algorithm, r.delta): r for r in every}.values())
    took = "" if minutes is None else f" in {minutes:.0f} minutes"
    parts = [
        "# Benchmarks",
        f"Made by `make benchmarks` (surest {__version__}, seed {SEED}) with {workers} process{'es' * (workers > 1)}{took}: "
        f"{sum(row.runs for row in unique):,} replications, {sum(row.seconds for row in unique) / 60:.0f} minutes of "
        "processor time. Every number below comes from them; "
        "each replication is the same on every machine and for any number of workers.",
        "A row is an algorithm on an instance at a δ. *wrong* counts decided runs that named a worse arm, *undecided* those "
        "stopped at "
        f"{BUDGET:,} pulls (or ended without a decision), which stay in the mean with what they had pulled. The lower bound is "
        "T*·kl(δ, 1−δ), which no δ-correct algorithm can beat on average; *ratio* is mean pulls over it. *proven*: a theorem "
        "covers the rule for rewards in [0, 1]. *heuristic*: no proof. *reconstruction*: some constant is not certain. With "
        f"more than {MANY} arms only {', '.join(FEW)} are run; {', '.join(SLOW)} are run on the suite {SLOW_SUITE} with at most "
        f"{SLOW_ARMS} arms, and stopped at {SLOW_BUDGET:,} pulls. Every replication meets the arms in a random order of its own. "
        f"Prose quotes rows of at least {QUOTED} runs only. "
        f"{' '.join(told(unique))}",
        "## What the rows say",
        reading(unique),
        "## Pictures",
        *(f"![{text}](img/{file})\n\n*{text}*" for file, text in pictures_made),
    ]
    for suite, own in rows.items():
        parts += [
            f"## {suite}",
            f"{SUITES[suite].summary[0].upper()}{SUITES[suite].summary[1:]}. {about_real(own) if suite == 'real' else ''}"
            "Mean pulls over the lower bound:",
        ]
        lines = summary_rows(own)
        parts.append(
            "\n".join(["| " + " | ".join(line) + " |" for line in [list(SUMMARY), ["---"] * len(SUMMARY), *lines]])
        )
        parts += [details(own, case_of) for case_of in dict.fromkeys((r.instance, r.delta) for r in own)]
    return "\n\n".join(map(wrapped, parts)) + "\n"


def about_real(rows: list[Row]) -> str:
    """Which of the recorded instances are on the page."""
    return f"Here: {', '.join(dict.fromkeys(f'`{row.instance}`' for row in rows))}. "


def wrapped(part: str) -> str:
    """Lines of prose and of lists, broken where they are long; tables and headings stay as they are."""
    if part.startswith(("|", "<", "!")):
        return part
    lines = part.splitlines()
    return "\n".join(
        line
        if len(line) <= WIDTH or line.startswith(("|", "#", "<", "!"))
        else fill(
            line, WIDTH, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False, break_long_words=False
        )
        for line in lines
    )


def told(rows: list[Row]) -> list[str]:
    return [note for note in notes(rows) if note.startswith(("fixed", "wrong"))]


def details(rows: list[Row], place: tuple[str, float]) -> str:
    here = sorted((r for r in rows if (r.instance, r.delta) == place), key=lambda row: row.mean)
    head = f"{place[0]}, δ = {place[1]:g}: n = {here[0].n}, lower bound {here[0].lower_bound:,.0f}"
    return f"<details><summary>{head}</summary>\n\n{as_markdown(here, SHOWN)}\n\n</details>"


def draw(done: dict[str, Done], folder: Path) -> list[tuple[str, str]]:
    """The pictures of the page: file and caption."""
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
            "Mean pulls against the number of arms on Example 1.",
            pictures.pulls_against_n(rows["paper"], PICTURED),
        ),
        (
            "bench-profile.png",
            "Share of instances on which an algorithm needs at most τ times the fewest mean pulls of those shown; "
            "broken lines have no proof.",
            pictures.performance_profile(profiled),
        ),
        (
            "bench-times.png",
            "Every run's pulls on the second instance of Garivier and Kaufmann.",
            pictures.stopping_times(second),
        ),
        (
            "bench-allocation.png",
            "Where the pulls go on the first instance of Garivier and Kaufmann, beside the optimal shares.",
            pictures.allocation(first, [name for name in ALLOCATED if name in REGISTRY]),
        ),
    ]
    for file, _, figure in made:
        pictures.save(figure, folder / file)
    return [(file, text) for file, text, _ in made]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of recorded rewards; without it the suite 'real' is left out")
    parser.add_argument("--workers", type=int, default=processors())
    parser.add_argument("--effort", type=float, default=1.0, help="fewer or more runs")
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    parser.add_argument(
        "--algorithms", type=lambda text: text.split(","), default=list(REGISTRY), help="not all of them"
    )
    parser.add_argument("--docs", type=Path, default=HERE / "docs", help="where the page goes")
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
    made = draw(done, given.docs / "img")
    minutes = None if given.resume else (time.monotonic() - began) / 60  # of a part only, where it was interrupted
    (given.docs / "benchmarks.md").write_text(page(done, minutes, given.workers, made), encoding="utf-8")
    print(f"{given.docs / 'benchmarks.md'} written after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
