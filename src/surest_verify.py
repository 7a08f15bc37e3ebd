"""Check a decision file of surest without surest: ``python surest_verify.py FILE [--hash HASH]``.

A decision file states which arm was found to be best, with all its evidence: every counted reward in order, and every bet in a
line before the rewards that it was placed on. This program computes the evidence again from the theorems of docs/wager.md,
docs/questions/top.md, docs/items.md and docs/gate.md, and prints VALID (status 0) or NOT VALID with the line (status 1); or
CANNOT BE CHECKED (status 3), if that would take more work than a file of its size may ask for (`Work`). It needs Python 3.11
and nothing else: it imports nothing of surest, which takes only the sentences of claims, sums of scores and a bound from here.
docs/verify.md explains the lines and what VALID means.

Rounding: wealth is a sum of products of factors 1 − α + α·q with 0 ≤ α < 1 and q ≥ 0. Nothing is subtracted, so a factor has a
relative error of at most 10·2^-52; a bound on what rounding may have added is subtracted (`slack`).
"""

import hashlib
import importlib
import io
import json
import math
import operator
import os
import re
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import IO, Any

U = 2.0**-52
LONGEST = 2**25  # bytes of a line
PIECE = 2**16  # bytes read at a time
Line = dict[str, Any]
REAL, PART, COUNT = (float, -1e15, 1e15), (float, 0, 1), (int, 0, 2**53)  # kinds of values: see `check`
HEADER: Line = {"version": (int, 1, 1), "algorithm": str, "labels": [str], "delta": (float, 1e-300, 1 - U)}
HEADER |= {"epsilon": (float, 0, 1e15), "bounds": [REAL], "minimise": bool, "seed": str, "note": str}
CLAIM = {"arms": [COUNT], "certified": bool, "contenders": [COUNT], "within": REAL, "delta": PART, "events": dict}


class Invalid(Exception):
    """What is wrong with a file."""


class TooMuch(Exception):
    """A file that takes more work or memory than its size allows."""


class Work:
    """The work that is still allowed, in steps of about 0.1 µs: `BASE` for any file and `BYTE` for each byte on disk."""

    BASE, BYTE = 5 * 10**7, 500
    left = math.inf

    @classmethod
    def allow(cls, size: int, limit: float) -> None:
        """Begin with a file of this size, which may take `limit` times the usual work."""
        cls.left = (cls.BASE + cls.BYTE * size) * limit

    @classmethod
    def spend(cls, steps: int) -> None:
        """Account for steps, before they or their memory are needed."""
        cls.left -= steps
        if cls.left < 0:
            raise TooMuch("it takes more work than a file of its size may; --limit 10 allows ten times as much")


def require(holds: bool, text: str) -> None:
    """Refuse the file unless a condition holds."""
    if not holds:
        raise Invalid(text)


def check(value: Any, kind: Any, what: str = "the line") -> None:
    """Refuse a value of another kind: (type, low, high), {field: kind} for an object, [kind] for a list, or a type."""
    if isinstance(kind, tuple):
        fits = type(value) in (int, kind[0]) and kind[1] <= value <= kind[2]
        require(fits, f"{what} is {value!r:.40}, not a number from {kind[1]} to {kind[2]}")
    elif isinstance(kind, dict):
        fits = isinstance(value, dict) and value.keys() == kind.keys()
        require(fits, f"{what} does not have the fields {', '.join(kind)}")
        for name in kind:
            check(value[name], kind[name], name)
    else:
        require(type(value) is (list if isinstance(kind, list) else kind), f"{what} is {value!r:.40}")
        for one in value if isinstance(kind, list) else ():
            check(one, kind[0], what)


