"""A rival's run, request for request, against its slow transcription; ends and answers included."""

import sys
from dataclasses import replace
from inspect import unwrap
from math import ceil, inf, log, sqrt

import numpy as np

from agreement.rivals_transcription import RULES, Move, Seen, transport
from mistakes import rebuilt
from surest.algorithms import MODULES, all_entries
from surest.algorithms.entry import Entry, Task
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import IntArray
from surest.core.question import Question
from surest.lab.rivals.k_inf_track_and_stop import transport_costs
from surest.search.simulate import simulate

OWN = "surest.lab.rivals", "surest.lab.stepwise", "surest.kernels."
"""All modules that rivals are made of: a compiled function holds the code of those that it calls."""
PUBLISHED = {
    name: f"surest.{module}"
    for name, module in MODULES.items()
    if module.startswith("lab.rivals.") and not module.endswith(".on_items")
}
RIVALS = {entry.name: entry for entry in all_entries() if entry.name in PUBLISHED}
"""The published algorithms as they are."""
BINARY = bernoulli([0.3, 0.85, 0.2])
GRADED = finite_arms([([0.0, 0.5, 0.9], [5, 4, 1]), ([0.1, 0.2, 0.3], [1, 1, 1]), ([0.7, 0.8, 1.0], [2, 3, 2])])
"""Rewards between 0 and 1, of different variances, the best arm last."""
FOUR = bernoulli([0.6, 0.45, 0.4, 0.3])
BEST_TWO = bernoulli([0.1, 0.95, 0.2, 0.9])
GRADED_TWO = finite_arms([([0.7, 0.8, 1.0], [2, 3, 2]), ([0.1, 0.2, 0.3], [1, 1, 1]), ([0.6, 0.97], [1, 1])])
EIGHT = bernoulli([0.85] + [0.3] * 7)
"""The leader's part of the transport cost is about 1/(1 + √7) here, far from one half."""
EQUAL = bernoulli([0.5, 0.5, 0.5])
SKEWED = finite_arms([([0.5], [1]), ([0.4, 1.0], [0.8, 0.2])])
MIXED = finite_arms([([0.2, 0.5, 0.9], [1, 2, 1]), ([0.0, 0.6], [1, 3]), ([0.1, 0.3, 1.0], [3, 2, 1])])
LIMIT, LIMIT_TOP_TWO = 5000, 900
"""Pulls within which a run should end; each costs Top Two milliseconds."""


def mistaken_rivals(module: str, right: str, wrong: str) -> dict[str, Entry]:
    """The published algorithms as plain Python, with a mistake in a module."""
    own = [name for name in sys.modules if name.startswith(OWN) and not name.endswith("._shared")]  # this is Cython's
    fresh = rebuilt(own, (right, wrong), into=f"surest.{module}")
    return {name: next(e for e in fresh[home].ENTRIES if e.name == name) for name, home in PUBLISHED.items()}


def started(entry: Entry, arms: FiniteArms, delta: float, seed: int, **problem: float) -> Running:
    options = {"h1": problem.pop("h1")} if "h1" in problem else {}
    n, budget = len(arms), problem.get("budget")
    asked = Task(np.arange(n), delta, problem.get("epsilon", 0.0), budget, np.random.default_rng([seed, n]))
    if "top" in problem:
        asked = replace(asked, question=Question("top", top=problem["top"]))
    limit = budget or (LIMIT_TOP_TWO if "Jourdan" in entry.reference else LIMIT)
    return Running(entry.start(asked, **options), n, budget=limit, record=True)


def run_once(entry: Entry, arms: FiniteArms, delta: float, seed: int, **problem: float) -> Running:
    with np.errstate(all="ignore"):  # plain Python and machine code treat 1/0 and overflow alike then
        running, bandit = started(entry, arms, delta, seed, **problem), arms.simulate(seed)
        while running.request is not None:
            running.send(bandit.answer(running.request))
    return running


