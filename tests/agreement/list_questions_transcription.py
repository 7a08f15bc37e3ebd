"""Sets, duels and claims on a list as docs/questions.md has them, in plain Python: no arrays, no shared code, and slow."""

import math
from itertools import combinations

FIXED, CAP, MEMORY, PRIOR = 0.02, 0.9, 10, 1.5


def mixed(split: list[float]) -> float:
    return (1 - FIXED) * split[0] + FIXED / 8 * math.fsum(split[1:])


def best_sets(
    table: list[list[float]], order: list[int], m: int, delta: float
) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], float], int]:
    """The sets alive at the end, the wealth against every set, frozen when it was out, and the cells evaluated."""
    n, total, cells = len(table), len(order), 0
    alive = list(combinations(range(n), m))
    split = {chosen: [1.0] * 9 for chosen in alive}
    past: list[dict[int, float]] = []
    sums = [0.0] * n
    for t, item in enumerate(order):
        undecided = [j for j in range(n) if 0 < sum(j in chosen for chosen in alive) < len(alive)]
        if not undecided:
            break
        ranked = sorted(undecided, key=lambda j: (-sums[j], j))
        row, left = {j: table[j][item] for j in undecided}, total - t
        cells += len(row)
        for chosen in alive:
            o = next(j for j in ranked if j not in chosen)
            j = next(j for j in reversed(ranked) if j in chosen)
            lead = sums[o] - sums[j]
            m_t = -lead / left
            if m_t >= 1 or left - lead <= 1e-9 * total:
                continue
            gain = lead / (t + MEMORY) - m_t
            second = (sum((r[o] - r[j]) ** 2 for r in past) + PRIOR) / (t + MEMORY)
            surprise = row[o] - row[j] - m_t
            split[chosen][0] *= 1 + min(max(gain / second, 0), CAP / (1 + m_t)) * surprise
            for k in range(8):
                split[chosen][1 + k] *= 1 + CAP * 2.0**-k / (1 + m_t) * surprise
        past.append(row)
        for j in undecided:
            sums[j] += row[j]
        stay = []
        for chosen in alive:
            worst = min(sums[j] for j in undecided if j in chosen)
            best = max(sums[j] for j in undecided if j not in chosen)
            if mixed(split[chosen]) < 1 / delta and best - worst <= total - t - 1 + 1e-9 * total:
                stay.append(chosen)
        alive = stay or [min(alive, key=lambda chosen: mixed(split[chosen]))]
    return alive, {chosen: mixed(own) for chosen, own in split.items()}, cells


def claims(path: list[float], total: int, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """The evidence that the mean on the list is at least `low`, and that it is less than `high`; infinite if certain."""
    found = []
    for claim, bar in enumerate((low, high)):
        sign = 1 - 2 * claim
        floor, ceiling = (least, most) if claim == 0 else (-most, -least)
        split, seen = [1.0] * 9, []
        for t, value in enumerate(path):
            x, at = sign * value, sign * bar
            m_t = (total * at - math.fsum(seen)) / (total - t)
            room = m_t - floor
            if room > 1e-9 and m_t < ceiling:
                gain = math.fsum(v - at for v in seen) / (t + MEMORY) + at - m_t
                second = (math.fsum((v - at) ** 2 for v in seen) + PRIOR) / (t + MEMORY) + gain**2
                split[0] *= 1 + min(max(gain, 0) / second, CAP / room) * (x - m_t)
                for k in range(8):
                    split[1 + k] *= 1 + CAP * 2.0**-k / room * (x - m_t)
            seen.append(x)
        missing, left = total * bar - math.fsum(path), total - len(path)
        certain = missing <= least * left + 1e-9 * total if claim == 0 else missing > most * left + 1e-9 * total
        found.append(math.inf if certain else mixed(split))
    return found[0], found[1]
