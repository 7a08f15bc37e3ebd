"""VarTest (Algorithm 2): is an arm's variance above a threshold?"""

from math import log

from surest.core.protocol import BoolArray, IntArray, Procedure, Pull, Statistic, whole


def var_test(arms: IntArray, tau: float, delta: float, c: float) -> Procedure[BoolArray]:
    """Whether each arm's variance is above τ.

    Right with probability 1 − δ(τ/σ²)^c where σ² ≥ 2τ, and 1 − δ(σ²/τ)^c where σ² ≤ τ/2 (Lemma 2.1), for c = 80 and
    δ ≤ e^−1.85; the printed proof inverts a ratio, and at its δ = 1/e both claims fail.
    """
    times = whole(c / tau * log(1 / delta))  # line 2
    variance = yield Pull(arms, whole(2.0 * times), Statistic.PAIRS)  # lines 3 and 4
    above: BoolArray = variance > tau  # line 5
    return above
