"""The verifier's evidence is never above the exact value; mistakes are noticed."""

from collections import Counter
from typing import Any

import mpmath
import pytest
from mpmath import mpf

import surest_verify
from decision.decisions import lines_of, made, refusal
from surest.decision import pulls
from surest.kernels.constants import JOINT

Points = list[tuple[float, float, float]]


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Points, float]]:
    """What the verifier finds: three levels with the bounds there, and what follows from them."""
    found: list[tuple[Points, float]] = []
    plain = surest_verify.convex_bound

    def spy(points: Points, end: float) -> float:
        found.append((points, plain(points, end)))
        return found[-1][1]

    monkeypatch.setattr(surest_verify, "convex_bound", spy)
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
    checker = surest_verify.Pulls(lines[0])
    for at, line in enumerate(lines[1:-1], 2):
        checker.take(at, line["kind"], {name: value for name, value in line.items() if name != "kind"})
    with mpmath.workdps(40):
        for j in range(len(lines[0]["labels"])):
            exact = mpmath.log(exact_account(lines, j))
            assert exact - mpf("1e-10") < checker.account(j, 2**53) <= exact


def exact_value(lines: list[dict[str, Any]], witness: dict[str, Any], x: mpf) -> mpf:
    """The function of docs/wager.md whose infimum is the certificate, in 40 digits, from the lines of a file."""
    header, (i, j), slot = lines[0], witness["arms"], witness["slot"]
    (low, high), top = map(mpf, header["bounds"]), header.get("top", 1)
    worst, best = (high, low) if header["minimise"] else (low, high)
    places = [at for at, line in enumerate(lines, 1) if line["kind"] == "nomination"]
    began, nomination, bets = places[slot - 1], lines[places[slot - 1] - 1], lines[1]
    y = x + mpf(witness["accuracy"]) / (high - low)

    def rewards(arm: int, after: int, until: int) -> Counter[float]:
        found = Counter[float]()
        for line in lines[after:until]:
            if line["kind"] == "rewards" and arm in line["arms"]:
                place = line["arms"].index(arm)
                values = line["values"][place]
                times = line["times"][place] if line["times"] else [1] * len(values)
                found.update(dict(zip(values, times, strict=True)))
        return found

    def product(of: Counter[float], alpha: mpf, above: bool) -> mpf:
        total = mpf(1)
        for value, times in of.items():
            unit = (mpf(value) - worst) / (best - worst)
            total *= (1 - alpha + alpha * (unit / x if above else (1 - unit) / (1 - y))) ** times
        return total

    before, (since, nominee) = rewards(j, 0, began), (rewards(arm, began, witness["line"]) for arm in (j, i))
    early = full = mpf("0.4")
    for k in range(witness["bets"]):
        alpha, weight = mpf("0.98") * mpf(2) ** (-mpf(k) / 2), mpf("0.06") * mpf("0.9") ** k / top
        first = weight * product(before, alpha, False)
        early, full = early + first, full + first * product(since, alpha, False)
    row, n = nomination["arms"].index(i), len(bets["grid"])
    guesses = [mpf(nomination[side][row][j]) for side in ("on", "against")]
    sides = [[min(mpf(bets["most"]), guess * mpf(g)) for g in bets["grid"]] for guess in guesses]
    ups, downs = [product(nominee, a, True) for a in sides[0]], [product(since, a, False) for a in sides[1]]
    joint = bets["idle"] + sum(mpf(bets["weights"][k * n + m]) * ups[k] * downs[m] for k in range(n) for m in range(n))
    shares = [mpf("0.88"), mpf("0.09"), *(mpf("0.03") / ((k - 1) * (k - 2)) for k in range(3, 9))]
    own = sum(shares[k] for k, at in enumerate(places[:slot]) if lines[at - 1]["arms"] == [j] and "top" not in header)
    base = mpf("0.05") + mpf("0.95") * (1 - sum(shares[:slot])) + mpf("0.95") * own
    return mpmath.log(base * full + mpf("0.95") * shares[slot - 1] * early * joint)


@pytest.mark.parametrize(("kind", "seed"), [("best", 2), ("top", 0), ("epsilon", 1)])
def test_the_verifier_is_never_above_the_exact_value(kind: str, seed: int, bounds: list[tuple[Points, float]]) -> None:
    lines = lines_of(made(kind, seed))
    assert refusal(lines) == ""
    with mpmath.workdps(40):
        for witness, (points, bound) in list(zip(lines[-1]["witnesses"], bounds, strict=True))[-1:]:
            values = [exact_value(lines, witness, mpf(x)) for x, _, _ in points]
            for (_, low, high), value in zip(points, values, strict=True):
                assert low <= value <= high < low + 1e-9
            between = [points[1][0] + (points[k][0] - points[1][0]) * part for k in (0, 2) for part in (0.2, 0.6)]
            least = min([*values, *(exact_value(lines, witness, mpf(x)) for x in between)])
            assert least - mpf("1e-6") < bound <= least


def test_weights_that_sum_to_more_than_one_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulls, "JOINT", JOINT * 1.1)
    assert refusal(lines_of(made("best", 0))).startswith("line 2: ")
