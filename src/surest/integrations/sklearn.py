"""A search for scikit-learn that races candidates over shared splits, in place of fitting each of them on every split."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from surest.core.problem import problem_of
from surest.core.protocol import FloatArray
from surest.errors import MissingPackageError, UsageError
from surest.search.session import Session, Ticket

try:
    from joblib import Parallel, delayed, effective_n_jobs
    from sklearn import config_context, get_config
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv, cross_validate
    from sklearn.utils import check_random_state, indexable
except ImportError:
    raise MissingPackageError("surest.integrations.sklearn needs scikit-learn: pip install 'surest[sklearn]'") from None


class Fit(NamedTuple):
    """What came of one candidate on one split."""

    score: float
    fit_time: float = np.nan
    score_time: float = np.nan
    error: str | None = None


class SurestSearchCV(GridSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """A grid search that drops candidates once they are certified not to be the best over the splits.

    All candidates are fitted on the same splits, one split after the other, in a random order; weak ones drop out early. The
    candidate that is found has the best mean score over all splits, wrong with probability at most `delta`: it is the one that
    GridSearchCV would find, from fewer fits. The claim is about these splits of these data. There is much to save with many
    splits (``RepeatedStratifiedKFold``), and little with five.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv
        As for GridSearchCV, with a single score. To search over estimators, search over the step of a pipeline.
    delta : float
        The allowed probability that another candidate has the best mean.
    epsilon : float
        How far from the best a candidate may be, in the units of the score. More than 0 saves fits where candidates are alike.
    bounds : (float, float)
        The lowest and the highest possible score: ``(-10, 0)`` for ``neg_log_loss`` that never is below -10.
    spread : float, optional
        Maximum difference of two candidates on any split, including those not fitted: saves fits if candidates are
        alike. A split on which they differ by more is refused. docs/items.md says when to state one.
    random_state : int or RandomState, optional
        Draws the order of the splits.
    error_score : "raise" or float
        What a fit that fails counts; NaN counts as the lowest possible score.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, cv_results_, scorer_, n_splits_, refit_time_
        As for GridSearchCV. In `cv_results_`, splits that a candidate was not fitted on are NaN, means are over those that it
        was fitted on (``n_splits`` of them), and ranks are the order in which candidates dropped out, the last first.
    best_score_ : float
        The mean score of the best candidate over the splits that it was fitted on.
    n_fits_, n_fits_saved_ : int
        The fits that were made, and how many more GridSearchCV makes on the same splits.
    certified_ : bool
        Whether the guarantee holds.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=8, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = SurestSearchCV(tree, {"max_depth": [1, 2, 4]}, cv=splits, epsilon=0.02, random_state=1)
    >>> _ = search.fit(*load_wine(return_X_y=True))
    >>> search.best_params_, search.n_fits_ + search.n_fits_saved_
    ({'max_depth': 4}, 120)
    """

    def __init__(
        self, estimator: Any, param_grid: Any, *, scoring: Any = None, n_jobs: int | None = None, refit: bool = True,
        cv: Any = None, delta: float = 0.05, epsilon: float = 0.0, bounds: tuple[float, float] = (0.0, 1.0),
        spread: float | None = None, random_state: Any = None, error_score: Any = np.nan,
    ) -> None:  # fmt: skip
        super().__init__(
            estimator, param_grid, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, error_score=error_score
        )
        self.delta = delta
        self.epsilon = epsilon
        self.bounds = bounds
        self.spread = spread
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> "SurestSearchCV":  # as scikit-learn calls it
        """Search, and fit the best candidate on all data.

        `groups` goes to the splitter, other parameters to the estimator's `fit`.
        """
        if isinstance(self.scoring, list | tuple | set | dict):
            raise UsageError(f"scoring is {self.scoring!r}; give one score")
        X, y = indexable(X, y)
        groups = params.pop("groups", None)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, groups))
        self.n_splits_, self.multimetric_ = len(splits), False
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        candidates = list(ParameterGrid(self.param_grid))
        seed = int(check_random_state(self.random_state).randint(2**31))
        problem = problem_of(
            _named(candidates), items=len(splits), delta=self.delta, epsilon=self.epsilon, bounds=self.bounds,
            spread=self.spread, seed=seed,
        )  # fmt: skip
        session = Session(problem)

        def fitted(tickets: list[Ticket]) -> list[Fit]:
            config = get_config()  # each thread has its own
            tasks = (
                delayed(_fit)(config, self, X, y, candidates[ticket.arm], splits[ticket.item or 0], params)
                for ticket in tickets
            )
            return list(Parallel(n_jobs=self.n_jobs)(tasks))

        fits = _raced(session, fitted, effective_n_jobs(self.n_jobs))
        self.result_ = result = session.result()
        self.certified_ = bool(result.certified)
        self.best_index_ = int(result.labels.index(result.best))
        self.n_fits_ = len(fits)
        self.n_fits_saved_ = len(candidates) * len(splits) - len(fits)
        self.cv_results_ = _cv_results(candidates, len(splits), fits, self.best_index_)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        if self.refit:
            self._fit_best(X, y, params)
        return self

    def _fit_best(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        self.best_estimator_ = _with(self.estimator, self.best_params_)
        began = time.time()
        self.best_estimator_.fit(X, **params) if y is None else self.best_estimator_.fit(X, y, **params)
        self.refit_time_ = time.time() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _named(candidates: list[dict[str, Any]]) -> list[str] | int:
    """What the arms are called: their parameters, or, where that would not tell them apart in a line, their numbers."""
    names = [", ".join(f"{name}={value}" for name, value in params.items()) for params in candidates]
    return names if len(set(names)) == len(names) and all(name.isprintable() for name in names) else len(names)


def _with(estimator: Any, params: dict[str, Any]) -> Any:
    """A copy of an estimator with other parameters. They may be estimators, which are copied, too."""
    return clone(estimator).set_params(**clone(params, safe=False))


def _fit(
    config: dict[str, Any], search: SurestSearchCV, X: Any, y: Any, params: dict[str, Any], split: tuple[Any, Any],
    more: dict[str, Any],
) -> Fit:  # fmt: skip
    estimator = _with(search.estimator, params)
    how: Any = {"cv": [split], "scoring": search.scorer_, "params": more, "error_score": "raise"}
    try:
        with config_context(**config):
            found = cross_validate(estimator, X, y, **how)
    except Exception as error:
        if search.error_score == "raise":
            raise
        counted = search.bounds[0] if np.isnan(search.error_score) else search.error_score
        warnings.warn(f"a fit with {params} failed, and counts as {counted:g}: {error}", FitFailedWarning, stacklevel=2)
        return Fit(float(counted), error=f"{type(error).__name__}: {error}")
    return Fit(found["test_score"].item(), found["fit_time"].item(), found["score_time"].item())


def _raced(session: Session, fitted: Any, workers: int) -> dict[tuple[int, int], Fit]:
    """Fit what the session asks for until it is decided: as many at a time as there are workers."""
    fits: dict[tuple[int, int], Fit] = {}
    alone = len(session.labels) == 1  # there is nothing to decide: it is fitted on all splits, for its score
    every = [Ticket(item, 0, session.labels[0], item) for item in range(session.problem.items or 0)]
    tickets = every if alone else session.ask(workers)
    while tickets:
        for ticket, fit in zip(tickets, fitted(tickets), strict=True):
            fits[ticket.arm, ticket.item or 0] = fit
            if not alone:
                session.tell(ticket.id, fit.score)
        failed = [fit.error for fit in fits.values() if fit.error is not None]
        if len(failed) == len(fits) >= len(session.labels):
            raise ValueError(f"all fits failed, the last with {failed[-1]}")
        tickets = [] if alone else session.ask(workers)
    return fits


def _cv_results(
    candidates: list[dict[str, Any]], splits: int, fits: dict[tuple[int, int], Fit], best: int
) -> dict[str, Any]:
    def each(field: str) -> FloatArray:
        values = np.full((len(candidates), splits), np.nan)
        for cell, fit in fits.items():
            values[cell] = getattr(fit, field)
        return values

    found: dict[str, Any] = {}
    scores = each("score")
    for name, values in (("fit_time", each("fit_time")), ("score_time", each("score_time")), ("test_score", scores)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a candidate whose fits all failed no time is known
            found[f"mean_{name}"], found[f"std_{name}"] = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
    for name in dict.fromkeys(name for params in candidates for name in params):
        column = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for place, params in enumerate(candidates):
            if name in params:
                column[place] = params[name]
        found[f"param_{name}"] = column
    found["params"] = candidates
    for split in range(splits):
        found[f"split{split}_test_score"] = scores[:, split]
    found["n_splits"] = counts = (~np.isnan(scores)).sum(axis=1)
    order = np.lexsort((-found["mean_test_score"], -counts, np.arange(len(candidates)) != best))
    found["rank_test_score"] = np.empty(len(candidates), np.int32)
    found["rank_test_score"][order] = np.arange(1, len(candidates) + 1)
    return found
