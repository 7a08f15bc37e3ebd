"""The best of several scikit-learn models, by random cross-validation folds.

    python examples/best_model.py

A pull trains a model on a random half of the data and returns its accuracy on the other half. Splits are independent of each
other, so the guarantee holds for the mean accuracy over all splits *of these data*: which model does best on data of this kind
that nobody has seen is another question, which no number of splits can answer.

Good models differ by little, and what differs by less than EPSILON is not worth the time: epsilon says so.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import surest

EPSILON = 0.02
FEATURES, CLASSES = load_wine(return_X_y=True)
MODELS: dict[str, Any] = {
    "nearest neighbours": KNeighborsClassifier(),
    "nearest neighbours, scaled": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "decision tree": DecisionTreeClassifier(random_state=0),
    "naive Bayes": GaussianNB(),
}


class Fold:
    """The accuracy of a fresh copy of a model on a random half of the data, trained on the other half."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, seed: int) -> float:
        """One fold, decided by the seed alone, so that the run can be repeated."""
        train_x, test_x, train_y, test_y = train_test_split(FEATURES, CLASSES, test_size=0.5, random_state=seed)
        return float(clone(self.model).fit(train_x, train_y).score(test_x, test_y))


def main() -> None:
    """Choose, and say so."""
    with ThreadPoolExecutor(2) as pool:
        result = surest.identify(
            {name: Fold(model) for name, model in MODELS.items()},
            delta=0.05,
            epsilon=EPSILON,
            seed=1,
            seeded=True,
            executor=pool,
            in_flight=4,
        )
    print(f"{result.best} is within {EPSILON} of the best: certified {result.certified}, after {result.pulls} folds")


if __name__ == "__main__":
    main()
