"""A search over scikit-learn models and their parameters that fits weak candidates on few splits only.

    python examples/search_over_splits.py

The same search by GridSearchCV fits every candidate on all 100 splits. Models are searched over as the step of a pipeline.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from surest.integrations.sklearn import SurestSearchCV

MODELS = Pipeline([("model", GaussianNB())])
GRID = [
    {"model": [GaussianNB()], "model__var_smoothing": [1e-9, 1e-1]},
    {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 5, 25]},
    {"model": [DecisionTreeClassifier(random_state=0)], "model__max_depth": [1, 2]},
]


def main() -> None:
    """Search both ways."""
    x, y = load_wine(return_X_y=True)
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=20, random_state=0)
    race = SurestSearchCV(MODELS, GRID, cv=splits, delta=0.05, random_state=1).fit(x, y)
    grid = GridSearchCV(MODELS, GRID, cv=splits).fit(x, y)
    print(f"race: {race.best_params_}, {race.n_fits_} fits")
    print(f"grid: {grid.best_params_}, {race.n_fits_ + race.n_fits_saved_} fits")


if __name__ == "__main__":
    main()
