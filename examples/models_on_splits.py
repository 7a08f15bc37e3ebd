"""The best of several scikit-learn models on the same cross-validation splits.

    python examples/models_on_splits.py

The items are the 200 splits of a repeated cross-validation; an evaluation fits a model on one of them. `cross_val_score`
would fit every model on every split. The claim is about the mean over these 200 splits of these data, not about other data.
"""

from typing import Any

from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import surest

MODELS: dict[str, Any] = {
    "neighbours": KNeighborsClassifier(5),
    "scaled neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
}


def main() -> None:
    """Choose, and say how many fits were saved."""
    x, y = load_wine(return_X_y=True)
    splits = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=40, random_state=0).split(x, y))

    def accuracy(model: str, split: int) -> float:
        train, test = splits[split]
        return float(clone(MODELS[model]).fit(x[train], y[train]).score(x[test], y[test]))

    result = surest.evaluate(list(MODELS), range(len(splits)), score=accuracy, epsilon=0.01, seed=1)
    print(f"{result.best} is within 0.01 of the best: certified {result.certified}")
    print(f"{result.evaluations} fits instead of {result.cells}: {result.cells - result.evaluations} saved")


if __name__ == "__main__":
    main()
