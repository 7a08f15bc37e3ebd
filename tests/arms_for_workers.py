"""Arms that worker processes can import."""

import os
import signal
from pathlib import Path

import numpy as np

LOW, MIDDLE, HIGH = 0.2, 0.5, 0.7


def reward(mean: float, seed: int) -> float:
    """A pure function of the seed, so that runs can be compared."""
    return float(np.random.default_rng(seed).random() < mean)


def low(seed: int) -> float:
    return reward(LOW, seed)


def middle(seed: int) -> float:
    return reward(MIDDLE, seed)


def high(seed: int) -> float:
    return reward(HIGH, seed)


ARMS = {"low": low, "middle": middle, "high": high}


class Killing:
    """Kills the worker that evaluates it, the first time that the seed says so; the marker then exists."""

    def __init__(self, marker: Path, mean: float) -> None:
        self.marker, self.mean = marker, mean

    def __call__(self, seed: int) -> float:
        if seed % 50 == 0 and self._first():
            os.kill(os.getpid(), signal.SIGKILL)
        return reward(self.mean, seed)

    def _first(self) -> bool:
        try:
            self.marker.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
