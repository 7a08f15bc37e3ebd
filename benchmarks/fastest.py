"""`surest fastest` beside hyperfine: runs needed, and how often each is wrong when the machine is noisy.

    python benchmarks/fastest.py                    # simulated machines: the tables of docs/fastest.md
    python benchmarks/fastest.py --real FILE        # gzip -1, gzip -6, xz -0 and bzip2 of FILE by both, on this machine

Hyperfine's rule, as its version 1.15 has it: each command is run by itself, at least 10 times and for at least 3 seconds, one
command after the other, and the one with the smallest mean is named.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import surest
from surest.speed.procedure import fastest
from surest.speed.result import TimesAnswer

SECONDS = 0.1
"""What a run of the faster command takes on a still machine."""
LEAST_RUNS, LEAST_SECONDS = 10, 3.0
MOST_RUNS = 2000
TOLERANCE = 0.02
Level = np.ndarray
"""By how much the machine is slowed down, for each run of the session."""


def still(rng: np.random.Generator, runs: int) -> Level:
    return np.ones(runs)


def wandering(rng: np.random.Generator, runs: int) -> Level:
    """A random walk that returns: caches, temperature, other users."""
    steps, level = rng.normal(0, 0.02, runs), np.zeros(runs)
    for k in range(1, runs):
        level[k] = 0.97 * level[k - 1] + steps[k]
    return np.exp(level)


def step(rng: np.random.Generator, runs: int) -> Level:
    """From some run among the first hundred on, something else runs too."""
    return np.where(np.arange(runs) >= rng.integers(100), 1.2, 1.0)


def warming(rng: np.random.Generator, runs: int) -> Level:
    return 1 + 0.3 * np.exp(-np.arange(runs) / 15)


def background(rng: np.random.Generator, runs: int) -> Level:
    """Another job comes and goes, for 25 runs on average."""
    return np.where(np.cumsum(rng.random(runs) < 1 / 25) % 2 == 1, 1.3, 1.0)


MACHINES: dict[str, Callable[[np.random.Generator, int], Level]] = {
    "still": still,
    "wandering": wandering,
    "a step": step,
    "warming up": warming,
    "a job in the background": background,
}


def noisy(rng: np.random.Generator, noise: float) -> float:
    """What is left from run to run, with a longer tail above."""
    return float(np.exp(noise * (rng.normal() + 0.5 * (rng.exponential() - 1))))


def by_hyperfine(seconds: list[float], machine: str, noise: float, seed: int) -> tuple[list[float], int]:
    """The mean of each command, and all runs. Which command comes first on the command line is random."""
    rng, means, used = np.random.default_rng(seed), [0.0] * len(seconds), 0
    level = MACHINES[machine](rng, 1000)
    for j in rng.permutation(len(seconds)):
        runs = max(LEAST_RUNS, round(LEAST_SECONDS / seconds[j]))
        means[j] = float(np.mean([seconds[j] * level[used + k] * noisy(rng, noise) for k in range(runs)]))
        used += runs
    return means, used


def by_surest(seconds: list[float], machine: str, noise: float, seed: int) -> tuple[TimesAnswer, int]:
    """The answer, and all runs."""
    rng, reply, used = np.random.default_rng(seed), None, 0
    level = MACHINES[machine](rng, MOST_RUNS * len(seconds))
    procedure = fastest(len(seconds), 0.05, tolerance=TOLERANCE, rng=rng, max_runs=MOST_RUNS)
    try:
        while True:
            block = next(procedure) if reply is None else procedure.send(reply)
            reply = np.array([seconds[j] * level[used + k] * noisy(rng, noise) for k, j in enumerate(block.arms)])
            used += len(reply)
    except StopIteration as end:
        return end.value, used


def simulated(sessions: int, sessions_of_surest: int) -> None:
    print("| machine | noise | B slower by | hyperfine: runs | wrong | surest: runs | longest | wrong | not decided |")
    print("|---|---|---|---|---|---|---|---|---|")
    for machine in MACHINES:
        for noise, slower in ((0.03, 0.05), (0.03, 0.0), (0.1, 0.1)):
            print(
                f"| {machine} | {noise:.0%} | {slower:.0%} | {row(machine, noise, slower, sessions, sessions_of_surest)} |"
            )
            sys.stdout.flush()


def row(machine: str, noise: float, slower: float, sessions: int, sessions_of_surest: int) -> str:
    """One row. Wrong: the slower one is named, or, of equal ones, one is said to be faster (by hyperfine: by more than 2 %)."""
    seconds = [SECONDS, SECONDS * (1 + slower)]
    old = [by_hyperfine(seconds, machine, noise, seed) for seed in range(sessions)]
    new = [by_surest(seconds, machine, noise, seed) for seed in range(sessions_of_surest)]
    if slower:
        wrong_old = sum(means[1] < means[0] for means, _ in old)
        wrong_new = sum(answer.certified and (answer.arm == 1 or answer.verdict(1) == "equal") for answer, _ in new)
    else:
        wrong_old = sum(max(means) / min(means) > 1 + TOLERANCE for means, _ in old)
        wrong_new = sum(answer.certified and "slower" in (answer.verdict(0), answer.verdict(1)) for answer, _ in new)
    runs = [used for _, used in new]
    return (
        f"{np.mean([used for _, used in old]):.0f} | {wrong_old / sessions:.1%} | {np.mean(runs):.0f} | {max(runs)} | "
        f"{wrong_new / len(new):.1%} | {np.mean([not answer.certified for answer, _ in new]):.1%}"
    )


def real(path: str, sessions: int) -> None:
    """Runs and seconds that each takes, and what it names, on the same commands."""
    commands = [f"{program} -k -c {path}" for program in ("bzip2", "xz -0", "gzip -6", "gzip -1")]
    print(
        "| session | hyperfine: runs | seconds | named | by wall: runs | seconds | named | by cpu: runs | seconds | named |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {"wall": [], "cpu": []}
    for session in range(1, sessions + 1):
        with tempfile.TemporaryDirectory() as folder:
            export = Path(folder, "times.json")
            began = time.perf_counter()
            subprocess.run(
                ["hyperfine", "--style", "none", "--export-json", export, *commands],
                check=True,
                capture_output=True,
            )
            took = time.perf_counter() - began
            rows = json.loads(export.read_text())["results"]
        first = min(rows, key=lambda row: row["mean"])
        cells = [str(session), str(sum(len(row["times"]) for row in rows)), f"{took:.1f}", first["command"][:7]]
        for by, ratio in ratios.items():
            found = surest.fastest(commands, by=by)
            ratio.append(found.seconds / took)
            named = found.best[:7] + ("" if found.certified else " (not decided)")
            cells += [str(found.runs), f"{found.seconds:.1f}", named]
        print(f"| {' | '.join(cells)} |")
        sys.stdout.flush()
    for by, ratio in ratios.items():
        print(f"by {by}: {np.median(ratio):.2f} times hyperfine's time in the median, {max(ratio):.2f} at most")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", metavar="FILE", help="a file to compress, some megabytes long")
    parser.add_argument(
        "--sessions", type=int, help="how many: 1,000 by hyperfine's rule and 200 by surest, or 5 real ones"
    )
    given = parser.parse_args()
    if given.real:
        real(given.real, given.sessions or 5)
    else:
        simulated(given.sessions or 1000, given.sessions or 200)
