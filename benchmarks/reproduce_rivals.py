"""The published and re-simulated numbers of docs/rivals.md, again: mean ± standard error (median, maximum) and wrong answers.

python benchmarks/reproduce_rivals.py [RUNS] [ALGORITHM …]
"""

import sys
import time

import numpy as np

from surest.algorithms import REGISTRY, Task
from surest.arms.finite import FiniteArms, bernoulli
from surest.lab.stepwise import Finished, simulate_blocks

INSTANCES = {"μ1": bernoulli([0.5, 0.45, 0.43, 0.4]), "μ2": bernoulli([0.3, 0.21, 0.2, 0.19, 0.18])}
EXPECTED = {  # the re-simulated means (None: medians, where the tail makes the mean unstable)
    "track-and-stop-heuristic": (4183, 1375),
    "chernoff-racing": (4657, 2424),
    "kl-lucb-heuristic": (8436, 2726),
    "kl-racing-heuristic": (9471, 3231),
    "kl-lucb": (47168, 15137),
    "lil-ucb-heuristic": (8722, 4590),
    "lil-ucb": (208790, 123172),
}
DELTA = 0.1


def one(name: str, arms: FiniteArms, seed: int) -> Finished:
    task = Task(np.arange(len(arms)), DELTA, 0.0, None, np.random.default_rng([seed, len(arms)]))
    build = REGISTRY[name].stepwise
    assert build is not None
    return simulate_blocks(build(task), arms.simulate(seed))


def main(runs: int, names: list[str]) -> None:
    for name in names:
        for (label, arms), expected in zip(INSTANCES.items(), EXPECTED.get(name, (None, None)), strict=True):
            began = time.perf_counter()
            done = [one(name, arms, seed) for seed in range(runs)]
            seconds = time.perf_counter() - began
            pulls = np.array([d.pulls for d in done])
            wrong = sum(d.value is None or d.value.arm != 0 for d in done)
            off = "" if expected is None else f", {pulls.mean() / expected - 1:+.1%} of {expected}"
            print(
                f"{name:26s} {label} {pulls.mean():9.0f} ± {pulls.std() / runs**0.5:.0f} (median {np.median(pulls):.0f},"
                f" 95 % {np.quantile(pulls, 0.95):.0f}, max {pulls.max()}){off}; {wrong} of {runs} wrong;"
                f" {pulls.sum() / seconds:.2g} pulls/s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000, sys.argv[2:] or list(EXPECTED))
