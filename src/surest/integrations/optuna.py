"""A pruner for Optuna that stops a trial when it is certified to be worse than the best one on the same steps."""

import warnings
from collections.abc import Mapping
from random import Random

import numpy as np
from msgspec.structs import replace

from surest.core.problem import check_spread, problem_of
from surest.core.scale import checked_scale
from surest.errors import MissingPackageError, UsageError
from surest.evidence.lists.gate import UNKNOWN, Predictions, bet_above, directions, mirrored
from surest.kernels.constants import PLAIN

try:
    import optuna
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise MissingPackageError("surest.integrations.optuna needs optuna: pip install 'surest[optuna]'") from None

MOST_KEPT = 1000  # maximum number of trials whose order of steps is kept, the latest ones
MOST_OLDER = 50  # maximum number of complete trials that values are predicted from, the latest ones


class SurestPruner(optuna.pruners.BasePruner):
    """Prune a trial once it is certified that its mean over the steps is worse than that of the best trial before it.

    Steps are what the objective is the mean of: folds, instances, seeds, questions. `trial.report(value, step)` gives the value
    of one step, not a running mean, and the same step means the same in every trial, as for Optuna's WilcoxonPruner.

    A trial whose mean over all steps is at least as good as that of the best trial is pruned with probability at most `delta`,
    however often it is looked at and whatever the values are. This requires each trial to report its steps in a random order of
    its own, drawn when it begins (``rng.permutation(n)``). Values are predicted from the best trial's and those of other complete
    trials, as in docs/gate.md: verdicts come sooner. docs/integrations.md has the proof, and what is lost with one order for
    all trials.

    Parameters
    ----------
    delta : float
        The allowed probability that a trial is pruned although it is at least as good as the best one.
    bounds : (float, float)
        The lowest and the highest possible value of a step.
    spread : float, optional
        Maximum difference of two trials on any step, including pruned ones. Values are then not predicted, and
        steps on which two trials differ by more are refused. docs/items.md says when to state one.
    n_steps : int, optional
        How many steps a whole trial has. Otherwise the largest number that a complete trial has reported.

    Examples
    --------
    >>> import optuna
    >>> rng = np.random.default_rng(1)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 0, 1)
    ...     values = {}
    ...     for step in rng.permutation(200).tolist():
    ...         values[step] = min(abs(x - 0.3) + (step % 10) / 50, 1)  # some steps are harder than others
    ...         trial.report(values[step], step)
    ...         if trial.should_prune():
    ...             raise optuna.TrialPruned
    ...     return sum(values.values()) / len(values)
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(pruner=SurestPruner(), sampler=optuna.samplers.RandomSampler(seed=1))
    >>> study.optimize(objective, n_trials=20)
    >>> steps = sum(len(trial.intermediate_values) for trial in study.trials)
    >>> round(study.best_params["x"], 2), steps < 20 * 200 / 2
    (0.3, True)
    """

    def __init__(
        self, delta: float = 0.05, *, bounds: tuple[float, float] = (0.0, 1.0), spread: float | None = None,
        n_steps: int | None = None,
    ) -> None:  # fmt: skip
        self._problem = problem_of(2, items=1, delta=delta, bounds=bounds, spread=spread)  # refuses what it cannot be
        if n_steps is not None and n_steps < 1:
            raise UsageError(f"n_steps is {n_steps}; a trial has at least one step")
        self._delta, self._bounds, self._n_steps = delta, bounds, n_steps
        self._seen: dict[tuple[str, int], list[int]] = {}

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the trial is certified to be worse. Optuna calls it in `trial.should_prune()`."""
        minimise = study.direction == StudyDirection.MINIMIZE
        scale = checked_scale(self._bounds, minimise)
        total, best, older = self._opponent(study, trial, minimise)
        reported = trial.intermediate_values
        steps = self._in_order(study, trial)
        if best is None or len(reported) >= total:  # nothing is left to save
            return False
        if not np.isfinite(list(reported.values())).all():
            warnings.warn(f"trial {trial.number} reported a value that is not finite; it is not pruned", stacklevel=2)
            return False
        strange = next((step for step in reported if step not in best), None)
        if strange is not None:
            warnings.warn(
                f"trial {trial.number} reported step {strange}, which the best trial did not: they cannot be compared, so it is "
                "not pruned; give the same step the same number in every trial",
                stacklevel=2,
            )
            return False
        what = f"a step of trial {trial.number}"
        own = scale.to_unit(scale.numbers(np.array([reported[step] for step in steps]), what))
        order = [*steps, *(step for step in best if step not in reported)]
        row, *rows = (
            scale.to_unit(scale.numbers(np.array([values.get(step, np.nan) for step in order]), "a step of a trial"))
            for values in (best, *(values for values in older if values.keys() == best.keys()))
        )
        if self._problem.spread is not None:
            problem = replace(self._problem, labels=("this trial", "the best before it"), minimise=minimise)
            for step, pair in zip(steps, zip(own.tolist(), row.tolist(), strict=False), strict=True):
                check_spread(problem, dict(enumerate(pair)), f"step {step} of trial {trial.number}")
            apart, told, share = (row[: len(own)] - own) / problem.unit_spread, UNKNOWN, 1.0
        else:
            more = directions(row, np.array(rows).reshape(-1, len(row)))
            apart = row[: len(own)] - own
            told, share = mirrored(Predictions(row, more).extend(-apart)), PLAIN
        return bet_above(apart, float(total), 0.0, 1 / self._delta, told, share)[0] >= 0

    def _in_order(self, study: Study, trial: FrozenTrial) -> list[int]:
        """The steps in the order in which they were reported, as far as it is known.

        Storages in a database give them sorted. So the order is kept here, from look to look; steps that are new to the same
        look are put in a random order, which leaves the whole order as random as it was.
        """
        steps = self._seen.setdefault((study.study_name, trial.number), [])
        fresh = sorted(trial.intermediate_values.keys() - set(steps))
        Random(f"{trial.number} {len(steps)} {fresh}").shuffle(fresh)
        steps += fresh
        while len(self._seen) > MOST_KEPT:
            del self._seen[next(iter(self._seen))]
        return steps

    def _opponent(
        self, study: Study, trial: FrozenTrial, minimise: bool
    ) -> tuple[int, Mapping[int, float] | None, list[Mapping[int, float]]]:
        """The number of steps, the values of the best trial with all of them that was complete when this one began, and others'.

        It does not change while the trial runs, and nothing in it depends on the order of the trial's steps: so the bound on
        the probability holds although the opponent was chosen for its values.
        """
        began = trial.datetime_start
        earlier: list[Mapping[int, float]] = [
            other.intermediate_values
            for other in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            if began is not None and other.datetime_complete is not None and other.datetime_complete <= began
        ]
        total = self._n_steps or max(map(len, earlier), default=0)
        whole = [values for values in earlier if len(values) == total and np.isfinite(list(values.values())).all()]
        if not total or not whole:
            return total, None, []
        means = [sum(values.values()) / total for values in whole]
        best = int(np.argmin(means) if minimise else np.argmax(means))
        return total, whole[best], [*whole[:best], *whole[best + 1 :]][-MOST_OLDER:]
