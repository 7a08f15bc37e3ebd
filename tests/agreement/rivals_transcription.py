"""The rivals that decide pull by pull, written again from docs/rivals.md: slow, plain, sharing no line with the library.

A rule looks at all rewards so far and names every move that it would allow: several where means or bounds tie, or where
a number is so close to its threshold that rounding decides. A move is ("pull", arms in order) or ("stop", answer).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, log, log1p, sqrt

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import zeta

from surest.lab.divergence import k_inf_above, k_inf_below

CLOSE = 1e-9
Move = tuple[str, tuple[int, ...] | int]


def kl(p: float, q: float) -> float:
    """Of two coins; by log1p, as p and q may be close."""
    if p in (0, 1):
        return -log1p(-abs(p - q)) if abs(p - q) < 1 else inf
    return inf if q in (0, 1) else -p * log1p((q - p) / p) - (1 - p) * log1p((p - q) / (1 - p))


@dataclass
class Seen:
    """All that a rule may look at."""

    n: int
    delta: float
    epsilon: float
    budget: int
    h1: float
    rewards: list[list[float]]
    asked: tuple[int, ...] = ()
    """The arms of the last request."""
    notes: dict = field(default_factory=dict)
    """A rule's own."""
    top: int = 1
    """How many arms are asked for."""

    @property
    def counts(self) -> np.ndarray:
        return np.array([len(r) for r in self.rewards], float)

    @property
    def means(self) -> np.ndarray:
        return np.array([np.mean(r) for r in self.rewards])

    @property
    def total(self) -> int:
        return sum(len(r) for r in self.rewards)


Rule = Callable[[Seen], set[Move] | None]


def top(values: np.ndarray, among: list[int]) -> list[int]:
    """Every arm that may count as the one with the largest value."""
    return [a for a in among if values[a] >= max(values[b] for b in among) - CLOSE]


def others(n: int, arm: int) -> list[int]:
    return [a for a in range(n) if a != arm]


def pull(*arms: int) -> Move:
    return ("pull", tuple(sorted(arms)))


def either(over: float, go_on: Move, stop: Move) -> set[Move]:
    """Stop if `over` is positive; where rounding decides, both."""
    return {stop} if over > CLOSE else {go_on} if over < -CLOSE else {go_on, stop}


def kl_upper(p: float, level: float) -> float:
    end = 1 - 1e-15
    return 1.0 if p == 1 or kl(p, end) < level else brentq(lambda q: kl(p, q) - level, p, end, xtol=1e-15, rtol=1e-14)


def kl_lower(p: float, level: float) -> float:
    return 1 - kl_upper(1 - p, level)


def leader_and_challenger(seen: Seen, upper: np.ndarray, lower: np.ndarray) -> set[Move]:
    """LUCB: pull the least lower bound among the m largest means and the largest upper bound of the others, until that is no
    more than ε above it."""
    moves: set[Move] = set()
    for chosen in combinations(range(seen.n), seen.top):
        rest = [a for a in range(seen.n) if a not in chosen]
        if min(seen.means[list(chosen)]) < max(seen.means[rest]) - CLOSE:
            continue
        for weakest in top(-lower, list(chosen)):
            for challenger in top(upper, rest):
                over = seen.epsilon - (upper[challenger] - lower[weakest])
                stop: Move = ("stop", chosen[0] if seen.top == 1 else chosen)
                moves |= either(over, pull(weakest, challenger), stop)
    return moves


def lucb(seen: Seen) -> set[Move]:
    radius = np.sqrt(np.log(5 / 4 * seen.n * seen.total**4 / seen.delta) / (2 * seen.counts))
    return leader_and_challenger(seen, seen.means + radius, seen.means - radius)


def proven_rate(seen: Seen) -> float:
    z = log(405.5 * seen.n * seen.total**1.1 / seen.delta)
    return z + log(z)


def heuristic_rate(seen: Seen) -> float:
    return log((1 + log(seen.total)) / seen.delta)


def within_kl(seen: Seen, up: np.ndarray, down: np.ndarray) -> set[Move]:
    """LUCB with bounds at which the divergence from the means comes to these levels."""
    upper = np.array([kl_upper(p, level) for p, level in zip(seen.means, up, strict=True)])
    lower = np.array([kl_lower(p, level) for p, level in zip(seen.means, down, strict=True)])
    return leader_and_challenger(seen, upper, lower)


def kl_lucb(rate: Callable[[Seen], float]) -> Rule:
    return lambda seen: within_kl(seen, rate(seen) / seen.counts, rate(seen) / seen.counts)


