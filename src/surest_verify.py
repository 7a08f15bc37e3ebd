"""Check a decision file of surest without surest: ``python surest_verify.py FILE [--hash HASH]``.

A decision file states which arm was found to be best, with all its evidence: every counted reward in order, and every bet in a
line before the rewards that it was placed on. This program computes the evidence again from the theorems of docs/wager.md,
docs/items.md, docs/gate.md, docs/champion.md and docs/questions, and prints VALID (status 0) or NOT VALID with the line (status
1); or CANNOT BE CHECKED (status 3), if that would take more work than a file of its size may ask for (`Work`). It needs Python
3.11 and nothing else: it imports nothing of surest, which takes only the sentences of claims, sums of scores and a bound from
here. docs/verify.md explains the lines and what VALID means.

Rounding: wealth is a sum of products of factors 1 − α + α·q with 0 ≤ α < 1 and q ≥ 0. Nothing is subtracted, so a factor has a
relative error of at most 10·2^-52; a bound on what rounding may have added is subtracted (`slack`).
"""

import hashlib
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
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise
from typing import IO, Any

U = 2.0**-52
LONGEST = 2**25  # bytes of a line
PIECE = 2**16  # bytes read at a time
Line = dict[str, Any]
REAL, PART, COUNT = (float, -1e15, 1e15), (float, 0, 1), (int, 0, 2**53)  # kinds of values: see `check`
HEADER: Line = {"version": (int, 1, 4), "algorithm": str, "labels": [str], "delta": (float, 1e-300, 1 - U)}
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
        require(len(dict(pairs)) == len(pairs), "a key appears twice")
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
    require(raw[:1] == b"{" and raw[-2:] == b"}\n", "there is something beside the JSON object")
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
    more = f"; {imputed} of them {'was' if imputed == 1 else 'were'} imputed, not measured" if imputed else ""
    if "spread" in header:
        more += f"; this rests on the statement that two arms differ by at most {header['spread']!r} on every item"
    return f"{sure}; {what} are from {low} to {high}{more}"


def best_sentence(header: Line, claim: Line) -> str:
    """The claim that some arms are the best, in words."""
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


def cheapest_sentence(header: Line, claim: Line) -> str:
    """The claim of a search for the cheapest arm that is good enough, in words."""
    labels, near, further = header["labels"], header["within"], header["within"] + header["slack"]
    best = f"the {'smallest' if header['minimise'] else 'largest'} mean of {len(labels)} arms{where(header)}"
    if not claim["certified"]:
        said = f"the cheapest arm with a mean within {near!r} of {best} is among {quoted(labels, claim['contenders'])}"
    elif header["slack"] and not claim["exact"]:
        said = f"{quoted(labels, claim['arms'])} has a mean within {further:.12g} of {best}, "
        said += f"and no arm within {near!r} of it is cheaper"
    else:
        said = f"{quoted(labels, claim['arms'])} is the cheapest arm with a mean within {near!r} of {best}"
    return f"{said}; {surely(header, claim)}"


def two_sentence(header: Line, claim: Line) -> str:
    """The claim of a gate, or of a challenge, in words."""
    verdict, epsilon, challenge = claim["verdict"], header["epsilon"], header["algorithm"] == "champion"
    old, new = (quoted(header["labels"], [arm]) for arm in (0, 1))
    at = (header.get("level") or header["delta"]) if verdict in ("pass", "promoted") else header["delta"]
    sure, on = surely(header, claim | {"delta": at}), where(header)
    than = f"{'smaller' if header['minimise'] is challenge else 'larger'} than that of {old}"
    more = f" by more than {epsilon!r}" if epsilon else ""
    same = f"within {epsilon!r} of that of {old}" if header.get("equivalent") else ""
    if verdict == "undecided":
        asked = same or than + more * (not challenge)
        return f"it is not known whether the mean of {new} is {asked}{on}; {sure.partition('; ')[2]}"
    if verdict == "promoted":
        found = f"is {than}{on}; {sure}; level of challenge {header['number']}: {at!r}"
    elif challenge:
        found = f"is not {than}{on}{more}{', up to 1e-9 of the range' * claim['exact']}; {sure}"
    elif verdict == "pass":
        found = f"is {same or 'not ' + than + more}{on}; {sure}"
    else:
        than = f"differs from that of {old}" if same else f"is {than}"
        found = f"{than}{more * claim['exact']}{on}; {sure}"
    return f"the mean of {new} {found}"


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
        left = quoted(labels, claim["contenders"])
        said = f"what beats {others} head to head{short}, if any arm does, is among {left}"
    return f"{said}; wrong with probability at most {header['delta']!r}"


def control_sentence(header: Line, claim: Line) -> str:
    """Which arms are better than a control, and which are not, in words."""
    labels, control, on = header["labels"], header["control"], where(header)
    than = f"{'smaller' if header['minimise'] else 'larger'} than that of {quoted(labels, [control])}"
    more = f" by more than {header['epsilon']!r}" if header["epsilon"] else ""
    better, worse, left = (
        [j for j, told in enumerate(claim["verdicts"]) if told == k and j != control] for k in (1, -1, 0)
    )
    said = [f"the mean of {quoted(labels, [j])} is {than}{on}" for j in better]
    said += [f"the mean of {quoted(labels, [j])} is not {than}{more}{on}, up to 1e-9 of the range" for j in worse]
    said += [f"nothing is certified of {quoted(labels, left)}"] if left else []
    return f"{'; '.join(said)}; {surely(header, claim)}"


SENTENCES = {"race-cheapest": cheapest_sentence, "wager-cheapest": cheapest_sentence, "duels": duels_sentence}
SENTENCES |= {"gate": two_sentence, "champion": two_sentence, "race-control": control_sentence}


