"""Arms with a continuous law on [0, 1]: anything with an ``rvs``, drawn in chunks of bounded memory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from surest.arms.finite import Draws
from surest.core.protocol import FloatArray, Pull, Reply, Statistic, atoms_of
from surest.errors import PullLimitError, RewardError, SourceError

CHUNK = 2**20  # rewards drawn at a time
PATIENCE = 10**11  # pulls of one arm in a request beyond which nobody wants to wait


class Law(Protocol):
    """A distribution as SciPy freezes it: ``scipy.stats.beta(2, 5)`` and the like."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Draw."""

    def mean(self) -> Any:
        """The mean."""

    def var(self) -> Any:
        """The variance."""


class ContinuousArms:
    """The laws of n arms.

    >>> from scipy import stats
    >>> arms = ContinuousArms({"early": stats.beta(2, 5), "late": stats.uniform(0.2, 0.6)})
    >>> arms.means.round(3)
    array([0.286, 0.5  ])
    """

    def __init__(self, laws: Mapping[str, Law] | Sequence[Law]) -> None:
        named = laws if isinstance(laws, Mapping) else {str(i): law for i, law in enumerate(laws)}
        for label, law in named.items():
            if not callable(getattr(law, "rvs", None)):
                raise SourceError(f"arm {label!r}: {law!r} has no rvs(size, random_state); give a distribution")
        self.labels = tuple(named)
        self.laws = tuple(named.values())

    def __len__(self) -> int:
        return len(self.laws)

    @property
    def means(self) -> FloatArray:
        """Every arm's mean."""
        return np.array([float(law.mean()) for law in self.laws])

    @property
    def variances(self) -> FloatArray:
        """Every arm's variance."""
        return np.array([float(law.var()) for law in self.laws])

    def simulate(self, seed: int) -> "ContinuousSimulation":
        """A bandit that draws from these laws."""
        return ContinuousSimulation(self, seed)


class ContinuousSimulation:
    """Draws from continuous laws. What an arm gives depends on the seed and on its own earlier requests alone."""

    def __init__(self, arms: ContinuousArms, seed: int) -> None:
        self.arms = arms
        self.labels = arms.labels
        self._draws = Draws(seed, len(arms))

    def answer(self, request: Pull) -> Reply:
        """Reply to a request by drawing."""
        if request.times.max() > PATIENCE:
            raise PullLimitError(
                f"{request.times.max():.3g} pulls of one arm in one request: an arm with a continuous law is drawn one "
                f"by one, at most {PATIENCE:.0e} a request. Use an arm of finite support, or another algorithm."
            )
        wanted = zip(request.arms.tolist(), request.times.tolist(), strict=True)
        match request.statistic:
            case Statistic.MEAN:
                return np.array([sum(x.sum() for x in self._chunks(arm, times)) / times for arm, times in wanted])
            case Statistic.PAIRS:
                return np.array([self._pair_mean(arm, times // 2) for arm, times in wanted])
            case Statistic.ATOMS:
                drawn = [np.unique(self._rewards(arm, times), return_counts=True) for arm, times in wanted]
                return atoms_of(drawn)
            case Statistic.REWARDS:
                return np.concatenate([self._rewards(arm, times) for arm, times in wanted])

    def _pair_mean(self, arm: int, pairs: int) -> float:
        # Rewards are independent, so neighbours make as good a pair as x_r and x_{r+T} do, in bounded memory.
        return float(sum(((x[::2] - x[1::2]) ** 2).sum() / 2 for x in self._chunks(arm, 2 * pairs)) / pairs)

    def _rewards(self, arm: int, times: int) -> FloatArray:
        return np.concatenate(list(self._chunks(arm, times)))

    def _chunks(self, arm: int, times: int) -> Iterator[FloatArray]:
        rng = self._draws.of(arm)
        for first in range(0, times, CHUNK):
            rewards = np.asarray(self.arms.laws[arm].rvs(size=min(CHUNK, times - first), random_state=rng), float)
            if not ((rewards >= 0) & (rewards <= 1)).all():
                bad = rewards[~((rewards >= 0) & (rewards <= 1))][0]
                raise RewardError(f"arm {self.labels[arm]!r} drew {bad!r}; its law must stay within [0, 1]")
            yield rewards