def lil_kl_ucb(seen: Seen) -> set[Move]:
    def levels(share: float) -> np.ndarray:
        return 1.2 * np.log(zeta(1.25) * (1 + np.log(seen.counts) / log(1.2)) ** 1.25 / share) / seen.counts

    return within_kl(seen, levels(seen.delta / 2), levels(seen.delta / (2 * (seen.n - 1))))


def racing(clearly_worse: Callable[[Seen, float, float, float], float]) -> Rule:
    """Drop the worst arm when it is clearly worse than the best."""

    def rule(seen: Seen) -> set[Move]:
        left, count = list(seen.asked), seen.counts[seen.asked[0]]
        moves: set[Move] = set()
        for worst in top(-seen.means, left):
            over = clearly_worse(seen, count, seen.means[left].max(), seen.means[worst])
            stay = [a for a in left if a != worst]
            moves |= either(over, pull(*left), pull(*stay) if len(stay) > 1 else ("stop", stay[0]))
        return moves

    return rule


def apart(rate: Callable[[Seen], float]) -> Callable[[Seen, float, float, float], float]:
    return lambda s, count, high, low: kl_lower(high, rate(s) / count) - kl_upper(low, rate(s) / count)


def likelihood_ratio(seen: Seen, count: float, high: float, low: float) -> float:
    middle = (high + low) / 2
    return count * (kl(high, middle) + kl(low, middle)) - heuristic_rate(seen)


def successive_elimination(seen: Seen) -> set[Move] | None:
    left, t = list(seen.asked), seen.counts[seen.asked[0]]
    radius = sqrt(log(5 * seen.n * t**2 / seen.delta) / t)
    lead = seen.means[left].max() - seen.means[left]
    if (abs(lead - 2 * radius) < CLOSE).any():
        return None
    stay = [a for a, gap in zip(left, lead, strict=True) if gap < 2 * radius]
    return {pull(*stay)} if len(stay) > 1 else {("stop", stay[0])}


def lil_radius(counts: np.ndarray, epsilon: float, failure: float) -> np.ndarray:
    inner = np.maximum(np.log((1 + epsilon) * counts), 1)
    return (1 + sqrt(epsilon)) * np.sqrt(2 * 0.25 * (1 + epsilon) * np.log(inner / failure) / counts)


def lil_ucb(kind: str) -> Rule:
    def rule(seen: Seen) -> set[Move]:
        n, nu, counts = seen.n, seen.delta, seen.counts
        if kind == "heuristic":
            epsilon, beta, lam, level = 0.0, 0.5, 1 + 10 / n, nu / 5
        else:
            epsilon, beta, lam = 0.01, 1.0, 9.0
            c = (2 + epsilon) / epsilon * (1 / log(1 + epsilon)) ** (1 + epsilon)
            level = min((sqrt(1 + nu) - 1) ** 2 / (4 * c), nu / (3 * c * n))
        if kind == "lucb stop":
            radius = lil_radius(counts, epsilon, nu / (c * n))
            lower, upper = seen.means - radius, seen.means + radius
            ends = [a for a in range(n) if lower[a] >= max(upper[others(n, a)])]
        else:
            ends = [a for a in range(n) if counts[a] >= 1 + lam * (seen.total - counts[a])]
        if ends:
            return {("stop", a) for a in ends}
        index = seen.means + (1 + beta) * lil_radius(counts, epsilon, level)
        return {pull(a) for a in top(index, list(range(n)))}

    return rule


def gap_indices(seen: Seen, radius: np.ndarray) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """B_k of UGapE, and the pairs of the arm with the smallest one and the others' largest upper bound."""
    upper, lower = seen.means + radius, seen.means - radius
    b = np.array([max(upper[others(seen.n, k)]) - lower[k] for k in range(seen.n)])
    return b, {(k, i) for k in top(-b, list(range(seen.n))) for i in top(upper, others(seen.n, k))}


def wider(radius: np.ndarray, pairs: set[tuple[int, int]]) -> set[Move]:
    return {pull(a) for pair in pairs for a in top(radius, list(pair))}


