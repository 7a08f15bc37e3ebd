"""The part of surest_verify.py for duels; it needs Python 3.11 and surest_verify.py in the same folder.

docs/verify.md explains the lines, docs/questions/duels.md the theorems. Wealth is in nats, and compared with a tolerance of
`NEAR`.
"""

import math
from typing import Any

from surest_verify import COUNT, PART, REAL, Invalid, Line, Work, quoted, require

NEAR = 1e-9
BETS = (float, 0, 1.8 + 1e-12)
DUELS: Line = {
    "bets": {"first": [COUNT], "second": [COUNT], "bets": [[BETS]]},
    "rewards": {"arms": [COUNT], "values": [[PART]], "times": [[COUNT]]},
    "nomination": {"arms": [COUNT]},
    "conclusion": {
        "words": str,
        "claim": {"arms": [COUNT], "certified": bool, "none": bool, "proven": bool, "contenders": [COUNT], "groups": [[COUNT]],
                  "delta": PART, "events": dict},
        "games": [[REAL]],
    },
}  # fmt: skip


def duels_sentence(header: Line, claim: Line) -> str:
    """A claim in words."""
    labels, m, epsilon = header["labels"], header["top"], header["epsilon"]
    short = f", up to {epsilon!r} of an even score" if epsilon else ""
    beat = "beats" if m == 1 else "beat"
    others = "every other" if m == 1 else f"each of the {len(labels) - m} others"
    if claim["none"]:
        said = f"no {'arm' if m == 1 else f'{m} arms'} of {len(labels)} {beat} {others} head to head{short}"
    elif claim["certified"]:
        unless = "" if claim["proven"] else ", if any does" if m == 1 else ", if any do"
        said = f"{quoted(labels, claim['arms'])} {beat} {others} head to head{short}{unless}"
    else:
        said = (
            f"what beats {others} head to head{short}, if any arm does, is among {quoted(labels, claim['contenders'])}"
        )
    return f"{said}; wrong with probability at most {header['delta']!r}"


