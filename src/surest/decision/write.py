"""The decision of a result, whatever the algorithm: its lines, and the file."""

from os import PathLike
from pathlib import Path

from surest.decision.chain import Chain
from surest.decision.pulls import decision_on_pulls
from surest.errors import UsageError
from surest.result.data import Result

ON_PULLS = ("wager", "wager-top")


def decision_of(result: Result) -> Chain:
    """The lines of a decision, from the record that a search kept."""
    if result.problem.algorithm not in ON_PULLS:
        raise UsageError(
            f"a decision file needs a theorem that others can check; there is one for {', '.join(ON_PULLS)}, and none for "
            f"{result.algorithm}"
        )
    if result.transcript is None:
        raise UsageError("this search kept no record of its rewards; run it with record=True (--decision FILE)")
    return decision_on_pulls(result.problem, result.transcript, result.additions, result.events)


def write_decision(result: Result, path: str | PathLike[str]) -> str:
    """Write a decision file; the hash by which it is known."""
    chain = decision_of(result)
    chain.write(path)
    return chain.known_by


def checked_path(path: str | PathLike[str]) -> str | PathLike[str]:
    """A path to which a file can be written, refused before any work if not."""
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {Path(path).parent} to write the decision to")
    return path
