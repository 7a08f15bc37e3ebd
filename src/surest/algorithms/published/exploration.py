"""The exploration rates of KL-LUCB and KL-Racing: the proven one (Kaufmann, Kalyanakrishnan 2013) and ln((1 + ln t)/δ), with
which Garivier and Kaufmann (2016, section 6) ran them. No theorem covers the second.
"""

from math import log

from surest.algorithms.stepwise import TOTAL, State
from surest.compiled import compiled
from surest.evidence.intervals import kl_rate

ALPHA, K1 = 1.1, 405.5
"""Of the proven rate."""
LOG_INVERSE, POWER, OWN = 0, 1, 2
"""Places in the settings of a rule with such a rate: ln(1/level) and α of `kl_rate`. The rule's own come from `OWN` on."""


def rate_settings(n: int, delta: float, heuristic: bool) -> dict[int, float]:
    """The settings of the proven rate, or of ln((1 + ln t)/δ)."""
    if heuristic:
        return {LOG_INVERSE: log(1 / delta), POWER: 0.0}
    return {LOG_INVERSE: log(K1 * n / delta), POWER: ALPHA}


@compiled
def rate_of(state: State) -> float:
    """The rate as things stand."""
    return kl_rate(state.marks[TOTAL], state.settings[LOG_INVERSE], state.settings[POWER])