class Duels:
    """Computes the wealth of all pairs again."""

    def __init__(self, header: Line) -> None:
        self.header, n = header, len(header["labels"])
        require(n >= 2 and 1 <= header["top"] < n, "duels are between two or more arms, more than are asked for")
        fits = 0 <= header["epsilon"] < 0.5 and header["bounds"] == [0, 1]
        require(fits, "scores of duels lie in [0, 1], and ε below 1/2")
        self.n, self.m, self.epsilon = n, header["top"], header["epsilon"]
        both = 2 if self.epsilon else 1
        self.name_at = math.log(both / header["delta"])
        self.out_at = math.log(both * self.m / header["delta"])
        self.told_at = math.log(n * (n - 1) / (2 * header["delta"]))
        Work.spend(20 * n * n)
        self.beats, self.ousts, self.peak, self.base, self.since, self.games = (
            [[0.0] * n for _ in range(n)] for _ in range(6)
        )
        self.out: set[int] = set()
        self.named: list[int] = []
        self.nominations, self.share, self.placed = 0, 0.0, list[tuple[int, int, list[float]]]()

    def take(self, at: int, kind: str, line: Line) -> None:
        """A line: bets on the duels of the next line; their scores; a nomination."""
        if kind == "bets":
            require(not self.placed, "bets were placed already")
            fits = len(line["first"]) == len(line["second"]) == len(line["bets"]) > 0
            require(fits, "there are not so many bets as duels")
            for a, b, bets in zip(line["first"], line["second"], line["bets"], strict=True):
                fits = a < self.n and b < self.n and a != b and len(bets) == 4
                require(fits, "this is not a duel of two arms with its bets")
                most = 0.9 / (0.5 + self.epsilon) + 1e-12
                require(max(bets[2:]) <= most, "a bet against an arm may lose more than there is")
                self.placed.append((a, b, bets))
        elif kind == "rewards":
            self._score(line)
        else:
            arms = line["arms"]
            require(sorted(set(arms)) == arms and len(arms) == self.m, "not so many arms are asked for")
            require(arms[-1] < self.n and not self.placed, "a nomination of arms that are not there, or after bets")
            self.nominations += 1
            k = self.nominations
            self.named, self.share = arms, 0.5 if k == 1 else 0.5 / (k * (k - 1))
            self.base = [row[:] for row in self.beats]
            self.since = [[0.0] * self.n for _ in range(self.n)]

    def _score(self, line: Line) -> None:
        numbers = [a * (self.n - 1) + b - (b > a) for a, b, _ in self.placed]
        require(bool(numbers) and line["arms"] == numbers, "the scores are not of the duels on which bets were placed")
        require(len(line["values"]) == len(numbers) and not line["times"], "there are not scores of each pair")
        Work.spend(50 * sum(map(len, line["values"])) + 20 * self.n**2)
        for (a, b, bets), scores in zip(self.placed, line["values"], strict=True):
            require(bool(scores), "a pair without a score")
            for score in scores:
                for x, y, of, on, against in ((a, b, score, bets[0], bets[2]), (b, a, 1 - score, bets[1], bets[3])):
                    self.beats[x][y] += math.log1p(on * (of - 0.5 + self.epsilon))
                    self.ousts[x][y] += math.log1p(against * (of - 0.5 - self.epsilon))
                    self.games[x][y] += 1
        self.placed = []
        for a in range(self.n):
            for b in range(self.n):
                self.peak[a][b] = max(self.peak[a][b], self.beats[a][b])
                self.since[a][b] = max(self.since[a][b], self.beats[a][b] - self.base[a][b])
            lost = sorted(self.ousts[o][a] for o in range(self.n) if o != a)
            if sum(lost[: self.n - self.m]) >= self.out_at - NEAR:
                self.out.add(a)

    def beat(self, a: int, b: int) -> bool:
        """Whether a is certified to beat b, together with all other such pairs."""
        return self.peak[a][b] >= self.told_at - NEAR

    def conclude(self, line: Line) -> list[str]:
        """Check what is claimed; what was checked, in words."""
        claim, n = line["claim"], self.n
        require(not self.placed, "bets without scores")
        require(line["words"] == duels_sentence(self.header, claim), "the words do not say what is claimed")
        require(line["games"] == self.games, "other numbers of duels were counted")
        left = [a for a in range(n) if a not in self.out]
        groups, arms = claim["groups"], claim["arms"]
        require(sorted(a for group in groups for a in group) == list(range(n)), "the groups are not of all arms")
        for place, group in enumerate(groups):
            rest = [b for later in groups[place + 1 :] for b in later]
            told = all(self.beat(a, b) for a in group for b in rest)
            require(told, "an arm is not told to beat one of a later group")
        if claim["none"]:
            cycle = all(self.beat(a, b) or self.beat(b, a) for a in range(n) for b in range(a)) and len(groups[0]) > 1
            nobody = claim["certified"] and not arms and not claim["contenders"]
            require(nobody, "nobody is claimed, and somebody named")
            none = len(left) < self.m or (cycle and self.m == 1 and not self.epsilon)
            require(none, "some arms may still beat all others")
            return [f"{int(sum(map(sum, self.games)) / 2)} duels; every arm is out, or told to be beaten"]
        known = claim["contenders"] == left or (claim["certified"] and claim["contenders"] == arms)
        require(known, "others are in play")
        others = [b for b in range(n) if b not in arms]
        require(len(arms) == self.m and arms == sorted(set(arms)), "not so many arms are named as were asked for")
        needed = self.name_at - NEAR - math.log(self.share) if self.share else math.inf
        shown = self.named == arms and all(self.since[a][b] >= needed for a in arms for b in others)
        ranked = all(self.beat(a, b) for a in arms for b in others)
        if claim["certified"]:
            last = not self.epsilon and self.out >= set(others) and not self.out & set(arms)
            fits = ranked or (shown if self.epsilon else last and (shown or not claim["proven"]))
            require(fits, "it is not shown that these arms beat all others")
        duels = int(sum(map(sum, self.games)) / 2)
        return [f"{duels} duels, {self.nominations} nominations; {len(self.out)} of {n} arms are out"]


CHECKERS: dict[str, tuple[Any, Any, Line]] = {"duels": (Duels, {"top": COUNT}, DUELS)}
__all__ = ["CHECKERS", "Duels", "Invalid", "duels_sentence"]
