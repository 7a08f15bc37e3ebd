"""SurestSearchCV beside GridSearchCV. `sklearn.txt` has what it finds and refuses."""

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from pages import same_as_kept
from surest.integrations.sklearn import SurestSearchCV

X, Y = load_iris(return_X_y=True)
TREE, DEPTHS = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}
SPLITS = RepeatedStratifiedKFold(n_splits=5, n_repeats=8, random_state=0)


class Flat(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Always the same class; some do not fit."""

    def __init__(self, answer: int = 0) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Flat":
        if self.answer < 0:
            raise RuntimeError("cannot be fitted")
        self.classes_ = np.unique(y)
        self.weights_ = sample_weight
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.answer)


def scores_of(search: SurestSearchCV) -> Any:
    """On each split the score of each candidate, or NaN."""
    return np.array([search.cv_results_[f"split{split}_test_score"] for split in range(search.n_splits_)])


def fitted(search: SurestSearchCV) -> Any:
    """Which candidates were fitted on which splits."""
    return ~np.isnan(scores_of(search))


def test_what_is_found_and_refused(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("sklearn.txt"), request, names=globals())


def statuses(search: Any) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {found["check_name"]: found["status"] for found in check_estimator(search, on_fail=None)}


@pytest.mark.parametrize(
    ("estimator", "grid", "bounds"),
    [(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, (0.0, 1.0)), (Ridge(), {"alpha": [0.1, 1.0]}, (-1e9, 1.0))],
)
def test_it_passes_the_checks_that_grid_search_passes(
    estimator: Any, grid: dict[str, Any], bounds: tuple[float, float]
) -> None:
    own = SurestSearchCV(estimator, grid, cv=2, error_score="raise", bounds=bounds, random_state=0)
    assert statuses(own) == statuses(GridSearchCV(estimator, grid, cv=2, error_score="raise"))


def test_the_verdict_depends_on_the_seed_and_not_on_the_workers() -> None:
    given: dict[str, Any] = {"cv": SPLITS, "epsilon": 0.01}
    one = SurestSearchCV(TREE, DEPTHS, random_state=3, **given).fit(X, Y)
    again = SurestSearchCV(TREE, DEPTHS, random_state=3, **given).fit(X, Y)
    other = SurestSearchCV(TREE, DEPTHS, random_state=4, **given).fit(X, Y)
    assert (fitted(one) == fitted(again)).all()
    assert (fitted(one) != fitted(other)).any()
    with joblib.parallel_config("threading"):
        parallel = SurestSearchCV(TREE, DEPTHS, random_state=3, n_jobs=4, **given).fit(X, Y)
    assert parallel.best_params_ == one.best_params_
    assert parallel.n_fits_ >= one.n_fits_
    assert (fitted(one) <= fitted(parallel)).all()
