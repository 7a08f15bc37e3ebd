"""The exploration rates of KL-LUCB and KL-Racing: the proven one (Kaufmann, Kalyanakrishnan 2013) and ln((1 + ln t)/δ), with
which Garivier and Kaufmann (2016, section 6) ran them. No theorem covers the second.
"""

from math import log

ALPHA, K1 = 1.1, 405.5
"""Of the proven rate."""


def rate_settings(n: int, delta: float, heuristic: bool) -> tuple[float, float]:
    """The settings of the proven rate, or of ln((1 + ln t)/δ): ln(1/level) and α of `kernels.divergence.kl_rate`."""
    if heuristic:
        return log(1 / delta), 0.0
    return log(K1 * n / delta), ALPHA
