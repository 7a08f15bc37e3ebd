"""The part of surest_verify.py for lists of items: the best arm, the m best, the cheapest that is good enough, the gate, and
challenges of a champion.

All arms in play go through the items in one random order, which follows from the seed. Stakes are not in the file: they follow
from earlier items by the rules of docs/verify.md and are computed again here, so no bet can depend on later scores.

Rounding: scores are doubles in [0, 1], their sums are exact, and D − m is rounded once. A stake is what the rule gives in
doubles; a factor is at least 0.1, so it and the product have a relative error of at most 10u, and 16u are subtracted (`mixed`).
"""

import hashlib
import math
import operator
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import Any

from surest_verify import CLAIM, COUNT, PART, REAL, Line, TooMuch, U, Work, quoted, require, sentence, surely, where

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


def mixed(wealth: list[float], first: float, t: int) -> float:
    """The mixture of nine wealths after t items, minus what rounding may have added: at most 16u per item."""
    return (first * wealth[0] + (1 - first) / 8 * math.fsum(wealth[1:])) * (1 - 16 * U * (t + 1))


def bets_above(
    pairs: list[tuple[float, float]], total: int, level: float, first: float, lean: bool,
    predictions: list[tuple[float, int, float]] | None = None, share: float = 1.0, spread: float = 1.0,
) -> Iterator[float]:  # fmt: skip
    """The wealth, after 0, 1, … items, of bets that the mean of x − y is more than `level`; `total` is 0 for a population.

    `spread` is the largest difference of x and y on any item. The part `share` of the wealth bets on x − y, the rest on x − y
    minus a prediction: `predictions` has, for each item, the prediction, the exact sum of those for it and all later items, and
    the largest amount by which x − y may fall short of it.
    """
    wealth, ahead, seen, squares = [1.0] * 9, 0, 0.0, 0.0
    beside, rest, errors, rows = [1.0] * 9, 0.0, 0.0, predictions or []
    for t, (x, y) in enumerate(pairs):
        yield share * mixed(wealth, first, t) + (1 - share) * mixed(beside, first, t) * bool(rows)
        left, d = total - t if total else 1, units(x) - units(y)
        have = ahead - (total or 1) * units(level)
        room, surprise = odds(left, have, d, units(spread))
        if 1e-9 * total < room * left < 2 * left:
            stake = staked(seen, squares, 1 - room, room, t, level, lean)
            wealth = paid(wealth, factors(1 + stake * surprise, room, surprise))
        if rows:
            guess, later, short = rows[t]
            mean, apart = later / (left * UNIT), x - y - guess
            room = (units(short) * left - have - later) / (left * UNIT)
            surprise = ((d - units(guess)) * left + have + later) / (left * UNIT)
            if room > 1e-6:
                stake = staked(rest + t * mean, errors, have / (left * UNIT), room, t, level, lean)
                beside = paid(beside, factors(1 + stake * surprise, room, surprise))
            rest, errors = rest + apart, errors + apart**2
        apart = (x - y) / spread
        ahead, seen, squares = ahead + d * bool(total), seen + apart, squares + apart**2
    yield share * mixed(wealth, first, len(pairs)) + (1 - share) * mixed(beside, first, len(pairs)) * bool(rows)