def sentence(header: Line, claim: Line) -> str:
    """A claim in words; `header` has the labels of all arms, including those added later."""
    return SENTENCES.get(header["algorithm"], best_sentence)(header, claim)


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
        require(labels != [] and len(set(self.labels)) == len(self.labels), "a label is repeated, or there is none")
        self.seen += [[] for _ in labels]
        self.parts += [part] * len(labels)
        self.rest += [1 - paired] * len(labels)
        self.accounts += [[(0, math.log(paired) if paired else -math.inf, 0.0)] for _ in labels]

    def different(self, arms: list[int], many: int | None = None) -> list[int]:
        """The arms, if they are distinct and known."""
        fits = len(set(arms)) == len(arms) and max(arms, default=0) < len(self.labels) and many in (None, len(arms))
        require(fits, f"{arms!r:.60} are not distinct arms, as many as needed")
        return arms

    def take(self, at: int, kind: str, line: Line) -> None:
        """Process a line between the first and the conclusion."""
        require(not self.placed or kind == "rewards", "stakes must stand right before the rewards that they are on")
        if kind == "stakes":
            same = len({len(self.different(line["arms"])), *map(len, line.values())}) == 1
            fits = same and all(map(operator.ne, line["arms"], line["on"]))
            require(fits, "the stakes differ in number from their arms, or an arm is paired with itself")
            self.placed = line
        elif kind == "rewards":
            arms, values, (low, high) = self.different(line["arms"]), line["values"], self.header["bounds"]
            times = line["times"] or [array("q", [1]) * len(some) for some in values]
            require(len(arms) == len(values) and [*map(len, values)] == [*map(len, times)], "lists differ in length")
            require(all(low <= value <= high for some in values for value in some), "a reward is outside of the bounds")
            for arm, some, often in zip(arms, values, times, strict=True):
                self.seen[arm].append((at, array("d", some), array("q", often)))
            if self.placed:
                self.settle(at, arms)
        elif kind == "bets":
            complete = at == 2 and len(line["weights"]) == len(line["grid"]) ** 2 > 0
            require(complete, "bets are not in the second line, or lack weights")
            total = sum(map(Fraction, [line["idle"], *line["weights"]]))
            require(total <= 1, "the weights of the bets sum to more than 1")
            self.bets = line
        elif kind == "nomination":
            require(self.bets != {} and line["slot"] == len(self.slots) + 1, "the slot is not the next, or has no bets")
            lengths = [len(line["on"]), len(line["against"]), *map(len, line["on"] + line["against"])]
            require(lengths == [self.top] * 2 + [len(self.labels)] * 2 * self.top, "lists differ in length")
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
            require(arm in arms, "there are stakes on arms that have no rewards here")
            _, rewards, times = self.seen[arm][-1]
            require(len(rewards) > 0, "stakes on an arm without rewards")
            Work.spend(20 * len(arms) * sum(times))
            every = [reward for reward, often in zip(rewards, times, strict=True) for _ in range(often)]
            in_order[arm] = [abs(reward - self.worst) / self.width for reward in every]
        levels = self.placed.get("levels", [None] * len(self.placed["arms"]))
        placed = self.placed["arms"], self.placed["on"], levels, self.placed["stakes"]
        for arm, other, level, stake in zip(*placed, strict=True):
            own, its = in_order[arm], in_order[other]
            won = self.in_groups(own, its, stake) if level is None else self.at_level(own, its, level, stake)
            logs = [*map(math.log1p, won)]
            _, account, rounded = self.accounts[arm][-1]
            # what is won is off by 4·U·most, and both stakes at a level are in proportion but for 2·U
            most = 1 + stake * max(1.0, len(own) / len(its))
            more = most * (math.fsum(1 / (1 + one) for one in won) + len(own)) + math.fsum(map(abs, logs))
            self.accounts[arm].append((at, account + math.fsum(logs), rounded + 8 * U * (more + abs(account))))
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
        require(len(parts) == len(self.labels) and parts[nomination["arms"][0]] == 0, "lists differ in length")
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
        claim, header, n = line["claim"], self.header, len(self.labels)
        arms, left = self.different(claim["arms"], self.top), self.different(claim["contenders"])
        require(len(line["counted"]) == len(line["means"]) == n, "lists differ in length")
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
        slots = f"nominations: {len(self.slots)}, with bets on later rewards only"
        enough = f"witnesses: {len(found)}; their evidence is what is stated, and enough"
        return [f"{sum(line['counted'])} rewards of {n} arms; {slots}", enough]


# Lists of items: the best arm, the m best, the cheapest that is good enough, the gate, and challenges of a champion.
#
# All arms in play go through the items in one random order, which follows from the seed. Stakes are not in the file: they
# follow from earlier items by the rules of docs/verify.md and are computed again here, so no bet can depend on later scores.
#
# Rounding: scores are doubles in [0, 1], their sums are exact, and D − m is rounded once. A stake is what the rule gives in
# doubles; a factor is at least 0.1, so it and the product have a relative error of at most 10u, and 16u are subtracted
# (`mixed`).

# Every double is an integer multiple of 2^-1074, so sums of scores are exact, and int / int is rounded correctly.
UNIT = 1 << 1074


