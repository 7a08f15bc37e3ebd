"""The proportions w* of Track-and-Stop: which share of pulls each arm should get, were the means the empirical ones.

Garivier and Kaufmann 2016, Theorem 5: with x_a the pulls of arm a for each pull of the best one, m_a the mean of both
together and g_a(x_a) = kl(μ_1, m_a) + x_a·kl(μ_a, m_a), all g_a equal one y, the one at which Σ kl(μ_1, m_a)/kl(μ_a, m_a) = 1.
"""

from math import inf, log

from surest.compiled import compiled
from surest.core.protocol import FloatArray

RATIO, MEAN, ENTROPY, MISS, RATE, GLOBAL = 1, 2, 3, 4, 5, 6
"""Rows of memory (row 0 holds the weights): x; the mean; −H(mean); what g(x) lacks to y, over kl(μ_a, m_a);
1/kl(μ_a, m_a); y and the best arm, or −1, in places 0 and 1 (place 2 is free)."""
ROWS = 7
NEAR, CLOSE = 1e-2, 3e-4
"""How far g and the sum may be off: for Newton to be tried, and for its step to be the last (it squares the error)."""


@compiled
def note(memory: FloatArray, arm: int, p: float) -> None:
    """Keep an arm's new mean p and −H(p)."""
    memory[MEAN, arm] = p
    memory[ENTROPY, arm] = p * log(p) + (1 - p) * log(1 - p) if 0 < p < 1 else 0.0


@compiled
def track(memory: FloatArray, n: int, best: int) -> None:
    """Put w* of the means, of which `best` has the largest alone, into row 0: Newton from the last one, or a search."""
    if memory[GLOBAL, 1] != best or not _newton(memory, n, best, 5):
        _search(memory, n, best)
        _newton(memory, n, best, 20)
    memory[GLOBAL, 1] = best
    memory[RATIO, best] = 1.0
    total = 0.0  # added up in this order: NumPy's sum has another one
    for arm in range(n):
        total += memory[RATIO, arm]
    for arm in range(n):
        memory[0, arm] = memory[RATIO, arm] / total


@compiled
def _parts(p: float, p_entropy: float, q: float, q_entropy: float, x: float) -> tuple[float, float, float]:
    """Kl(p, m), kl(q, m) and m = (p + x·q)/(1 + x), with two logarithms."""
    m = (p + x * q) / (1 + x)
    log_m, log_rest = log(m), log(1 - m)
    a = p_entropy - p * log_m - (1 - p) * log_rest
    b = q_entropy - q * log_m - (1 - q) * log_rest
    return a, b, m


@compiled
def _newton(memory: FloatArray, n: int, best: int, steps: int) -> bool:
    """Newton on all x and y at once; whether it arrived."""
    for _ in range(steps):
        off, total, pull, slope = _linearised(memory, n, best)
        move = (1 - total - pull) / slope
        y = memory[GLOBAL, 0] + move
        if not (0 < y < inf):
            return False
        memory[GLOBAL, 0] = y
        for arm in range(n):
            if arm != best:
                memory[RATIO, arm] += memory[MISS, arm] + move * memory[RATE, arm]
                if not (0 < memory[RATIO, arm] < inf):
                    return False
        if off <= CLOSE * y and abs(total - 1) <= CLOSE:
            return True
    return False


@compiled
def _linearised(memory: FloatArray, n: int, best: int) -> tuple[float, float, float, float]:
    """The largest |y − g|, Σ a/b, and how the sum changes: by all x that bring g to y, and by y."""
    p, y = memory[MEAN, best], memory[GLOBAL, 0]
    off, total, pull, slope = 0.0, 0.0, 0.0, 0.0
    for arm in range(n):
        if arm == best:
            continue
        q, x = memory[MEAN, arm], memory[RATIO, arm]
        a, b, m = _parts(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], x)
        scale = m * (1 - m) * (1 + x)
        inverse = 1 / (b * scale)
        miss, rate = y - (a + x * b), inverse * scale
        # d(a/b)/dx = (a'b − ab')/b²·dm/dx with a' = (m − p)/(m(1−m)), b' = (m − q)/(m(1−m)), dm/dx = (q − m)/(1+x)
        change = ((m - p) * b - a * (m - q)) * rate * inverse * (q - m)
        memory[MISS, arm], memory[RATE, arm] = miss * rate, rate
        off = max(off, abs(miss))
        total += a * rate
        pull += change * miss * rate
        slope += change * rate
    return off, total, pull, slope


@compiled
def _search(memory: FloatArray, n: int, best: int) -> None:
    """Newton on y alone, kept within a bracket, with each x found for it: near enough for `_newton` to take over."""
    p = memory[MEAN, best]
    low, high = 0.0, inf  # g of the closest arm never reaches kl(μ_1, its mean)
    for arm in range(n):
        q = memory[MEAN, arm]
        if arm != best and q > 0:
            high = min(high, memory[ENTROPY, best] - p * log(q) - (1 - p) * log(1 - q))
    y = 0.5 * high if high < inf else 0.5
    for _ in range(60):
        for arm in range(n):
            if arm != best:
                q = memory[MEAN, arm]
                memory[RATIO, arm] = _ratio(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], y)
        memory[GLOBAL, 0] = y
        _, total, _, slope = _linearised(memory, n, best)
        if abs(total - 1) < NEAR:
            return
        if total < 1:
            low = y
        else:
            high = y
        y += (1 - total) / slope
        if not low < y < high:
            y = 0.5 * (low + high) if high < inf else 2 * low


@compiled
def _ratio(p: float, p_entropy: float, q: float, q_entropy: float, y: float) -> float:
    """The x with g(x) = y: g rises and is concave, so Newton from the left stays there."""
    x = 1.0
    a, b, _ = _parts(p, p_entropy, q, q_entropy, x)
    for _ in range(100):  # find a point to the left
        if a + x * b <= y:
            break
        x *= 0.25
        a, b, _ = _parts(p, p_entropy, q, q_entropy, x)
    for _ in range(60):
        step = (y - (a + x * b)) / b if b > 0 else 0.0
        x += step
        if not step > 1e-4 * x:
            break
        a, b, _ = _parts(p, p_entropy, q, q_entropy, x)
    return x
