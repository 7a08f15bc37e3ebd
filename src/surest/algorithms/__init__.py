"""All algorithms by name. A new one is a file, a line here, a page in docs/algorithms/, and its options in options.py."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry as Entry
from surest.algorithms.entry import Problem as Problem
from surest.algorithms.options import OPTIONS, Option, check_options
from surest.algorithms.paper.best_arm_est import best_arm_est
from surest.algorithms.paper.expected_time import vd_best_arm_id_star
from surest.algorithms.paper.naive import naive_best_arm, naive_best_arm_est
from surest.algorithms.paper.vd_best_arm_id import vd_best_arm_id
from surest.algorithms.published import RIVALS
from surest.algorithms.wager.wager import wager as start_wager
from surest.core.protocol import Answer, Procedure, checked_delta
from surest.errors import UsageError

PAPER = "Lu, Tao, Zhang 2021"


def _answer(procedure: Procedure[int], reason: str = "certified") -> Procedure[Answer]:
    return Answer((yield from procedure), reason=reason)


REGISTRY: dict[str, Entry] = {
    "wager": Entry(
        lambda p, **options: start_wager(p.arms, p.delta, epsilon=p.epsilon, rng=p.rng, arrivals=p.arrivals, **options),
        "either",
        "proven",
        "docs/wager.md",
        "The default: bets on the leader and against every other arm; valid at any time, in any order of work.",
        growing=True,
        reserve="reserve",
    ),
    "vd-best-arm-id": Entry(
        lambda p, **options: _answer(vd_best_arm_id(p.arms, p.delta, rng=p.rng, **options)),
        "best arm",
        "proven",
        f"{PAPER}, Algorithm 7",
        "Variance-dependent identification, optimal up to doubly logarithmic terms; constants for theorems.",
    ),
    "vd-best-arm-id-star": Entry(
        lambda p, **options: _answer(vd_best_arm_id_star(p.arms, p.delta, rng=p.rng, **options)),
        "best arm",
        "proven",
        f"{PAPER}, Appendix B",
        "Interleaved copies of vd-best-arm-id: its expected number of pulls is bounded too (δ ≤ 0.1).",
    ),
    "naive-best-arm": Entry(
        lambda p, **options: _answer(naive_best_arm(p.arms, p.delta, **options)),
        "best arm",
        "proven",
        f"{PAPER}, section 3",
        "Variance-dependent elimination with a union bound over the arms.",
    ),
    "best-arm-est": Entry(
        lambda p, **options: _answer(
            best_arm_est(p.arms, p.epsilon, p.delta, rng=p.rng, **options), "certified ε-optimal"
        ),
        "ε-optimal arm",
        "proven",
        f"{PAPER}, Algorithm 4",
        "Grouped median elimination, the main step of vd-best-arm-id.",
    ),
    "naive-best-arm-est": Entry(
        lambda p, **options: _answer(
            naive_best_arm_est(p.arms, p.epsilon, p.delta, rng=p.rng, **options), "certified ε-optimal"
        ),
        "ε-optimal arm",
        "proven",
        f"{PAPER}, Corollary 3.2",
        "naive-best-arm, stopped once every survivor is ε-optimal.",
    ),
    **RIVALS,
}
REGISTRY |= {name: replace(entry, options=OPTIONS.get(name, {})) for name, entry in REGISTRY.items()}
DEFAULT = "wager"


def lookup(name: str) -> Entry:
    """The entry of a name.

    >>> lookup("naive-best-arm").standing
    'proven'
    """
    if name not in REGISTRY:
        near = get_close_matches(name, REGISTRY, 3, 0.5) or [known for known in REGISTRY if name and name in known][:3]
        hint = f"did you mean {' or '.join(near)}?" if near else "'surest algorithms' lists them"
        raise UsageError(f"there is no algorithm {name!r}; {hint}")
    return REGISTRY[name]


def options_of(name: str) -> Mapping[str, Option]:
    """The options that an algorithm is known to have; most have none.

    >>> sorted(options_of("wager")), sorted(options_of("lucb"))
    (['batch', 'reserve'], [])
    """
    return lookup(name).options or {}


def start(
    name: str,
    n: int,
    delta: float,
    *,
    epsilon: float = 0.0,
    budget: int | None = None,
    seed: int = 0,
    arrivals: list[int] | None = None,
    **options: Any,
) -> Procedure[Answer]:
    """Start an algorithm on n arms, after checking that what is asked of it makes sense.

    >>> procedure = start("naive-best-arm", 3, 0.1)
    >>> next(procedure).arms
    array([0, 1, 2])
    """
    entry = lookup(name)
    if entry.options is not None:
        check_options(name, entry.options, options)
    if n < 1:
        raise UsageError("there are no arms; give at least one")
    checked_delta(delta)
    if not 0 <= epsilon < np.inf:
        raise UsageError(f"epsilon is {epsilon}; it must be a number ≥ 0 (0 asks for the best arm itself)")
    if budget is not None and budget < 0:
        raise UsageError(f"the budget is {budget}; it must be a number of pulls ≥ 0")
    if epsilon > 0 and entry.goal == "best arm":
        others = ", ".join(k for k, e in REGISTRY.items() if e.goal in ("ε-optimal arm", "either"))
        raise UsageError(
            f"{name} looks for the best arm and takes no epsilon ({epsilon} given); for ε > 0 use {others}"
        )
    if epsilon == 0 and entry.goal == "ε-optimal arm":
        raise UsageError(f"{name} looks for an ε-optimal arm: give epsilon > 0 (0 given)")
    if entry.goal == "fixed budget" and budget is None:
        raise UsageError(f"{name} spends a fixed budget: give one")
    if n == 1:
        return _only_arm()
    rng = np.random.default_rng([seed % 2**64, n])
    arriving = [] if arrivals is None else arrivals
    return entry.start(Problem(np.arange(n), delta, epsilon, budget, rng, arriving), **options)


def _only_arm() -> Procedure[Answer]:
    return Answer(0, reason="the only arm")
    yield  # a generator that asks for nothing
