"""Other methods for the best arm on a list of items, for comparison."""

from collections.abc import Callable
from dataclasses import dataclass

from surest.algorithms.item_rivals.covariance import covariance_adaptive
from surest.algorithms.item_rivals.everything import evaluate_everything
from surest.algorithms.item_rivals.halving import halving_on_items
from surest.algorithms.item_rivals.paired_t_race import paired_t_race
from surest.algorithms.item_rivals.peak import averaged_opponents
from surest.algorithms.item_rivals.wilcoxon import wilcoxon_pruner
from surest.core.protocol import Answer, Procedure


@dataclass(frozen=True)
class ItemRival:
    """One method: how to start it, who published it, and what is known of it."""

    start: Callable[..., Procedure[Answer]]
    standing: str
    reference: str
    summary: str


ITEM_RIVALS: dict[str, ItemRival] = {
    "everything": ItemRival(evaluate_everything, "proven", "a control", "Evaluates every cell."),
    "averaged-opponents": ItemRival(
        averaged_opponents,
        "proven",
        "Cho, Gan, Kallus 2024, on a list",
        "Averages the wealth over all opponents, as PEAK does.",
    ),
    "covariance-adaptive": ItemRival(
        covariance_adaptive,
        "reconstruction",
        "Saad, Blanchard, Verzelen 2023",
        "Empirical Bernstein bounds on differences of arms that are evaluated together.",
    ),
    "paired-t-race": ItemRival(
        paired_t_race,
        "heuristic",
        "López-Ibáñez et al. 2016",
        "Paired t-tests after each item, uncorrected, as in irace.",
    ),
    "wilcoxon-pruner": ItemRival(
        wilcoxon_pruner, "heuristic", "Optuna 3.6", "Arm after arm, stopped by a signed-rank test at p < 0.1."
    ),
    "halving-on-items": ItemRival(
        halving_on_items,
        "heuristic",
        "Karnin, Koren, Somekh 2013",
        "Sequential Halving on shared items, a quarter of the table.",
    ),
}