def ugape(variance: bool) -> Rule:
    def rule(seen: Seen) -> set[Move]:
        if variance and seen.total == seen.n:
            return {pull(*range(seen.n))}
        length, counts = log(4 * seen.n * seen.total**3 / seen.delta), seen.counts
        radius = np.sqrt(0.5 * length / counts)
        if variance:
            spread = np.array([np.var(r, ddof=1) for r in seen.rewards])
            radius = np.sqrt(2 * spread * length / counts) + 7 * length / (3 * (counts - 1))
        b, pairs = gap_indices(seen, radius)
        stops: set[Move] = {("stop", k) for k, _ in pairs}
        goes_on = wider(radius, pairs)
        return (
            stops if b.min() < seen.epsilon - CLOSE else goes_on if b.min() > seen.epsilon + CLOSE else stops | goes_on
        )

    return rule


def ugape_b(adaptive: bool) -> Rule:
    def rule(seen: Seen) -> set[Move]:
        h1 = estimated_h1(seen) if adaptive else seen.h1
        radius = np.sqrt((seen.budget - seen.n) / (16 * h1) / seen.counts)
        b, pairs = gap_indices(seen, radius)
        if b.min() <= seen.notes.get("least", inf) + CLOSE:
            kept = seen.notes.get("answers", set()) if b.min() > seen.notes.get("least", inf) - CLOSE else set()
            seen.notes.update(least=b.min(), answers=kept | {k for k, _ in pairs})
        return {("stop", k) for k in seen.notes["answers"]} if seen.total >= seen.budget else wider(radius, pairs)

    return rule


def estimated_h1(seen: Seen) -> float:
    means = np.sort(seen.means)[::-1]
    gaps = means[0] - means
    gaps[0] = gaps[1]
    return float((1 / np.maximum(gaps**2, 1 / seen.total)).sum())


def ucb_e(adaptive: bool) -> Rule:
    def rule(seen: Seen) -> set[Move]:
        n, t, budget = seen.n, seen.total, seen.budget
        if t >= budget:
            return {("stop", a) for a in top(seen.means, list(range(n)))}
        a = seen.notes.get("a", budget / n) if adaptive else 25 / 36 * (budget - n) / seen.h1
        if adaptive:
            log_bar = 0.5 + sum(1 / i for i in range(2, n + 1))
            ends = [int(np.ceil((budget - n) / (log_bar * (n + 1 - k)))) for k in range(1, n)]
            gaps = np.sort(seen.means.max() - seen.means)
            for k in range(1, n):  # phase k of Successive Rejects: its rejected arms, and n + 1 − k that go on
                if t == sum(ends[: k - 1]) + (n + 1 - k) * ends[k - 1]:
                    h2 = max(i / max(gaps[i - 1] ** 2, 1 / t) for i in range(n + 1 - k, n + 1))
                    seen.notes["a"] = a = budget / h2
        return {pull(arm) for arm in top(seen.means + np.sqrt(a / seen.counts), list(range(n)))}

    return rule


def slow_weights(means: np.ndarray) -> tuple[np.ndarray, float]:
    """w* and T* by nested root finding, as in the paper."""
    best, rest = means.max(), np.sort(means)[::-1][1:]

    def middle(x: float, q: float) -> float:
        return (best + x * q) / (1 + x)

    def ratio(y: float, q: float) -> float:
        return brentq(lambda x: kl(best, middle(x, q)) + x * kl(q, middle(x, q)) - y, 1e-12, 1e6, xtol=1e-13)

    def balance(y: float) -> float:
        pairs = [(ratio(y, q), q) for q in rest]
        return sum(kl(best, middle(x, q)) / kl(q, middle(x, q)) for x, q in pairs) - 1

    most = kl(best, rest[0])
    y = brentq(balance, most * 1e-6, most * (1 - 1e-3), xtol=1e-14)
    x = np.array([1.0, *(ratio(y, q) for q in rest)])
    weights = np.empty(len(means))
    weights[np.argsort(-means, kind="stable")] = x / x.sum()
    return weights, float(x.sum() / y)


def track_and_stop(threshold: Callable[[Seen], float]) -> Rule:
    def rule(seen: Seen) -> set[Move] | None:
        n, counts, means, t = seen.n, seen.counts, seen.means, seen.total
        tied = [a for a in range(n) if means[a] > means.max() - 2e-5]
        if len(tied) > 1:
            return {pull(a) for a in tied}
        best = tied[0]
        mixed = (counts[best] * means[best] + counts * means) / (counts[best] + counts)
        ratios = [
            counts[best] * kl(means[best], mixed[a]) + counts[a] * kl(means[a], mixed[a]) for a in others(n, best)
        ]
        over = min(ratios) - threshold(seen)
        if over > CLOSE:
            return {("stop", best)}
        if abs(over) <= CLOSE or ((means == 0) | (means == 1)).any():
            return None  # weights are not defined by the paper's nested search at means of 0 and 1
        if counts.min() <= max(sqrt(t) - n / 2, 0):
            return {pull(a) for a in top(-counts, list(range(n)))}
        if t % 7:  # the search for weights takes its time: some of them will do, but it must not stop
            return {pull(a) for a in range(n)}
        lack = t * slow_weights(means)[0] - counts
        return {pull(a) for a in range(n) if lack[a] > lack.max() - 1e-3 * t**0.5}

    return rule


