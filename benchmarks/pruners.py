"""SurestPruner beside Optuna's WilcoxonPruner: how often a trial is pruned, and how many of its steps are run.

    python benchmarks/pruners.py [REPLICATIONS]

A complete trial and a running one are compared on the same 100 steps, in a fresh random order each time. Rows whose names begin
with "equal" have the same mean over the steps to the last digit, so every pruned trial is a mistake. 120 replications take about
twelve minutes of processor time.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
import optuna
from optuna.pruners import BasePruner, WilcoxonPruner

from surest.integrations.optuna import SurestPruner

STEPS = 100
Values = tuple[np.ndarray, np.ndarray]


def noisy(rng: np.random.Generator, gap: float) -> Values:
    best = 0.2 + 0.8 * rng.random(STEPS)
    return best, rng.permutation(best) - gap


def binary(rng: np.random.Generator, gap: float) -> Values:
    best = np.repeat([1.0, 0.0], [70, 30])
    return best, rng.permutation(np.repeat([1.0, 0.0], [70 - round(100 * gap), 30 + round(100 * gap)]))


def skewed(rng: np.random.Generator, gap: float) -> Values:
    """A little worse on most steps and much better on a few, as a solver is that rarely runs into its limit."""
    return np.full(STEPS, 0.5), 0.5 + np.repeat([-0.05, 0.2], [80, 20]) - gap


CASES: dict[str, tuple[Callable[[np.random.Generator, float], Values], float]] = {
    "equal, noisy": (noisy, 0.0),
    "equal, right or wrong": (binary, 0.0),
    "equal, skewed": (skewed, 0.0),
    "better by 0.01, skewed": (skewed, -0.01),
    "worse by 0.1, noisy": (noisy, 0.1),
    "worse by 0.2, noisy": (noisy, 0.2),
    "worse by 0.2, right or wrong": (binary, 0.2),
}
PRUNERS: dict[str, Callable[[], BasePruner]] = {
    "SurestPruner(0.05)": lambda: SurestPruner(0.05),
    "WilcoxonPruner(p_threshold=0.1)": lambda: WilcoxonPruner(p_threshold=0.1),
}


def steps_run(pruner: BasePruner, best: np.ndarray, values: np.ndarray, order: np.ndarray) -> tuple[bool, int]:
    """Whether a trial is pruned, and after how many steps it ends."""
    study = optuna.create_study(direction="maximize", pruner=pruner)
    known = dict(enumerate(best.tolist()))
    study.add_trial(optuna.trial.create_trial(value=float(best.mean()), intermediate_values=known))
    trial = study.ask()
    for count, step in enumerate(order.tolist(), 1):
        trial.report(float(values[step]), step)
        if trial.should_prune():
            return True, count
    return False, len(order)


def main(replications: int) -> None:
    """Print a table."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")
    print("| the running trial is |", " | ".join(f"{name}: pruned | steps saved" for name in PRUNERS), "|")
    print("|---|" + "---|---|" * len(PRUNERS))
    for place, (case, (make, gap)) in enumerate(CASES.items()):
        cells = []
        for pruner in PRUNERS.values():
            rng = np.random.default_rng([1, place])
            ended = []
            for _ in range(replications):
                best, values = make(rng, gap)
                ended.append(steps_run(pruner(), best, values, rng.permutation(STEPS)))
            pruned, steps = np.array(ended, float).mean(axis=0)
            cells += [f"{100 * pruned:.1f} %", f"{100 - 100 * steps / STEPS:.0f} %"]
        print(f"| {case} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 120)
