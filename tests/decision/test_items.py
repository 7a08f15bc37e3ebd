"""Decisions on lists of items: valid as they are written, and the verifier finds the same evidence as the library."""

from concurrent.futures import ThreadPoolExecutor
from math import log
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import surest
import surest_verify
import surest_verify as verifier
from decision.decisions import best_of_four, lines_of, refusal, table_of
from surest.decision.write import decision_of
from surest.evidence.lists.race import Standings
from surest.evidence.lists.scores import Pairs, Scores
from surest.evidence.lists.top import Top
from surest.evidence.lists.verdict import Verdict


def test_a_later_decision_begins_with_the_lines_of_an_earlier_one() -> None:
    table = table_of(0, 5, 80, np.random.default_rng(1))
    early, late = (
        decision_of(surest.evaluate(table, seed=1, budget=budget, simulate=True)).lines for budget in (100, 200)
    )
    assert early[:-2] == late[: len(early) - 2]


def test_a_single_arm_is_the_best() -> None:
    lines = lines_of(surest.evaluate({"a": {"q": 0.5}}, seed=1))
    assert refusal(lines) == ""
    scores = {"kind": "scores", "item": 0, "arms": [0], "values": [0.5]}
    assert "nothing is left" in refusal([lines[0], scores, lines[1]])


@pytest.mark.parametrize("entropy", [[0, 1], [5, 3], [2**64 - 1, 7], [2**40 + 3, 2], [2**127 + 9], [1, 2, 3, 2**70]])
def test_the_order_is_numpys(entropy: list[int]) -> None:
    for count in (1, 2, 3, 10, 64, 65, 1000):
        drawn = np.random.default_rng(entropy if len(entropy) > 1 else entropy[0]).permutation(count)
        assert verifier.random_order(entropy, count) == drawn.tolist()


# --- the same evidence ---------------------------------------------------------------------------------------------------


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
                mine, true = verifier.mixed(found.sets[some], 0.98, found.t), found.mixture(some)
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
    mine = list(verifier.bets_above(scores, total_or_0, -epsilon * spread, 0.9, False, spread=spread))
    for t in range(1, total + 1):
        counted.count(np.arange(2), table[:, t - 1])
        true = pairs.extend(np.arange(2), counted)
        if np.isinf(true[1]):
            break
        assert abs(log(mine[t]) - log(true[1])) < 1e-9


# --- a spread ------------------------------------------------------------------------------------------------------------


def test_a_spread_as_wide_as_the_range_is_none() -> None:
    (first, *_), (other, *_) = lines_of(best_of_four(spread=1.0)), lines_of(best_of_four())
    assert first == other


@pytest.mark.parametrize("more", [0.0, 1e-6])
def test_an_arm_that_can_still_tie_is_not_out(more: float) -> None:
    """It is behind by the spread on half of the items; on the others it is ahead by the spread, or by a bit less."""
    order, table = verifier.random_order([1, 2], 20), np.full((2, 20), 0.3)
    table[0, order[:10]], table[1, order[10:]] = 0.4 + more, 0.4  # 0.4 - 0.3 is more than 0.1 in doubles
    result = surest.evaluate(table, seed=1, delta=1e-9, simulate=True, spread=0.1 + more)
    lines = lines_of(result)
    assert refusal(lines) == ""
    assert lines[-1]["claim"]["contenders"] == ([0] if more else [0, 1])
    assert lines[-1]["counted"] == ([11, 11] if more else [20, 20])


# --- what failed ---------------------------------------------------------------------------------------------------------


def test_imputed_scores_are_told_alike_whoever_ran_the_search(tmp_path: Path) -> None:
    def seconds(arm: str, item: int) -> float:
        if item % 11 == len(arm):
            raise ValueError("no answer")
        return float((item * 7 + 13 * len(arm)) % 60)

    given: dict[str, Any] = {"score": seconds, "seed": 3, "on_failure": 60.0, "bounds": (0, 60), "minimise": True}
    with ThreadPoolExecutor(3) as pool:
        ahead = surest.evaluate(["a", "bb", "ccc"], range(60), **given, executor=pool, in_flight=6)
    kept = surest.evaluate(["a", "bb", "ccc"], range(60), **given, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    hashes = {result.write_decision(tmp_path / "decision.jsonl") for result in (ahead, kept)}
    assert len(hashes) == 1
    said = surest_verify.verify(str(tmp_path / "decision.jsonl"), hashes.pop())
    assert "18 'imputed'" in said[-3]
    assert "smallest mean of 3 arms on these 60 items" in said[-2]
    assert "18 of them were imputed, not measured" in said[-2]


# --- what is exact, and what is not --------------------------------------------------------------------------------------


def test_an_answer_that_is_right_up_to_rounding_says_so() -> None:
    """Far less than the range apart: the search takes these for equal, the exact sums do not."""
    table = {"bad": dict.fromkeys(range(20), 100.0), "good": dict.fromkeys(range(20), 900.0)}
    lines = lines_of(surest.evaluate(table, seed=5, bounds=(0, 1e13), simulate=True))
    assert refusal(lines) == ""
    assert lines[-1]["words"].startswith('"bad" has a mean within 10000.0 of the largest mean of 2 arms')
    assert 'as good, up to 1e-9 of the range: "good"' in lines[-1]["words"]
    lines[-1]["claim"]["within"] = 0.0
    lines[-1]["words"] = surest_verify.sentence(lines[0], lines[-1]["claim"])
    assert "within 10000.0 of" in refusal(lines)
