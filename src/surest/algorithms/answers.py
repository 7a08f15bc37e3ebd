"""Answers in the forms that authors of algorithms like to give them."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from surest.core.protocol import Answer, Procedure
from surest.errors import ContractError


def as_answer(value: Any, name: str, n: int, none: bool = False) -> Answer:
    """An algorithm's answer: an arm's number, a sequence of them, or an `Answer`; checked against the n arms there are.

    `none` says whether no arm at all is an answer, as it is where each arm gets a verdict of its own.

    >>> as_answer(1, "mine", 3).arm
    1
    >>> as_answer(7, "mine", 3)
    Traceback (most recent call last):
        ...
    surest.errors.ContractError: mine answered arm 7; there are arms 0 to 2
    """
    if isinstance(value, Answer):
        arms = list(value.arms)
    elif isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
        arms = list(value)
    else:
        arms = [value]
    if not (arms or none) or not all(map(_is_whole, arms)):
        raise ContractError(f"{name} returned {value!r:.60}; return an arm's number, a sequence of them, or an Answer")
    for arm in arms:
        if not 0 <= arm < n:
            raise ContractError(f"{name} answered arm {arm}; there are arms 0 to {n - 1}")
    if len(set(arms)) < len(arms):
        raise ContractError(f"{name} answered arms {', '.join(map(str, arms))}; it may name each arm once")
    if isinstance(value, Answer):
        return value
    return Answer([int(arm) for arm in arms])


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def certified(procedure: Procedure[int], reason: str = "certified") -> Procedure[Answer]:
    """The arm that a procedure returns, as an answer for which its guarantee holds."""
    return Answer((yield from procedure), reason=reason)


def spent(procedure: Procedure[int]) -> Procedure[Answer]:
    """The arm that a procedure returns after a fixed budget, which certifies nothing."""
    return Answer((yield from procedure), certified=False, reason="fixed budget")
