"""Find the best of n noisy options with few evaluations and a guarantee on the answer.

>>> import random, surest
>>> rng = random.Random(0)
>>> surest.identify({"old": lambda: rng.random() < 0.3, "new": lambda: rng.random() < 0.6}).best
'new'
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from surest.errors import SurestError as SurestError

if _TYPE_CHECKING:
    from surest.arms.finite import bernoulli as bernoulli
    from surest.core.costs import Scored as Scored
    from surest.core.problem import Problem as Problem
    from surest.core.protocol import Answer as Answer
    from surest.core.protocol import Cells as Cells
    from surest.core.protocol import Pull as Pull
    from surest.core.protocol import Statistic as Statistic
    from surest.core.protocol import Status as Status
    from surest.errors import Interrupted as Interrupted
    from surest.errors import Stop as Stop
    from surest.result.data import Result as Result
    from surest.result.gate import Gate as Gate
    from surest.search.champion import Challenge as Challenge
    from surest.search.champion import Champion as Champion
    from surest.search.duel import aduel as aduel
    from surest.search.duel import duel as duel
    from surest.search.evaluate import aevaluate as aevaluate
    from surest.search.evaluate import evaluate as evaluate
    from surest.search.gate import agate as agate
    from surest.search.gate import gate as gate
    from surest.search.identify import aidentify as aidentify
    from surest.search.identify import identify as identify
    from surest.search.plan import plan as plan
    from surest.search.session import Session as Session
    from surest.search.tickets import Ticket as Ticket
    from surest.speed.run import fastest as fastest
    from surest.study.study import Study as Study
    from surest.study.study import delete_study as delete_study
    from surest.study.study import list_studies as list_studies
    from surest.study.study import open_study as open_study
    from surest.study.transfer import import_study as import_study

__version__ = "0.2.0"

_HOMES = {
    name: home
    for home, names in {
        "arms.finite": "bernoulli",
        "core.costs": "Scored",
        "core.problem": "Problem",
        "core.protocol": "Answer Cells Pull Statistic Status",
        "errors": "Interrupted Stop",
        "result.data": "Result",
        "result.gate": "Gate",
        "search.champion": "Challenge Champion",
        "search.duel": "aduel duel",
        "search.evaluate": "aevaluate evaluate",
        "search.gate": "agate gate",
        "search.identify": "aidentify identify",
        "search.plan": "plan",
        "search.session": "Session",
        "search.tickets": "Ticket",
        "speed.run": "fastest",
        "study.study": "Study delete_study list_studies open_study",
        "study.transfer": "import_study",
    }.items()
    for name in names.split()
}
"""Where each public name is. It is imported when it is used: the command line's help should not wait for all of it."""
__all__ = sorted(["SurestError", "__version__", *_HOMES])


def __getattr__(name: str) -> object:
    if name in _HOMES:
        found = globals()[name] = getattr(_importlib.import_module(f"surest.{_HOMES[name]}"), name)
        return found
    raise AttributeError(f"module 'surest' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    return sorted(__all__)
