"""The verifier finds the same evidence as the library, and never more than the exact value; mistakes are noticed."""

from collections.abc import Callable
from functools import partial
from math import log, sqrt
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import surest_verify as verifier
from decision.decisions import lines_of, made, refusal, table_of
from mistakes import rebuilt
from one_pair import Digest, Pair, digest_of, exact_value
from surest.algorithms.wager.ledger import W, slot_share, unused_share
from surest.evidence.lists.gate import UNKNOWN, bet_above, new_state
from surest.evidence.lists.race import Standings
from surest.evidence.lists.scores import Pairs, Scores
from surest.evidence.lists.top import Top
from surest.evidence.lists.verdict import Verdict

Points = list[tuple[float, float, float]]

# --- fresh rewards -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Points, float]]:
    """What the verifier finds: three levels with the bounds there, and what follows from them."""
    found: list[tuple[Points, float]] = []
    plain = verifier.convex_bound

    def spy(points: Points, end: float) -> float:
        found.append((points, plain(points, end)))
        return found[-1][1]

    monkeypatch.setattr(verifier, "convex_bound", spy)
    return found


def exact_account(lines: list[dict[str, Any]], j: int) -> mpf:
    """The account of paired bets against an arm."""
    account = mpf(lines[0]["paired"])
    for at, line in enumerate(lines):
        if line["kind"] == "rewards" and lines[at - 1]["kind"] == "stakes" and j in lines[at - 1]["arms"]:
            placed, of = lines[at - 1], dict(zip(line["arms"], line["values"], strict=True))
            k = placed["arms"].index(j)
            own, its, level, stake = of[j], of[placed["on"][k]], placed["levels"][k], mpf(placed["stakes"][k])
            account *= mpmath.fprod(1 - stake * (mpf(reward) - level) for reward in own)
            account *= mpmath.fprod(1 + stake * len(own) / len(its) * (mpf(reward) - level) for reward in its)
    return account


@pytest.mark.parametrize(("kind", "seed"), [("few", 1), ("narrow", 2)])
def test_accounts_are_never_above_the_exact_value(kind: str, seed: int) -> None:
    lines = [line for line in lines_of(made(kind, seed)) if line["kind"] != "event"]
    checker = verifier.Pulls(lines[0])
    for at, line in enumerate(lines[1:-1], 2):
        checker.take(at, line["kind"], {name: value for name, value in line.items() if name != "kind"})
    with mpmath.workdps(40):
        for j in range(len(lines[0]["labels"])):
            exact = mpmath.log(exact_account(lines, j))
            assert exact - mpf("1e-10") < checker.account(j, 2**53) <= exact


def pair_of(lines: list[dict[str, Any]], witness: dict[str, Any]) -> Pair:
    """What the certificate of a witness rests on, from the lines of a file."""
    (i, j), slot, until = witness["arms"], witness["slot"], witness["line"]
    places = [at for at, line in enumerate(lines, 1) if line["kind"] == "nomination"]
    began, nomination = places[slot - 1], lines[places[slot - 1] - 1]

    def rewards(arm: int, after: int, until: int) -> Digest:
        found = list[float]()
        for line in lines[after:until]:
            if line["kind"] == "rewards" and arm in line["arms"]:
                place = line["arms"].index(arm)
                values, times = line["values"][place], line["times"][place] if line["times"] else 1
                found += np.repeat(values, times).tolist()
        return digest_of(found)

    row, top = nomination["arms"].index(i), lines[0].get("top")
    own = [k for k, at in enumerate(places[:slot], 1) if lines[at - 1]["arms"] == [j] and top is None]
    base = (1 - W) + W * unused_share(slot) + W * sum(map(slot_share, own))
    told = rewards(j, 0, began), rewards(j, began, until), rewards(i, began, until), witness["bets"]
    guesses = [nomination[side][row][j] for side in ("on", "against")]
    return Pair(*told, base, W * slot_share(slot), *guesses, top or 1)


