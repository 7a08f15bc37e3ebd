"""What a search is to find out: `Question`. On [0, 1], where large is good, as algorithms see it."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["best", "top", "above", "control", "cheapest"]
Error = Literal["fwer", "fdr"]
KINDS: tuple[Kind, ...] = ("best", "top", "above", "control", "cheapest")
ERRORS: tuple[Error, ...] = ("fwer", "fdr")


@dataclass(frozen=True)
class Question:
    """Which arm is the best, which are the m best, which lie above a bar, which beat a control, or which is cheapest.

    A bar and a control ask something of each arm. Their answers have one verdict per arm: 1 (above the bar; better than the
    control), −1 (below the bar; not better) or 0 (open).

    >>> Question().kind, Question("top", top=3).each_arm, Question("above", bar=0.8).each_arm
    ('best', False, True)
    """

    kind: Kind = "best"
    top: int = 1
    """How many arms are asked for, where the m best are."""
    bar: float = 0.0
    """What arms are compared with, where a bar is set."""
    control: int = 0
    """The position of the control, where there is one …"""
    margin: float = 0.0
    """… and the lead over it that does not matter: "not better" says that the lead is no larger."""
    error: Error = "fwer"
    """What δ limits: the probability of any wrong verdict, or the expected share of wrong ones among those above the bar."""

    within: float = field(default=0.0, repr=False)
    """How far from the best the cheapest arm may be, where that is asked for …"""
    slack: float = field(default=0.0, repr=False)
    """… how much further counts as either …"""
    prices: tuple[float, ...] = field(default=(), repr=False)
    """… and what an evaluation of each arm costs."""

    @property
    def each_arm(self) -> bool:
        """Whether every arm gets a verdict of its own."""
        return self.kind in ("above", "control")


BEST = Question()
"""Which arm is the best?"""
