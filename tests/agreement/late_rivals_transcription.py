"""More rivals, slowly and in plain Python: betting capital, and Top Two for an ε-optimal arm."""

from math import log, sqrt

import numpy as np
from scipy.special import zeta

from agreement.rivals_transcription import CLOSE, Move, Rule, Seen, others, pull, top


def eb_tc_epsilon(seen: Seen) -> set[Move] | None:
    """Leads, and pulls of a leader as such, are counted in `notes` from what was asked."""
    leaders = top(seen.means, list(range(seen.n)))
    if "led" not in seen.notes:
        seen.notes.update(led=[0] * seen.n, own=[0] * seen.n)
    elif seen.asked == (seen.notes["lead"],):
        seen.notes["own"][seen.notes["lead"]] += 1
    assert len(leaders) == 1, "no ties in this test: leads could not be counted"
    best, counts = leaders[0], seen.counts
    gaps = seen.means[best] - seen.means + seen.epsilon
    statistic = {a: gaps[a] / sqrt(0.25 * (1 / counts[best] + 1 / counts[a])) for a in others(seen.n, best)}

    def exponent(x: float) -> float:
        grid = np.linspace(0.5, 1, 200_002)[1:-1]
        g = 2 * grid - 2 * grid * np.log(4 * grid) + np.log(zeta(2 * grid)) - np.log(1 - grid) / 2
        return float(((g + x) / grid).min())

    if "fixed" not in seen.notes:
        seen.notes["fixed"] = 2 * exponent(log((seen.n - 1) / seen.delta) / 2)
    over = min(statistic.values()) - sqrt(2 * (seen.notes["fixed"] + 4 * log(4 + log(seen.total / 2))))
    if abs(over) < 1e-6:
        return None
    if over > 0:
        return {("stop", best)}
    seen.notes["lead"] = best
    seen.notes["led"][best] += 1
    if seen.notes["own"][best] <= seen.notes["led"][best] / 2:
        return {pull(best)}
    least = min(statistic.values())
    return {pull(a) for a, value in statistic.items() if value <= least + CLOSE}


GRID = np.array([g / 1000 for g in range(1001)])


def capitals(seen: Seen, arm: int, log_inverse: float) -> tuple[np.ndarray, np.ndarray]:
    """K+ and K− of an arm at each point of the grid."""
    with np.errstate(divide="ignore"):
        most_up, most_down = 0.5 / GRID, 0.5 / (1 - GRID)
    kept = seen.notes.setdefault(arm, {"t": 0, "spread": 0.25, "up": np.ones(1001), "down": np.ones(1001)})
    for t in range(kept["t"] + 1, len(seen.rewards[arm]) + 1):
        x, variance = seen.rewards[arm][t - 1], kept["spread"] / t
        bet = sqrt(2 * log_inverse / (variance * t * log(1 + t)))
        kept["up"] = kept["up"] * (1 + np.minimum(bet, most_up) * (x - GRID))
        kept["down"] = kept["down"] * (1 - np.minimum(bet, most_down) * (x - GRID))
        kept["spread"] += (x - (0.5 + sum(seen.rewards[arm][:t])) / (t + 1)) ** 2
        kept["t"] = t
    return kept["up"], kept["down"]


def betting_racing(seen: Seen) -> set[Move] | None:
    left, needed = list(seen.asked), seen.n / seen.delta
    both = [capitals(seen, a, log(needed)) for a in left]
    if any((abs(np.log(wealth) - log(needed)) < CLOSE).any() for pair in both for wealth in pair):
        return None
    lower = max(max([m for m, k in zip(GRID, up, strict=True) if k >= needed], default=-1.0) for up, _ in both)
    stay = [
        a
        for a, (_, down) in zip(left, both, strict=True)
        if min([m for m, k in zip(GRID, down, strict=True) if k >= needed], default=2.0) > lower
    ]
    return {pull(*stay)} if len(stay) > 1 else {("stop", stay[0])}


def peak(seen: Seen) -> set[Move] | None:
    """Arms that are out, in `notes`. A vector of means is any choice of cells, each arm's not above that of the best."""
    out = seen.notes.setdefault("out", set())
    leaders = top(seen.means, [a for a in range(seen.n) if a not in out])
    both = [capitals(seen, a, log(1 / seen.delta)) for a in range(seen.n)]
    cells = [(up[1:] + down[:-1]) / 2 for up, down in both]
    worth = {}
    for a in set(range(seen.n)) - out:
        worst = [cells[a][g] + sum(cells[j][: g + 1].min() for j in others(seen.n, a)) for g in range(1000)]
        worth[a] = min(worst)
    if len(leaders) > 1 or any(abs(log(w * seen.delta / seen.n)) < CLOSE for w in worth.values()):
        return None
    leader = leaders[0]
    out |= {a for a, w in worth.items() if a != leader and w >= seen.n / seen.delta}
    rest = [a for a in worth if a != leader and a not in out]
    if not rest:
        return {("stop", leader)}
    least = min(worth[a] for a in rest)
    seen.notes.setdefault("coins", []).append((leader, 0.5))
    return {pull(leader), *(pull(a) for a in rest if worth[a] <= least * (1 + CLOSE))}


LATE_RULES: dict[str, Rule] = {"betting-racing": betting_racing, "peak": peak, "eb-tc-epsilon": eb_tc_epsilon}
