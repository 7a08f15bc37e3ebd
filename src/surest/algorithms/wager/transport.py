"""How far apart two arms are by all that was seen of them, whatever their laws: the cost of the nearest laws with equal means.

For arms of small variance the mean and the variance say too little: what a bet may win depends on where the rewards lie in
[0, 1]. So the rewards themselves are used, as digests. An arm gets half a reward of the worst kind beside its own (0 for
the leader, 1 for a challenger): few rewards must not look like certainty, or an arm would be starved for ever.
"""

import math

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray

HALF = 0.5
"""The weight of the reward of the worst kind."""
STEPS = 40
"""A search ends after so many steps."""
CLOSE = 1e-4
"""A step that is smaller than this, in proportion, is the last one."""

Digests = tuple[FloatArray, FloatArray, IntArray]
"""The rewards of all arms: values, weights, numbers of atoms."""


@compiled
def _sums(
    arm: int, before: Digests, since: Digests, scale: float, x: float, bet: float, is_above: bool
) -> tuple[float, float, float]:
    """Σ s/(1 + bet·s), Σ s²/(1 + bet·s)² and Σ 1/(1 + bet·s)² over an arm's rewards, s being what each is ahead of x."""
    worst = -x if is_above else x - 1.0
    share = 1.0 / (1.0 + bet * worst)
    slope, curve, spread = HALF * worst * share, HALF * worst * share * (worst * share), HALF * share * share
    for values, weights, size in (before, since):
        for p in range(size[arm]):
            won = values[arm, p] - x if is_above else x - values[arm, p]
            share = 1.0 / (1.0 + bet * won)
            weight = scale * weights[arm, p]
            slope += weight * won * share
            curve += weight * (won * share) * (won * share)
            spread += weight * share * share
    return slope, curve, spread


@compiled
def _best_bet(
    arm: int, before: Digests, since: Digests, scale: float, x: float, is_above: bool, start: float
) -> tuple[float, float]:
    """The bet on an arm's mean being beyond x that would have won most, and how it moves with x."""
    low, high = 0.0, 1.0 / x if is_above else 1.0 / (1.0 - x)
    bet = start if low < start < high else 0.5 * high
    bend = 0.0
    for _ in range(STEPS):
        slope, curve, spread = _sums(arm, before, since, scale, x, bet, is_above)
        bend = spread / curve
        if slope > 0.0:
            low = bet
        else:
            high = bet
        move = bet + slope / curve
        previous, bet = bet, move if low < move < high else 0.5 * (low + high)
        if abs(bet - previous) <= CLOSE * bet:
            break
    return bet, bend


@compiled
def _gain(arm: int, before: Digests, since: Digests, scale: float, x: float, bet: float, is_above: bool) -> float:
    """What a bet would have won, in nats."""
    total = HALF * math.log1p(bet * (-x if is_above else x - 1.0))
    for values, weights, size in (before, since):
        for p in range(size[arm]):
            won = values[arm, p] - x if is_above else x - values[arm, p]
            total += scale * weights[arm, p] * math.log1p(bet * won)
    return max(total, 0.0)


@compiled
def transport(
    leader: int,
    j: int,
    counts: FloatArray,
    means: FloatArray,
    leader_scale: float,
    scale: float,
    before: Digests,
    since: Digests,
    epsilon: float,
) -> tuple[float, float, float, float]:
    """The nats by which the leader is seen not to be worse than arm j by ε, the leader's part, and the bets on both.

    Zero nats where it is not seen. The weights of both arms' rewards are multiplied by the scales. The sum of both gains
    is least where both bets, times the weights, are equal.
    """
    ours, theirs = leader_scale * counts[leader] + HALF, scale * counts[j] + HALF
    high = leader_scale * counts[leader] * means[leader] / ours
    low = (scale * counts[j] * means[j] + HALF) / theirs - epsilon
    low, high = max(low, 1e-9), min(high, 1.0 - epsilon - 1e-9)
    if low >= high:
        return 0.0, 0.5, 0.0, 0.0
    x, bet, other = 0.5 * (low + high), 0.0, 0.0
    for _ in range(STEPS):
        bet, bend = _best_bet(leader, before, since, leader_scale, x, True, bet)
        other, other_bend = _best_bet(j, before, since, scale, x + epsilon, False, other)
        slope, curve = theirs * other - ours * bet, theirs * other_bend + ours * bend
        if slope < 0.0:
            low = x
        else:
            high = x
        move = x - slope / curve
        move = move if low < move < high else 0.5 * (low + high)
        # The bets suit this x: a search that ends here must not move on without them.
        if abs(slope) <= 0.01 * ours * bet or abs(move - x) <= CLOSE * (high - low):
            break
        x = move
    own = _gain(leader, before, since, leader_scale, x, bet, True)
    others = _gain(j, before, since, scale, x + epsilon, other, False)
    if own + others <= 0.0:
        return 0.0, 0.5, 0.0, 0.0
    return own + others, own / (own + others), bet * x, other * (1.0 - x - epsilon)
