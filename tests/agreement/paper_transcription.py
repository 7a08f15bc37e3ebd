"""The paper's procedures once more, slowly: plain Python, scalars and lists, written from the paper's pages alone.

A procedure is a generator that yields ``(arm, count)`` where the pseudocode says "sample arm … times", and is sent a list
of so many rewards. ``for all i`` goes through the arms in order, each up to its next sampling. Each line's number in the
paper stands beside it. A dictionary of the printed constants may be given, to study smaller ones.
"""

import math

PRINTED = {"c": 80, "var_test": math.e, "half": 2, "eight": 8, "two_thirds": 2 / 3, "four": 4, "nine": 9, "ten": 10}
PRINTED |= {"beta": math.sqrt(255) / 16 * math.exp(0.001), "decay": math.exp(-0.1), "three": 3, "eighteen": 18}


def together(procedures):
    """Run procedures side by side, each up to its next sampling, in order, until all have ended; a list of what they return."""
    returned = [None] * len(procedures)
    waiting = []
    for place, procedure in enumerate(procedures):
        try:
            waiting.append((place, procedure, next(procedure)))
        except StopIteration as end:
            returned[place] = end.value
    while waiting:
        still = []
        for place, procedure, wanted in waiting:
            rewards = yield wanted
            try:
                still.append((place, procedure, procedure.send(rewards)))
            except StopIteration as end:
                returned[place] = end.value
        waiting = still
    return returned


def var_test(i, tau, delta, c):
    """Algorithm 2."""
    T = math.ceil(c / tau * math.log(1 / delta))  # line 2, rounded up
    x = yield i, 2 * T  # line 3
    total = 0.0
    for r in range(T):  # line 4
        total += (x[r] - x[r + T]) ** 2 / 2
    return total / T > tau  # line 5


def var_est(i, delta, ell, k=PRINTED):
    """Algorithm 1."""
    r = 1
    while True:  # line 2
        tau = 1 / 2**r  # line 3
        if tau <= ell or (yield from var_test(i, tau, delta / k["var_test"], k["c"])):  # line 4
            return tau  # line 5
        r += 1


def mean_est(arms, epsilon, delta, k=PRINTED):
    """Algorithm 3 for every arm of a list."""
    variance = yield from together([var_est(i, delta / k["half"], epsilon, k) for i in arms])  # line 2
    means = []
    for i, v in zip(arms, variance, strict=True):
        times = math.ceil((k["eight"] * v / epsilon**2 + k["two_thirds"] / epsilon) * math.log(k["four"] / delta))
        x = yield i, times  # line 3
        means.append(sum(x) / times)
    return means  # line 4


def naive_best_arm(S, delta, k=PRINTED, rounds=math.inf):
    """Algorithm 9; what is left after so many rounds."""
    r = 1  # line 2
    while len(S) > 1 and r <= rounds:  # line 3
        epsilon_r, delta_r = 1 / 2**r, 1 / (2 * r**2) * delta  # line 4
        means = yield from mean_est(S, epsilon_r / 2, delta_r / len(S), k)  # line 5
        best = max(means)  # line 6
        S = [i for i, mean in zip(S, means, strict=True) if not mean < best - epsilon_r]  # line 7
        r += 1  # line 8
    return S  # line 9


def naive_best_arm_est(S, epsilon, delta, choose, k=PRINTED):
    """The corollary: rounds enough that 2^−(r−1) ≤ ε after the last, then some survivor."""
    rounds = 0
    while epsilon < 1 and (rounds == 0 or 1 / 2 ** (rounds - 1) > epsilon):
        rounds += 1
    return choose((yield from naive_best_arm(S, delta, k, rounds)))


def group_elim(S, epsilon, delta, k=PRINTED):
    """Algorithm 6."""
    N = 0  # line 2: ⌈log2 2/ε⌉
    while 2**N * epsilon < 2:
        N += 1
    variance = yield from together([var_est(i, delta / (2 * N**2), epsilon, k) for i in S])  # line 3
    T, R = [], []
    for j in range(1, N + 1):  # line 5
        bucket = [i for i, v in zip(S, variance, strict=True) if 2**-j < v <= 2 ** (-j + 1)]  # line 4
        if len(bucket) >= 2:  # line 6
            means = yield from mean_est(bucket, epsilon / 2, delta / (k["nine"] * N), k)  # line 7
            order = sorted(range(len(bucket)), key=lambda place, means=means: (-means[place], place))
            kept = sorted(order[: math.ceil(len(bucket) / 2)])  # lines 8 and 9; of equal means the earlier stay
            T += [bucket[place] for place in kept]  # line 10
        else:
            R += bucket  # line 12
    return T, R  # line 13


def iter_elim(S, epsilon, delta, k=PRINTED):
    """Algorithm 5."""
    beta, decay = k["beta"], k["decay"]  # line 2
    T, R, r = S, [], 0  # line 3
    while len(T) > k["ten"]:  # line 4
        epsilon_r = beta**r * (1 - beta) * epsilon
        delta_r = decay**r * (1 - decay) * delta
        T, binned = yield from group_elim(T, epsilon_r, delta_r, k)  # line 5
        R = R + binned  # line 6
        r += 1  # line 7
    return sorted(T + R)  # line 8: a set


def best_arm_est(S, epsilon, delta, choose, k=PRINTED):
    """Algorithm 4."""
    third = k["three"]
    S1 = yield from iter_elim(S, epsilon / third, delta / third, k)  # line 2
    if 1 / epsilon <= math.log(len(S)):  # line 3
        S2 = S1
    else:
        S2 = yield from iter_elim(S1, epsilon / third, delta / third, k)
    return (yield from naive_best_arm_est(S2, epsilon / third, delta / third, choose, k))  # lines 4 and 5


def vd_best_arm_id(S, delta, choose, k=PRINTED):
    """Algorithm 7."""
    r = 1  # line 2
    while len(S) > 1:  # line 3
        epsilon_r, delta_r = 1 / 2 ** (r + 2), 1 / (2 * r**2) * delta  # line 4
        means = dict(zip(S, (yield from mean_est(S, epsilon_r / 2, delta_r / k["eighteen"], k)), strict=True))  # line 5
        a = yield from best_arm_est(S, epsilon_r / 2, delta_r / k["eighteen"], choose, k)  # line 6
        rest = [i for i in S if i != a]
        a_star = yield from best_arm_est(rest, epsilon_r / 2, delta_r / k["eighteen"], choose, k)  # line 7
        if abs(means[a] - means[a_star]) > 2 * epsilon_r:  # line 8
            return a
        S = [i for i in S if not means[i] < means[a] - epsilon_r]  # line 9
        r += 1  # line 10
    return S[0]  # line 11


def vd_best_arm_id_star(copy):
    """Algorithm 8. ``copy(i)`` starts 𝔸_i; yields ``(i, arm)``, one pull at a time."""
    copies = {}  # i: the procedure, the sampling it is at, the rewards that it has of it
    r = 0
    while True:  # line 2
        r += 1
        for i in range(1, math.floor(math.log2(r)) + 1):  # line 3
            if r % 2**i != 0:  # line 4
                continue
            if i not in copies:
                copies[i] = copy(i), (None, 0), []
            procedure, (arm, count), rewards = copies[i]
            if len(rewards) == count:  # line 5
                try:
                    arm, count = procedure.send(rewards or None)  # line 6
                except StopIteration as end:  # line 7
                    return end.value  # line 9
                copies[i] = procedure, (arm, count), (rewards := [])
            rewards.append((yield i, arm))  # line 8