def staked(seen: float, squares: float, sure: float, room: float, t: int, level: float, lean: bool) -> float:
    """A stake by the sum and the squares of t earlier values; `sure` is the mean gain if their mean is 0."""
    second = (squares + 1.5) / (t + 10)
    most = 300.0 * level**2 if lean else 0.0
    shrink = 10.0 if not lean else max(300.0 * second / most, 10.0) if second < most else 300.0
    gain = seen / (t + shrink) + sure
    return min(max(gain, 0.0) / (second + gain**2), 0.9 / room)


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
    size, every, found = len(inputs[0]), max(8, total // 1000), list[Any]()
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
        Work.spend(5 * (total - start) * (size + 5))
        later, up, down, block = 0, 0.0, 0.0, list[Any]()
        for s in range(total - 1, start - 1, -1):
            guess = sum(map(operator.mul, inputs[s], parts))
            guess = min(max(guess, -most[s]), 1 - least[s])
            later, up, down = later + units(guess), max(up, guess + most[s]), max(down, 1 - least[s] - guess)
            if s < start + every:
                block.append((guess, later, up, down))
        found += reversed(block)
    return found[: len(apart)]


def gate_sentence(header: Line, claim: Line) -> str:
    """The claim of a gate in words."""
    passed, level = claim["verdict"] == "pass", header.get("level") or header["delta"]
    sure = surely(header, claim | {"delta": level if passed else header["delta"]})
    old, new = (quoted(header["labels"], [arm]) for arm in (0, 1))
    than = f"{'larger' if header['minimise'] else 'smaller'} than that of {old}"
    more = f" by more than {header['epsilon']!r}" if header["epsilon"] else ""
    same = f"within {header['epsilon']!r} of that of {old}" if header.get("equivalent") else ""
    if claim["verdict"] == "undecided":
        return f"it is not known whether the mean of {new} is {same or than + more}{where(header)}; {sure.partition('; ')[2]}"
    more = more if claim["exact"] or passed else ""
    if same:
        same = f"is {same}" if passed else f"differs from that of {old}{more}"
        return f"the mean of {new} {same}{where(header)}; {sure}"
    return f"the mean of {new} is {'not ' * passed}{than}{more}{where(header)}; {sure}"


def challenge_sentence(header: Line, claim: Line) -> str:
    """The claim of a challenge in words."""
    old, new = (quoted(header["labels"], [arm]) for arm in (0, 1))
    promoted, at = claim["verdict"] == "promoted", header["level"]
    sure = surely(header, claim | {"delta": at if promoted else header["delta"]})
    than = f"{'smaller' if header['minimise'] else 'larger'} than that of {old}"
    more = f" by more than {header['epsilon']!r}" if header["epsilon"] else ""
    if claim["verdict"] == "undecided":
        return f"it is not known whether the mean of {new} is {than}{where(header)}; {sure.partition('; ')[2]}"
    if promoted:
        return f"the mean of {new} is {than}{where(header)}; {sure}; level of challenge {header['number']}: {at!r}"
    more += ", up to 1e-9 of the range" * claim["exact"]
    return f"the mean of {new} is not {than}{where(header)}{more}; {sure}"


class Items:
    """Scores of arms on a list of items, which count one by one in the order of the seed."""

    def __init__(self, header: Line) -> None:
        self.header, self.n, self.total, self.t = header, len(header["labels"]), len(header["items"]), 0
        apart = len(set(header["labels"])) == self.n > 0 and len(set(header["items"])) == self.total > 0
        require(apart, "a label or an item comes twice, or there is none")
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

    def agreed(self, line: Line, words: str, exact: bool, decided: list[list[float]]) -> None:
        """Refuse a conclusion that does not match what was found."""
        seen, stated = [len(column) for column in self.columns], line["decided"]
        require(line["counted"] == seen, f"of the arms, {seen} scores counted")
        require(len(stated) == len(decided), f"stated is {stated!r:.200}, and decided was {decided!r:.200}")
        for one, found in zip(stated, decided, strict=True):
            same = len(one) == len(found) and one[:-1] == found[:-1]
            same = same and abs(one[-1] - found[-1]) < 1e-8 + 32 * U * self.t
            require(same, f"stated is {one}, and decided was {found}")
        require(exact or not line["claim"]["exact"], "the claim is not certain: it rests on bets")
        require(line["words"] == words, f"the words are not those of the claim: {words}")

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
        against = {some: self.share * mixed(wealth, 0.98, self.t) for some, wealth in sets.items()}
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
            given = scores, self.total * self.finite, -self.within, 0.9, False
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
        self.agreed(line, sentence(self.header, claim), exact, self.decided)
        answers = f"{len(self.sets)} of {math.comb(self.n, self.top)} possible answers are left"
        return self.checked(answers + ", and all scores are known" * ended)


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
        self.out, self.settled = (
            set[int](),
            set[tuple[int, int]](),
        )  # put out by F; (a, j) where j is no reason against a
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
        return mixed(self.wealth.get(claim, [1.0] * 9), 1 / 9, self.t)

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
        self.agreed(line, cheapest_sentence(self.header, claim), exact, [])
        put = f"{len(self.out)} of {self.n} arms are shown not to be within {self.header['within']!r} of the best"
        if self.finite or "items" in self.header:
            return self.checked(put)
        return [f"{sum(map(len, self.columns))} rewards of {self.n} arms in {self.t} rounds", put]


class Two(Items):
    """The mean difference of a second arm from a first, whose scores may be known in advance."""

    def __init__(self, header: Line, known: dict[int, float], more: list[list[float]], share: float) -> None:
        super().__init__(header)
        require(self.n == 2, "two arms are compared")
        self.beforehand, self.more, self.share = known, more, share if known else 1.0
        self.level = float(header.get("level") or header["delta"])
        fits = all(0 <= item < self.total and self.low <= score <= self.high for item, score in known.items())
        fits = fits and (not known or (self.finite and len(more) == self.total)) and len({*map(len, more)}) < 2
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
        won = bets_above(pairs, self.total * self.finite, level, 0.98, level < 0, expected, self.share)
        return next(([t, math.log(w)] for t, w in enumerate(won) if w >= 1 / error), list[float]())

    def certain(self, known: dict[int, int]) -> tuple[float, float]:
        """The least and the largest mean difference, whatever the missing scores are; `known` has items that do not count."""
        missing, seen = self.total - self.t - len(known), self.exact[1] - self.exact[0] + sum(known.values())
        low, high = (seen / UNIT - missing) / self.total, (seen / UNIT + missing) / self.total
        return (low, high) if self.finite else (-1.0, 1.0)

    def found(self, claimed: bool, after: float | None, low: float, high: float) -> list[str]:
        """What was found, in words."""
        said = "bets do not suffice for a verdict" if after is None else f"bets suffice after {after} items"
        said, width = said if claimed else "no verdict is claimed", self.high - self.low
        by_scores = ", with predictions by scores known beforehand and earlier items" * bool(self.beforehand)
        by = f"by {low * width:.6g} to {high * width:.6g}"
        return self.checked(f"{said}{by_scores}; for certain, the mean of the second arm is better {by}")


class Gate(Two):
    """Whether a candidate (arm 1) is worse than a baseline (arm 0) by more than a margin, ε (docs/gate.md)."""

    def __init__(self, header: Line) -> None:
        baseline, predicts = header.get("baseline", []), header.get("predicted", False)
        super().__init__(header, dict(enumerate(baseline)), header.get("features", []), 0.3)
        self.share, self.same = 0.3 if predicts else 1.0, bool(header.get("equivalent"))
        require(not baseline or (predicts and len(baseline) == self.total), "the baseline does not fit the list")
        self.known: dict[int, int] = {}  # differences on items that do not come next: they count for what is certain
        self.later = set[int]()

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
        require(item in self.later and item not in self.known, f"item {item} is not on the list, or comes twice")
        self.known[item] = units(row[1]) - units(row[0])

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        claim, margin, delta = line["claim"], self.within, self.header["delta"]
        passed, failed = (claim["verdict"] == verdict for verdict in ("pass", "fail"))
        low, high = self.certain(self.known)
        bets = [self.refuted(up, -margin, self.level) for up in (True, False)[: 1 + self.same]] if passed else []
        if failed:
            bets = [self.refuted(up, 0.0, delta / (1 + self.same)) for up in (False, True)[: 1 + self.same]]
        reached, end = [bet for bet in bets if bet], margin + 8 * U
        suffices = len(reached) == len(bets) if passed else bool(reached)
        exact = (passed and low >= -end and (high <= end or not self.same)) or (failed and high < -margin)
        exact = exact or (failed and self.same and low > margin)
        surely_not = failed and (high < -1e-9 or (self.same and low > 1e-9))
        holds = claim["verdict"] == "undecided" or exact or suffices or surely_not
        require(bool(holds), "the evidence does not suffice for the verdict")
        self.agreed(line, gate_sentence(self.header, claim), exact, reached if suffices else [])
        after = (max if passed else min)(bet[0] for bet in reached) if suffices and reached else None
        return self.found(passed or failed, after, low, high)


class Challenge(Two):
    """Whether a challenger (arm 1) is better than a champion (arm 0), or not by more than ε (docs/champion.md)."""

    def __init__(self, header: Line) -> None:
        pairs = header["known"]
        require(all(len(pair) == 2 for pair in pairs), "a known score is not an item and a score")
        super().__init__(header, {int(item): score for item, score in pairs}, [[] for _ in header["items"]], 0.3)
        require([*map(list, self.beforehand.items())] == pairs, "an item is known twice, or is not a whole number")
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

    def conclude(self, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        claim, worth = line["claim"], self.within
        promoted, rejected = (claim["verdict"] == verdict for verdict in ("promoted", "rejected"))
        low, high = self.certain({})
        bet = self.refuted(True, 0.0, self.level) if promoted else list[float]()
        bet = self.refuted(False, -worth, self.header["delta"]) if rejected else bet
        exact = (promoted and low > 0) or (rejected and high <= worth + 1e-9)
        holds = claim["verdict"] == "undecided" or exact or bet != []
        require(holds, "the evidence does not suffice for the verdict")
        self.agreed(line, challenge_sentence(self.header, claim), exact, [bet] if bet else [])
        return self.found(promoted or rejected, bet[0] if bet else None, low, high)


LISTED = {"items": [str], "target": str}
VERDICT = {"verdict": str, "delta": PART, "events": dict}
SCORES = {"item": COUNT, "arms": [COUNT], "values": [REAL]}
CONCLUDED = {"words": str, "counted": [COUNT], "decided": [[REAL]]}
PRICED = {"prices": [(float, 0, 1e15)], "within": (float, 0, 1e15), "slack": (float, 0, 1e15)}
CHEAPEST = CONCLUDED | {"claim": {name: CLAIM[name] for name in CLAIM if name != "within"} | {"exact": bool}}
ROUND = {"arms": [COUNT], "values": [REAL]}
RACE, GATE = (
    {"conclusion": CONCLUDED | {"claim": claim | {"exact": bool}}, "scores": SCORES} for claim in (CLAIM, VERDICT)
)
THIRD = {"predicted": bool, "equivalent": bool, "level": PART, "baseline": [REAL], "features": [[REAL]]}


def gate_header(line: Line) -> Line:
    """The fields of a gate's first line; since version 3 also what was known in advance."""
    return LISTED | {"version": (int, 1, 3)} | (THIRD if line.get("version") == 3 else {})


def race_header(line: Line) -> Line:
    """The fields of a race's first line; in version 2 also a spread."""
    return LISTED | ({"version": (int, 2, 2), "spread": (float, 1e-15, 1e15)} if line.get("version") == 2 else {})


CHECKERS: dict[str, tuple[Any, Any, Line]] = {
    "race": (Race, race_header, RACE),
    "race-top": (Race, LISTED | {"top": COUNT}, RACE),
    "race-cheapest": (Cheapest, LISTED | PRICED, {"scores": SCORES, "conclusion": CHEAPEST}),
    "wager-cheapest": (Cheapest, PRICED, {"scores": ROUND, "conclusion": CHEAPEST}),
    "gate": (Gate, gate_header, GATE | {"known": SCORES}),
    "champion": (Challenge, LISTED | {"known": [[REAL]], "level": PART, "number": COUNT}, GATE),
}
