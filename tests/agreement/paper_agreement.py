"""What it means that a procedure agrees with its slow transcription: the same rewards, the same requests, the same answer."""

from itertools import count

import numpy as np

from agreement import paper_transcription as slow
from surest.algorithms.paper.best_arm_est import best_arm_est
from surest.algorithms.paper.constants import PRINTED, Constants
from surest.algorithms.paper.expected_time import fast_forwarded, interleaved
from surest.algorithms.paper.group_elim import group_elim
from surest.algorithms.paper.iter_elim import iter_elim
from surest.algorithms.paper.mean_est import mean_est
from surest.algorithms.paper.naive import naive_best_arm, naive_best_arm_est
from surest.algorithms.paper.var_est import var_est
from surest.algorithms.paper.var_test import var_test
from surest.algorithms.paper.vd_best_arm_id import vd_best_arm_id
from surest.core.procedure import Running, statistic_of
from surest.core.protocol import Pull, Statistic
from surest.search.simulate import simulate

NAMES = {"c": "var_test_c", "eight": "mean_est_square", "two_thirds": "mean_est_linear", "nine": "group_delta"}
NAMES |= {"ten": "iter_stop", "beta": "iter_beta", "decay": "iter_decay", "three": "best_parts"}
NAMES |= {"eighteen": "main_parts_delta"}
"""What the library calls the constants that are varied."""
LEAN = slow.PRINTED | {"c": 1.5, "eight": 1, "nine": 2, "ten": 3, "beta": 0.6, "decay": 0.5, "three": 1.5}
LEAN |= {"eighteen": 2}
"""Constants with which all runs are short, and mistakes common."""
TINY = {**LEAN, "c": 0.1, "eight": 0.05, "two_thirds": 0.05, "ten": 4}
"""Shorter still, for runs that are made pull by pull."""


def constants_of(k: dict[str, float]) -> Constants:
    """PRINTED itself where it is meant, so that its own defaults are what is compared."""
    return PRINTED if k is slow.PRINTED else Constants(**{name: k[key] for key, name in NAMES.items()})  # type: ignore[arg-type]


def _law(rng: np.random.Generator) -> np.ndarray:
    """A few equally likely rewards, of any variance, with a mean of at most 0.8."""
    while True:
        middle, spread = rng.integers(17), rng.choice([0, 1, 4, 16])
        law = np.clip(middle + rng.integers(-spread, spread + 1, size=rng.integers(1, 5)), 0, 16) / 16
        if law.mean() <= 0.8:
            return law


class Streams:
    """Each arm's recorded rewards, multiples of 1/16, so that every sum is exact whatever its order. Ties are common."""

    def __init__(self, seed: int, n: int, best: bool) -> None:
        rng = np.random.default_rng(seed)
        self.labels = tuple(map(str, range(n)))
        self.seed = seed
        self.laws = [_law(rng) for _ in self.labels]
        if n > 3:
            self.laws[2] = self.laws[3]  # two arms of one law
        if best:  # a single one, so that looking for it ends; every other time with one close behind
            chosen = rng.integers(n)
            self.laws[(chosen + 1) % n] = np.array([12, 13, 13, 13]) / 16 if seed % 2 else self.laws[(chosen + 1) % n]
            self.laws[chosen] = np.array([13, 14, 15, 16]) / 16
        self.rewind()

    def rewind(self) -> "Streams":
        self._rngs = [np.random.default_rng([self.seed, arm]) for arm in range(len(self.labels))]
        return self

    def take(self, arm: int, times: int) -> np.ndarray:
        rng, law = self._rngs[arm], self.laws[arm]
        return law[(rng.random(times) * len(law)).astype(int)]

    def answer(self, request):
        rewards = [self.take(arm, times) for arm, times in zip(request.arms, request.times, strict=True)]
        return statistic_of(request, np.concatenate(rewards))


def run_slowly(procedure, streams: Streams):
    """What a transcription returns, and what it sampled."""
    requests, rewards = [], None
    while True:
        try:
            arm, times = procedure.send(rewards)
        except StopIteration as end:
            return end.value, requests
        requests.append((arm, times))
        rewards = streams.take(arm, times).tolist()


def run_fast(procedure, streams: Streams):
    """What a procedure of the library returns, and what it asked for, arm after arm."""
    done = simulate(procedure, streams, record=True)
    requests = [pair for request, _ in done.transcript for pair in zip(request.arms, request.times, strict=True)]
    pulls = np.zeros(len(streams.labels), int)
    for arm, times in requests:
        pulls[arm] += times
    assert (done.pulls_per_arm == pulls).all()
    assert done.pulls == pulls.sum()
    return done.value, requests


def chooser(seed: int):
    """ "Randomly output an arm": the same choice in both."""
    rng = np.random.default_rng(seed)
    return lambda arms: int(rng.choice(arms))


