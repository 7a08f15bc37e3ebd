"""Track-and-Stop (Garivier, Kaufmann 2016): which share of pulls each arm should get, were the means the empirical ones.

Theorem 5: with x_a the pulls of arm a for each pull of the best one, m_a the mean of both together and
g_a(x_a) = kl(μ_1, m_a) + x_a·kl(μ_a, m_a), all g_a equal one y, the one at which Σ kl(μ_1, m_a)/kl(μ_a, m_a) = 1.
"""

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.lab import rules
from surest.kernels.lab.constants import ASKED, LEADER, TOTAL, TRACK_GLOBAL
from surest.kernels.lab.rules import Views

SAME = 1e-5
"""Means so close count as equal to Track-and-Stop: their divergence, about 1e-10, is lost in rounding, and so would be the
weights."""
TRACK_RATIO, TRACK_MEAN, TRACK_ENTROPY, TRACK_MISS, TRACK_RATE = 1, 2, 3, 4, 5
"""Rows of Track-and-Stop's memory (row 0 holds the weights): x; the mean; −H(mean); what g(x) lacks to y, over kl(μ_a, m_a);
1/kl(μ_a, m_a)."""
TRACK_NEAR, TRACK_CLOSE = 1e-2, 3e-4
"""How far g and the sum may be off: for Newton to be tried, and for its step to be the last (it squares the error)."""


def track_and_stop(state: Views) -> int:
    """Pull in the proportions that end soonest, as far as one knows (D-tracking).

    Settings: what of the threshold does not grow; whether the rest grows as ln(1 + ln t), not as ln t.
    """
    total, n = state.marks[TOTAL], len(state.counts)
    for i in range(state.marks[ASKED]):
        arm = state.pick[i]
        note(state.memory, arm, state.sums[arm] / state.counts[arm])
    best, ties, fewest = 0, 1, 0
    for arm in range(1, n):
        lead = state.sums[arm] / state.counts[arm] - state.sums[best] / state.counts[best]
        if lead > SAME:
            best, ties = arm, 1
        elif lead >= -SAME:
            ties += 1
            if rules.random_below(state, ties) == 0:
                best = arm
        if state.counts[arm] < state.counts[fewest]:
            fewest = arm
    state.marks[LEADER] = best
    if ties > 1:  # several best ones: pull one of them
        state.pick[0] = best
        return 1
    growth = libm.log(1 + libm.log(total)) if state.settings[1] else libm.log(total)
    hint = int(state.memory[TRACK_GLOBAL, 2])
    weak = unbeaten(state.sums, state.counts, state.memory, best, state.settings[0] + growth, hint)
    if weak < 0:
        return 0
    state.memory[TRACK_GLOBAL, 2] = weak
    if state.counts[fewest] <= max(libm.sqrt(total) - n / 2.0, 0.0):  # forced exploration; arm 0 counts like any other
        state.pick[0] = fewest
        return 1
    track(state.memory, n, best)
    choice = 0
    for arm in range(1, n):
        ahead = total * state.memory[0, arm] - state.counts[arm]
        if ahead > total * state.memory[0, choice] - state.counts[choice]:
            choice = arm
    state.pick[0] = choice
    return 1


def unbeaten(sums: FloatArray, counts: IntArray, memory: FloatArray, best: int, threshold: float, hint: int) -> int:
    """An arm against which the best one's generalised likelihood ratio, in nats, is not above the threshold; −1 if none.

    The search begins at `hint`: what was unbeaten a pull ago mostly still is.
    """
    n = len(counts)
    for i in range(n):
        arm = hint + i if hint + i < n else hint + i - n
        if arm != best:
            total, count = sums[best] + sums[arm], counts[best] + counts[arm]
            middle = total / count
            common = total * libm.log(middle) + (count - total) * libm.log(1 - middle)
            own, other = counts[best] * memory[TRACK_ENTROPY, best], counts[arm] * memory[TRACK_ENTROPY, arm]
            if not own + other - common > threshold:
                return arm
    return -1


def note(memory: FloatArray, arm: int, p: float) -> None:
    """Keep an arm's new mean p and −H(p)."""
    memory[TRACK_MEAN, arm] = p
    memory[TRACK_ENTROPY, arm] = p * libm.log(p) + (1 - p) * libm.log(1 - p) if 0 < p < 1 else 0.0


def track(memory: FloatArray, n: int, best: int) -> None:
    """Put w* of the means, of which `best` has the largest alone, into row 0: Newton from the last one, or a search."""
    if memory[TRACK_GLOBAL, 1] != best or not newton(memory, n, best, 5):
        search(memory, n, best)
        newton(memory, n, best, 20)
    memory[TRACK_GLOBAL, 1] = best
    memory[TRACK_RATIO, best] = 1.0
    total = 0.0  # added up in this order: NumPy's sum has another one
    for arm in range(n):
        total += memory[TRACK_RATIO, arm]
    for arm in range(n):
        memory[0, arm] = memory[TRACK_RATIO, arm] / total


