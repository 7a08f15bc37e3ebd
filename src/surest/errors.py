"""The exceptions of surest. A mistake of the caller, a `UsageError`, says what was given, what is allowed and what to do."""

from typing import Any


class SurestError(Exception):
    """The base class of all errors that surest raises."""


class UsageError(SurestError, ValueError):
    """A mistake of the caller; a command ends with status 2."""


class UnknownStudyError(UsageError):
    """A study that does not exist, or no longer."""


class SourceError(UsageError):
    """A source of arms that cannot be read."""


class RewardError(UsageError):
    """A reward that cannot be counted."""


class TicketError(UsageError):
    """A ticket that cannot be answered."""


class PullLimitError(UsageError):
    """More pulls in one request than can be made or counted."""


class EvaluationError(UsageError):
    """An arm whose evaluation failed after all retries."""


class ContractError(UsageError):
    """An algorithm's request or answer, or a bandit's reply, that is not allowed."""


class KnownOrderError(UsageError):
    """A gate in an order of items that another one had; another seed draws another."""


class MissingPackageError(UsageError, ImportError):
    """An optional package that is not installed."""


class TranscriptError(SurestError):
    """A replayed request that differs from the recorded one."""


class StorageError(SurestError):
    """A study's database that cannot be reached, read or written, or is damaged."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a search. `result` is the answer so far, not certified.

    It is a `KeyboardInterrupt`: if it is not caught, it ends the program, as Ctrl-C does.
    """

    def __init__(self, result: Any, kept: bool = False) -> None:
        how = (
            "All rewards are kept: the same call resumes the search."
            if kept
            else "Rewards are not kept without storage=… and name=…."
        )
        super().__init__(
            f"the search was interrupted after {result.evaluations:,} evaluations. To use its answer so far, not certified, "
            f"catch surest.Interrupted and read its `result`. {how}"
        )
        self.result, self.kept = result, kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it with its result."""
        return type(self), (self.result, self.kept)


class Stop(SurestError):
    """End a search here: `identify` returns the answer so far, with this message as its reason."""