def parse(raw: bytes) -> Line:
    """A line as a JSON object; repeated keys, NaN and numbers that are too large are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> Line:
        require(len(dict(pairs)) == len(pairs), "a key comes twice")
        return dict(pairs)

    def real(text: str) -> float:
        require(len(text) < 40 and abs(float(text)) <= 2.0**53, f"{text:.40} is not a number, or too large")
        return float(text)

    try:
        numbers: Any = {"parse_float": real, "parse_int": lambda s: int(real(s)), "parse_constant": real}
        line = json.loads(raw.decode(), object_pairs_hook=unique, **numbers)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON: {error}"[:120]) from None
    require(isinstance(line, dict), "not a JSON object")
    require(raw[:1] == b"{" and raw[-2:] == b"}\n", "something stands beside the JSON object")
    return dict(line)


def quoted(labels: list[str], arms: list[int]) -> str:
    """Labels in quotes, so that none can be taken for a part of the claim."""
    return ", ".join(json.dumps(labels[arm], ensure_ascii=False) for arm in arms)


def where(header: Line) -> str:
    """What a mean is over."""
    on = f" on these {len(header['items'])} items" if "items" in header else ""
    return " in the population" if header.get("target") == "population" else on


def surely(header: Line, claim: Line) -> str:
    """How sure a claim is, the range of rewards or scores, and the number of imputed ones."""
    sure = "certain" if claim.get("exact") else f"wrong with probability at most {claim['delta']!r}"
    what, imputed = "scores" if "items" in header else "rewards", claim["events"].get("imputed")
    low, high = (repr(end).removesuffix(".0") for end in header["bounds"])
    more = f"; {imputed} of them were imputed, not measured" if imputed else ""
    if "spread" in header:
        more += f"; this rests on the statement that two arms differ by at most {header['spread']!r} on every item"
    return f"{sure}; {what} are from {low} to {high}{more}"


def sentence(header: Line, claim: Line) -> str:
    """A claim on arms in words; `header` has the labels of all arms, including those added later."""
    labels, m, epsilon, within = header["labels"], header.get("top", 1), header["epsilon"], claim["within"]
    arms, left, several = claim["arms"], claim["contenders"], header.get("top", 1) > 1
    size = f"{'smallest' if header['minimise'] else 'largest'} mean{'s' * several}"
    best = f"the {f'{m} ' * several}{size} of {len(labels)} arms{where(header)}"
    last, has, mean = (f"the last of {best}", "have", "means") if several else (best, "has", "a mean")
    said = f"{quoted(labels, arms)} {has} " + (f"{mean} within {within!r} of {last}" if within else best)
    if not claim["certified"]:
        known = f"; {said}" if within < header["bounds"][1] - header["bounds"][0] else ""
        one = "any given one" if header["algorithm"] == "wager-top" else "each"  # race-top: all of them together
        one = f"{one} of the arms" if several else "the arm"
        any_one = f"an arm with a mean within {epsilon!r} of {last}" if epsilon else f"{one} with {best}"
        said = f"{any_one} is among {quoted(labels, left)}{known}"
    elif len(left) > len(arms):
        said += f"; as good, up to 1e-9 of the range: {quoted(labels, [j for j in left if j not in arms])}"
    return f"{said}; {surely(header, claim)}"


# Fresh rewards: wager and wager-top. The constants of the theorems, and the fields of lines.

W, WAIT = 0.95, 0.4  # the share of nominations in the prior, and the share of B that does not bet
WIDE = [(0.98 * 2 ** (-k / 2), (1 - WAIT) * 0.1 * 0.9**k) for k in range(400)]  # its other bets α_k, with weights
TOLERANCE = 2e-6  # nats by which the evidence stated in a file may differ from that computed here
BET, WEIGHT = (float, 0, 1e9), (float, 1e-30, 1)
WITNESS: Line = {"arms": [COUNT], "slot": COUNT, "line": COUNT, "levels": [PART], "bets": (int, 1, 400)}
WITNESS |= {"accuracy": (float, 0, 1e15), "nats": REAL}
PULLS: Line = {
    "rewards": {"arms": [COUNT], "values": [[REAL]], "times": [[(int, 1, 2**50)]]},
    "bets": {"grid": [BET], "weights": [WEIGHT], "idle": WEIGHT, "most": (float, 0, 0.99)},
    "nomination": {"slot": COUNT, "arms": [COUNT], "on": [[BET]], "against": [[BET]]},
    "addition": {"labels": [str]},
    "conclusion": {"words": str, "claim": CLAIM, "counted": [COUNT], "means": [REAL], "witnesses": [WITNESS]},
}
STAKES = {"arms": [COUNT], "on": [COUNT], "levels": [PART], "stakes": [(float, 0, 1e9)]}
PAIRED: Line = PULLS | {"stakes": STAKES}
IN_GROUPS: Line = PULLS | {  # the paired bets of version 2
    "stakes": {"arms": [COUNT], "on": [COUNT], "stakes": [(float, 0, 0.99)]},
    "nomination": PULLS["nomination"] | {"moved": [PART]},
    "addition": {"labels": [str], "paired": (float, 0, 0.99)},
}


def prior(k: int) -> tuple[float, float]:
    """π_k, the prior of the k-th nomination, and that of all later ones."""
    return [(0.88, 0.12), (0.09, 0.03)][k - 1] if k <= 2 else (0.03 / ((k - 1) * (k - 2)), 0.03 / (k - 1))


def log_sum(logs: list[float]) -> float:
    """The logarithm of a sum, from the logarithms of its summands."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))


