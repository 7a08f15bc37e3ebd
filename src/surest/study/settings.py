"""What a study was asked to do, as it is stored: the problem, and what becomes of evaluations that fail. Never changed."""

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from surest.core.problem import DEFAULTS, Problem, checked, plain
from surest.errors import UsageError
from surest.search.failures import RETRIES

if TYPE_CHECKING:
    from surest.algorithms.entry import Script
    from surest.search.session import Session

LEASE_SECONDS = 600.0


class Handling(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of tickets that do not come back."""

    lease_seconds: float = LEASE_SECONDS
    """How long a worker may take before its ticket is handed out again."""
    on_failure: float | None = None
    """The reward as which a failed evaluation counts, if any."""
    retries: int = RETRIES
    """How often it is retried before that."""


class Settings(msgspec.Struct, frozen=True):
    """Everything that, with the arms and the rewards, decides a study's course."""

    problem: Problem
    """Without labels: a study's arms are in its log."""
    handling: Handling
    named: str | None = None
    """The algorithm in a file that whoever opened the study named in that call; never stored. It runs only then."""

    def session(self, labels: list[str], *, record: bool = False, script: "Script" = ()) -> "Session":
        """A fresh session, before the first reward; its first requests are those of `script`, if there is one."""
        from surest.search.session import Session  # most of what is asked of a study needs none

        return Session.of(self._runnable(tuple(labels)), record=record, script=script)

    def _runnable(self, labels: tuple[str, ...] = ()) -> Problem:
        """The problem with an algorithm that may run."""
        from surest.search.loading import permitted

        algorithm = permitted(self.problem.algorithm, self.named)
        return msgspec.structs.replace(self.problem, labels=labels, algorithm=algorithm)

    @property
    def may_announce(self) -> bool:
        """Whether the algorithm may announce requests, as far as that is known without it."""
        workers = self.problem.options.get("workers", 1)  # as somebody stored it: the session refuses what is no number
        return (isinstance(workers, int) and workers > 1) or ".py:" in str(self.problem.algorithm)

    @property
    def has_queues(self) -> bool:
        """Whether each arm has a queue of rewards, so that idle workers may go ahead of what is asked."""
        if self.problem.options.get("workers", 1) == 1:  # the algorithm need not be found
            return False
        from surest.search.session import has_queues

        return has_queues(self._runnable())

    def plain(self) -> dict[str, Any]:
        """As plain data, all settings side by side."""
        both: dict[str, Any] = {**self.problem.settings(), **msgspec.to_builtins(self.handling)}
        return both

    def text(self) -> str:
        """As stored."""
        return msgspec.json.encode(self.plain()).decode()


def checked_settings(given: dict[str, Any], named: str | None = None) -> Settings:
    """Settings from what a user gave or a log holds, checked as far as that is possible without the arms.

    `named` is the algorithm that the user named in this call, if any.
    """
    options = given.get("options") or {}
    if not isinstance(options, dict):
        raise UsageError(f"options are {options!r:.60}; give names and values")
    for name, value in options.items():
        if isinstance(value, float) and not isfinite(value):  # JSON would make it null
            raise UsageError(
                f"option {name} of {given.get('algorithm', DEFAULTS['algorithm'])} is {value}; give a finite number"
            )
    checked(Problem(**{name: value for name, value in given.items() if name in DEFAULTS and value is not None}))
    try:
        # By way of JSON, so that what is used now is what will be read later, to the last digit.
        stored = msgspec.json.decode(msgspec.json.encode(given, enc_hook=_storable))
        handling = {name: stored.pop(name) for name in Handling.__struct_fields__ if name in stored}
        problem = checked(msgspec.convert(stored, Problem))
        settings = Settings(problem, msgspec.convert(handling, Handling), named if ".py:" in str(named) else None)
    except (msgspec.MsgspecError, TypeError, OverflowError, RecursionError, UnicodeEncodeError) as error:
        raise UsageError(_refusal(given, str(error))) from None
    how = settings.handling
    if not 0 < how.lease_seconds < inf:
        raise UsageError(f"lease_seconds is {how.lease_seconds}; a worker needs a positive number of seconds")
    if how.retries < 0:
        raise UsageError(f"retries is {how.retries}; it must be 0 or more")
    if how.on_failure is not None:
        problem.scale.number(how.on_failure, "on_failure, as which a failed evaluation counts,")
    return settings


def _refusal(given: dict[str, Any], error: str) -> str:
    """Which setting is wrong, and how: the values of the others are of no use in a message.

    >>> _refusal({"delta": 0.1, "retries": "two"}, "Expected `int`, got `str` - at `$.retries`")
    "setting retries is 'two': expected `int`, got `str`"
    """
    said, _, at = error.partition(" - at `$.")
    name = at.partition("`")[0].partition(".")[0].partition("[")[0]
    if name not in given:
        return f"these settings cannot be stored: {error[:200]}"
    return f"setting {name} is {given[name]!r:.60}: {said[:1].lower()}{said[1:200]}"


def _storable(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if callable(value):
        raise UsageError(
            f"{value!r:.60} cannot be stored: a study must find its algorithm again in another process. Put the function into "
            "a file, and give algorithm='file.py:function'"
        )
    if plain(value) is not value:
        return plain(value)
    raise TypeError(f"{value!r} cannot be stored")


def differences(given: dict[str, Any], stored: Settings) -> str:
    """What a user now says otherwise than when the study was made; empty where all agrees."""
    kept = stored.plain()
    asked = checked_settings({**kept, **given}).plain()
    return ", ".join(f"{key} {kept[key]!r}, not {asked[key]!r}" for key in given if asked[key] != kept[key])


def spoken(given: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `open_study` as settings: an algorithm's own options are put together, what is None is left out."""
    known = {*DEFAULTS, *Handling.__struct_fields__, "items"}
    own = {name: value for name, value in given.items() if name in known and value is not None}
    options = {name: value for name, value in given.items() if name not in known}
    return {**own, **({"options": options} if options else {})}