def pairs_of(n: int, k: dict[str, float], seed: int):
    """Every procedure and its transcription, on the same problem; none has begun."""
    rng = np.random.default_rng([seed, 1])
    epsilon, delta = float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.02, 0.3))
    tau = 0.5 ** float(rng.integers(1, 6))
    arms, listed, own = np.arange(n), list(range(n)), {"constants": constants_of(k)}
    chance, choose = {"rng": np.random.default_rng(seed), **own}, chooser(seed)
    tests = slow.together([slow.var_test(i, tau, delta, k["c"]) for i in listed])
    variances = slow.together([slow.var_est(i, delta, epsilon / 4, k) for i in listed])
    return {
        "VarTest": (var_test(arms, tau, delta, k["c"]), tests),
        "VarEst": (var_est(arms, delta, epsilon / 4, **own), variances),
        "MeanEst": (mean_est(arms, epsilon / 4, delta, **own), slow.mean_est(listed, epsilon / 4, delta, k)),
        "NaiveBestArm": (naive_best_arm(arms, delta, **own), slow.naive_best_arm(listed, delta, k)),
        "NaiveBestArmEst": (
            naive_best_arm_est(arms, epsilon, delta, **chance),
            slow.naive_best_arm_est(listed, epsilon, delta, choose, k),
        ),
        "GroupElim": (group_elim(arms, epsilon / 8, delta, **own), slow.group_elim(listed, epsilon / 8, delta, k)),
        "IterElim": (iter_elim(arms, epsilon, delta, **own), slow.iter_elim(listed, epsilon, delta, k)),
        "BestArmEst": (
            best_arm_est(arms, epsilon, delta, **chance),
            slow.best_arm_est(listed, epsilon, delta, choose, k),
        ),
        "VD-BestArmId": (vd_best_arm_id(arms, delta, **chance), slow.vd_best_arm_id(listed, delta, choose, k)),
    }


PROCEDURES = [*pairs_of(2, LEAN, 0)]


def plain(value):
    """A returned value as lists and numbers."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def check_agreement(name: str, n: int, k: dict[str, float], seed: int) -> None:
    fast, slowly = pairs_of(n, k, seed)[name]
    streams = Streams(seed, n, best=name in ("NaiveBestArm", "VD-BestArmId"))
    answer, requests = run_slowly(slowly, streams)
    value, asked = run_fast(fast, streams.rewind())
    if name == "GroupElim":
        answer = list(answer)
    assert asked == requests
    assert plain(value) == (answer[0] if name == "NaiveBestArm" else answer)


# --- VD-BestArmId* -----------------------------------------------------------------------------------------------------

COPIES = 24
"""More than any of these runs starts."""


def star_streams(seed: int, n: int) -> Streams:
    """Every copy has arms, and streams, of its own: arm a of copy i is number (i − 1)·n + a."""
    streams = Streams(seed, n, best=True)
    streams.laws = streams.laws * COPIES
    streams.labels = tuple(map(str, range(n * COPIES)))
    return streams.rewind()


def fast_star(form, n: int, delta: float, seed: int) -> Running[int]:
    def start(i: int) -> Running[int]:
        arms, own = (i - 1) * n + np.arange(n), np.random.default_rng([seed, i])
        return Running(vd_best_arm_id(arms, delta / 2**i, rng=own, constants=constants_of(TINY)), i * n)

    return simulate(form(start), star_streams(seed, n))


def slow_star(n: int, delta: float, seed: int):
    streams, pulls, reward = star_streams(seed, n), [0] * n * COPIES, None

    def copy(i: int):
        arms, rng = list(range((i - 1) * n, i * n)), np.random.default_rng([seed, i])
        return slow.vd_best_arm_id(arms, delta / 2**i, lambda left: int(rng.choice(left)), TINY)

    procedure = slow.vd_best_arm_id_star(copy)
    for _ in count():
        try:
            _, arm = procedure.send(reward)
        except StopIteration as end:
            return end.value, pulls
        pulls[arm] += 1
        reward = float(streams.take(arm, 1)[0])


def check_star(n: int, delta: float, seed: int) -> int:
    """Three ways to run VD-BestArmId*; which copy answered."""
    quick, printed = (fast_star(form, n, delta, seed) for form in (fast_forwarded, interleaved))
    arm, pulls = slow_star(n, delta, seed)
    assert quick.value == printed.value == arm
    assert quick.pulls_per_arm.tolist() == printed.pulls_per_arm.tolist() == pulls
    assert quick.pulls == printed.pulls == printed.rounds
    return 1 + arm // n


def scripted_star(form, sizes: list[list[int]]) -> Running[int]:
    """Copies that only pull: copy i makes requests of the given sizes and then names arm i."""

    def copy(i: int):
        for times in sizes[i - 1]:
            yield Pull([i], times, Statistic.MEAN)
        return i

    return simulate(form(lambda i: Running(copy(i), COPIES + 1)), Streams(0, COPIES + 1, best=False))


def check_scripted_stars(runs: int) -> set[int]:
    """Both forms agree with each other and with the formulas, whichever copy is first; which copies were."""
    rng = np.random.default_rng(7)
    winners = set()
    for _ in range(runs):
        sizes = [rng.integers(1, 1 + rng.integers(2, 60), size=rng.integers(0, 5)).tolist() for _ in range(COPIES)]
        quick, printed = (scripted_star(form, sizes) for form in (fast_forwarded, interleaved))
        assert quick.pulls_per_arm.tolist() == printed.pulls_per_arm.tolist()
        # copy i with Q_i pulls outputs at round 2^i·(Q_i + 1); of two in one round the smaller i
        ends = {i: 2**i * (sum(sizes[i - 1]) + 1) for i in range(1, COPIES + 1)}
        winner = min(ends, key=lambda i: (ends[i], i))
        assert quick.value == printed.value == winner
        r = ends[winner]
        made = sum(min(r // 2**i, sum(sizes[i - 1])) for i in range(1, winner + 1))
        assert quick.pulls == made + sum(min((r - 1) // 2**i, sum(sizes[i - 1])) for i in range(winner + 1, COPIES + 1))
        winners.add(winner)
    return winners
