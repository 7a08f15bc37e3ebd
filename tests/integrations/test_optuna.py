"""SurestPruner in real studies of Optuna."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from scipy.stats import binom

from surest.errors import RewardError, UsageError
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


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_worse_trial_is_pruned_and_a_better_one_is_not(direction: str) -> None:
    rng = np.random.default_rng(1)
    good, bad = 0.6 + 0.4 * rng.random(100), 0.4 * rng.random(100)
    best, worse = (good, bad) if direction == "maximize" else (bad, good)
    count = pruned_after(study_with(best, direction), worse, rng.permutation(100))
    assert count is not None
    assert count < 20
    assert pruned_after(study_with(worse, direction), best, rng.permutation(100)) is None


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


def test_the_last_step_is_not_pruned() -> None:
    """All is done by then: the trial may as well be complete."""
    study = study_with(np.ones(3), delta=0.9)
    assert pruned_after(study, np.array([1.0, 1.0, 0.0]), [0, 1, 2]) is None
    assert pruned_after(study, np.zeros(3), [0, 1, 2]) in (1, 2)


def test_the_opponent_is_the_best_with_all_steps_that_was_complete_before() -> None:
    study = optuna.create_study(direction="maximize", pruner=SurestPruner())
    assert pruned_after(study, np.zeros(5), range(5)) is None, "there is none yet"
    add(study, np.full(50, 0.1))
    add(study, np.ones(5))  # returned early: not all of its steps are known
    running = study.ask()
    add(study, np.full(50, 0.9))  # completed while the other ran
    for step in range(40):
        running.report(0.2, step)
        assert not running.should_prune()
    assert pruned_after(study, np.full(50, 0.2), range(50)) is not None


def test_the_number_of_steps_may_be_given() -> None:
    study = study_with(np.ones(20), n_steps=40)
    assert pruned_after(study, np.zeros(40), range(20)) is None
    add(study, np.ones(40))
    assert pruned_after(study, np.zeros(40), range(40)) is not None


def test_what_cannot_be_compared_is_not_pruned_and_said() -> None:
    study = study_with(np.ones(30))
    for value, step, said in (
        (math.nan, 0, "a value that is not finite"),
        (0.0, 77, "step 77, which the best trial did"),
    ):
        trial = study.ask()
        trial.report(value, step)
        with pytest.warns(UserWarning, match=f"reported {said}"):
            assert not trial.should_prune()


def test_mistakes_are_refused() -> None:
    for settings, said in (({"delta": 0.0}, "delta"), ({"n_steps": 0}, "n_steps is 0"), ({"bounds": (1, 0)}, "bounds")):
        with pytest.raises(UsageError, match=said):
            SurestPruner(**settings)
    trial = study_with(np.ones(30)).ask()
    trial.report(1.5, 0)
    with pytest.raises(RewardError, match=r"a step of trial \d"):
        trial.should_prune()
    assert pruned_after(study_with(np.full(60, 9.0), bounds=(0, 10)), np.zeros(60), range(60)) is not None


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_every_storage_gives_the_same_verdicts(kind: str, tmp_path: Path) -> None:
    """Databases give steps sorted; what is random, the order in which they were reported, must not be lost."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    journal = JournalStorage(JournalFileBackend(str(tmp_path / "journal.log"))) if kind == "journal" else None
    storage = f"sqlite:///{tmp_path}/study.db" if kind == "sqlite" else journal
    study = optuna.create_study(storage=storage, direction="maximize", pruner=SurestPruner())
    rng = np.random.default_rng(3)
    best = 0.3 + 0.7 * rng.random(60)
    add(study, best)
    found = [pruned_after(study, rng.permutation(best) - gap, rng.permutation(60)) for gap in (0.1, 0.2, 0.3)]
    assert found == FOUND


FOUND = [20, 13, 10]
"""After how many steps trials that are worse by 0.1, 0.2 and 0.3 are pruned."""


def test_steps_that_are_new_to_one_look_count_in_a_random_order() -> None:
    """The first half of the steps says nothing, in the second half the trial is far behind: sorted, it would look as if the
    trial fell behind late."""
    study = study_with(np.ones(100))
    trial = study.ask()
    for step in range(60):
        trial.report(float(step < 30), step)
    assert trial.should_prune()
    pruner = study.pruner
    assert isinstance(pruner, SurestPruner)
    (order,) = pruner._seen.values()
    assert sorted(order) == list(range(60))
    assert order != sorted(order)


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
    with pytest.raises(RewardError, match=r"further apart than spread=0.05"):
        pruned_after(study_with(best, spread=0.05), worse, order)
    equal = np.repeat([0.55, 0.45], 30)
    pruned = [
        pruned_after(study_with(equal, delta=DELTA, spread=0.1), equal[::-1], rng.permutation(60)) for _ in range(RUNS)
    ]
    wrong = sum(count is not None for count in pruned)
    assert 0 < wrong <= binom.isf(1e-4, RUNS, DELTA)