@pytest.mark.parametrize(("kind", "seed"), [("best", 2), ("top", 0), ("epsilon", 1)])
def test_the_verifier_is_never_above_the_exact_value(kind: str, seed: int, bounds: list[tuple[Points, float]]) -> None:
    lines = lines_of(made(kind, seed))
    assert refusal(lines) == ""
    with mpmath.workdps(40):
        for witness, (points, bound) in list(zip(lines[-1]["witnesses"], bounds, strict=True))[-1:]:
            pair, epsilon = pair_of(lines, witness), mpf(witness["accuracy"])
            values = [exact_value(mpf(x), pair, epsilon) for x, _, _ in points]
            for (_, low, high), value in zip(points, values, strict=True):
                assert low <= value <= high < low + 1e-9
            between = [points[1][0] + (points[k][0] - points[1][0]) * part for k in (0, 2) for part in (0.2, 0.6)]
            least = min([*values, *(exact_value(mpf(x), pair, epsilon) for x in between)])
            assert least - mpf("1e-6") < bound <= least


# --- lists of items ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entropy", [[0, 1], [5, 3], [2**64 - 1, 7], [2**40 + 3, 2], [2**127 + 9], [1, 2, 3, 2**70]])
def test_the_order_is_numpys(entropy: list[int]) -> None:
    for count in (1, 2, 3, 10, 64, 65, 1000):
        drawn = np.random.default_rng(entropy if len(entropy) > 1 else entropy[0]).permutation(count)
        assert verifier.random_order(entropy, count) == drawn.tolist()


class Exact(verifier.Race):
    """The verifier, with every wealth computed beside in 50 digits from the same stakes."""

    def __init__(self, header: dict[str, Any]) -> None:
        super().__init__(header)
        self.true = {some: [mpmath.mpf(1)] * 9 for some in self.sets}

    def bet(self, now: dict[int, int]) -> None:
        bets, self.shrink = self.bets(), self.shrinkage()
        for some, (j, *others) in bets.items():
            self.true[some] = [w * f for w, f in zip(self.true[some], self.true_pays(j, others, now), strict=True)]
        super().bet(now)

    def true_pays(self, j: int, others: list[int], now: dict[int, int]) -> list[Any]:
        first, fixed = mpmath.mpf(1), []
        for o, stake in self.stakes(j, *others).items():
            left, ahead = self.terms(o, j)
            m = -mpmath.mpf(ahead) / self.unit / left
            surprise = mpmath.mpf(now[o] - now[j]) / self.unit - m
            first += stake * surprise
            fixed = fixed or [1 + mpmath.mpf("0.9") / 2**k / (1 + m) * surprise for k in range(8)]
        return [first, *(fixed or [mpmath.mpf(1)] * 8)]

    def mixture(self, some: frozenset[int]) -> Any:
        first, *fixed = self.true[some]
        return mpmath.mpf("0.98") * first + mpmath.mpf("0.0025") * mpmath.fsum(fixed)


def header(n: int, total: int, delta: float, target: str, **more: Any) -> dict[str, Any]:
    algorithm = "race-top" if "top" in more else "race"
    common = {"delta": delta, "epsilon": 0.0, "bounds": [0.0, 1.0], "minimise": False, "seed": "3", "note": ""}
    labels, items = [str(j) for j in range(n)], [str(i) for i in range(total)]
    return {"algorithm": algorithm, "labels": labels, "items": items, "target": target, **common, **more}


