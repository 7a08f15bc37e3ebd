"""Every procedure of the paper against its slow transcription: the same rewards, the same requests, the same answer."""

from dataclasses import replace

import numpy as np
import pytest

from agreement import paper_transcription as slow
from asking import driven
from surest.core.procedure import Running, statistic_of
from surest.core.protocol import Pull, Statistic
from surest.lab.paper import elimination, estimates, identification
from surest.lab.paper.constants import PRINTED, Constants
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

    def __init__(self, seed: int, n: int, best: bool, copies: int = 1) -> None:
        rng = np.random.default_rng(seed)
        laws = [_law(rng) for _ in range(n)]
        if n > 3:
            laws[2] = laws[3]  # two arms of one law
        if best:  # a single one, so that looking for it ends; every other time with one close behind
            chosen = rng.integers(n)
            laws[(chosen + 1) % n] = np.array([12, 13, 13, 13]) / 16 if seed % 2 else laws[(chosen + 1) % n]
            laws[chosen] = np.array([13, 14, 15, 16]) / 16
        self.laws, self.labels, self.seed = laws * copies, tuple(map(str, range(n * copies))), seed
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
    requests = []

    def answer(wanted: tuple[int, int]) -> list[float]:
        requests.append(wanted)
        return streams.take(*wanted).tolist()

    return driven(procedure, answer), requests


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


def pairs_of(n: int, k: dict[str, float], seed: int):
    """Every procedure and its transcription, on the same problem; none has begun."""
    rng = np.random.default_rng([seed, 1])
    epsilon, delta = float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.02, 0.3))
    tau = 0.5 ** float(rng.integers(1, 6))
    arms, listed, own = np.arange(n), list(range(n)), {"constants": constants_of(k)}
    chance, drawn = {"rng": np.random.default_rng(seed), **own}, np.random.default_rng(seed)

    def choose(some: list[int]) -> int:
        """ "Randomly output an arm": the same choice in both."""
        return int(drawn.choice(some))

    tests = slow.together([slow.var_test(i, tau, delta, k["c"]) for i in listed])
    variances = slow.together([slow.var_est(i, delta, epsilon / 4, k) for i in listed])
    eighth, quarter, out, to = epsilon / 8, epsilon / 4, elimination, identification
    return {
        "VarTest": (estimates.var_test(arms, tau, delta, k["c"]), tests),
        "VarEst": (estimates.var_est(arms, delta, quarter, **own), variances),
        "MeanEst": (estimates.mean_est(arms, quarter, delta, **own), slow.mean_est(listed, quarter, delta, k)),
        "NaiveBestArm": (out.naive_best_arm(arms, delta, **own), slow.naive_best_arm(listed, delta, k)),
        "NaiveBestArmEst": (
            out.naive_best_arm_est(arms, epsilon, delta, **chance),
            slow.naive_best_arm_est(listed, epsilon, delta, choose, k),
        ),
        "GroupElim": (out.group_elim(arms, eighth, delta, **own), slow.group_elim(listed, eighth, delta, k)),
        "IterElim": (out.iter_elim(arms, epsilon, delta, **own), slow.iter_elim(listed, epsilon, delta, k)),
        "BestArmEst": (
            out.best_arm_est(arms, epsilon, delta, **chance),
            slow.best_arm_est(listed, epsilon, delta, choose, k),
        ),
        "VD-BestArmId": (to.vd_best_arm_id(arms, delta, **chance), slow.vd_best_arm_id(listed, delta, choose, k)),
    }


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
    assert asked == requests
    assert plain(value) == (answer[0] if name == "NaiveBestArm" else plain(answer))


@pytest.mark.parametrize("name", pairs_of(2, LEAN, 0))
def test_with_lean_constants_and_as_printed(name: str) -> None:
    for seed in range(40):
        check_agreement(name, 1 + seed % 16, LEAN, seed)
    for seed in range(4):
        check_agreement(name, 2 + seed, slow.PRINTED, seed)


