"""What a search is to find out: `Question`. On [0, 1], where large is good, as algorithms see it."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["best", "top", "above", "control", "cheapest"]
Error = Literal["fwer", "fdr"]
KINDS: tuple[Kind, ...] = ("best", "top", "above", "control", "cheapest")
ERRORS: tuple[Error, ...] = ("fwer", "fdr")
TRAITS: dict[Kind, str] = {
    "top": "finds the m best arms",
    "above": "tells which arms lie above a bar",
    "control": "tells which arms beat a control",
    "cheapest": "finds the cheapest arm that is good enough",
}
"""What an algorithm does that answers another question than for the best arm."""


@dataclass(frozen=True)
class Question:
    """Which arm is the best, which are the m best, which lie above a bar, which beat a control, or which is cheapest.

    A bar and a control ask something of each arm. Their answers have one verdict per arm: 1 (above the bar; better than the
    control), −1 (below the bar; not better) or 0 (open).
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

    best: bool = field(init=False, repr=False, compare=False)
    """Whether the best arm is asked for, and nothing else."""
    ranks: bool = field(init=False, repr=False, compare=False)
    """Whether the arms asked for are those with the largest means."""
    each_arm: bool = field(init=False, repr=False, compare=False)
    """Whether every arm gets a verdict of its own."""
    reference: int | None = field(init=False, repr=False, compare=False)
    """The arm that all others are compared with, which gets no verdict itself."""

    def __post_init__(self) -> None:
        kind = self.kind
        for name, value in (
            ("best", kind == "best"),
            ("ranks", kind in ("best", "top")),
            ("each_arm", kind in ("above", "control")),
            ("reference", self.control if kind == "control" else None),
        ):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return {
            "best": "which arm is the best",
            "top": f"which are the {self.top} best arms",
            "above": "which arms lie above a bar",
            "control": "which arms beat a control",
            "cheapest": "which arm is the cheapest that is good enough",
        }[self.kind]

    def judged(self, n: int) -> int:
        """How many of n arms get a verdict."""
        return n - (self.reference is not None) if self.each_arm else 0


BEST = Question()
"""Which arm is the best?"""