@pytest.mark.parametrize("seed", range(16))
def test_the_evidence_is_the_librarys_and_never_above_the_exact_value(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    n, total = int(rng.integers(3, 7)), int(rng.integers(5, 90))
    top = {"top": 2 + seed // 2 % (n - 2)} if seed % 2 else {}
    table, target = table_of(seed % 3, n, total, rng), "population" if seed % 5 == 0 else "items"
    delta = [0.05, 1e-6][seed % 2]
    spread = 0.3 if seed % 8 < 4 and not top else 1.0
    table = 0.65 * (1 - spread) + spread * table
    found = Exact(header(n, total, delta, target, **top, **({"spread": spread} if spread < 1 else {})))
    best = Verdict(n, np.ones(total), delta, 0.0, target == "population", spread=spread)
    several = Top(n, top.get("top", 2), np.ones(total), delta, population=target == "population")
    with mpmath.workdps(50):
        for at, item in enumerate(found.order, 2):
            play = (several.play if top else best.play).tolist()
            if len(play) < 2:
                break
            assert found.play == play
            (several if top else best).count(table[play, item])
            found.take(at, "scores", {"item": item, "arms": play, "values": table[play, item].tolist()})
            for some in found.sets:
                mine, true = verifier.mixed(found.sets[some], verifier.parts(0.98), found.t), found.mixture(some)
                assert mine <= true
                assert mpmath.log(true / mine) < 1e-12
                assert abs(log(mine) - log(of_library(several if top else best.standings, some))) < 1e-9


def of_library(evidence: Standings | Top, some: frozenset[int]) -> float:
    """The wealth against an arm, or against a set of arms."""
    if isinstance(evidence, Standings):
        (arm,) = some
        return float(evidence.current()[arm])
    sets: Any = evidence.evidence
    (place,) = np.flatnonzero((sets.sets[sets.alive] == sorted(some)).all(axis=1))
    return float(sets.current()[place])


@pytest.mark.parametrize("seed", range(8))
def test_the_evidence_that_one_arm_is_close_to_another_is_the_librarys(seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    total, epsilon, population = int(rng.integers(5, 90)), float(rng.choice([0.02, 0.2])), seed % 3 == 0
    table = table_of(seed % 3, 2, total, rng)
    pairs, counted = Pairs(0, epsilon, 2), Scores(2, np.ones(total), population)
    spread = [1.0, 0.3][seed % 2]
    scores = [(0.2 + spread * x, 0.2 + spread * y) for x, y in table.T.tolist()]
    total_or_0 = 0 if population else total
    rule = verifier.parts(0.9), verifier.by_mean(-epsilon * spread, lean=False)
    mine = list(verifier.bets_above(scores, total_or_0, -epsilon * spread, *rule, spread=spread))
    for t in range(1, total + 1):
        counted.count(np.arange(2), table[:, t - 1])
        true = pairs.extend(np.arange(2), counted)
        if np.isinf(true[1]):
            break
        assert abs(log(mine[t]) - log(true[1])) < 1e-9


# --- a gate --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_evidence_of_a_gate_is_the_librarys_and_never_above_the_exact_value(seed: int) -> None:
    """That of earlier versions of files is compared with the exact value alone."""
    rng = np.random.default_rng([4, seed])
    total, level, lean = int(rng.integers(4, 120)), float(rng.choice([-0.03, -0.1, 0.0])), bool(seed % 2)
    old, new = rng.integers(0, 11, (2, total)) / 10 if seed % 3 else rng.random((2, total))
    lean, size = lean and level < 0, 0 if seed % 4 == 0 else total
    pairs = [(x, y) for x, y in zip(new.tolist(), old.tolist(), strict=True)]
    earlier = [mpmath.mpf("0.98"), *[mpmath.mpf("0.0025")] * 8], partial(mean_stakes, level=level, lean=lean)
    likely = max(-level, 0.03, 2 / sqrt(size) if size else 0.0)
    now = lead_weights(), partial(lead_stakes, likely=likely, total=size)
    rules = (verifier.LEAD_PARTS, verifier.by_leads(level, size)), (verifier.parts(0.98), verifier.by_mean(level, lean))
    for rule, same in zip(rules, (now, earlier), strict=True):
        mine, true = list(verifier.bets_above(pairs, size, level, *rule)), exact_wealths(pairs, size, level, *same)
        for t in range(1, total + 1):
            after, wealth = bet_above((new - old)[:t], float(size or np.inf), level, 1e300)
            if after >= 0:
                break
            assert same is earlier or abs(log(mine[t]) - log(wealth)) < 1e-9
            assert mine[t] <= true[t]
            assert mpmath.log(true[t] / mine[t]) < 1e-12


def lead_weights() -> list[Any]:
    """The parts of the wealth that docs/verify.md gives to the leads, in 50 digits."""
    with mpmath.workdps(50):
        parts = [1 / (1 + (k * mpmath.log(2)) ** 2) for k in range(3, -4, -1)]
        return [part / mpmath.fsum(parts) for part in parts]


def lead_stakes(seen: float, squares: float, sure: float, t: int, *, likely: float, total: int) -> list[float]:
    """Stakes as if what is to come were better by an eighth to eight times what is likely on the list."""
    second, gap = (squares + 1.5) / (t + 10), likely * total / (total - t) if total else likely
    return [gap * 2.0**k / (second + (gap * 2.0**k) ** 2) for k in range(3, -4, -1)]


def mean_stakes(seen: float, squares: float, sure: float, t: int, *, level: float, lean: bool) -> list[float]:
    """A stake by the mean so far, and eight that are as large as is allowed at most, by halves."""
    second = (squares + 1.5) / (t + 10)
    gain = seen / (t + (min(max(second / level**2, 10.0), 300.0) if lean else 10.0)) + sure
    return [max(gain, 0.0) / (second + gain**2), *(0.9 / (1 - sure) / 2**k for k in range(8))]


def exact_wealths(
    pairs: list[tuple[float, float]], total: int, level: float, weights: list[Any], rule: Callable[..., list[float]]
) -> list[Any]:
    """The wealths of docs/gate.md in 50 digits. Stakes are doubles, as the rule gives them."""
    found, wealth, ahead = [mpmath.mpf(1)], [mpmath.mpf(1)] * len(weights), mpmath.mpf(0)
    seen, squares = 0.0, 0.0
    with mpmath.workdps(50):
        for t, (x, y) in enumerate(pairs):
            m = (total * mpmath.mpf(level) - ahead) / (total - t) if total else mpmath.mpf(level)
            room, surprise = float(1 + m), mpmath.mpf(x) - mpmath.mpf(y) - m
            if 1e-9 * total < room * (total - t if total else 1) and room < 2:
                stakes = [min(stake, 0.9 / room) for stake in rule(seen, squares, 1 - room, t)]
                wealth = [w * (1 + stake * surprise) for w, stake in zip(wealth, stakes, strict=True)]
            ahead, seen, squares = ahead + mpmath.mpf(x) - mpmath.mpf(y), seen + x - y, squares + (x - y) ** 2
            found.append(mpmath.fsum(w * part for w, part in zip(wealth, weights, strict=True)))
    return found


def test_a_bet_that_has_lost_all_does_not_come_back() -> None:
    """Bets that lose a little for long: products near 1e-323 would be rounded up to what they were, and losing be free."""
    apart = np.append(np.tile([0.5, -0.5], 5_000), np.ones(1_200))
    assert np.log1p(0.9 * apart).sum() < -300  # of the boldest stake alone
    wealth = [1.0] * 9
    for d in apart.tolist():
        wealth = verifier.paid(wealth, [1 + 0.9 * d] * 9)
    assert wealth == [0.0] * 9
    alone = "mixed += LEAD_WEIGHTS[k] * (share * state[k]", "mixed += (k == 0) * (share * state[k]"
    (changed,) = rebuilt(["surest.kernels.lists"], alone).values()
    assert changed.bet_above(apart, UNKNOWN, 0, np.inf, 0.0, np.inf, 1.0, new_state()) == (-1, 0.0)
