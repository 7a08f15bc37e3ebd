"""The instances of the benchmark, by suite, and a user's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surest.arms.files import Rows
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.arms.instances import KINDS, parse_source
from surest.arms.recorded import laws_in
from surest.core.protocol import FloatArray
from surest.errors import SourceError, UsageError
from surest.lab.characteristic import LARGEST, ROUNDING, Characteristic, characteristic, size
from surest.lab.numerics import root


@dataclass(frozen=True, eq=False)
class Instance:
    """A set of arms with a name."""

    name: str
    arms: FiniteArms

    @cached_property
    def fingerprint(self) -> str:
        """Of the laws: replications of another instance of the same name are not mistaken for this one's."""
        hashed = blake2b(digest_size=6)
        for array in (self.arms.start, self.arms.values, self.arms.probabilities):
            hashed.update(np.ascontiguousarray(array).tobytes())
        return hashed.hexdigest()

    @property
    def key(self) -> tuple[str, str]:
        """The same for two instances that are the same."""
        return self.name, self.fingerprint

    @cached_property
    def characteristic(self) -> Characteristic:
        """T* and the optimal shares; NaN where they would take too long to find."""
        if size(self.arms) > LARGEST:
            return Characteristic(np.nan, np.full(len(self.arms), np.nan))
        return characteristic(self.arms)

    def is_right(self, arm: int, epsilon: float) -> bool:
        """Whether an answer is within ε of the best."""
        return bool(self.arms.means[arm] >= self.arms.means.max() - epsilon - ROUNDING)


def numbered(means: npt.ArrayLike) -> FiniteArms:
    """Bernoulli arms with the labels 1 … n, as ``surest identify bernoulli:…`` has them."""
    return bernoulli(means, [str(i) for i in range(1, np.size(means) + 1)])


def one_above(n: int, best: float = 0.5, rest: float = 0.3) -> FiniteArms:
    """One arm above n − 1 equal ones."""
    return numbered([best] + [rest] * (n - 1))


def power_law(n: int, exponent: float = 0.6) -> FiniteArms:
    """Bernoulli arms of mean 1 − (i/n)^exponent, i = 1 … n: Jamieson and others' "α = 0.6"; Example 1 has exponent 1."""
    return numbered(1 - (np.arange(1, n + 1) / n) ** exponent)


def batched(number: int) -> FiniteArms:
    """0.5 against nine means drawn from [0.2, 0.4], once and for all: the instances of batched identification."""
    return numbered([0.5, *np.random.default_rng(number).uniform(0.2, 0.4, 9)])


def narrow(n: int, gap: float, spread: float) -> FiniteArms:
    """Arms at 0.5, 0.5 − gap, 0.5 − 2·gap …, each ± `spread` with probability a half."""
    return finite_arms([([m - spread, m + spread], [1, 1]) for m in 0.5 - gap * np.arange(n)])


def skewed() -> FiniteArms:
    """A constant 0.5 against {0.4 with probability 0.8, 1 otherwise}: plug-in variances are wrong here too often."""
    return finite_arms([([0.5], [1]), ([0.4, 1.0], [4, 1])])


def ratings(n: int) -> FiniteArms:
    """Arms like star ratings: most rewards at one of two neighbouring stars, means 0.02 apart."""
    return finite_arms([(STARS, _tilted(0.75 - 0.02 * i)) for i in range(n)])


STARS = np.arange(5) / 4
TYPICAL = np.array([0.01, 0.03, 0.16, 0.55, 0.25])  # how often each number of stars is given


def _tilted(mean: float) -> FloatArray:
    """The law nearest to the typical one that has the given mean: p_k ∝ typical_k·exp(s·star_k)."""

    def law(s: float) -> FloatArray:
        weights = TYPICAL * np.exp(s * STARS)
        return np.asarray(weights / weights.sum())

    return law(root(lambda s: float(law(s) @ STARS - mean), -50, 50))


NAMED: dict[str, Callable[[], FiniteArms]] = {
    **{f"one-above:{n}": partial(one_above, n) for n in (10, 100)},
    **{f"power-law:{n}": partial(power_law, n) for n in (10, 100)},
    **{f"batched:{number}": partial(batched, number) for number in (1, 2, 3)},
    **{f"narrow:{n}": partial(narrow, n, 0.02, 0.05) for n in (2, 10)},
    "narrow:3": partial(narrow, 3, 0.1, 0.1),
    "narrow-tie:3": partial(narrow, 3, 0.002, 0.05),
    "skewed": skewed,
    "ratings:10": partial(ratings, 10),
    "rare:10": partial(one_above, 10, 0.03, 0.01),
    "common:10": partial(one_above, 10, 0.99, 0.96),
}
"""Instances of the suites that no source of ``surest identify`` stands for."""