def parts(p: float, p_entropy: float, q: float, q_entropy: float, x: float) -> tuple[float, float, float]:
    """Kl(p, m), kl(q, m) and m = (p + x·q)/(1 + x), with two logarithms."""
    m = (p + x * q) / (1 + x)
    log_m, log_rest = libm.log(m), libm.log(1 - m)
    a = p_entropy - p * log_m - (1 - p) * log_rest
    b = q_entropy - q * log_m - (1 - q) * log_rest
    return a, b, m


def newton(memory: FloatArray, n: int, best: int, steps: int) -> bool:
    """Newton on all x and y at once; whether it arrived."""
    for _ in range(steps):
        off, total, pull, slope = linearised(memory, n, best)
        move = (1 - total - pull) / slope
        y = memory[TRACK_GLOBAL, 0] + move
        if not (0 < y < libm.inf):
            return False
        memory[TRACK_GLOBAL, 0] = y
        for arm in range(n):
            if arm != best:
                memory[TRACK_RATIO, arm] += memory[TRACK_MISS, arm] + move * memory[TRACK_RATE, arm]
                if not (0 < memory[TRACK_RATIO, arm] < libm.inf):
                    return False
        if off <= TRACK_CLOSE * y and abs(total - 1) <= TRACK_CLOSE:
            return True
    return False


def linearised(memory: FloatArray, n: int, best: int) -> tuple[float, float, float, float]:
    """The largest |y − g|, Σ a/b, and how the sum changes: by all x that bring g to y, and by y."""
    p, y = memory[TRACK_MEAN, best], memory[TRACK_GLOBAL, 0]
    off, total, pull, slope = 0.0, 0.0, 0.0, 0.0
    for arm in range(n):
        if arm == best:
            continue
        q, x = memory[TRACK_MEAN, arm], memory[TRACK_RATIO, arm]
        a, b, m = parts(p, memory[TRACK_ENTROPY, best], q, memory[TRACK_ENTROPY, arm], x)
        scale = m * (1 - m) * (1 + x)
        inverse = 1 / (b * scale)
        miss, rate = y - (a + x * b), inverse * scale
        # d(a/b)/dx = (a'b − ab')/b²·dm/dx with a' = (m − p)/(m(1−m)), b' = (m − q)/(m(1−m)), dm/dx = (q − m)/(1+x)
        change = ((m - p) * b - a * (m - q)) * rate * inverse * (q - m)
        memory[TRACK_MISS, arm], memory[TRACK_RATE, arm] = miss * rate, rate
        off = max(off, abs(miss))
        total += a * rate
        pull += change * miss * rate
        slope += change * rate
    return off, total, pull, slope


def search(memory: FloatArray, n: int, best: int) -> None:
    """Newton on y alone, kept within a bracket, with each x found for it: near enough for `newton` to take over."""
    p = memory[TRACK_MEAN, best]
    low, high = 0.0, libm.inf  # g of the closest arm never reaches kl(μ_1, its mean)
    for arm in range(n):
        q = memory[TRACK_MEAN, arm]
        if arm != best and q > 0:
            high = min(high, memory[TRACK_ENTROPY, best] - p * libm.log(q) - (1 - p) * libm.log(1 - q))
    y = 0.5 * high if high < libm.inf else 0.5
    for _ in range(60):
        for arm in range(n):
            if arm != best:
                q = memory[TRACK_MEAN, arm]
                memory[TRACK_RATIO, arm] = ratio_of(p, memory[TRACK_ENTROPY, best], q, memory[TRACK_ENTROPY, arm], y)
        memory[TRACK_GLOBAL, 0] = y
        _off, total, _pull, slope = linearised(memory, n, best)
        if abs(total - 1) < TRACK_NEAR:
            return
        if total < 1:
            low = y
        else:
            high = y
        y += (1 - total) / slope
        if not low < y < high:
            y = 0.5 * (low + high) if high < libm.inf else 2 * low


def ratio_of(p: float, p_entropy: float, q: float, q_entropy: float, y: float) -> float:
    """The x with g(x) = y: g rises and is concave, so Newton from the left stays there."""
    x = 1.0
    a, b, _m = parts(p, p_entropy, q, q_entropy, x)
    for _ in range(100):  # find a point to the left
        if a + x * b <= y:
            break
        x *= 0.25
        a, b, _m = parts(p, p_entropy, q, q_entropy, x)
    for _ in range(60):
        step = (y - (a + x * b)) / b if b > 0 else 0.0
        x += step
        if not step > 1e-4 * x:
            break
        a, b, _m = parts(p, p_entropy, q, q_entropy, x)
    return x