def test_lean_constants_are_the_printed_ones_but_for_the_named() -> None:
    """So that a constant which the transcription prints as a number is the printed one in the library too."""
    printed = {name: slow.PRINTED[key] for key, name in NAMES.items()}
    assert replace(constants_of(LEAN), **printed) == PRINTED == Constants()


# --- VD-BestArmId* -----------------------------------------------------------------------------------------------------

COPIES = 24
"""More than any of these runs starts."""


def star_slowly(copy, streams: Streams):
    """What the transcription returns, pull by pull, and the pulls of each arm."""
    pulls = [0] * len(streams.labels)

    def answer(pull: tuple[int, int]) -> float:
        pulls[pull[1]] += 1
        return float(streams.take(pull[1], 1)[0])

    return driven(slow.vd_best_arm_id_star(copy), answer), pulls


def check_star(n: int, delta: float, seed: int) -> int:
    """Two ways to run VD-BestArmId*, each copy with arms and streams of its own; which copy answered."""

    def fast(i: int) -> Running[int]:
        arms, own = (i - 1) * n + np.arange(n), np.random.default_rng([seed, i])
        copy = identification.vd_best_arm_id(arms, delta / 2**i, rng=own, constants=constants_of(TINY))
        return Running(copy, i * n)

    def transcribed(i: int):
        arms, rng = list(range((i - 1) * n, i * n)), np.random.default_rng([seed, i])
        return slow.vd_best_arm_id(arms, delta / 2**i, lambda left: int(rng.choice(left)), TINY)

    streams = Streams(seed, n, best=True, copies=COPIES)
    quick = simulate(identification.fast_forwarded(fast), streams)
    arm, pulls = star_slowly(transcribed, streams.rewind())
    assert quick.value == arm
    assert quick.pulls_per_arm.tolist() == pulls
    return 1 + arm // n


def check_scripted_stars(runs: int) -> set[int]:
    """Copies that only pull, in requests of given sizes: the same, and as the formulas say, whichever is first; which were."""
    rng, streams, winners = np.random.default_rng(7), Streams(0, COPIES + 1, best=False), set()
    for _ in range(runs):
        sizes = [rng.integers(1, 1 + rng.integers(2, 60), size=rng.integers(0, 5)).tolist() for _ in range(COPIES)]

        def scripted(i: int, sizes=sizes):
            for times in sizes[i - 1]:
                yield i, times
            return i

        def asked(i: int, scripted=scripted):
            return (yield from (Pull([arm], times, Statistic.MEAN) for arm, times in scripted(i))) or i

        quick = simulate(identification.fast_forwarded(lambda i, asked=asked: Running(asked(i), COPIES + 1)), streams)
        arm, pulls = star_slowly(scripted, streams)
        assert quick.pulls_per_arm.tolist() == pulls
        # copy i with Q_i pulls outputs at round 2^i·(Q_i + 1); of two in one round the smaller i
        ends = {i: 2**i * (sum(sizes[i - 1]) + 1) for i in range(1, COPIES + 1)}
        winner = min(ends, key=lambda i: (ends[i], i))
        assert quick.value == arm == winner
        r = ends[winner]
        made = sum(min(r // 2**i, sum(sizes[i - 1])) for i in range(1, winner + 1))
        assert quick.pulls == made + sum(min((r - 1) // 2**i, sum(sizes[i - 1])) for i in range(winner + 1, COPIES + 1))
        winners.add(winner)
    return winners


def test_star_fast_forwarded_and_transcribed_agree() -> None:
    winners = [check_star(2 + seed % 4, 0.1, seed) for seed in range(24)]
    assert (winners.count(1), winners.count(2)) == (23, 1)


def test_star_agrees_whichever_copy_is_first() -> None:
    assert len(check_scripted_stars(200)) >= 4, "several copies must win for this to say something"