def check_rule(name: str, entry: Entry, arms: FiniteArms, delta: float, seed: int, **problem: float) -> int:
    """Each request is one that the rule allows, and so are the end and the answer. How many moves were compared.

    Run and rule go on together, so that the first move that differs is the last one made.
    """
    n, compared, allowed = len(arms), 0, {("pull", tuple(range(len(arms))))}
    seen = Seen(
        n, delta, problem.get("epsilon", 0.0), problem.get("budget", 0), problem.get("h1", 1.0), [[] for _ in range(n)]
    )
    seen.top = problem.get("top", 1)
    with np.errstate(all="ignore"):
        running, bandit = started(entry, arms, delta, seed, **problem), arms.simulate(seed)
        while True:
            move = move_of(running)
            if allowed is not None:
                compared += 1
                assert move in allowed, f"{name} after {seen.total} pulls: {move}, not {allowed}"
            coins = seen.notes.get("coins", [])
            if len(coins) > len(seen.notes.setdefault("pulled", [])):
                seen.notes["pulled"].append(move == ("pull", (coins[-1][0],)))
            if running.request is None:
                break
            request, reply = running.request, bandit.answer(running.request)
            running.send(reply)
            for arm, reward in zip(request.arms, reply, strict=True):
                seen.rewards[arm].append(float(reward))
            seen.asked = move[1]
            allowed = RULES[name](seen)
    check_coins(seen)
    return compared


def move_of(running: Running) -> Move:
    if running.request is not None:
        return ("pull", tuple(sorted(running.request.arms.tolist())))
    assert running.value is not None, "it should have ended"
    arms = running.value.arms
    return ("stop", arms[0] if len(arms) == 1 else tuple(sorted(arms)))


def check_coins(seen: Seen) -> None:
    """The leader is pulled as often as its chances say, within four standard deviations."""
    chances = np.array([chance for _, chance in seen.notes.get("coins", [])])
    spread = sqrt(float((chances * (1 - chances)).sum()))
    assert abs(sum(seen.notes.get("pulled", [])) - chances.sum()) <= 4 * spread


MIDDLE = bernoulli([0.75, 0.5, 0.4, 0.3])
PROBLEMS: list[tuple[FiniteArms, dict[str, float]]] = [(BINARY, {}), (GRADED, {})]
NEAR = [(FOUR, {"epsilon": 0.25})]
SPENDING = [(FOUR, {"budget": 400}), (GRADED, {"budget": 150}), *[(EQUAL, {"budget": 60})] * 8]
CROWDED = finite_arms([([0.1 + 0.0317 * a, 0.63 + 0.0411 * a], [1, 1]) for a in range(6)])
UNEVEN = finite_arms([([0.013, 0.517, 0.931], [5, 4, 1]), ([0.11, 0.29], [1, 1]), ([0.703, 0.811, 0.997], [2, 3, 2])])
"""No two arms ever have the same mean."""


SHORT = [(MIDDLE, {}), (GRADED, {}), (MIDDLE, {})]
"""For rules that end soon."""
TOLD = [(arms, {**problem, "h1": 150.0}) for arms, problem in SPENDING]
SEVERAL = [(BEST_TWO, {"top": 2}), (GRADED_TWO, {"top": 2}), (BEST_TWO, {"top": 3, "epsilon": 0.4})]
PROBLEMS_OF = {
    **dict.fromkeys([name for name in RULES if name.endswith("-heuristic")], SHORT),
    **dict.fromkeys(("track-and-stop", "chernoff-racing"), SHORT),
    **dict.fromkeys(("ugape", "ugape-v", "lil-kl-ucb"), PROBLEMS + NEAR),
    **dict.fromkeys(("lucb", "kl-lucb"), PROBLEMS + NEAR + SEVERAL),
    "kl-lucb-heuristic": SHORT + SEVERAL,
    **dict.fromkeys(("ucb-e", "ugape-b"), TOLD),
    **dict.fromkeys(("ucb-e-adaptive", "ugape-b-adaptive"), SPENDING),
    "top-two-ids": [*PROBLEMS, (EIGHT, {})],
    "eb-tc-epsilon": [(UNEVEN, {"epsilon": 0.05}), (UNEVEN, {"epsilon": 0.2}), (CROWDED, {"epsilon": 0.4})],
    "peak": [*PROBLEMS, (BINARY, {})],
    "betting-racing": [*PROBLEMS, (MIDDLE, {})],
}
"""Of rules for which the two usual problems do not do: theirs."""


def check_stepwise(name: str, entry: Entry) -> None:
    runs = enumerate(PROBLEMS_OF.get(name, PROBLEMS))
    assert sum(check_rule(name, entry, arms, 0.3, seed, **problem) for seed, (arms, problem) in runs) >= 60


Step = tuple[IntArray, IntArray, np.ndarray]


class Walk:
    """A transcript, read from the beginning; every request is checked as it is taken."""

    def __init__(self, done: Running) -> None:
        self.done = done
        self.steps: list[Step] = [(request.arms, request.times, reply) for request, reply in done.transcript]

    def take(self, arms: set[int] | None, times: int) -> tuple[list[int], np.ndarray]:
        assert self.steps, "it ended too soon"
        got, counts, means = self.steps.pop(0)
        assert arms is None or set(got.tolist()) == arms
        assert (counts == times).all(), f"{counts.tolist()} pulls, not {times}"
        return got.tolist(), means

    def end(self, answer: int) -> None:
        assert not self.steps
        assert self.done.value.arm == answer


