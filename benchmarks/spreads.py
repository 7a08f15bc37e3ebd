"""What a stated spread saves on cross-validations, beside Optuna's WilcoxonPruner and scikit-learn's HalvingGridSearchCV.

    python benchmarks/spreads.py [ORDERS] [OTHERS]

15 models on 50 splits of two data sets that scikit-learn ships. All fits are made once; searches are replayed on the scores, in
fresh random orders of splits and trials. HalvingGridSearchCV fits on parts of the data, with five splits, so it is run for
real, with another seed each time; what it costs is counted in rows fitted on. Whoever names a model whose mean over the 50 splits
is not the largest has lost the best. 200 orders and 20 runs of the others take a few minutes of processor time.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.pruners import BasePruner, WilcoxonPruner
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import surest
from surest.errors import RewardError
from surest.integrations.optuna import SurestPruner

DATA: dict[str, Callable[..., Any]] = {"breast_cancer": load_breast_cancer, "wine": load_wine}
MODELS = [
    *(SVC(C=c) for c in (0.5, 1, 2, 4, 8)),
    *(KNeighborsClassifier(k) for k in (1, 3, 5, 7, 9)),
    *(LogisticRegression(C=c, max_iter=300) for c in (0.03, 0.1, 0.3, 1, 3)),
]
SPLITS = 50


def folds(seed: int) -> RepeatedStratifiedKFold:
    return RepeatedStratifiedKFold(n_splits=5, n_repeats=SPLITS // 5, random_state=seed)


def searching(kind: Callable[..., Any], **settings: Any) -> Any:
    pipeline = make_pipeline(StandardScaler(), SVC())
    return kind(pipeline, {"svc": MODELS}, refit=False, n_jobs=1, **settings)


def scores_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A row for each model, a column for each split."""
    found = searching(GridSearchCV, cv=folds(0)).fit(x, y).cv_results_
    return np.array([found[f"split{split}_test_score"] for split in range(SPLITS)]).T


def raced(table: np.ndarray, rng: np.random.Generator, **settings: Any) -> tuple[int, float]:
    seed = int(rng.integers(2**31))
    result = surest.evaluate(table, simulate=True, seed=seed, progress=False, **settings)
    return int(result.indices[0]), result.evaluations / table.size


def pruned(table: np.ndarray, rng: np.random.Generator, pruner: Callable[[], BasePruner]) -> tuple[int, float]:
    """Trials in a random order, each with a random order of its own; a trial that is pruned is not named."""
    study, models = optuna.create_study(direction="maximize", pruner=pruner()), rng.permutation(len(table))
    fits = 0
    for model in models.tolist():
        trial = study.ask()
        for step in rng.permutation(SPLITS).tolist():
            trial.report(float(table[model, step]), step)
            fits += 1
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, float(table[model].mean()))
    return int(models[study.best_trial.number]), fits / table.size


def halved(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    search = searching(HalvingGridSearchCV, random_state=int(rng.integers(2**31))).fit(x, y)
    rows = sum(n * rows for n, rows in zip(search.n_candidates_, search.n_resources_, strict=True)) * search.n_splits_
    return MODELS.index(search.best_params_["svc"]), rows / (len(x) * len(MODELS) * SPLITS)


def compared(name: str, x: np.ndarray, y: np.ndarray, orders: int, others: int) -> None:
    """Print a row for each way to search."""
    table = scores_of(x, y)
    means, apart = np.sort(table.mean(axis=1)), float(np.ptp(table, axis=0).max())
    print(
        f"# {name}: means {means[0]:.4f} to {means[-2]:.4f} and {means[-1]:.4f}, apart by {apart:.4f} at most",
        flush=True,
    )
    ways: dict[str, tuple[int, Callable[[np.random.Generator], tuple[int, float]]]] = {
        "SurestSearchCV": (orders, lambda rng: raced(table, rng)),
        "SurestSearchCV(spread=0.2)": (orders, lambda rng: raced(table, rng, spread=0.2)),
        "SurestSearchCV(spread=0.1)": (orders, lambda rng: raced(table, rng, spread=0.1)),
        "SurestPruner": (others, lambda rng: pruned(table, rng, SurestPruner)),
        "SurestPruner(spread=0.1)": (others, lambda rng: pruned(table, rng, lambda: SurestPruner(spread=0.1))),
        "WilcoxonPruner": (others, lambda rng: pruned(table, rng, lambda: WilcoxonPruner(p_threshold=0.1))),
        "HalvingGridSearchCV": (others, lambda rng: halved(x, y, rng)),
    }
    for row, (way, (runs, run)) in enumerate(ways.items()):
        rng = np.random.default_rng([25, len(x), row])
        try:
            found = [run(rng) for _ in range(runs)]
        except RewardError:
            print(f"{name},{way},refused,", flush=True)
            continue
        shares = np.array([share for _, share in found])
        lost = sum(bool(table[model].mean() < means[-1] - 1e-12) for model, _ in found)
        print(f"{name},{way},{shares.mean():.3f} ± {shares.std() / runs**0.5:.3f},{lost} of {runs}", flush=True)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    counts = [int(text) for text in sys.argv[1:]] + [200, 20][len(sys.argv) - 1 :]
    print("data,way,share of fits,lost the best")
    for data, load in DATA.items():
        compared(data, *load(return_X_y=True), *counts)
