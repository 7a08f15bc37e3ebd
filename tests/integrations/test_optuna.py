"""SurestPruner in real studies of Optuna. `optuna.txt` has what it prunes, says and refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from scipy.stats import binom

from pages import same_as_kept
from surest.integrations.optuna import SurestPruner

RUNS, DELTA = 200, 0.2


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def study_with(best: Any, direction: str = "maximize", **settings: Any) -> optuna.Study:
    """A study with one complete trial."""
    study = optuna.create_study(direction=direction, pruner=SurestPruner(**settings))
    add(study, best)
    return study


def add(study: optuna.Study, values: Any) -> None:
    known = dict(enumerate(map(float, values)))
    mean = sum(known.values()) / len(known)
    study.add_trial(optuna.trial.create_trial(value=mean, intermediate_values=known))


def pruned_after(study: optuna.Study, values: Any, order: Any) -> int | None:
    trial = study.ask()
    for count, step in enumerate(order, 1):
        trial.report(float(values[step]), int(step))
        if trial.should_prune():
            return count
    return None


@pytest.mark.usefixtures("run")
def test_what_is_pruned_said_and_refused(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("optuna.txt"), request, names=globals())


def test_an_equally_good_trial_is_pruned_with_probability_at_most_delta() -> None:
    """Right or wrong, 21 of 30 each: the means over the steps are the same, so each pruned trial is a mistake. If it had
    probability δ, more than the bound would be seen once in 10,000 times."""
    rng = np.random.default_rng(2)
    best = np.repeat([1.0, 0.0], [21, 9])
    study = study_with(best, delta=DELTA)
    pruned = sum(pruned_after(study, rng.permutation(best), rng.permutation(30)) is not None for _ in range(RUNS))
    assert pruned == PRUNED
    assert pruned <= binom.isf(1e-4, RUNS, DELTA)


PRUNED = 20
"""What came out, with the seeds above."""


def test_a_spread_prunes_sooner_and_is_checked() -> None:
    rng = np.random.default_rng(4)
    best = 0.5 + rng.random(60) / 20
    worse = best - 0.05 - rng.random(60) / 20
    order = rng.permutation(60)
    sooner, later = (pruned_after(study_with(best, spread=d), worse, order) for d in (0.1, 0.5))
    assert sooner is not None
    assert later is not None
    assert sooner < later
    assert pruned_after(study_with(worse, "minimize", spread=0.1), best, order) == sooner
    equal = np.repeat([0.55, 0.45], 30)
    pruned = [
        pruned_after(study_with(equal, delta=DELTA, spread=0.1), equal[::-1], rng.permutation(60)) for _ in range(RUNS)
    ]
    wrong = sum(count is not None for count in pruned)
    assert 0 < wrong <= binom.isf(1e-4, RUNS, DELTA)
