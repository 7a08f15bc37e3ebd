"""What a study was asked to do, as it is stored: never changed once the study exists."""

from math import inf
from typing import Any

import msgspec
import numpy as np

from surest.algorithms import DEFAULT
from surest.core.session import Session, checked_bounds, counts
from surest.errors import UsageError

LEASE_SECONDS = 600.0


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that, with the arms and the rewards, decides a study's course."""

    delta: float = 0.05
    epsilon: float = 0.0
    budget: int | None = None
    algorithm: str = DEFAULT
    bounds: tuple[float, float] = (0.0, 1.0)
    minimise: bool = False
    seed: int = 0
    lease_seconds: float = LEASE_SECONDS
    on_failure: float | None = None
    retries: int = 0
    options: dict[str, Any] = {}  # msgspec copies it

    def session(self, labels: list[str], *, record: bool = False) -> Session:
        """A fresh session, before the first reward."""
        return Session(
            labels,
            self.delta,
            epsilon=self.epsilon,
            budget=self.budget,
            algorithm=self.algorithm,
            bounds=self.bounds,
            minimise=self.minimise,
            seed=self.seed,
            record=record,
            **self.options,
        )

    def text(self) -> str:
        """As stored."""
        return msgspec.json.encode(self).decode()


def checked_settings(given: dict[str, Any]) -> Settings:
    """Settings from what a user gave, checked as far as that is possible without the arms."""
    try:
        # By way of JSON, so that what is used now is what will be read later, to the last digit.
        settings = msgspec.json.decode(msgspec.json.encode(given, enc_hook=_plain), type=Settings)
    except (msgspec.MsgspecError, TypeError, OverflowError, RecursionError, UnicodeEncodeError) as error:
        raise UsageError(f"settings {given}: {error}") from None
    low, high = checked_bounds(settings.bounds)
    if not 0 < settings.lease_seconds < inf:
        raise UsageError(f"lease_seconds is {settings.lease_seconds}; a worker needs a positive number of seconds")
    if settings.retries < 0:
        raise UsageError(f"retries is {settings.retries}; it must be 0 or more")
    if settings.on_failure is not None and not counts(settings.on_failure, low, high):
        raise UsageError(
            f"on_failure is {settings.on_failure}; a failed evaluation counts as a reward in [{low:g}, {high:g}]"
        )
    return settings


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be stored")


def differences(given: dict[str, Any], stored: Settings) -> str:
    """What a user now says otherwise than when the study was made; empty where all agrees."""
    asked = msgspec.to_builtins(checked_settings({**msgspec.to_builtins(stored), **given}))
    kept = msgspec.to_builtins(stored)
    return ", ".join(f"{key} {kept[key]!r}, not {asked[key]!r}" for key in given if asked[key] != kept[key])