def best_half(left: list[int], means: np.ndarray) -> set[int]:
    assert len(set(means)) == len(means), "no ties in this test"
    return {left[i] for i in np.argsort(-means)[: ceil(len(left) / 2)]}


def walk_median(walk: Walk, arms: set[int], epsilon: float, delta: float, c: int = 1) -> int:
    left, epsilon_l, delta_l = arms, epsilon / 4, delta / 2
    while len(left) > 1:
        left = best_half(*walk.take(left, ceil(c * 4 / epsilon_l**2 * log(c * 3 / delta_l))))
        epsilon_l, delta_l = 3 / 4 * epsilon_l, delta_l / 2
    return next(iter(left))


def check_median(entry: Entry) -> None:
    walk = Walk(run_once(entry, TEN, 0.2, 3, epsilon=0.05, budget=10**15))
    walk.end(walk_median(walk, set(range(10)), 0.05, 0.2))


TEN = bernoulli([0.2, 0.3, 0.45, 0.5, 0.52, 0.6, 0.62, 0.7, 0.71, 0.8])


def check_exponential_gap(entry: Entry) -> None:
    walk, left, r = Walk(run_once(entry, TEN, 0.2, 4, budget=10**15)), set(range(10)), 1
    while len(left) > 1:
        epsilon, delta = 2.0**-r / 4, 0.2 / (50 * r**3)
        arms, means = walk.take(left, ceil(2 / epsilon**2 * log(2 / delta)))
        reference = walk_median(walk, left, epsilon / 2, delta)
        left = {a for a, m in zip(arms, means, strict=True) if m >= means[arms.index(reference)] - epsilon}
        r += 1
    walk.end(next(iter(left)))


def walk_fraction(walk: Walk, low: float, high: float, delta: float, threshold: float, slack: float) -> bool:
    """(ln(2/δ)/2)·(3/Δ)² arms drawn, each estimated to half of high − low with probability 1 − Δ/3."""
    draws = ceil(log(2 / delta) * (3 / slack) ** 2 / 2)
    times, seen, below = ceil(log(2 / (slack / 3)) / (2 * ((high - low) / 2) ** 2)), 0, 0
    while seen < draws:
        arms, means = walk.take(None, times)
        seen += len(arms)
        below += int((means < (low + high) / 2).sum())
    assert seen == draws
    return below > threshold * draws


def check_distribution_based(entry: Entry) -> None:
    delta, left, r, h = 0.2, set(range(8)), 1, 1
    arms = bernoulli([0.9, 0.7, 0.65, 0.6, 0.3, 0.2, 0.1, 0.05])  # the more arms, the fewer requests
    walk = Walk(run_once(entry, arms, delta, 5, budget=10**15))
    while len(left) > 1:
        epsilon = 2.0**-r
        some = walk_median(walk, left, epsilon / 4, 0.01)
        _, (mean,) = walk.take({some}, sample_size(epsilon / 4, delta / (50 * r**2)))
        if walk_fraction(walk, mean - 1.5 * epsilon, mean - 1.25 * epsilon, delta / (50 * r**2), 0.4, 0.1):
            share = delta / (50 * h**2)
            good = walk_median(walk, left, epsilon / 4, share)
            _, (mean,) = walk.take({good}, sample_size(epsilon / 4, share))
            left = walk_elimination(walk, left, mean - 0.5 * epsilon, mean - 0.25 * epsilon, share)
            h += 1
        r += 1
    walk.end(next(iter(left)))


def sample_size(epsilon: float, delta: float) -> int:
    return ceil(log(2 / delta) / (2 * epsilon**2))


def walk_elimination(walk: Walk, left: set[int], low: float, high: float, delta: float) -> set[int]:
    middle, r = (low + high) / 2, 1
    while len(left) > 1 and walk_fraction(walk, low, middle, delta / (10 * 2**r), 0.075, 0.025):
        arms, means = walk.take(left, sample_size((high - middle) / 2, delta / (10 * 2**r)))
        left = {a for a, m in zip(arms, means, strict=True) if m >= (middle + high) / 2}
        r += 1
    return left


def estimate(walk: Walk, arms: set[int] | None, accuracy: float, error: float) -> tuple[list[int], np.ndarray]:
    """Gap-entropy elimination's Mean."""
    return walk.take(arms, ceil(2 * log(2 / error) / accuracy**2))


