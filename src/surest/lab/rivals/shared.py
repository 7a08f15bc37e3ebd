"""What more than one published algorithm needs."""

from collections.abc import Callable
from math import ceil

import numpy as np

from surest.algorithms.entry import Option
from surest.core.protocol import FloatArray, IntArray, Status
from surest.errors import UsageError

# Papers that more than one module implements
EVEN_DAR = "Even-Dar, Mannor, Mansour 2002"
KARNIN = "Karnin, Koren, Somekh 2013"
LIL_UCB = "Jamieson, Malloy, Nowak, Bubeck 2014"
KAUFMANN = "Kaufmann, Kalyanakrishnan 2013"
GARIVIER = "Garivier, Kaufmann 2016"
GABILLON = "Gabillon, Ghavamzadeh, Lazaric 2012"
AUDIBERT = "Audibert, Bubeck 2010"
JOURDAN = "Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022"

H1 = Option("number", "the hardness of the arms: Σ 1/gap²")


def told_h1(name: str, h1: float | None) -> float:
    """H1 as given by the caller, validated."""
    if h1 is None:
        raise UsageError(f"{name} needs the hardness of the arms: give h1 = Σ 1/gap², or use {name}-adaptive")
    if not h1 > 0:
        raise UsageError(f"h1 is {h1}; it must be Σ 1/gap², a positive number")
    return h1


def largest(arms: IntArray, means: FloatArray, keep: int, rng: np.random.Generator) -> IntArray:
    """So many of the arms with the largest means, the largest first, ties at random."""
    return arms[np.lexsort((rng.random(len(arms)), -means))[:keep]]


def leading(arm: int) -> Callable[[], Status]:
    """The state of an algorithm that knows its leader and no more."""
    return lambda: Status(leader=arm)


def phase_ends(n: int, budget: int) -> list[int]:
    """n_1 … n_(K−1) of Successive Rejects: how often an arm has been pulled when phase k ends."""
    check_budget(n, budget)
    log_bar = 0.5 + sum(1 / i for i in range(2, n + 1))
    return [ceil((budget - n) / (log_bar * (n + 1 - k))) for k in range(1, n)]


def check_budget(n: int, budget: int) -> None:
    """Raise unless the budget allows more than one pull per arm."""
    if budget <= n:
        raise UsageError(f"a budget of {budget} pulls is too small for {n} arms; give more than one pull per arm")