def proven_threshold(seen: Seen) -> float:
    return log(2 * seen.total * (seen.n - 1) / seen.delta)


def transport(high: list[float], low: list[float]) -> tuple[float, float]:
    """The least N_a·K_inf(below u) + N_b·K_inf(above u) over u, and the first arm's part of it."""
    if np.mean(high) <= np.mean(low):
        return 0.0, 0.5
    if set(high) | set(low) == {0.0, 1.0}:  # Bernoulli laws: K_inf is kl, and the best u the mean of all
        u = float(np.mean(high + low))
        down, up = len(high) * kl(float(np.mean(high)), u), len(low) * kl(float(np.mean(low)), u)
        return down + up, down / (down + up)
    laws = [(np.array(r), np.full(len(r), 1 / len(r))) for r in (high, low)]

    def sides(u: float) -> tuple[float, float]:
        return len(high) * float(k_inf_below(*laws[0], u).value), len(low) * float(k_inf_above(*laws[1], u).value)

    found = minimize_scalar(
        lambda u: sum(sides(u)), bounds=(np.mean(low), np.mean(high)), method="bounded", options={"xatol": 1e-9}
    )
    down, up = sides(found.x)
    return down + up, down / (down + up) if down + up > 0 else 0.5


def top_two_threshold(seen: Seen) -> float:
    return log((seen.n - 1) / seen.delta) + 2 * log(1 + seen.total / 2) + 2


def top_two(information_directed: bool, threshold_of: Callable[[Seen], float] = top_two_threshold) -> Rule:
    """Keeps the chances of the leader in `notes`, for a look at the coin."""

    def rule(seen: Seen) -> set[Move] | None:
        n = seen.n
        leaders = top(seen.means, list(range(n)))
        if len(leaders) > 1:
            return None
        leader = leaders[0]
        costs = {a: transport(seen.rewards[leader], seen.rewards[a]) for a in others(n, leader)}
        least = min(cost for cost, _ in costs.values())
        threshold = threshold_of(seen)
        if abs(least - threshold) < 1e-6:
            return None
        if least > threshold:
            return {("stop", leader)}
        keys = {a: cost + log(len(seen.rewards[a])) for a, (cost, _) in costs.items()}
        challengers = [a for a in keys if keys[a] < min(keys.values()) + 1e-6]
        if len(challengers) == 1:
            chance = costs[challengers[0]][1] if information_directed else 0.5
            seen.notes.setdefault("coins", []).append((leader, chance))
        return {pull(leader), *(pull(a) for a in challengers)}

    return rule


# --- betting capital, and Top Two for an ε-optimal arm -----------------------------------------------------------------


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


RULES: dict[str, Rule] = {
    "lucb": lucb,
    "kl-lucb": kl_lucb(proven_rate),
    "kl-lucb-heuristic": kl_lucb(heuristic_rate),
    "lil-kl-ucb": lil_kl_ucb,
    "kl-racing": racing(apart(proven_rate)),
    "kl-racing-heuristic": racing(apart(heuristic_rate)),
    "chernoff-racing": racing(likelihood_ratio),
    "successive-elimination": successive_elimination,
    "lil-ucb": lil_ucb("proven"),
    "lil-ucb-lucb-stop": lil_ucb("lucb stop"),
    "lil-ucb-heuristic": lil_ucb("heuristic"),
    "ugape": ugape(False),
    "ugape-v": ugape(True),
    "ugape-b": ugape_b(False),
    "ugape-b-adaptive": ugape_b(True),
    "ucb-e": ucb_e(False),
    "ucb-e-adaptive": ucb_e(True),
    "track-and-stop": track_and_stop(proven_threshold),
    "track-and-stop-heuristic": track_and_stop(heuristic_rate),
    "top-two": top_two(False),
    "top-two-ids": top_two(True),
    "top-two-heuristic": top_two(False, heuristic_rate),
    "top-two-ids-heuristic": top_two(True, heuristic_rate),
    "betting-racing": betting_racing,
    "peak": peak,
    "eb-tc-epsilon": eb_tc_epsilon,
}