def wealth(rewards: list[tuple[float, int]], level: float, alpha: float) -> float:
    """The logarithm of Π (1 − α + α·amount/level), over amounts and their numbers."""
    keep, stake, log = 1 - alpha, alpha / level, math.log
    return math.fsum([times * log(keep + stake * amount) for amount, times in rewards])


def convex_bound(points: list[tuple[float, float, float]], end: float) -> float:
    """A lower bound of a convex function on (0, end), from three levels with a lower and an upper bound at each."""

    def line(near: int, far: int, x: float) -> float:  # beyond both, the function is above the line through them
        part = (x - points[near][0]) / (points[near][0] - points[far][0])
        low, high = points[near][1], points[far][2]
        return min(low, low + part * (low - high) - 8 * U * (1 + part) * (abs(low) + abs(high)))

    return min(line(0, 1, 0.0), line(1, 2, points[0][0]), line(1, 0, points[2][0]), line(2, 1, end))


class Pulls:
    """Searches on fresh rewards for the best arm (wager) or the m best (wager-top)."""

    def __init__(self, header: Line) -> None:
        low, high = header["bounds"]
        self.worst, self.best, self.width = (high, low, high - low) if header["minimise"] else (low, high, high - low)
        self.header, self.is_top, self.top, self.labels = header, "top" in header, header.get("top", 1), list[str]()
        self.parts: list[float] = []  # of δ, for each arm
        self.seen: list[list[tuple[int, array[float], array[int]]]] = []  # of each arm: line, rewards, times
        self.slots: list[tuple[int, Line]] = []  # nominations, with their lines
        self.bets: Line = {}
        self.added: list[int] = []  # the lines of additions
        self.accounts: list[list[tuple[int, float, float]]] = []  # of each arm: line, account (log), what was rounded
        self.rest: list[float] = []  # the part of the prior that is not for paired bets, for each arm
        self.carried: list[dict[int, float]] = []  # of each slot, what was moved to it from the accounts of arms (log)
        self.placed: Line = {}  # paired bets on the rewards that come next
        self.add(header["labels"], 1 - header.get("reserve", 0.0), header.get("paired", 0.0))
        require(1 <= self.top <= len(self.labels), "top is not a number of arms")

    def add(self, labels: list[str], part: float, paired: float) -> None:
        """Add arms, with their share of δ, and the share of paired bets against them in the prior."""
        self.labels += labels
        Work.spend(len(self.labels))
        require(labels != [] and len(set(self.labels)) == len(self.labels), "a label comes twice, or there is none")
        self.seen += [[] for _ in labels]
        self.parts += [part] * len(labels)
        self.rest += [1 - paired] * len(labels)
        self.accounts += [[(0, math.log(paired) if paired else -math.inf, 0.0)] for _ in labels]

    def different(self, arms: list[int], many: int | None = None) -> list[int]:
        """The arms, if they are distinct and known."""
        fits = len(set(arms)) == len(arms) and max(arms, default=0) < len(self.labels) and many in (None, len(arms))
        require(fits, f"{arms!r:.60} are not different arms, as many as asked for")
        return arms

    def take(self, at: int, kind: str, line: Line) -> None:
        """Process a line between the first and the conclusion."""
        require(not self.placed or kind == "rewards", "stakes come right before the rewards that they are on")
        if kind == "stakes":
            same = len({len(self.different(line["arms"])), *map(len, line.values())}) == 1
            fits = same and all(map(operator.ne, line["arms"], line["on"]))
            require(fits, "stakes on other lists, or on an arm itself")
            self.placed = line
        elif kind == "rewards":
            arms, values, (low, high) = self.different(line["arms"]), line["values"], self.header["bounds"]
            times = line["times"] or [array("q", [1]) * len(some) for some in values]
            require(len(arms) == len(values) and [*map(len, values)] == [*map(len, times)], "lists of other lengths")
            require(all(low <= value <= high for some in values for value in some), "a reward is outside of the bounds")
            for arm, some, often in zip(arms, values, times, strict=True):
                self.seen[arm].append((at, array("d", some), array("q", often)))
            if self.placed:
                self.settle(at, arms)
        elif kind == "bets":
            complete = at == 2 and len(line["weights"]) == len(line["grid"]) ** 2 > 0
            require(complete, "bets are not the second line, or lack weights")
            total = sum(map(Fraction, [line["idle"], *line["weights"]]))
            require(total <= 1, "the weights of the bets sum to more than 1")
            self.bets = line
        elif kind == "nomination":
            require(self.bets != {} and line["slot"] == len(self.slots) + 1, "the slot is not the next, or has no bets")
            lengths = [len(line["on"]), len(line["against"]), *map(len, line["on"] + line["against"])]
            require(lengths == [self.top] * 2 + [len(self.labels)] * 2 * self.top, "lists of other lengths")
            require(self.different(line["arms"], self.top) == sorted(line["arms"]), "the arms are not in order")
            self.slots.append((at, line))
            self.carried.append(self.move(at, line) if "moved" in line else {})
        else:  # arms that come later share a part of δ of their own
            require(self.header.get("reserve", 0) > 1e-9, "nothing of δ was kept for arms that come later")
            self.added.append(at)
            part = self.header["reserve"] / (len(self.added) * (len(self.added) + 1))
            self.add(line["labels"], part, line["paired"] if "paired" in line else self.header.get("paired", 0.0))

    def settle(self, at: int, arms: list[int]) -> None:
        """Settle the paired bets on the rewards of a line."""
        in_order = dict[int, list[float]]()
        for arm in {*self.placed["arms"], *self.placed["on"]}:
            require(arm in arms, "stakes on other arms than the rewards are of")
            _, rewards, times = self.seen[arm][-1]
            require(len(rewards) > 0, "stakes on an arm without rewards")
            Work.spend(20 * len(arms) * sum(times))
            every = [reward for reward, often in zip(rewards, times, strict=True) for _ in range(often)]
            in_order[arm] = [abs(reward - self.worst) / self.width for reward in every]
        levels = self.placed.get("levels", [None] * len(self.placed["arms"]))
        for arm, other, level, stake in zip(
            self.placed["arms"], self.placed["on"], levels, self.placed["stakes"], strict=True
        ):
            own, its = in_order[arm], in_order[other]
            won = self.in_groups(own, its, stake) if level is None else self.at_level(own, its, level, stake)
            logs = [*map(math.log1p, won)]
            _, account, rounded = self.accounts[arm][-1]
            # what is won is off by 4·U·most, and both stakes at a level are in proportion but for 2·U
            most = 1 + stake * max(1.0, len(own) / len(its))
            more = (
                most * (math.fsum(1 / (1 + one) for one in won) + len(own)) + math.fsum(map(abs, logs)) + abs(account)
            )
            self.accounts[arm].append((at, account + math.fsum(logs), rounded + 8 * U * more))
        self.placed = {}

    @staticmethod
    def at_level(own: list[float], its: list[float], level: float, stake: float) -> list[float]:
        """The gains of stakes at a level on each reward of an arm and of its opponent."""
        on_it = stake * len(own) / len(its)
        require(stake * (1 - level) <= 0.99 and on_it * level <= 0.99, "a stake is too large")
        return [stake * (level - reward) for reward in own] + [on_it * (reward - level) for reward in its]

    @staticmethod
    def in_groups(own: list[float], its: list[float], stake: float) -> list[float]:
        """The same in version 2: the gains of a stake on each pair of groups of rewards, in order."""
        groups = min(len(own), len(its))

        def mean(of: list[float], g: int) -> float:
            some = of[g * len(of) // groups : (g + 1) * len(of) // groups]
            return math.fsum(some) / len(some)

        return [stake * (mean(its, g) - mean(own, g)) for g in range(groups)]

    def move(self, at: int, nomination: Line) -> dict[int, float]:
        """Move a part of each account except the nominee's to the slot of a nomination; the logarithms of what was moved."""
        found, parts = dict[int, float](), nomination["moved"]
        require(len(parts) == len(self.labels) and parts[nomination["arms"][0]] == 0, "lists of other lengths")
        for arm, part in enumerate(parts):
            _, account, rounded = self.accounts[arm][-1]
            if part > 0 and account > -math.inf:
                found[arm] = account + math.log(part) - rounded - 8 * U * (abs(account) + 1)
                left = account + math.log1p(-part) if part < 1 else -math.inf
                self.accounts[arm].append((at, left, rounded + 8 * U * (abs(account) + 1)))
        return found

    def account(self, arm: int, until: int) -> float:
        """The logarithm of an account after a line, minus what rounding may have added."""
        Work.spend(len(self.accounts[arm]))
        _, account, rounded = [entry for entry in self.accounts[arm] if entry[0] <= until][-1]
        return account - rounded

    def counts(self, arm: int, after: int, until: int) -> Counter[float]:
        """The rewards of an arm in the lines from `after` + 1 to `until`, with their numbers."""
        found = Counter[float]()
        for at, rewards, times in self.seen[arm]:
            Work.spend(4 + 2 * len(rewards))
            for reward, often in zip(rewards, times, strict=True) if after < at <= until else ():
                found[reward] += often
        return found

    def side(self, arm: int, after: int, until: int, above: bool = False) -> list[tuple[float, int]]:
        """The same on [0, 1]: 1 − X for bets below, X for bets above, neither computed from the other, which would round."""
        end, counts = self.worst if above else self.best, self.counts(arm, after, until)
        return [(abs(reward - end) / self.width, times) for reward, times in counts.items()]

    def certify(self, witness: Line) -> list[int]:
        """Compute C(i, j) of docs/wager.md where a witness says it sufficed; return the arms of its slot."""
        (i, j), slot, until = self.different(witness["arms"], 2), witness["slot"], witness["line"]
        Work.spend(len(self.added) + len(self.slots) + 100)
        account, goal = self.account(j, until), -math.log(self.header["delta"]) - math.log(self.parts[j])
        if slot == 0:  # paired bets alone
            require(witness["levels"] == [] and witness["accuracy"] == 0, "paired bets have no levels")
            self.enough(witness, account, goal, len(self.accounts[j]))
            return []
        after, nomination = self.slots[slot - 1] if slot <= len(self.slots) else (0, {"arms": [], "on": [[]]})
        arms, later = nomination["arms"], self.slots[slot][0] if slot < len(self.slots) else 2**53
        holds = after <= until < later and not any(after < at <= until for at in self.added)  # an addition ends it
        holds = holds and i in arms and j not in arms and j < len(nomination["on"][0])
        require(holds, f"there are no bets of slot {slot} on arm {i} against arm {j} at line {until}")
        grid, weights, idle, most = (self.bets[name] for name in ("grid", "weights", "idle", "most"))
        mine, others = ([min(most, nomination[s][arms.index(i)][j] * g) for g in grid] for s in ("on", "against"))
        before, since, nominee = self.side(j, 0, after), self.side(j, after, until), self.side(i, after, until, True)
        its_own = [k for k, (_, of) in enumerate(self.slots[:slot], 1) if of["arms"] == [j] and not self.is_top]
        own = sum(prior(k)[0] for k in its_own)  # slots whose nominee is j itself
        base, share, n = math.log((1 - W) + W * prior(slot)[1] + W * own), math.log(W * prior(slot)[0]), len(grid)
        level_part = math.log(self.rest[j])
        kept = math.exp(self.carried[slot - 1].get(j, -math.inf) - level_part - share)  # beside what does not bet
        wide = [(alpha, math.log(q / self.top)) for alpha, q in WIDE[: witness["bets"]]]
        total = sum(times for _, times in before + since + nominee)
        Work.spend(3 * ((len(before) + len(since)) * len(wide) + len(nominee) * n + len(since) * n + n * n + 99))
        end = 1 - Fraction(witness["accuracy"]) / Fraction(self.width)

        def value(x: float) -> tuple[float, float, float]:
            rest = float(end - Fraction(x))  # 1 − ε − x
            early = [math.log(WAIT + kept), *(log + wealth(before, rest, alpha) for alpha, log in wide)]
            full = [math.log(WAIT), *(log + wealth(since, rest, wide[k][0]) for k, log in enumerate(early[1:]))]
            ups, downs = [wealth(nominee, x, bet) for bet in mine], [wealth(since, rest, bet) for bet in others]
            parts = [math.exp(log - max(downs)) for log in downs]
            rows = [math.fsum(map(operator.mul, weights[k : k + n], parts)) for k in range(0, n * n, n)]
            placed = math.fsum(math.exp(log - max(ups)) * row for log, row in zip(ups, rows, strict=True))
            joint = log_sum([math.log(placed) + max(ups) + max(downs), math.log(idle)])
            found = log_sum([base + log_sum(full), share + log_sum(early) + joint])
            slack = U * (total * (10 + 6 * max(5.0, -math.log(x), -math.log(rest))) + 10_000)
            return x, found - slack, found + slack

        levels = [0.0, *witness["levels"], float(end)]
        ordered = len(levels) == 5 and min(y - x for x, y in pairwise(levels)) > 1e-9
        require(ordered, "the levels are not three, in order")
        found = convex_bound([value(x) for x in levels[1:4]], levels[4])
        if account > -math.inf:
            found = log_sum([found + level_part, account]) - 8 * U * (abs(found) + abs(account) + 9)
        self.enough(witness, found, goal, total)
        return list(arms)

    def enough(self, witness: Line, found: float, goal: float, rewards: int) -> None:
        """Refuse a witness whose evidence does not suffice, or is not what it states."""
        against, at = self.labels[witness["arms"][1]], witness["line"]
        said = f"the evidence against {against} is {found:.6f} nats after line {at}"
        require(found >= goal, f"{said}, and {goal:.6f} are needed")
        close = abs(witness["nats"] - found) <= TOLERANCE + 1000 * U * rewards
        require(close, f"{said}, not {witness['nats']:.6f}")

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        claim, header, n = line["claim"], {**self.header, "labels": self.labels}, len(self.labels)
        arms, left = self.different(claim["arms"], self.top), self.different(claim["contenders"])
        require(len(line["counted"]) == len(line["means"]) == n, "lists of other lengths")
        for arm, (count, mean) in enumerate(zip(line["counted"], line["means"], strict=True)):
            seen = self.counts(arm, 0, 2**53)
            true = math.fsum(value * times for value, times in seen.items()) / max(seen.total(), 1)
            same = count == seen.total() and abs(mean - true) <= 1e-9 * self.width
            require(same, f"{self.labels[arm]} has {seen.total()} rewards with a mean of {true!r}, not what is stated")
        found = [(*witness["arms"], witness["accuracy"], self.certify(witness)) for witness in line["witnesses"]]

        def left_at(accuracy: float) -> list[int]:  # what speaks for other arms counts at ε = 0 only, and not for sets
            out = {(i, j) for i, j, epsilon, of in found if of == sorted(arms) and epsilon <= accuracy}
            out |= {(arms[0], j) for _, j, epsilon, _ in found if epsilon == 0 and not self.is_top}
            return [j for j in range(n) if j in arms or any((i, j) not in out for i in arms)]

        require(sorted(left) == left_at(header["epsilon"]), "the contenders are not those that are left")
        require(claim["certified"] is (len(left) == self.top), "certified is not what the witnesses say")
        within = claim["within"] >= self.width or left_at(claim["within"]) == sorted(arms)
        require(header["epsilon"] <= claim["within"] and within, "within is not what the witnesses say")
        require(line["words"] == sentence(header, claim), "the words are not those of the claim")
        slots = f"nominations: {len(self.slots)}, with bets on later rewards only"
        enough = f"witnesses: {len(found)}; their evidence is what is stated, and enough"
        return [f"{sum(line['counted'])} rewards of {n} arms; {slots}", enough]


CHECKERS: dict[Any, tuple[Any, Line, Line]] = {
    "wager": (Pulls, {"reserve": (float, 0, 0.99)}, PULLS),
    ("wager", 2): (Pulls, {"reserve": (float, 0, 0.99), "version": (int, 2, 2), "paired": (float, 0, 0.99)}, IN_GROUPS),
    ("wager", 3): (Pulls, {"reserve": (float, 0, 0.99), "version": (int, 3, 3), "paired": (float, 0, 0.99)}, PAIRED),
    "wager-top": (Pulls, {"top": COUNT}, PULLS),
}
"""By algorithm: the checker, further fields of the first line, and the fields of other lines. Lists and duels have own files."""


MEASURED = ("rewards", "scores", "known")  # the lines that events belong to


def count_events(events: Counter[tuple[str, int]], line: Line) -> Counter[str]:
    """The number of events of each kind right before a line, which must have rewards or scores of their arms."""
    found = Counter[str]()
    for (what, arm), times in events.items():
        require(arm in line.get("arms", []), f"{what:.40}: an event of arm {arm} is not right before its rewards")
        place = line["arms"].index(arm)
        Work.spend(place + len(line["times"][place]) if line.get("times") else place)
        many = sum(line["times"][place]) if line.get("times") else len(line["values"][place]) if "times" in line else 1
        require(what != "imputed" or times <= many, f"of {many} rewards of arm {arm}, {times} are said to be imputed")
        found[what] += times
    return found


def unzipped(file: IO[bytes]) -> Iterator[bytes]:
    """The contents of a gzip file, piece by piece: one stream, and nothing after it."""
    stream = zlib.decompressobj(31)
    while packed := file.read(PIECE):
        require(not stream.eof, "something follows the compressed stream")
        while data := stream.decompress(packed, PIECE):
            packed = stream.unconsumed_tail
            yield data
        require(stream.unused_data == b"", "something follows the compressed stream")
    require(stream.eof, "the compressed stream is cut")


def lines_in(path: str) -> Iterator[bytes]:
    """The lines of a file with their line breaks; reading and parsing count as work."""
    with open(path, "rb") as file:
        parts, length = list[bytes](), 0
        for piece in unzipped(file) if path.endswith(".gz") else iter(lambda: file.read(PIECE), b""):
            Work.spend(4 * len(piece))
            for part in re.findall(rb"[^\n]*\n|[^\n]+", piece):
                parts.append(part)
                length += len(part)
                if length > LONGEST:
                    raise TooMuch(f"a line has more than {LONGEST} bytes")
                if part.endswith(b"\n"):
                    yield b"".join(parts)
                    parts, length = [], 0
        if parts:
            yield b"".join(parts)


def checker_of(kind: str, header: Line) -> tuple[Any, Line]:
    """What checks the decision that begins with this line, and the fields of its other lines by their kind."""
    name: Any = header.get("algorithm")
    if name in ["race", "race-top", "race-cheapest", "wager-cheapest", "gate", "champion"]:
        CHECKERS.update(importlib.import_module("surest_verify_lists").CHECKERS)  # the second file
    if name == "duels":
        CHECKERS.update(importlib.import_module("surest_verify_duels").CHECKERS)  # the third
    name = (name, header["version"]) if name == "wager" and header.get("version") in (2, 3) else name
    known = kind == "surest decision" and name in [*CHECKERS]
    require(known, "this is not a decision file, or its algorithm is not known here")
    make, more, kinds = CHECKERS[name]
    check(header, HEADER | (more(header) if callable(more) else more))
    ends = header["bounds"]
    require(len(ends) == 2 and ends[0] < ends[1], "the bounds are not a range")
    return make(header), kinds


def concluded(checker: Any, line: Line, events: list[tuple[str, int]]) -> list[str]:
    """Check the conclusion; what was checked, in words."""
    claim = line["claim"]
    same = repr(sorted(claim["events"].items())) == repr(events)
    require(same, "the claim says that other things were imputed or retried")
    require(claim["delta"] == checker.header["delta"], "the claim has another δ")
    stated = ", ".join(f"{times} {what!r}" for what, times in events) or "none"
    return [*checker.conclude(line), f"Events: {stated}", f"Claim: {line['words']}"]


def verify(path: str, expected: str | None = None, limit: float = 1.0) -> list[str]:
    """What was checked, in words. Raises `Invalid` with the first fault and its line, and `TooMuch` if the check would take
    more than `limit` times the work that is allowed for a file of its size.
    """
    Work.allow(os.path.getsize(path), limit)
    said, events, before, kind, at, kinds = list[str](), Counter[str](), "", "", 0, Line()
    latest = Counter[tuple[str, int]]()  # events whose rewards are to come next
    checker: Any = None
    try:
        for at, raw in enumerate(lines_in(path), 1):
            line, last = parse(raw), kind
            require(line.pop("prev", "") == before, "it does not carry the hash of the line before")
            kind, link, before = str(line.pop("kind", None)), before, hashlib.sha256(raw).hexdigest()
            if at == 1:
                checker, kinds = checker_of(kind, line)
            elif kind == "end" or last in ("conclusion", "end"):
                require((last, kind, line) == ("conclusion", "end", {}), "the end does not follow the conclusion")
                require(raw == b'{"prev":"%b","kind":"end"}\n' % link.encode(), "the end is written otherwise")
                require(expected in (None, link), f"the hash of the decision is {link}, not {expected}")
                own = f"{link}, {'the one given' if expected else 'not compared: no --hash'}"
                said.append(f"{at} lines, each with the hash of the one before; the hash of the decision is {own}")
            elif kind == "event":  # something was imputed or retried
                check(line, {"what": str, "arm": COUNT, "times": (int, 1, 2**53)})
                latest[line["what"], line["arm"]] += line["times"]
            else:
                require(kind in kinds, f"a line of the kind {kind:.40} does not belong here")
                check(line, kinds[kind])
                require(not latest or kind in MEASURED, f"events come right before a line of the kind {kind}")
                if kind != "conclusion":
                    checker.take(at, kind, line)
                events, latest = events + count_events(latest, line), Counter()
                if kind == "conclusion":
                    said = concluded(checker, line, sorted(events.items()))
        require(kind == "end", "the file is cut after this line")
    except Invalid as error:
        raise Invalid(f"line {at}: {error}") from None
    return said


def visible(text: str) -> str:
    """Text for a terminal, with control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def main() -> int:
    """Check the file named on the command line, print what was checked and the verdict, and return the status."""
    given = sys.argv[1:]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # where a terminal knows no δ
    options = dict(zip(given[1::2], given[2::2], strict=False))
    limit = options.get("--limit", "1")
    wrong = len(given) % 2 == 0 or given[0].startswith("-") or len(options) != len(given) // 2
    wrong = wrong or not options.keys() <= {"--hash", "--limit"}
    if wrong or not (limit.isascii() and limit.isdigit() and len(limit) < 9):
        print("usage: surest-verify FILE [--hash HASH] [--limit TIMES]", file=sys.stderr)
        return 2
    try:
        said = verify(given[0], options["--hash"].lower() if "--hash" in options else None, int(limit))
    except (zlib.error, Invalid) as error:
        print(visible(f"NOT VALID: {error}"))
        return 1
    except (TooMuch, MemoryError) as error:
        print(visible(f"CANNOT BE CHECKED: {error or 'there is not enough memory'}"))
        return 3
    except (OSError, ModuleNotFoundError) as error:
        why = getattr(error, "strerror", "it needs surest_verify_lists.py in the same folder")
        print(visible(f"{given[0]}: {why}; nothing was checked"), file=sys.stderr)
        return 2
    print(*map(visible, said), "VALID", sep="\n")
    return 0


if __name__ == "__main__":
    sys.modules["surest_verify"] = sys.modules["__main__"]  # the name by which the second file knows it
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # python -I does not look there
    sys.exit(main())
