"""SurestSearchCV beside GridSearchCV."""

import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from surest.errors import RewardError, UsageError
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


def fitted(search: SurestSearchCV) -> Any:
    """Which candidates were fitted on which splits."""
    results = search.cv_results_
    return ~np.isnan([results[f"split{split}_test_score"] for split in range(search.n_splits_)])


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


def test_it_finds_what_grid_search_finds_from_fewer_fits() -> None:
    race = SurestSearchCV(TREE, DEPTHS, cv=SPLITS, random_state=0).fit(X, Y)
    grid = GridSearchCV(TREE, DEPTHS, cv=SPLITS).fit(X, Y)
    assert (race.certified_, race.best_params_) == (True, grid.best_params_)
    assert race.result_.best == f"max_depth={race.best_params_['max_depth']}"
    assert "has the best mean on these" in str(race.result_)
    assert race.n_fits_ + race.n_fits_saved_ == 3 * 40
    assert race.n_fits_saved_ > 0
    assert (race.predict(X) == grid.predict(X)).all()
    assert race.score(X, Y) == grid.score(X, Y)
    for split in range(40):
        ours, theirs = (search.cv_results_[f"split{split}_test_score"] for search in (race, grid))
        there = ~np.isnan(ours)
        assert ours[there] == pytest.approx(theirs[there])
    found, best = race.cv_results_, race.best_index_
    assert (sum(found["n_splits"]), set(grid.cv_results_) - set(found)) == (race.n_fits_, set())
    assert (found["rank_test_score"][best], sorted(found["rank_test_score"])) == (1, [1, 2, 3])
    assert (found["param_max_depth"].tolist(), found["mean_test_score"][best]) == ([1, 2, 3], race.best_score_)


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


def test_a_single_candidate_gets_its_score() -> None:
    search = SurestSearchCV(TREE, {"max_depth": [2]}, cv=4, random_state=0).fit(X, Y)
    grid = GridSearchCV(TREE, {"max_depth": [2]}, cv=4).fit(X, Y)
    assert (search.best_score_, search.n_fits_, search.n_fits_saved_) == (pytest.approx(grid.best_score_), 4, 0)


def test_a_fit_that_fails_counts_as_the_lowest_score() -> None:
    search = SurestSearchCV(Flat(), {"answer": [-1, 0]}, cv=10, random_state=0)
    with pytest.warns(FitFailedWarning, match="cannot be fitted"):
        search.fit(X, Y)
    assert search.best_params_ == {"answer": 0}
    with pytest.raises(RuntimeError, match="cannot be fitted"):
        clone(search).set_params(error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match="all fits failed"), pytest.warns(FitFailedWarning):
        clone(search).set_params(param_grid={"answer": [-1, -2]}).fit(X, Y)


def test_groups_and_weights_go_where_they_belong() -> None:
    groups = np.arange(len(Y)) % 6
    search = SurestSearchCV(Flat(), {"answer": [0, 1]}, cv=GroupKFold(6), random_state=0)
    search.fit(X, Y, groups=groups, sample_weight=np.ones(len(Y)))
    assert (search.n_splits_, len(search.best_estimator_.weights_)) == (6, len(Y))


def test_mistakes_are_refused() -> None:
    for settings, error, said in (
        ({"scoring": ["accuracy", "f1_macro"]}, UsageError, "one score"),
        ({"delta": 2}, UsageError, "delta"),
        ({"scoring": "neg_log_loss"}, RewardError, "bounds"),
    ):
        with pytest.raises(error, match=said):
            SurestSearchCV(TREE, DEPTHS, random_state=0, **settings).fit(X, Y)
    found = SurestSearchCV(TREE, DEPTHS, scoring="neg_log_loss", bounds=(-40, 0), random_state=0).fit(X, Y)
    assert -40 <= found.best_score_ <= 0


def test_without_refit_there_is_nothing_to_predict_with() -> None:
    search = SurestSearchCV(TREE, DEPTHS, refit=False, random_state=0).fit(X, Y)
    assert search.best_params_ in ({"max_depth": depth} for depth in DEPTHS["max_depth"])
    with pytest.raises(AttributeError):
        search.predict(X)
    with pytest.raises(NotFittedError):
        SurestSearchCV(TREE, DEPTHS).predict(X)


def test_a_spread_saves_fits_and_is_checked() -> None:
    search = SurestSearchCV(TREE, DEPTHS, cv=SPLITS, random_state=0)
    plain, stated = search.fit(X, Y), clone(search).set_params(spread=0.6).fit(X, Y)
    assert stated.best_params_ == plain.best_params_
    assert stated.n_fits_ < plain.n_fits_
    with pytest.raises(RewardError, match=r"further apart than spread=0.01"):
        clone(search).set_params(spread=0.01).fit(X, Y)