class Suite(NamedTuple):
    """Names of instances, and the default number of runs on each."""

    names: str
    runs: int
    summary: str


SUITES = {
    "quick": Suite(
        "bernoulli:0.3,0.21,0.2,0.19,0.18 example1:10 skewed narrow:3",
        50,
        "four small instances; all algorithms in about a minute",
    ),
    "paper": Suite(  # the lower bound's are case 1 of its proof (σ² ≥ 5Δ for the closest arm), case 2, and both
        "example1:10 example1:30 example1:100 example1:300 example1:1000 lower-bound:0.01,0.02,0.04/0.09 "
        "lower-bound:0.05,0.06,0.08,0.09/0.0025 lower-bound:0.02,0.04,0.06,0.08/0.0025,0.04,0.01,0.09,0.0001",
        100,
        "Example 1 over n, and the lower bound's instances",
    ),
    "literature": Suite(
        "bernoulli:0.5,0.45,0.43,0.4 bernoulli:0.3,0.21,0.2,0.19,0.18 one-above:10 one-above:100 power-law:10 power-law:100 "
        "batched:1 batched:2 batched:3",
        100,
        "instances on which others have been compared",
    ),
    "low-variance": Suite(
        "skewed narrow:2 narrow:10 ratings:10 rare:10 common:10", 100, "rewards of small variance, or skewed"
    ),
    "near-ties": Suite(
        "bernoulli:0.5,0.49 bernoulli:0.9,0.89 bernoulli:0.5,0.49,0.49,0.49,0.49 bernoulli:0.5,0.49,0.3,0.3,0.3,0.3 "
        "narrow-tie:3",
        50,
        "a runner-up a hundredth or less below the best",
    ),
    "real": Suite("", 20, "every file of recorded rewards in the folder given by --data"),
}


def instances_of(
    source: str, *, data: str | Path | None = None, only: Sequence[str] = (),
    skipped: Callable[[str], None] | None = None,
) -> list[Instance]:  # fmt: skip
    """The instances that a suite, or a source such as ``surest identify`` takes, stands for; a file may hold several.

    `data` is the folder of the suite ``real``; `only` are patterns one of which an instance's name must match; `skipped` is
    told of files that hold no rewards.
    """
    if source == "real":
        found = _real(data, skipped or (lambda message: None))
    elif source in SUITES:
        found = [_single(name) for name in SUITES[source].names.split()]
    elif source.partition(":")[0] in KINDS or not Path(source).exists():
        found = [_single(source)]
    else:
        found = _file(Path(source))
    kept = [instance for instance in found if not only or any(fnmatchcase(instance.name, glob) for glob in only)]
    if not kept:
        some = ", ".join(instance.name for instance in found[:5])
        raise UsageError(f"{source} has no instance that matches {' or '.join(only)}; it has {some}, …")
    return kept


def _single(source: str) -> Instance:
    if source in NAMED:
        return Instance(source, NAMED[source]())
    try:
        return Instance(source, parse_source(source))
    except SourceError as error:
        raise SourceError(f"{error}; or a suite: {', '.join(SUITES)}") from None


def _file(path: Path) -> list[Instance]:
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    with Rows(path) as file:
        return [Instance(f"{stem}/{name}" if name else stem, arms) for name, arms in laws_in(file).items()]


def _real(data: str | Path | None, skipped: Callable[[str], None]) -> list[Instance]:
    if data is None:
        raise UsageError("the suite 'real' needs --data FOLDER: a folder of CSV files of recorded rewards (arm,value)")
    if not Path(data).is_dir():
        raise UsageError(
            f"--data {data}: no such folder; give one that holds CSV files of recorded rewards (arm,value)"
        )
    found = []
    for path in sorted(p for p in Path(data).iterdir() if p.name.endswith((".csv", ".csv.gz"))):
        try:
            found += _file(path)
        except SourceError as error:
            skipped(f"left out: {error}")
    if not found:
        raise UsageError(f"--data {data} holds no CSV file of recorded rewards (arm,value)")
    return found