def units(score: float) -> int:
    """A number as an integer number of units."""
    top, bottom = score.as_integer_ratio()
    return top * (UNIT // bottom)


def random_order(entropy: list[int], count: int) -> list[int]:
    """numpy.random.default_rng(entropy).permutation(count): SeedSequence, PCG64, and a shuffle from the end."""
    parts = [n >> shift & 0xFFFFFFFF for n in entropy for shift in range(0, max(n.bit_length(), 1), 32)]
    key = 0x43B0D7E5

    def hashed(value: int, multiplier: int) -> int:
        nonlocal key
        value, key = value ^ key, key * multiplier % 2**32
        return value * key % 2**32 ^ value * key % 2**32 >> 16

    pool = [hashed(part, 0x931E8875) for part in (parts + [0] * 4)[:4]]
    for source in range(max(4, len(parts))):
        for k in {0, 1, 2, 3} - {source}:
            other = hashed(pool[source] if source < 4 else parts[source], 0x931E8875)
            value = (0xCA01F9DD * pool[k] - 0x4973F715 * other) % 2**32
            pool[k] = value ^ value >> 16
    key = 0x8B51F9DD
    words = [hashed(pool[k % 4], 0x58F38DED) for k in range(8)]
    start, stream = (sum(words[at + k] << (64, 96, 0, 32)[k] for k in range(4)) for at in (0, 4))
    factor, add, half, order = 0x2360ED051FC65DA44385DF649FCCF645, stream << 1 | 1, -1, list(range(count))
    state = (add + start) * factor + add
    for i in range(count - 1, 0, -1):
        j = count
        while j > i:
            if half < 0:
                state = (state * factor + add) % 2**128
                folded, turn = (state >> 64 ^ state) % 2**64, state >> 122
                word = (folded >> turn | folded << 64 - turn) % 2**64
                j, half = word % 2**32, word >> 32
            else:
                j, half = half, -1
            j &= (1 << i.bit_length()) - 1
        order[i], order[j] = order[j], order[i]
    return order


def odds(left: int, have: int, now: int, spread: int = UNIT) -> tuple[float, float]:
    """1 + m and D − m for m = −have/left and D = `now`, over the spread: what a bet can lose at most, and what it wins."""
    return (left * spread - have) / (left * spread), (now * left + have) / (left * spread)


def factors(first: float, room: float, surprise: float) -> list[float]:
    """The payoffs of nine bets on D − m: one with a stake of its own, and eight that stake 0.9, 0.45, … of their wealth."""
    return [first, *(1 + 0.9 / room / 2**k * surprise for k in range(8))]


def paid(wealth: list[float], by: list[float]) -> list[float]:
    """Nine wealths after an item. Tiny ones become 0: near 1e-308 products would be rounded up again and again."""
    return [min(one * factor, 1e290) * (one * factor >= 1e-290) for one, factor in zip(wealth, by, strict=True)]


def parts(first: float) -> list[float]:
    """What nine wealths begin with, the first of them with so much."""
    return [first, *8 * [(1 - first) / 8]]


def mixed(wealth: list[float], weights: list[float], t: int) -> float:
    """The mixture of wealths after t items, minus what rounding may have added: at most 16u per item."""
    return math.fsum(map(operator.mul, weights, wealth)) * (1 - 16 * U * (t + 1))


Staking = Callable[[float, float, float, float, int], list[float]]
"""Stakes by the sum and the squares of t earlier values, the mean gain if their mean is 0, the most that can be lost, and t."""
LEADS = [2.0**k for k in range(3, -4, -1)]
LEAD_PARTS = [1 / (1 + math.log(lead) ** 2) for lead in LEADS]
LEAD_PARTS = [part / math.fsum(LEAD_PARTS) for part in LEAD_PARTS]


def by_leads(level: float, total: int) -> Staking:
    """Stakes as if the mean were above the level by each lead; `total` is 0 for a population."""
    likely = max(-level, 0.03, 2 / math.sqrt(total) if total else 0.0)

    def stakes(seen: float, squares: float, sure: float, room: float, t: int) -> list[float]:
        second, gap = (squares + 1.5) / (t + 10), likely * total / (total - t) if total else likely
        return [min(lead * gap / (second + (lead * gap) ** 2), 0.9 / room) for lead in LEADS]

    return stakes


def by_mean(level: float, lean: bool) -> Staking:
    """Nine stakes: one by the mean so far, and those of 0.9, 0.45, … of the wealth."""

    def stakes(seen: float, squares: float, sure: float, room: float, t: int) -> list[float]:
        second = (squares + 1.5) / (t + 10)
        most = 300.0 * level**2 if lean else 0.0
        shrink = 10.0 if not lean else max(300.0 * second / most, 10.0) if second < most else 300.0
        gain = seen / (t + shrink) + sure
        return [min(max(gain, 0.0) / (second + gain**2), 0.9 / room), *(0.9 / room / 2**k for k in range(8))]

    return stakes


def bets_above(
    pairs: list[tuple[float, float]], total: int, level: float, weights: list[float], stakes: Staking,
    predictions: list[tuple[float, int, float]] | None = None, share: float = 1.0, spread: float = 1.0,
) -> Iterator[float]:  # fmt: skip
    """The wealth, after 0, 1, … items, of bets that the mean of x − y is more than `level`; `total` is 0 for a population.

    `spread` is the largest difference of x and y on any item. The part `share` of the wealth bets on x − y, the rest on x − y
    minus a prediction: `predictions` has, for each item, the prediction, the exact sum of those for it and all later items, and
    the largest amount by which x − y may fall short of it.
    """
    wealth, ahead, seen, squares = [1.0] * len(weights), 0, 0.0, 0.0
    beside, rest, errors, rows = wealth, 0.0, 0.0, predictions or []

    def worth(t: int) -> float:
        return share * mixed(wealth, weights, t) + (1 - share) * mixed(beside, weights, t) * bool(rows)

    for t, (x, y) in enumerate(pairs):
        yield worth(t)
        left, d = total - t if total else 1, units(x) - units(y)
        have = ahead - (total or 1) * units(level)
        room, surprise = odds(left, have, d, units(spread))
        if 1e-9 * total < room * left < 2 * left:
            wealth = paid(wealth, [1 + stake * surprise for stake in stakes(seen, squares, 1 - room, room, t)])
        if rows:
            guess, later, short = rows[t]
            mean, apart = later / (left * UNIT), x - y - guess
            room = (units(short) * left - have - later) / (left * UNIT)
            surprise = ((d - units(guess)) * left + have + later) / (left * UNIT)
            if room > 1e-6:
                found = stakes(rest + t * mean, errors, have / (left * UNIT), room, t)
                beside = paid(beside, [1 + stake * surprise for stake in found])
            rest, errors = rest + apart, errors + apart**2
        apart = (x - y) / spread
        ahead, seen, squares = ahead + d * bool(total), seen + apart, squares + apart**2
    yield worth(len(pairs))


def predicted(
    apart: list[float], known: list[float | None], more: list[list[float]]
) -> list[tuple[float, int, float, float]]:
    """Predictions of the first differences from a first arm, each from those before it: a ridge regression, repeated after every
    8 items or more.

    `known` has the scores of the first arm that were known before and `more` has further features, of all items in order. A row
    has the predicted difference, the exact sum of these for it and all later items, and the largest amounts by which a
    difference and its negative can fall short of the prediction on any of these.
    """
    total = len(known)
    inputs = [[1.0, 0.0 if b is None else 2 * b - 1, *own] for b, own in zip(known, more, strict=True)]
    most, least = [1.0 if b is None else b for b in known], [0.0 if b is None else b for b in known]
    size, every, found, kinds = len(inputs[0]), max(8, total // 1000), list[Any](), dict[Any, int]()
    alike = [kinds.setdefault((*row, *ends), len(kinds)) for row, *ends in zip(inputs, most, least, strict=True)]
    sums = [[4.0 * (i == k) for k in range(size)] + [0.0] for i in range(size)]
    for start in range(0, len(apart), every):
        for s in range(max(start - every, 0), start):
            row = [*inputs[s], apart[s]]
            sums = [[a + row[i] * b for a, b in zip(sums[i], row, strict=True)] for i in range(size)]
        left = [*map(list, sums)]
        for i in range(size):
            for j in range(i + 1, size):
                by = left[j][i] / left[i][i]
                left[j] = [a - by * b if k >= i else a for k, (a, b) in enumerate(zip(left[j], left[i], strict=True))]
        parts = [0.0] * size
        for i in reversed(range(size)):
            rest = left[i][size]
            for k in range(i + 1, size):
                rest -= left[i][k] * parts[k]
            parts[i] = rest / left[i][i]
        Work.spend(4 * (total - start))
        later, up, down, block, told = 0, 0.0, 0.0, list[Any](), dict[int, Any]()
        for s in range(total - 1, start - 1, -1):
            if alike[s] not in told:
                Work.spend(5 * size + 21)
                guess = sum(map(operator.mul, inputs[s], parts))
                guess = min(max(guess, -most[s]), 1 - least[s])
                told[alike[s]] = guess, units(guess), guess + most[s], 1 - least[s] - guess
            guess, exact, above, below = told[alike[s]]
            later, up, down = later + exact, max(up, above), max(down, below)
            if s < start + every:
                block.append((guess, later, up, down))
        found += reversed(block)
    return found[: len(apart)]


class Items:
    """Scores of arms on a list of items, which count one by one in the order of the seed."""

    def __init__(self, header: Line) -> None:
        self.header, self.labels, self.total, self.t = header, header["labels"], len(header["items"]), 0
        self.n = len(self.labels)
        apart = len(set(self.labels)) == self.n > 0 and len(set(header["items"])) == self.total > 0
        require(apart, "a label or an item is repeated, or there is none")
        require(header["target"] in ("items", "population"), "the target is neither items nor population")
        self.finite, self.order, self.play = header["target"] == "items", self.ordered(), list(range(self.n))
        self.low, self.high = header["bounds"]
        self.worst, self.best = (self.high, self.low) if header["minimise"] else (self.low, self.high)
        self.within = header["epsilon"] / (self.high - self.low)
        self.spread = min(header.get("spread", math.inf) / (self.high - self.low), 1.0)
        self.unit = units(self.spread)  # the most by which two arms differ on an item
        require(self.within <= 1, "epsilon is more than the range of the scores")
        self.columns = [array("d") for _ in self.play]  # the scores of each arm, in order
        self.scaled = [array("d") for _ in self.play]  # the same above the item's least, over the spread: for stakes
        self.sums, self.exact = [0.0] * self.n, [0] * self.n

    def ordered(self) -> list[int]:
        """The order of the items, from the seed."""
        seed = self.header["seed"]
        require(seed.isascii() and seed.isdigit() and len(seed) < 50, "the seed is not a whole number")
        return random_order([int(seed) % 2**64, self.n], self.total)

    def take(self, at: int, kind: str, line: Line) -> None:
        """The scores of the arms in play on the next item; bets are placed before."""
        require(self.t < self.total and self.play != [], "nothing is left to decide")
        require(line["item"] == self.order[self.t], f"item {self.order[self.t]} comes next, in the order of the seed")
        self.count(at, line)

    def count(self, at: int, line: Line) -> None:
        """Count the scores of a line."""
        row = self.row(line)
        now, least = {j: units(score) for j, score in row.items()}, min(row.values()) if self.spread < 1 else 0.0
        beyond = max(now.values()) - min(now.values()) - self.unit
        require(beyond * 10**9 <= self.unit, "two scores are further apart than the stated spread")
        self.bet(now)
        self.t += 1
        for j, score in row.items():
            self.columns[j].append(score)
            self.scaled[j].append((score - least) / self.spread)
            self.sums[j], self.exact[j] = self.sums[j] + self.scaled[j][-1], self.exact[j] + now[j]
        self.judge(at)

    def row(self, line: Line) -> dict[int, float]:
        """Scores on [0, 1], where 1 is the best."""
        require(line["arms"] == self.play, f"the arms in play are {self.play}")
        require(len(line["values"]) == len(self.play), "there is not one value for each arm")
        require(all(self.low <= value <= self.high for value in line["values"]), "a score is not within the bounds")
        return {j: (x - self.worst) / (self.best - self.worst) for j, x in zip(self.play, line["values"], strict=True)}

    def bet(self, now: dict[int, int]) -> None:
        """Place bets by earlier items and settle them."""

    def judge(self, at: int) -> None:
        """Update what is decided."""

    def lead(self, x: int, y: int) -> float:
        """By how much the mean of x exceeds what y can still reach, whatever the remaining scores are."""
        by = (self.exact[x] - self.exact[y]) / self.unit - (self.total - self.t)
        return by / self.total if self.finite else -math.inf

    def agreed(self, line: Line, exact: bool, decided: list[list[float]]) -> None:
        """Refuse a conclusion that does not match what was found."""
        seen, stated = [len(column) for column in self.columns], line["decided"]
        require(line["counted"] == seen, f"of the arms, {seen} scores counted")
        require(len(stated) == len(decided), f"stated is {stated!r:.200}, and decided was {decided!r:.200}")
        for one, found in zip(stated, decided, strict=True):
            same = len(one) == len(found) and one[:-1] == found[:-1]
            same = same and abs(one[-1] - found[-1]) < 1e-8 + 32 * U * self.t
            require(same, f"stated is {one}, and decided was {found}")
        require(exact or not line["claim"]["exact"], "the claim is not certain: it rests on bets")

    def checked(self, more: str) -> list[str]:
        """What was checked, in words."""
        names = " and the items' names" * ((self.header["algorithm"], self.header["version"]) == ("gate", 1))
        order = f"in the order of the seed{names}" if self.header["seed"] else "in the order that the file states"
        scores = f"{sum(map(len, self.columns))} scores of {self.n} arms"
        return [f"{scores} on {self.t} of {self.total} items, {order}", more]


class Race(Items):
    """The best arm, or the m best: a wealth against each arm (docs/items.md) or set of m arms (docs/questions/lists.md)."""

    def __init__(self, header: Line) -> None:
        super().__init__(header)
        self.race, self.top = header["algorithm"] == "race", header.get("top", 1)
        require(0 < self.top <= self.n, "top is more than there are arms, or 0")
        if self.top > 1 and (self.n > 1000 or math.comb(self.n, self.top) > 200_000):
            raise TooMuch("there are too many sets of arms for this program")
        Work.spend(50 * math.comb(self.n, self.top))
        self.share = 0.7 if self.within > 0 else 0.99 if self.race else 1.0
        self.sets = {frozenset(some): [1.0] * 9 for some in combinations(self.play, self.top)}
        self.against = [dict.fromkeys(self.sets, self.share)]  # the evidence against each set, after 0, 1, … items
        self.least, self.decided = math.inf, list[list[float]]()
        self.products: dict[tuple[int, int], tuple[int, float]] = {}
        self.pairs: dict[tuple[int, int], list[float]] = {}
        self.shrink, self.play = 10.0, self.play if len(self.sets) > 1 else []

    def product(self, x: int, y: int) -> float:
        """The sum of the products of two arms' scores so far."""
        at, value = self.products.get((x, y), (0, 0.0))
        if at < self.t:
            Work.spend(10 + (self.t - at) // 2)
            value += sum(map(operator.mul, self.scaled[x][at:], self.scaled[y][at:]))
            self.products[x, y] = self.products[y, x] = self.t, value
        return value

    def ends(self, order: list[int], some: frozenset[int], most: int) -> tuple[int, ...]:
        """The weakest undecided arm of a set, and the strongest ones outside."""
        return next(j for j in reversed(order) if j in some), *islice((o for o in order if o not in some), most)

    def bets(self) -> dict[frozenset[int], tuple[int, ...]]:
        """The arm of each set to bet against, and the arms outside of it to bet on."""
        order = sorted(self.play, key=lambda j: -self.sums[j])
        return {some: self.ends(order, some, 4 if self.race else 1) for some in self.sets}

    def bet(self, now: dict[int, int]) -> None:
        """Bet on the strongest arms outside of each set against the weakest inside."""
        Work.spend((25 + len(self.play)) * len(self.sets))
        bets, self.shrink = self.bets(), self.shrinkage()
        Work.spend(300 * len(set(bets.values())))
        pays = {who: self.pays(who[0], self.stakes(*who), now) for who in set(bets.values())}
        self.sets = {some: paid(wealth, pays[bets[some]]) for some, wealth in self.sets.items()}

    def terms(self, x: int, y: int) -> tuple[int, int]:
        """The items left and the sum of D so far, D being the score of x less that of y: m = −sum/left."""
        return (self.total - self.t, self.exact[x] - self.exact[y]) if self.finite else (1, 0)

    def pays(self, j: int, stakes: dict[int, float], now: dict[int, int]) -> list[float]:
        """The payoffs of bets on others against j."""
        found = [(stake, *odds(*self.terms(o, j), now[o] - now[j], self.unit)) for o, stake in stakes.items()]
        first = math.fsum([1.0, *(stake * surprise for stake, _, surprise in found)])
        return factors(first, *found[0][1:]) if found else [1.0] * 9

    def shrinkage(self) -> float:
        """The number of items by which a mean difference is shrunk: half the variance of differences over that of the means."""
        t, sums = self.t, self.sums
        if t < 2 or not self.race:
            return 10.0
        leader = max(self.play, key=lambda j: sums[j])
        own = self.product(leader, leader)
        squares = [(own - 2 * self.product(leader, j) + self.product(j, j)) / t for j in self.play]
        noise = [max(s - ((sums[leader] - sums[j]) / t) ** 2, 0.0) for s, j in zip(squares, self.play, strict=True)]
        pooled = (0.15 + sum(noise)) / len(noise)
        means = [s / len(of) for s, of in zip(sums, self.columns, strict=True)]
        middle = sum(means) / self.n
        beyond = sum((mean - middle) ** 2 for mean in means) / (self.n - 1) - pooled / (2 * t)
        return 300.0 if beyond <= pooled / 600 else max(pooled / (2 * beyond), 8.0)

    def stakes(self, j: int, *others: int) -> dict[int, float]:
        """The stakes s ≥ 0 on others against j maximise g's − s'Ms/2, and lose 0.9 of the wealth at most."""
        t, left, product, chosen = self.t, self.total - self.t, self.product, list[tuple[int, float, float, float]]()
        for o in others:
            ahead, (room, _) = self.sums[o] - self.sums[j], odds(*self.terms(o, j), 0, self.unit)
            gain = ahead / (t + self.shrink) + (ahead / left if self.finite else 0.0)
            closed = self.finite and (-ahead >= left or left - ahead <= 1e-9 * self.total)
            if closed or room <= 0 or (chosen and gain <= 0):
                break
            chosen.append((o, gain * (t + 10), room, product(o, j)))
        own, found = product(j, j), [0.0] * len(chosen)
        moments = [
            [product(o, p) - x - y + own + (1.5 if p == o else 0.75) for p, _, _, y in chosen] for o, _, _, x in chosen
        ]
        for i in 12 * [*range(len(chosen))]:
            rest = chosen[i][1] - sum(map(operator.mul, moments[i], found))
            found[i] = max(rest / moments[i][i] + found[i], 0.0)
        most = 0.9 / max(sum(s * room for s, (_, _, room, _) in zip(found, chosen, strict=True)), 0.9)
        return {o: s * most for s, (o, *_) in zip(found, chosen, strict=True)}

    def judge(self, at: int) -> None:
        """A set is out when the wealth against it has reached 1/δ, or when it cannot be right any more."""
        order, sets = sorted(self.play, key=lambda j: -self.exact[j]), self.sets
        Work.spend((15 + len(self.play)) * len(sets))
        weights = parts(0.98)
        against = {some: self.share * mixed(wealth, weights, self.t) for some, wealth in sets.items()}
        self.against = self.against if self.race and self.within else []
        self.against.append(against)
        out, sure = {some for some in sets if against[some] >= 1 / self.header["delta"]}, set[frozenset[int]]()
        if self.lead(order[0], order[-1]) > 1e-9:
            sure = {some for some in sets if self.lead(*reversed(self.ends(order, some, 1))) > 1e-9}
        if len(out | sure) == len(sets):  # one must remain to be named
            out.discard(min(sets, key=lambda some: math.inf if some in sure else against[some]))
        if not out | sure:
            return
        self.least = min([self.least, *(against[some] for some in out - sure)])
        self.sets = {some: wealth for some, wealth in sets.items() if some not in out | sure}
        held = Counter(chain.from_iterable(self.sets))
        gone = [arm for arm in self.play if held[arm] in (0, len(self.sets))]
        nats = 0.0 if self.least == math.inf else math.log(self.least)
        self.decided += [[arm, at, nats] for arm in gone]
        self.play = [arm for arm in self.play if arm not in gone]

    def reaches(self, i: int, j: int, within: float = 0.0, rounded: bool = True) -> bool:
        """Whether j cannot exceed i by more than `within`, whatever the remaining scores are; if `rounded`, up to 1e-9."""
        lack = (self.total - self.t) * self.unit - self.exact[i] + self.exact[j] - self.total * units(within)
        return self.finite and lack * 10**9 <= self.total * self.unit * rounded

    def near(self, i: int, j: int, some: frozenset[int]) -> bool:
        """Whether i may be named though a set with j instead is left: it is certified that j is not better by more than ε."""
        if self.reaches(i, j, self.within):
            return True
        part = (1 - self.share) / (self.n if self.race else self.top * (self.n - self.top))
        Work.spend(4 * len(self.against))
        if (i, j) not in self.pairs:
            Work.spend(150 * self.t)
            scores = [*zip(self.columns[i], self.columns[j], strict=True)]
            given = scores, self.total * self.finite, -self.within, parts(0.9), by_mean(-self.within, lean=False)
            self.pairs[i, j] = [*bets_above(*given, spread=self.spread)]
        both = zip(reversed(self.against), reversed(self.pairs[i, j]), strict=False)
        return any(one[some] + part * other >= 1 / self.header["delta"] for one, other in both)

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        claim, named = line["claim"], frozenset(line["claim"]["arms"])
        alive, inside = frozenset.union(*self.sets), frozenset.intersection(*self.sets)
        fits = len(named) == len(claim["arms"]) == self.top and inside <= named <= alive
        require(fits, "the answer has other arms than those that are left, or lacks one that is in")
        left, ended = alive, self.finite and self.t == self.total
        beside = [(arm, other) for arm in named - inside for other in alive - named]
        if claim["certified"] and ended:
            require(all(self.reaches(*pair) for pair in beside), "an arm that is left has a larger mean")
            left = named | {other for arm, other in beside if self.reaches(other, arm)}
        elif claim["certified"]:
            left, others = named, [some for some in self.sets if some != named]
            Work.spend(10 * len(others) * self.top**2)
            pairs = [(i, j, of) for of in others for i in named - of for j in of - named]
            right = named in self.sets and all(self.near(*pair) for pair in pairs)
            require(right, "the evidence does not suffice for the answer")
        require(claim["contenders"] == sorted(left), f"the arms that may be right are {sorted(left)}")
        up_to = any(self.reaches(*pair, self.within) > self.reaches(*pair, self.within, False) for pair in beside)
        width = self.high - self.low  # what is not exact is said: the search, which adds up doubles, may be off by 1e-9
        within = self.header["epsilon"] + 1e-9 * width * up_to if claim["certified"] else width
        require(claim["within"] == within, f"the answer is known to be within {within} of the best")
        exact = claim["certified"] and self.finite and self.least == math.inf and (ended or len(self.sets) == 1)
        self.agreed(line, exact, self.decided)
        answers = f"{len(self.sets)} of {math.comb(self.n, self.top)} possible answers are left"
        return self.checked(answers + ", and all scores are known" * ended)


class Cheapest(Items):
    """The cheapest arm within ε of the best (docs/questions/cheapest.md), on a list or by rounds of fresh rewards.

    Claims say that the mean of D, the score of o less that of j, is at most c. W says that j is a best arm, F that it is within
    ε of the best, E that it is better than a by more than ε and the slack.
    """

    def __init__(self, header: Line) -> None:
        super().__init__({"items": [""], "target": "population", **header})
        n, width, prices = self.n, self.high - self.low, header["prices"]
        require(len(prices) == n, "there is not one price for each arm")
        Work.spend(100 * n * n)
        self.header, self.within, self.slack = header, header["within"] / width, header["slack"] / width
        self.by_price = sorted(range(n), key=prices.__getitem__)
        self.wealth: dict[tuple[Any, int], list[float]] = {}
        self.products = [[0.0] * n for _ in range(n)]
        self.out, self.settled = set[int](), set[tuple[int, int]]()  # by F; (a, j) where j is no reason against a
        self.by_bets, self.whole, self.named = False, False, 0 if n == 1 else None
        self.play = [] if n == 1 else self.play

    def take(self, at: int, kind: str, line: Line) -> None:
        """The scores on the next item, or a round of fresh rewards."""
        if "item" in line:
            return super().take(at, kind, line)
        require(self.play != [], "nothing is left to decide")
        self.count(at, line)

    def opponents(self) -> dict[int, int]:
        """The leader so far for every arm in play, and for the leader the runner-up."""
        ranked = sorted(self.play, key=lambda j: -self.sums[j])
        return {j: ranked[j == ranked[0] and len(ranked) > 1] for j in self.play}

    def bet(self, now: dict[int, int]) -> None:
        """Bet against every claim, by earlier scores."""
        Work.spend(120 * (len(self.play) + 2) * len(self.play))
        for j, o in self.opponents().items():
            self.against(("W", j), o, j, 0.0, now)
            self.against(("F", j), o, j, self.within, now)
            for a in self.play:
                self.against((a, j), a, j, -self.within - self.slack, now)

    def against(self, claim: tuple[Any, int], o: int, j: int, c: float, now: dict[int, int]) -> None:
        """Nine bets that the mean of D is more than c; none if the remaining scores cannot matter."""
        t, ahead, of = self.t, self.sums[o] - self.sums[j], self.products
        left, total = (self.total - t, self.total) if self.finite else (1, 1)
        m = (total * c - self.sums[o] + self.sums[j]) / left if self.finite else c
        if -1 + 1e-9 < m < 1:
            have = (self.exact[o] - self.exact[j]) * self.finite - total * units(c)
            room, surprise = odds(left, have, now[o] - now[j])
            moment = (of[o][o] - 2 * of[o][j] + of[j][j] + 0.25) / (t + 1)
            stake = min(max((ahead / (t + 1) - m) / moment, 0.0), 0.9 / room)
            pays = factors(1 + stake * surprise, room, surprise)
            self.wealth[claim] = paid(self.wealth.get(claim, [1.0] * 9), pays)

    def value(self, claim: tuple[Any, int]) -> float:
        """The evidence against a claim."""
        return mixed(self.wealth.get(claim, [1.0] * 9), parts(1 / 9), self.t)

    def judge(self, at: int) -> None:
        """Update which arms are out, which claims are settled, and which arm is named."""
        play, level, opponent = self.play, 1 / self.header["delta"], self.opponents()
        for a in play:
            for b in play:
                self.products[a][b] += self.columns[a][-1] * self.columns[b][-1]
        far = {j for j in play if self.lead(opponent[j], j) > self.within + 1e-9}
        put = {j for j in play if 0.4 * self.value(("F", j)) >= level} - far
        self.out |= far | put
        ended = self.finite and self.t == self.total
        self.whole = ended and len(play) == self.n
        self.out = far if self.whole else self.out  # all is known: what bets said counts no more
        for j in play:
            worse = self.lead(opponent[j], j) > 1e-9
            best = 0.4 * self.value(("W", j))
            if worse or best >= level:
                self.by_bets |= not worse
                self.settled |= {(a, j) for a in range(self.n)}
                continue
            for a in play:
                sure = self.lead(a, j) > -self.within - self.slack + 1e-9
                if sure or best + 0.2 / self.n * self.value((a, j)) >= level:
                    self.by_bets |= not sure
                    self.settled.add((a, j))
        self.by_bets |= put != set()
        first = next((j for j in self.by_price if j not in self.out), None)
        if first is not None and (ended or all((first, j) in self.settled for j in range(self.n) if j != first)):
            self.named, self.play = first, []
        else:
            self.play = [j for j in play if j not in self.out or any((a, j) not in self.settled for a in range(self.n))]

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        claim, left = line["claim"], [j for j in range(self.n) if j not in self.out]
        sure = claim["certified"]
        require(len(claim["arms"]) == 1 and claim["arms"][0] < self.n, "one arm is asked for")
        require(not sure or claim["arms"] == [self.named], "the evidence does not suffice for the answer")
        require(claim["contenders"] == (claim["arms"] if sure else left), f"the arms that may be right are {left}")
        exact = sure and self.finite and (self.whole or not self.by_bets)
        self.agreed(line, exact, [])
        put = f"{len(self.out)} of {self.n} arms are shown not to be within {self.header['within']!r} of the best"
        if self.finite or "items" in self.header:
            return self.checked(put)
        return [f"{sum(map(len, self.columns))} rewards of {self.n} arms in {self.t} rounds", put]


class Two(Items):
    """The mean difference of a second arm from a first, whose scores may be known in advance."""

    def __init__(self, header: Line, beforehand: dict[int, float], more: list[list[float]], share: float) -> None:
        super().__init__(header)
        require(self.n == 2, "two arms are compared")
        self.beforehand, self.more, self.share = beforehand, more, share
        self.known: dict[int, int] = {}  # differences on items that do not come next: they count for what is certain
        self.level = float(header.get("level") or header["delta"])
        fits = all(0 <= item < self.total and self.low <= x <= self.high for item, x in beforehand.items())
        fits = fits and (not beforehand or (self.finite and len(more) == self.total)) and len({*map(len, more)}) < 2
        require(fits and 0 < self.level <= header["delta"], "known scores, features or the level do not fit the list")
        Work.spend(40 * self.total * max(map(len, more), default=0))

    def row(self, line: Line) -> dict[int, float]:
        """Scores on [0, 1]; those of the first arm must be those known in advance."""
        found, first = super().row(line), line["values"][0]
        require(self.beforehand.get(line["item"], first) == first, "a score is not the one that the first line has")
        return found

    def drawn(self, key: bytes) -> list[int]:
        """The random order of a 16-byte key."""
        return random_order([int.from_bytes(key, "big")], self.total)

    def refuted(self, up: bool, level: float, error: float) -> list[float]:
        """The items after which "the mean difference (negated unless `up`) is at most `level`" was refuted, and the evidence."""
        first, second = self.columns
        pairs, expected = [*zip(self.columns[up], self.columns[1 - up], strict=True)], None
        if self.beforehand:
            width = self.best - self.worst
            known = {item: (score - self.worst) / width for item, score in self.beforehand.items()}
            given = [known.get(item) for item in self.order], [self.more[item] for item in self.order]
            rows = predicted([*map(operator.sub, second, first)], *given)
            expected = [(g, s, most) if up else (-g, -s, least) for g, s, most, least in rows]
        Work.spend(300 * len(pairs))
        rule = LEAD_PARTS, by_leads(level, self.total * self.finite)
        if self.header["version"] < {"gate": 4, "champion": 2}.get(self.header["algorithm"], 1):
            rule = parts(0.98), by_mean(level, level < 0)
        won = bets_above(pairs, self.total * self.finite, level, *rule, expected, self.share)
        return next(([t, math.log(w)] for t, w in enumerate(won) if w >= 1 / error), list[float]())

    def certain(self) -> tuple[float, float]:
        """The least and the largest mean difference, whatever the missing scores are."""
        known = self.known.values()
        missing, seen = self.total - self.t - len(known), self.exact[1] - self.exact[0] + sum(known)
        low, high = (seen / UNIT - missing) / self.total, (seen / UNIT + missing) / self.total
        return (low, high) if self.finite else (-1.0, 1.0)

    def asked(self, verdict: str, low: float, high: float) -> "Asked | None":
        """What a verdict needs, given the least and the largest mean difference; None where none is claimed."""
        raise NotImplementedError

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        verdict, (low, high), width = line["claim"]["verdict"], self.certain(), self.high - self.low
        claims, every, exact, holds = self.asked(verdict, low, high) or ([], False, False, verdict == "undecided")
        reached = [bet for bet in (self.refuted(*claim) for claim in claims) if bet]
        reached = reached if len(reached) == len(claims) or not every else []
        require(exact or holds or reached != [], "the evidence does not suffice for the verdict")
        self.agreed(line, exact, reached)
        said = "no verdict is claimed" if not claims else "bets do not suffice for a verdict"
        if reached:
            said = f"bets suffice after {(max if every else min)(after for after, _ in reached)} items"
        by_scores = ", with predictions by scores known beforehand and earlier items" * bool(self.beforehand)
        by = f"by {low * width:.6g} to {high * width:.6g}"
        return self.checked(f"{said}{by_scores}; for certain, the mean of the second arm is better {by}")


Asked = tuple[list[tuple[bool, float, float]], bool, bool, bool]
"""Claims to refute, as `refuted` takes them; whether all of them; whether the verdict is certain, or holds without bets."""


class Gate(Two):
    """Whether a candidate (arm 1) is worse than a baseline (arm 0) by more than a margin, ε (docs/gate.md)."""

    def __init__(self, header: Line) -> None:
        baseline, predicts = header.get("baseline", []), header.get("predicted", False)
        super().__init__(header, dict(enumerate(baseline)), header.get("features", []), 0.3 if predicts else 1.0)
        require(not baseline or (predicts and len(baseline) == self.total), "the baseline does not fit the list")
        self.same, self.later = bool(header.get("equivalent")), set[int]()

    def ordered(self) -> list[int]:
        """The order of the items: as listed without a seed, otherwise shuffled, in version 1 after sorting by name."""
        places, seed = list(range(self.total)), self.header["seed"]
        if seed and self.header["version"] == 1:
            places.sort(key=lambda place: str(self.header["items"][place]))
        digest = hashlib.sha256(seed.encode(errors="replace")).digest()[:16]
        return [places[k] for k in self.drawn(digest)] if seed else places

    def take(self, at: int, kind: str, line: Line) -> None:
        """The scores of both arms on an item."""
        if kind == "scores":
            require(not self.known, "an item counts after others that do not come next")
            return super().take(at, kind, line)
        row, item = self.row(line), line["item"]
        self.later = self.later or set(self.order[self.t :])
        require(item in self.later and item not in self.known, f"item {item} is not on the list, or appears twice")
        self.known[item] = units(row[1]) - units(row[0])

    def asked(self, verdict: str, low: float, high: float) -> Asked | None:
        """To pass, every claim must be refuted; to fail, any."""
        margin, same = self.within, self.same
        if verdict == "pass":
            end = margin + 8 * U
            claims = [(up, -margin, self.level) for up in (True, False)[: 1 + same]]
            return claims, True, low >= -end and (high <= end or not same), False
        if verdict == "fail":
            claims = [(up, 0.0, self.header["delta"] / (1 + same)) for up in (False, True)[: 1 + same]]
            exact, holds = (high < -end or (same and low > end) for end in (margin, 1e-9))
            return claims, False, exact, holds
        return None


class Against(Two):
    """An arm against a control whose scores are known, on [0, 1]: it may be better, or not by more than ε."""

    def ordered(self) -> list[int]:
        """The order of the items, which all arms share."""
        return list(self.header["order"])

    def shown(self, verdict: int) -> float | None:
        """The evidence for a verdict at the last item, in nats, 0 where it is certain; None if it does not suffice."""
        low, high = self.certain()
        if low > 1e-9 if verdict > 0 else high <= self.within + 1e-9:
            return 0.0
        bet = self.refuted(verdict > 0, 0.0 if verdict > 0 else -self.within, self.level)
        return bet[1] if bet and bet[0] == self.t else None


class Control(Items):
    """Which arms are better than a control whose scores are known, and which are not by more than ε (docs/questions/lists.md)."""

    def __init__(self, header: Line) -> None:
        super().__init__(header)
        self.control, self.known, self.lines = header["control"], header["known"], list[int]()
        require(self.finite and self.control < self.n > 1, "it is not about arms and a control on a list of items")
        require(len(self.known) == self.total, "the control does not have one score for each item")
        self.play.remove(self.control)
        Work.spend(50 * self.n * self.total)
        own = {**header, "labels": ["", "arm"], "bounds": [0.0, 1.0], "minimise": False, "epsilon": self.within}
        own |= {"order": self.order, "delta": header["delta"] / (self.n - 1)}
        given = dict(enumerate(self.known)), header["features"], 0.3
        self.arms = {j: Against(own, *given) for j in self.play}

    def take(self, at: int, kind: str, line: Line) -> None:
        """The scores of the arms in play on the next item; that those which leave off have a verdict is checked in the end."""
        named, item = {*line["arms"]}, line["item"]
        self.play = [j for j in self.play if j in named]
        super().take(at, kind, line)
        self.lines.append(at)
        for j in self.play:
            self.arms[j].count(at, {"item": item, "arms": [0, 1], "values": [self.known[item], self.columns[j][-1]]})

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        verdicts, certified, decided = line["claim"]["verdicts"], line["claim"]["certified"], list[list[float]]()
        require(len(verdicts) == self.n and verdicts[self.control] == 0, "there is not one verdict for each arm judged")
        for j, arm in self.arms.items():
            nats = arm.shown(verdicts[j]) if verdicts[j] and arm.t else None
            fits = arm.t == self.t if verdicts[j] == 0 else nats is not None
            require(fits, f"the evidence does not suffice for the verdict on arm {j}, or to leave it")
            decided += [] if nats is None else [[j, self.lines[arm.t - 1], nats]]
        require(certified == (len(decided) == len(self.arms)), "the claim is certified if each arm has a verdict")
        exact = certified and not any(nats for *_, nats in decided)
        self.agreed(line, exact, sorted(decided, key=lambda one: (one[1], one[0])))
        return self.checked(
            f"{len(decided)} of {len(self.arms)} arms have a verdict, with predictions by the control's scores"
        )


class Challenge(Two):
    """Whether a challenger (arm 1) is better than a champion (arm 0), or not by more than ε (docs/champion.md)."""

    def __init__(self, header: Line) -> None:
        pairs = header["known"]
        require(all(len(pair) == 2 for pair in pairs), "a known score is not an item and a score")
        beforehand = {int(item): score for item, score in pairs}
        super().__init__(header, beforehand, [[] for _ in header["items"]], 0.3 if pairs else 1.0)
        require([*map(list, beforehand.items())] == pairs, "an item is known twice, or is not a whole number")
        number = header["number"]
        require(self.finite and number > 0, "a challenge is on a list of items, and numbered from 1")
        gamma = 1 / (2.11 * (number + 1) * math.log(number + 1) ** 2)
        before = self.level / (header["delta"] * gamma) - 1  # promotions: the ledger itself is not in the file
        right = -1e-9 < before < number - 1 + 1e-9 and abs(before - round(before)) < 1e-9 * number
        require(right, f"no ledger gives challenge {number} this level")

    def ordered(self) -> list[int]:
        """The order of the items, from a key of this challenge."""
        seed = self.header["seed"]
        require(re.fullmatch("[0-9a-f]{32}", seed) is not None, "the seed is not a key of 32 hexadecimal digits")
        return self.drawn(bytes.fromhex(seed))

    def asked(self, verdict: str, low: float, high: float) -> Asked | None:
        """To be promoted, it must not be as bad as the champion; to be rejected, not better by more than ε."""
        promoted, rejected = [(True, 0.0, self.level)], [(False, -self.within, self.header["delta"])]
        if verdict == "promoted":
            return promoted, True, low > 0, False
        return (rejected, True, high <= self.within + 1e-9, False) if verdict == "rejected" else None


# Duels (docs/questions/duels.md): wealth is in nats, and compared with a tolerance of `NEAR`.

NEAR = 1e-9
STAKE = (float, 0, 1.8 + 1e-12)
DUELS: Line = {
    "bets": {"first": [COUNT], "second": [COUNT], "bets": [[STAKE]]},
    "rewards": {"arms": [COUNT], "values": [[PART]], "times": [[COUNT]]},
    "nomination": {"arms": [COUNT]},
    "conclusion": {
        "words": str,
        "claim": {"arms": [COUNT], "certified": bool, "none": bool, "proven": bool, "contenders": [COUNT], "groups": [[COUNT]],
                  "delta": PART, "events": dict},
        "games": [[REAL]],
    },
}  # fmt: skip


class Duels:
    """Computes the wealth of all pairs again."""

    def __init__(self, header: Line) -> None:
        self.header, self.labels, n = header, header["labels"], len(header["labels"])
        require(len({*self.labels}) == n > header["top"] > 0, "a label is repeated, or there are too few arms")
        fits = 0 <= header["epsilon"] < 0.5 and header["bounds"] == [0, 1]
        require(fits, "scores of duels lie in [0, 1], and ε below 1/2")
        self.n, self.m, self.epsilon = n, header["top"], header["epsilon"]
        both = 2 if self.epsilon else 1
        self.name_at = math.log(both / header["delta"])
        self.out_at = math.log(both * self.m / header["delta"])
        self.told_at = math.log(n * (n - 1) / (2 * header["delta"]))
        Work.spend(20 * n * n)
        zeros = ([[0.0] * n for _ in range(n)] for _ in range(6))
        self.beats, self.ousts, self.peak, self.base, self.since, self.games = zeros
        self.out: set[int] = set()
        self.named: list[int] = []
        self.nominations, self.share, self.placed = 0, 0.0, list[tuple[int, int, list[float]]]()

    def take(self, at: int, kind: str, line: Line) -> None:
        """A line: bets on the duels of the next line; their scores; a nomination."""
        if kind == "bets":
            require(not self.placed, "bets were placed already")
            fits = len(line["first"]) == len(line["second"]) == len(line["bets"]) > 0
            require(fits, "the duels and their bets differ in number")
            for a, b, bets in zip(line["first"], line["second"], line["bets"], strict=True):
                fits = a < self.n and b < self.n and a != b and len(bets) == 4
                require(fits, "a duel is between two arms, and has four bets")
                most = 0.9 / (0.5 + self.epsilon) + 1e-12
                require(max(bets[2:]) <= most, "a bet against an arm may lose more than there is")
                self.placed.append((a, b, bets))
        elif kind == "rewards":
            self._score(line)
        else:
            arms = line["arms"]
            require(
                sorted(set(arms)) == arms and len(arms) == self.m,
                f"the nomination is not of {self.m} arms, in order",
            )
            require(arms[-1] < self.n and not self.placed, "unknown arms are nominated, or bets lack their scores")
            self.nominations += 1
            k = self.nominations
            self.named, self.share = arms, 0.5 if k == 1 else 0.5 / (k * (k - 1))
            self.base = [row[:] for row in self.beats]
            self.since = [[0.0] * self.n for _ in range(self.n)]

    def _score(self, line: Line) -> None:
        numbers = [a * (self.n - 1) + b - (b > a) for a, b, _ in self.placed]
        require(bool(numbers) and line["arms"] == numbers, "the scores are not those of the duels with bets")
        require(len(line["values"]) == len(numbers) and not line["times"], "a pair lacks its list of scores")
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
        require(not self.placed, "the last bets have no scores")
        require(line["games"] == self.games, "other numbers of duels were counted")
        left = [a for a in range(n) if a not in self.out]
        groups, arms = claim["groups"], claim["arms"]
        require(sorted(a for group in groups for a in group) == list(range(n)), "the groups are not of all arms")
        for place, group in enumerate(groups):
            rest = [b for later in groups[place + 1 :] for b in later]
            told = all(self.beat(a, b) for a in group for b in rest)
            require(told, "an arm is not certified to beat one of a later group")
        if claim["none"]:
            cycle = all(self.beat(a, b) or self.beat(b, a) for a in range(n) for b in range(a)) and len(groups[0]) > 1
            nobody = claim["certified"] and not arms and not claim["contenders"]
            require(nobody, "no winner is claimed, and yet arms are named")
            none = len(left) < self.m or (cycle and self.m == 1 and not self.epsilon)
            require(none, "some arms may still beat all others")
            return [f"{int(sum(map(sum, self.games)) / 2)} duels; every arm is out, or told to be beaten"]
        known = claim["contenders"] == left or (claim["certified"] and claim["contenders"] == arms)
        require(known, "the contenders are not those that are left")
        others = [b for b in range(n) if b not in arms]
        fits = len(arms) == self.m and arms == sorted(set(arms)) and arms[-1] < n
        require(fits, "the number of named arms is not the one that was asked for")
        needed = self.name_at - NEAR - math.log(self.share) if self.share else math.inf
        shown = self.named == arms and all(self.since[a][b] >= needed for a in arms for b in others)
        ranked = all(self.beat(a, b) for a in arms for b in others)
        if claim["certified"]:
            last = not self.epsilon and self.out >= set(others) and not self.out & set(arms)
            fits = ranked or (shown if self.epsilon else last and (shown or not claim["proven"]))
            require(fits, "it is not shown that these arms beat all others")
        duels = int(sum(map(sum, self.games)) / 2)
        return [f"{duels} duels, {self.nominations} nominations; {len(self.out)} of {n} arms are out"]


# The fields of lines, by the algorithm and the version of the file.

RESERVE, GROWN = {"reserve": (float, 0, 0.99)}, {"reserve": (float, 0, 0.99), "paired": (float, 0, 0.99)}
TOP, LISTED = {"top": COUNT}, {"items": [str], "target": str}
PRICED = {"prices": [(float, 0, 1e15)], "within": (float, 0, 1e15), "slack": (float, 0, 1e15)}
KNOWN_BEFORE = {"predicted": bool, "equivalent": bool, "level": PART, "baseline": [REAL], "features": [[REAL]]}
CONTEST: Line = LISTED | {"known": [[REAL]], "level": PART, "number": COUNT}
SCORES = {"item": COUNT, "arms": [COUNT], "values": [REAL]}
CONCLUDED = {"words": str, "counted": [COUNT], "decided": [[REAL]]}
ONE_ARM: Line = {name: kind for name, kind in CLAIM.items() if name != "within"}
VERDICT: Line = {"verdict": str, "delta": PART, "events": dict}
VERDICTS: Line = {"verdicts": [(int, -1, 1)], "certified": bool, "delta": PART, "events": dict}
RACE, CHEAPEST, TWO, EACH = (
    {"scores": SCORES, "conclusion": CONCLUDED | {"claim": claim | {"exact": bool}}}
    for claim in (CLAIM, ONE_ARM, VERDICT, VERDICTS)
)
GATE, ROUNDS = TWO | {"known": SCORES}, CHEAPEST | {"scores": {"arms": [COUNT], "values": [REAL]}}
CHECKERS: dict[tuple[str, int], tuple[Any, Line, Line]] = {
    ("wager", 1): (Pulls, RESERVE, PULLS),
    ("wager", 2): (Pulls, GROWN, IN_GROUPS),
    ("wager", 3): (Pulls, GROWN, PAIRED),
    ("wager-top", 1): (Pulls, TOP, PULLS),
    ("wager-cheapest", 1): (Cheapest, PRICED, ROUNDS),
    ("race", 1): (Race, LISTED, RACE),
    ("race", 2): (Race, LISTED | {"spread": (float, 1e-15, 1e15)}, RACE),
    ("race-top", 1): (Race, LISTED | TOP, RACE),
    ("race-control", 1): (Control, LISTED | {"control": COUNT, "known": [PART], "features": [[REAL]]}, EACH),
    ("race-cheapest", 1): (Cheapest, LISTED | PRICED, CHEAPEST),
    ("gate", 1): (Gate, LISTED, GATE),
    ("gate", 2): (Gate, LISTED, GATE),
    ("gate", 3): (Gate, LISTED | KNOWN_BEFORE, GATE),
    ("gate", 4): (Gate, LISTED | KNOWN_BEFORE, GATE),
    ("champion", 1): (Challenge, CONTEST, TWO),
    ("champion", 2): (Challenge, CONTEST, TWO),
    ("duels", 1): (Duels, TOP, DUELS),
}
"""What checks a file, further fields of its first line, and the fields of its other lines."""


# Reading a file.

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
    name: Any = header.get("algorithm"), header.get("version")
    known = kind == "surest decision" and name in [*CHECKERS]
    require(known, "this is not a decision file, or its algorithm or version is not known here")
    make, more, kinds = CHECKERS[name]
    check(header, HEADER | more)
    ends = header["bounds"]
    require(len(ends) == 2 and ends[0] < ends[1], "the bounds are not a range")
    return make(header), kinds


def concluded(checker: Any, line: Line, events: list[tuple[str, int]]) -> list[str]:
    """Check the conclusion; what was checked, in words."""
    claim = line["claim"]
    same = repr(sorted(claim["events"].items())) == repr(events)
    require(same, "the claim says that other things were imputed or retried")
    require(claim["delta"] == checker.header["delta"], "the claim has another δ")
    stated, said = ", ".join(f"{times} {what!r}" for what, times in events) or "none", checker.conclude(line)
    words = sentence({**checker.header, "labels": checker.labels}, claim)
    require(line["words"] == words, f"the words are not those of the claim: {words}")
    return [*said, f"Events: {stated}", f"Claim: {words}"]


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
    except OSError as error:
        print(visible(f"{given[0]}: {error.strerror}; nothing was checked"), file=sys.stderr)
        return 2
    print(*map(visible, said), "VALID", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