def entropy_fraction(
    walk: Walk, arms: set[int], low: float, high: float, below: float, above: float, error: float
) -> bool:
    """So many draws, or every arm once where that is cheaper."""
    d, n, seen, under = above - below, len(arms), 0, 0
    draws = ceil(36 * d**-2 * log(2 / error))
    if n * log(2 * n / error) <= draws * log(12 / d):
        _, means = estimate(walk, arms, (high - low) / 2, error / n)
        return sum(means < (low + high) / 2) / n > (below + above) / 2
    while seen < draws:
        drawn, means = estimate(walk, None, (high - low) / 2, d / 6)
        assert set(drawn) <= arms
        seen, under = seen + len(drawn), under + sum(means < (low + high) / 2)
    assert seen == draws
    return under > (below + above) / 2 * draws


def entropy_eliminate(walk: Walk, left: set[int], low: float, high: float, error: float) -> set[int]:
    step, middle = 1, (low + high) / 2
    while left and entropy_fraction(walk, left, low, middle, 0.05, 0.1, error / (10 * 2**step)):
        arms, means = estimate(walk, left, (high - low) / 4, error / (10 * 2**step))
        left = {a for a, m in zip(arms, means, strict=True) if m >= middle + (high - low) / 4}
        step += 1
    return left


def entropy_stage(walk: Walk, n: int, eta: float, t: int) -> set[int]:
    """What is left of all arms when the stage ends; no arm when it is rejected."""
    left, used, charged, budget = set(range(n)), 0.0, 0.0, 100.0**t
    rounds = max(0, int(log(budget / (log(1 / eta) + log(t + 1))) // log(4)) - 16)
    theta = [0.3]
    for r in range(1, rounds + 1):
        theta.append(theta[-1] + 1 / (10 * (rounds + 1 - r) ** 2))
    for r in range(1, rounds + 1):
        if len(left) < 2:
            return left
        e, w = 2.0**-r, len(left) * 4**r
        z = w * log(budget / (eta * w))
        if used + 4 * w >= budget or charged + z >= 100 * budget:
            return set()
        charged, error = charged + z, eta / (50 * t**2 * r**2)
        arm = walk_median(walk, left, e / 8, 0.01, 2)
        _, (m,) = estimate(walk, {arm}, e / 8, error)
        if entropy_fraction(walk, left, m - 7 * e / 4, m - 9 * e / 8, theta[r - 1], theta[r], error):
            left = entropy_eliminate(walk, left, m - 3 * e / 4, m - 5 * e / 8, 4 * w * eta**2 / budget)
            used += 4 * w
    return left


SPREAD = finite_arms([([0.0, 1.0, 0.013 * a], [50, 30 + 5 * a, 20 + a]) for a in range(8)])
"""Means that no two estimates of 10^6 rewards have in common."""


def check_gap_entropy(entry: Entry) -> None:
    check_fraction_by_draws(entry)
    check_elimination(entry)
    for delta, seed in ((0.2, 3), (0.001, 4)):
        walk, t = Walk(run_once(entry, SPREAD, delta, seed, budget=10**18)), 1
        while len(left := entropy_stage(walk, 8, min(delta, 0.01), t)) != 1:
            t += 1
        assert t > 6, "a stage must have been rejected"
        walk.end(next(iter(left)))


def check_elimination(entry: Entry) -> None:
    """On constant arms, one of them between the two bounds that decide who stays."""
    constants = finite_arms([([value], [1]) for value in (0.3, 0.52, 0.58, 0.7)])
    eliminate = unwrap(entry.start).__globals__["_eliminate"]
    procedure = eliminate(np.arange(4), 0.4, 0.6, 0.05, 0, np.random.default_rng(5))
    done = simulate(procedure, constants.simulate(5), record=True)
    left = entropy_eliminate(walk := Walk(done), set(range(4)), 0.4, 0.6, 0.05)
    assert set(done.value.tolist()) == left == {2, 3}
    assert not walk.steps


def check_fraction_by_draws(entry: Entry) -> None:
    """With the thresholds of a stage, thousands of arms are needed before draws are cheaper; here 400 of them are."""
    fraction = unwrap(entry.start).__globals__["_fraction"]
    arms, answers = bernoulli([0.2] * 200 + [0.8] * 200), set()
    for below, above in ((0.1, 0.8), (0.4, 0.9)):
        rng = np.random.default_rng(5)
        procedure = fraction(np.arange(400), 0.4, 0.6, (below, above), 0.05, 0, rng)
        done = simulate(procedure, arms.simulate(5), record=True)
        assert entropy_fraction(walk := Walk(done), set(range(400)), 0.4, 0.6, below, above, 0.05) == done.value
        assert not walk.steps
        answers.add(done.value)
    assert answers == {True, False}


def check_sequential_halving(entry: Entry) -> None:
    walk, left = Walk(run_once(entry, TEN, 0.2, 6, budget=30_011)), set(range(10))
    while len(left) > 1:
        left = best_half(*walk.take(left, 30_011 // (len(left) * 4)))
    walk.end(next(iter(left)))


def check_successive_rejects(entry: Entry) -> None:
    n, budget = 10, 3011
    log_bar = 0.5 + sum(1 / i for i in range(2, n + 1))
    close = finite_arms([([0.0, 0.4 + i / 71, 1.0], [1, 1, 1]) for i in range(n)])
    for seed in range(5):
        walk = Walk(run_once(entry, close, 0.2, seed, budget=budget))
        left, done, sums = list(range(n)), 0, np.zeros(n)
        for k in range(1, n):
            end = ceil((budget - n) / (log_bar * (n + 1 - k)))
            arms, means = walk.take(set(left), end - done)
            sums[arms] += (end - done) * means
            done = end
            left = sorted(left, key=lambda a: -sums[a])[:-1]
        walk.end(left[0])


def check_k_inf(entry: Entry) -> None:
    """At each request costs are those of a slow search, and it stops where all are large enough."""
    for arms in (bernoulli([0.8, 0.5, 0.3]), SKEWED, MIXED):
        done = run_once(entry, arms, 0.3, 3)
        n, seen = len(arms), [[] for _ in range(len(arms))]
        for place, (request, reply) in enumerate(done.transcript):
            for k, arm in enumerate(request.arms):
                part = slice(reply.start[k], reply.start[k + 1])
                seen[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()
            counts, best = np.array([len(rewards) for rewards in seen]), int(np.argmax([*map(np.mean, seen)]))
            slow = np.array([transport(seen[best], rewards)[0] if j != best else inf for j, rewards in enumerate(seen)])
            laws = finite_arms([(rewards, np.ones(len(rewards))) for rewards in seen])
            rest = np.arange(n) != best
            np.testing.assert_allclose(transport_costs(laws, counts, best)[rest], slow[rest], rtol=1e-6, atol=1e-6)
            stops = (slow > log((n - 1) / 0.3) + 2 + np.log(counts[best] + 1) + np.log(counts + 1)).all()
            assert stops == (place + 1 == len(done.transcript))
        assert done.value.arm == best


WALKS = {
    "k-inf-track-and-stop": check_k_inf,
    "median-elimination": check_median,
    "exponential-gap-elimination": check_exponential_gap,
    "distribution-based-elimination": check_distribution_based,
    "gap-entropy-elimination": check_gap_entropy,
    "sequential-halving": check_sequential_halving,
    "successive-rejects": check_successive_rejects,
}


def check_settings(entries: dict[str, Entry]) -> None:
    """Constants to the last digit, where a small change would move few decisions; many arms, for which lil'UCB differs."""

    def settings(name: str, n: int) -> list[float]:
        build = entries[name].stepwise
        return build(Task(np.arange(n), 0.3, 0.0, None, np.random.default_rng(0))).state.settings.tolist()

    np.testing.assert_allclose(settings("kl-lucb", 5)[:2], [log(405.5 * 5 / 0.3), 1.1], rtol=1e-12)
    np.testing.assert_allclose(settings("kl-racing", 5)[:2], [log(405.5 * 5 / 0.3), 1.1], rtol=1e-12)
    c = 2.01 / 0.01 * log(1.01) ** -1.01
    for n, level in ((5, (sqrt(1.3) - 1) ** 2 / (4 * c)), (1000, 0.3 / (3 * c * 1000))):
        np.testing.assert_allclose(settings("lil-ucb", n), [0.01, 1, level, 9, 0.3 / (c * n)], rtol=1e-12)


def check_ties(entries: dict[str, Entry]) -> None:
    """Of three equal arms the leader is not always the same one."""
    runs = [run_once(entries["lucb"], finite_arms([([0.5], [1])] * 3), 0.3, seed, budget=5) for seed in range(20)]
    assert len({tuple(done.transcript[1][0].arms.tolist()) for done in runs}) > 1


def check(name: str, entry: Entry) -> None:
    """Whether an entry does what the transcription of that name says."""
    if name in WALKS:
        WALKS[name](entry)
    else:
        check_stepwise(name, entry)
