"""Simulated times with noise of finite support, so that what each block is expected to show is known exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from statistical.race_mutants import mutant_of
from surest.speed import evidence as times
from surest.speed.evidence import (
    MOMENT,
    PILOT,
    STAKES,
    Comparisons,
    block_factors,
    evidence_needed,
    log_mixture,
    pair_ranges,
)
from surest.speed.procedure import fastest
from surest.speed.result import TimesAnswer

TOLERANCE = 0.02
ROUNDING = 1e-9


@dataclass(frozen=True)
class Machine:
    """Block b takes level(b) (an entry a command) times a noise that is drawn for each run."""

    level: Callable[[int], list[float]]
    noise: tuple[float, ...] = (0.9, 1.0, 1.1)
    chances: tuple[float, ...] = (0.25, 0.5, 0.25)

    def times(self, block: int, rng: np.random.Generator) -> np.ndarray:
        level = np.array(self.level(block))
        return level * rng.choice(self.noise, len(level), p=self.chances)

    def expected(self, block: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """What the clipped time of i is expected to be where it is compared with j."""
        level = np.array(self.level(block))[:, None, None]  # runs may come before: low and high have an axis more
        clipped = np.clip(level * np.array(self.noise), low[..., np.newaxis], high[..., np.newaxis])
        return clipped @ np.array(self.chances)


def back_and_forth(block: int) -> list[float]:
    """Command 0 is slower for 40 blocks, then faster by as much, and so on: never faster on average."""
    late = block >= PILOT and (block - PILOT) // 40 % 2
    return [0.75 if late else 1.25, 1.0]


MACHINES = {
    "equal": Machine(lambda b: [1.0, 1.0]),
    "five equal": Machine(lambda b: [1.0] * 5),
    "a step": Machine(lambda b: [1.0 + (b >= 25)] * 3),
    "warming up": Machine(lambda b: [1 + 0.5 * float(np.exp(-b / 10))] * 2),
    "wandering": Machine(lambda b: [1 + 0.3 * float(np.sin(b / 7))] * 3),
    "spikes": Machine(lambda b: [1.0] * 2, (1.0, 4.0), (0.95, 0.05)),
    "at the tolerance": Machine(lambda b: [1.0 + TOLERANCE, 1.0], (0.97, 1.0, 1.03)),
    "back and forth": Machine(back_and_forth),
}


def makes_a_wrong_statement(
    machine: Machine, delta: float, seed: int, blocks: int, compare: type[Comparisons] = Comparisons
) -> bool:
    """Whether "i is faster than j" or "i is close to j" is ever said while it is false on average over the blocks so far."""
    rng = np.random.default_rng([seed, 5])
    pairs = compare(np.array([machine.times(b, rng) for b in range(PILOT)]), delta, TOLERANCE)
    gain = np.zeros((pairs.n, pairs.n))
    gain_with_tolerance = gain.copy()
    for b in range(PILOT, PILOT + blocks):
        own = machine.expected(b, pairs.low, pairs.high)
        gain += own.T - own
        gain_with_tolerance += (1 + TOLERANCE) * own.T - own
        faster, close = pairs.faster.copy(), pairs.close.copy()
        pairs.count(machine.times(b, rng))
        wrong = pairs.faster & ~faster & (gain <= ROUNDING) | pairs.close & ~close & (gain_with_tolerance <= ROUNDING)
        if wrong.any():
            return True
    return False


def wrong_runs(machine: Machine, delta: float, runs: int, blocks: int, compare: type[Comparisons] = Comparisons) -> int:
    """In how many of the runs with seeds 0, 1, … a wrong statement is made."""
    return sum(makes_a_wrong_statement(machine, delta, seed, blocks, compare) for seed in range(runs))


def wrong_at_once(machine: Machine, deltas: Sequence[float], runs: int, blocks: int, seed: int) -> list[int]:
    """The same for many runs at a time, from the same pure functions: in how many runs a wrong statement is made at each δ."""
    rng, n = np.random.default_rng(seed), len(machine.level(0))

    def times(b: int) -> np.ndarray:
        return np.array(machine.level(b)) * rng.choice(machine.noise, (runs, n), p=machine.chances)

    pilots = np.stack([times(b) for b in range(PILOT)], axis=1)
    low, high = map(np.array, zip(*(pair_ranges(pilot, TOLERANCE) for pilot in pilots), strict=True))
    needs = [[np.array(x) for x in zip(*(evidence_needed(p, d) for p in pilots), strict=True)] for d in deltas]
    wealth, gains = np.zeros((2, runs, n, n, len(STAKES))), np.zeros((2, runs, n, n))
    wrong, others = np.zeros((len(deltas), runs), dtype=bool), ~np.eye(n, dtype=bool)
    for b in range(PILOT, PILOT + blocks):
        own = machine.expected(b, low, high)
        for kind, longer in enumerate((1.0, 1 + TOLERANCE)):
            gains[kind] += longer * np.swapaxes(own, 1, 2) - own
        wealth += block_factors(times(b), low, high, TOLERANCE, MOMENT)
        evidence, false = log_mixture(wealth), (gains <= ROUNDING) & others
        for k, need in enumerate(needs):
            wrong[k] |= ((evidence >= need) & false).any(axis=(0, 2, 3))
    return [int(row.sum()) for row in wrong]


def played(machine: Machine, delta: float, seed: int, max_runs: int | None = 2000) -> TimesAnswer:
    """The whole procedure on a simulated machine."""
    rng, n, block, reply = np.random.default_rng([seed, 6]), len(machine.level(0)), 0, None
    procedure = fastest(n, delta, tolerance=TOLERANCE, rng=np.random.default_rng(seed), max_runs=max_runs)
    try:
        while True:
            request = next(procedure) if reply is None else procedure.send(reply)
            reply = machine.times(block, rng)[request.arms]
            block += 1
    except StopIteration as end:
        return end.value


def mutant(*changes: tuple[str, str]) -> type[Comparisons]:
    """The comparisons with mistakes in their source."""
    return mutant_of(times, *changes).Comparisons
