"""Wager plans ahead for many workers: how busy they are, and what it costs. The figures stand in docs/arms.md."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from asking import feed
from simulated_workers import Workers
from surest.search.desk import Desk
from surest.search.session import Session
from surest.study.memory import MemoryStore
from surest.study.study import open_study

Law = Callable[[np.random.Generator, int], Any]
SECONDS: dict[str, Callable[[np.random.Generator], float]] = {
    "uniform": lambda rng: rng.uniform(0.05, 0.15),
    "exponential": lambda rng: rng.exponential(0.1),
    "log-normal": lambda rng: rng.lognormal(np.log(0.1) - 0.5, 1.0),
}
"""How long an evaluation takes: 100 ms on average."""


def bernoulli(*means: float) -> list[Law]:
    return [lambda rng, k, mean=mean: (rng.random(k) < mean).astype(float) for mean in means]


def beta(*means: float) -> list[Law]:
    return [lambda rng, k, mean=mean: np.round(rng.beta(8 * mean, 8 * (1 - mean), k), 2) for mean in means]


class Rewards:
    """Each arm's rewards, the same in every run of a seed."""

    def __init__(self, laws: Sequence[Law], seed: int) -> None:
        self.laws, self.left = laws, [np.empty(0) for _ in laws]
        self.rngs = [np.random.default_rng([seed, arm, 77]) for arm in range(len(laws))]

    def take(self, arm: int, k: int = 1) -> Any:
        while len(self.left[arm]) < k:
            self.left[arm] = np.concatenate([self.left[arm], self.laws[arm](self.rngs[arm], 1024)])
        taken, self.left[arm] = np.split(self.left[arm], [k])
        return taken


def alone(laws: Sequence[Law], delta: float, seed: int) -> Session:
    """A search by one worker, without a clock."""
    session, rewards = Session(len(laws), delta, seed=seed), Rewards(laws, seed)
    while not session.finished:
        request = session.running.request
        feed(session, np.concatenate([rewards.take(a, k) for a, k in zip(request.arms, request.times, strict=True)]))
    return session


def together(
    laws: Sequence[Law], delta: float, seed: int, workers: int, seconds: str, *, study: bool = False
) -> tuple[Any, Workers]:
    """A search by many, in a session or a study, and their books."""
    rewards, clock = Rewards(laws, seed), np.random.default_rng([seed, 5])
    crew = Workers(workers, lambda ticket: (SECONDS[seconds](clock), float(rewards.take(ticket.arm)[0])))
    given = {"seed": seed, "workers": workers}
    found = open_study(MemoryStore(), "s", len(laws), delta, **given) if study else Session(len(laws), delta, **given)
    crew.work(Desk(found))
    return found, crew


@pytest.mark.parametrize("seconds", ["exponential", "log-normal"])
def test_a_study_hands_out_what_a_session_does(seconds: str) -> None:
    laws = bernoulli(0.35, 0.45, 0.3, 0.55, 0.7)
    study, crew = together(laws, 0.05, 5000, 8, seconds, study=True)
    session, same = together(laws, 0.05, 5000, 8, seconds)
    assert crew.busy == same.busy
    assert study.running.pulls_per_arm.tolist() == session.running.pulls_per_arm.tolist()
    assert study.status().not_needed == study.status().told - session.running.pulls > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("laws", "best", "delta", "workers"),
    [
        (bernoulli(0.35, 0.45, 0.3, 0.55, 0.7), 4, 0.05, 8),
        (beta(0.6, 0.55, 0.5, 0.4), 0, 0.05, 8),
        (bernoulli(0.62, 0.5, 0.52, 0.45, 0.35, 0.3), 0, 0.1, 32),
        (bernoulli(0.55, 0.5, 0.48, 0.4, 0.35), 0, 0.05, 128),
    ],
    ids=["8-bernoulli", "8-beta", "32", "128"],
)
def test_workers_are_busy_and_few_pulls_are_added(laws: list[Law], best: int, delta: float, workers: int) -> None:
    seeds = range(5000, 5060)
    one = np.array([alone(laws, delta, seed).running.pulls for seed in seeds])
    assert one.mean() >= 40 * workers
    for seconds in SECONDS:
        runs = [together(laws, delta, seed, workers, seconds) for seed in seeds]
        second_rounds = [max(end for _, end in crew.busy[: 2 * len(laws)]) for _, crew in runs]
        busy = np.mean([crew.utilisation(begin) for (_, crew), begin in zip(runs, second_rounds, strict=True)])
        made = np.mean([len(crew.busy) for _, crew in runs]) / one.mean() - 1
        lasted = np.mean([crew.now for _, crew in runs]) / (0.1 * one.mean() / workers)
        more = np.array([session.running.pulls for session, _ in runs]) - one
        error = more.std(ddof=1) / np.sqrt(len(one))
        wrong = sum(session.result().index != best for session, _ in runs)
        print(
            f"{workers} workers, {one.mean():.0f} pulls, {seconds}: busy {busy:.1%}, pulls {more.mean() / one.mean():+.1%} "
            f"± {error / one.mean():.1%}, evaluations {made:+.1%}, time {lasted:.2f}, wrong {wrong}"
        )
        assert more.mean() <= 0.05 * one.mean() + 2 * error
        assert busy >= 0.93
        assert wrong <= 60 * delta
