"""Race as docs/items.md has it, in plain Python: no arrays, no shared code, and slow."""

import math

FIXED, CAP, MEMORY, PRIOR, SWEEPS = 0.02, 0.9, 10, 1.5, 12


def leaders(play: list[int], sums: dict[int, float]) -> list[int]:
    return sorted(play, key=lambda j: (-sums[j], j))[:5]


def shrink(play: list[int], leader: int, past: list[dict[int, float]], n: int) -> float:
    t = len(past)
    if t < 2 or len(play) < 2:
        return MEMORY
    pooled = 0.25 * PRIOR / 2.5
    for j in play:
        if j != leader:
            d = [row[leader] - row[j] for row in past]
            pooled += max(sum(x * x for x in d) / t - (sum(d) / t) ** 2, 0)
    pooled /= len(play)
    means = []
    for j in range(n):
        own = [row[j] for row in past if j in row]
        means.append(sum(own) / len(own))
    middle = sum(means) / n
    beyond = sum((x - middle) ** 2 for x in means) / (n - 1) - pooled / (2 * t)
    return 300.0 if beyond <= pooled / 600 else max(pooled / (2 * beyond), 8.0)


def stakes(gains: list[float], moments: list[list[float]], room: list[float]) -> list[float]:
    k = len(gains)
    found = [0.0] * k
    for _ in range(SWEEPS):
        for i in range(k):
            rest = gains[i] - sum(moments[i][o] * found[o] for o in range(k) if o != i)
            found[i] = max(rest / moments[i][i], 0.0)
    used = sum(s * r for s, r in zip(found, room, strict=True))
    return [s * CAP / used for s in found] if used > CAP else found


def wealths(table: list[list[float]], order: list[int], delta: float) -> tuple[list[int], list[float]]:
    """The arms in play at the end, and the wealth against each arm, frozen when it was out."""
    n, total = len(table), len(order)
    play, past = list(range(n)), []
    sums = dict.fromkeys(range(n), 0.0)
    split = {j: [1.0] * 9 for j in range(n)}
    for t, item in enumerate(order):
        if len(play) == 1:
            break
        row = {j: table[j][item] for j in play}
        top, left = leaders(play, sums), total - t
        c = shrink(play, top[0], past, n)
        for j in play:
            chosen: list[int] = []
            for o in top:
                if o == j:
                    continue
                m = -(sums[o] - sums[j]) / left
                if m >= 1 or left - (sums[o] - sums[j]) <= 1e-9 * total:
                    break
                if (chosen and (sums[o] - sums[j]) / (t + c) - m <= 0) or len(chosen) == 4:
                    break
                chosen.append(o)
            if not chosen:
                continue
            margin = [-(sums[o] - sums[j]) / left for o in chosen]
            gain = [(sums[o] - sums[j]) / (t + c) - m for o, m in zip(chosen, margin, strict=True)]
            moments = [
                [
                    (sum((r[o] - r[j]) * (r[p] - r[j]) for r in past) + (PRIOR if o == p else PRIOR / 2)) / (t + MEMORY)
                    for p in chosen
                ]
                for o in chosen
            ]
            bets = stakes(gain, moments, [1 + m for m in margin])
            surprise = [row[o] - row[j] - m for o, m in zip(chosen, margin, strict=True)]
            split[j][0] *= 1 + sum(b * s for b, s in zip(bets, surprise, strict=True))
            for k in range(8):
                split[j][1 + k] *= 1 + CAP * 2.0**-k / (1 + margin[0]) * surprise[0]
        past.append(row)
        for j in play:
            sums[j] += row[j]
        best = max(sums[j] for j in play)
        wealth = {j: (1 - FIXED) * split[j][0] + FIXED / 8 * sum(split[j][1:]) for j in play}
        stay = [j for j in play if wealth[j] < 1 / delta and best - sums[j] <= total - t - 1 + 1e-9 * total]
        play = stay or [min(play, key=lambda j: wealth[j])]
    return play, [(1 - FIXED) * w[0] + FIXED / 8 * math.fsum(w[1:]) for w in split.values()]
