"""The proportions w* of Track-and-Stop: which share of pulls each arm should get, were the means the empirical ones.

Garivier and Kaufmann 2016, Theorem 5: with x_a the pulls of arm a for each pull of the best one, m_a the mean of both
together and g_a(x_a) = kl(μ_1, m_a) + x_a·kl(μ_a, m_a), all g_a equal one y, the one at which Σ kl(μ_1, m_a)/kl(μ_a, m_a) = 1.
"""

from math import inf, log

from surest.algorithms.stepwise import State
from surest.compiled import compiled
from surest.protocol import FloatArray

RATIO, ENTROPY, GLOBAL = 1, 2, 3
"""Rows of memory: x, −H(mean), and (y, the best arm, 1 + number of solutions) in places 0, 1, 2 of the last."""
CLOSE = 1e-9


@compiled
def tracked_weights(state: State, best: int, weights: FloatArray) -> None:
    """w* of the empirical means, of which `best` has the largest alone: Newton from the last solution, or a search."""
    memory = state.memory
    for arm in range(len(state.counts)):
        memory[ENTROPY, arm] = _negative_entropy(state.sums[arm] / state.counts[arm])
    near = memory[GLOBAL, 2] > 0 and memory[GLOBAL, 1] == best and _newton(state, best, 4)
    if not near:
        _search(state, best)
        _newton(state, best, 20)
    memory[GLOBAL, 1], memory[GLOBAL, 2] = best, 1
    memory[RATIO, best] = 1.0
    total = 0.0
    for arm in range(len(state.counts)):
        total += memory[RATIO, arm]
    for arm in range(len(state.counts)):
        weights[arm] = memory[RATIO, arm] / total


@compiled
def _negative_entropy(p: float) -> float:
    return p * log(p) + (1 - p) * log(1 - p) if 0 < p < 1 else 0.0


@compiled
def _parts(p: float, p_entropy: float, q: float, q_entropy: float, x: float) -> tuple[float, float, float]:
    """Kl(p, m), kl(q, m) and m = (p + x·q)/(1 + x), with two logarithms."""
    m = (p + x * q) / (1 + x)
    log_m, log_rest = log(m), log(1 - m)
    a = p_entropy - p * log_m - (1 - p) * log_rest
    b = q_entropy - q * log_m - (1 - q) * log_rest
    return a, b, m


@compiled
def _newton(state: State, best: int, steps: int) -> bool:
    """Newton on all x_a and y at once; whether it arrived."""
    memory, n = state.memory, len(state.counts)
    p = state.sums[best] / state.counts[best]
    for _ in range(steps):
        y = memory[GLOBAL, 0]
        off, total, pull, slope = 0.0, 0.0, 0.0, 0.0
        for arm in range(n):
            if arm == best:
                continue
            q, x = state.sums[arm] / state.counts[arm], memory[RATIO, arm]
            a, b, m = _parts(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], x)
            if not (a > 0 and b > 0):
                return False
            miss = y - (a + x * b)
            # d(a/b)/dx = (a'b − ab')/b²·dm/dx with a' = (m − p)/(m(1−m)), b' = (m − q)/(m(1−m)), dm/dx = (q − m)/(1+x)
            change = ((m - p) * b - a * (m - q)) / (m * (1 - m) * b * b) * (q - m) / (1 + x)
            off = max(off, abs(miss))
            total += a / b
            pull += change * miss / b
            slope += change / b
        if off <= CLOSE * y and abs(total - 1) <= CLOSE:
            return True
        if not _step(state, best, (1 - total - pull) / slope):
            return False
    return False


@compiled
def _step(state: State, best: int, move: float) -> bool:
    """Change y by `move` and each x so that g(x) follows; whether all stay positive numbers."""
    memory = state.memory
    p = state.sums[best] / state.counts[best]
    y = memory[GLOBAL, 0] + move
    if not 0 < y < inf:
        return False
    memory[GLOBAL, 0] = y
    for arm in range(len(state.counts)):
        if arm != best:
            q, x = state.sums[arm] / state.counts[arm], memory[RATIO, arm]
            a, b, _ = _parts(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], x)
            x += (y - (a + x * b)) / b
            if not 0 < x < inf:
                return False
            memory[RATIO, arm] = x
    return True


@compiled
def _search(state: State, best: int) -> None:
    """Bisection on y, with each x found for it: near enough for Newton to take over."""
    memory, n = state.memory, len(state.counts)
    p = state.sums[best] / state.counts[best]
    high = inf  # g of the closest arm never reaches kl(μ_1, its mean)
    for arm in range(n):
        q = state.sums[arm] / state.counts[arm]
        if arm != best and q > 0:
            high = min(high, memory[ENTROPY, best] - p * log(q) - (1 - p) * log(1 - q))
    low = 0.0
    y = 0.5 * high if high < inf else 0.5
    for _ in range(40):
        total = 0.0
        for arm in range(n):
            if arm != best:
                q = state.sums[arm] / state.counts[arm]
                x = _ratio(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], y)
                memory[RATIO, arm] = x
                a, b, _ = _parts(p, memory[ENTROPY, best], q, memory[ENTROPY, arm], x)
                total += a / b if b > 0 else inf
        memory[GLOBAL, 0] = y
        if abs(total - 1) < 1e-4:
            return
        if total < 1:
            low = y
        else:
            high = y
        y = 0.5 * (low + high) if high < inf else 2 * y


@compiled
def _ratio(p: float, p_entropy: float, q: float, q_entropy: float, y: float) -> float:
    """The x with g(x) = y: g rises and is concave, so Newton from the left stays there."""
    x = 1.0
    for _ in range(200):  # find a point to the left
        a, b, _ = _parts(p, p_entropy, q, q_entropy, x)
        if a + x * b <= y:
            break
        x *= 0.5
    for _ in range(100):
        a, b, _ = _parts(p, p_entropy, q, q_entropy, x)
        step = (y - (a + x * b)) / b if b > 0 else 0.0
        x += step
        if not step > 1e-10 * x:
            break
    return x
