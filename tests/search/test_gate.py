"""`surest.gate` in Python: what counts, in which order, and what is said of it."""

import json
import math
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard

import surest
from asking import answered
from pages import same_as_kept
from surest.evidence.lists.gate import judge
from surest.report.page import gate_to_html
from surest.report.report import read_report
from surest.result.gate import beside, claim, facts
from surest.search.gate import _beside
from surest.text import plain_data

N = 300
RNG = np.random.default_rng(4)
OLD = {f"q{i}": float(value) for i, value in enumerate(RNG.random(N) < 0.6)}
NEW = {item: 1 - value if RNG.random() < 0.1 else value for item, value in OLD.items()}
WORSE = {item: value * (RNG.random() < 0.7) for item, value in OLD.items()}


def flipped(gained: int, lost: int) -> surest.Gate:
    """The gate, at a margin of 0.05, of a candidate that differs from the baseline on so many of 1,000 items."""
    old = [float(i < lost) for i in range(1000)]
    return surest.gate(old, [float(lost <= i < lost + gained) for i in range(1000)], 0.05)


def in_order(seed: str, scores: dict[str, float], count: int) -> dict[str, float]:
    """The scores on the first items that the gate would want."""
    items = [str(item) for _, item in surest.gate(OLD, {}, 0.1, seed=seed).wanted]
    assert sorted(items) == sorted(OLD)
    return {item: scores[item] for item in items[:count]}


OLDER = {f"v{k}": {item: 1 - value if RNG.random() < 0.1 else value for item, value in NEW.items()} for k in range(3)}
QUICK, SLOW = ({item: 60 * (1 - value) for item, value in row.items()} for row in (OLD, WORSE))
NAMES: dict[str, Any] = {
    **{"surest": surest, "math": math, "np": np, "pd": pd, "flipped": flipped, "in_order": in_order},
    **{"N": N, "OLD": OLD, "NEW": NEW, "WORSE": WORSE, "OLDER": OLDER, "QUICK": QUICK, "SLOW": SLOW},
    **{"answered": answered, "judge": judge, "_beside": _beside, "Path": Path},
    "HALF": dict(list(OLD.items())[: N // 2]),
    "MOST": dict(list(OLD.items())[:280]),
    "LACKS": {item: value for item, value in NEW.items() if item not in ("q3", "q5")} | {"new item": 1.0},
    "OPPOSITE": {item: 1 - value for item, value in OLD.items()},
    "SECONDS": {"bounds": (0, 60), "minimise": True},
}


@pytest.mark.usefixtures("run")
def test_what_is_found(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("gates.txt"), request, names=NAMES, show=described)


def described(gate: object) -> str:
    """What is said of a gate, which fits what it says in other ways."""
    if not isinstance(gate, surest.Gate):
        return repr(gate)
    assert gate.interval[0] <= gate.difference <= gate.interval[1] or math.isnan(gate.difference)
    assert (gate.verdict == "undecided", gate.passed, gate.failed).count(True) == 1
    with pytest.raises(TypeError, match=r"\.passed or \.failed"):
        assert gate
    data = json.loads(json.dumps(gate.to_dict()))
    assert repr(data) == repr(gate.to_dict())  # lists, and no tuples: some JSON takes nothing else
    assert (data["verdict"], data.get("needed"), data["text"]) == (gate.verdict, gate.needed, str(gate).splitlines()[0])
    if gate.flips is not None:
        better, worse = (1, -1) if data["minimise"] else (-1, 1)
        for side, sign in ((gate.flips.lost, worse), (gate.flips.gained, better)):
            counted = gate.scores[: gate.items_counted]
            assert {*side} == {item for item, old, new in counted if sign * (old - new) > 0}
        assert data["flips"] == {"lost": len(gate.flips.lost), "gained": len(gate.flips.gained)}
    if gate.exact and not gate.wanted and gate.items_counted == len(gate.scores):
        means = np.mean([row[1:] for row in gate.scores], axis=0)
        assert gate.means == pytest.approx(tuple(means))
        assert gate.difference == pytest.approx(means[1] - means[0])
    if gate.population is not None:
        low, high = gate.population.interval
        assert low <= gate.difference <= high
        assert data["population"]["verdict"] == gate.population.verdict
        assert data["population"]["text"] in unescape(gate.to_markdown()).replace("\\", "")
        assert data["population"]["text"] in unescape(gate._repr_html_())
    again = read_report(json.dumps(plain_data(data)))
    assert isinstance(again, surest.Gate)
    assert (plain_data(again.to_dict()), again.to_markdown()) == (plain_data(data), gate.to_markdown())
    page = unescape(gate_to_html(again))
    assert all(said in page for row in facts(gate) for said in (claim(gate), *row, *beside(gate)))
    counted = f"{gate.items_counted} of {gate.items} items counted, seed {gate.seed}, share {gate.share}"
    needed = f"needed {gate.needed}, then {gate.needed_verdict or None}, wanted {len(gate.wanted)}"
    return f"{counted}\n{needed}\n{gate}\n{gate.to_markdown()}\nnotes: {gate.notes}"


def test_scores_count_in_the_order_that_is_asked_for_as_far_as_they_go_and_the_verdict_stays() -> None:
    looks = [surest.gate(OLD, in_order("b", WORSE, count), 0.03, seed="b") for count in range(0, N + 1, 20)]
    assert [found.items_counted for found in looks] == [*range(0, N + 1, 20)]
    decided = [found.verdict != "undecided" for found in looks]
    assert all(found.wanted[0][0] == "candidate" for found in looks if found.verdict == "undecided")
    assert (decided, 0 < sum(decided) < len(looks)) == (sorted(decided), True)
    assert len({(found.verdict, found.decided_after) for found in looks if found.failed}) == 1, "nor does looking again"
    assert not any(found.passed for found in looks)
    first_half = {item: WORSE[item] for item in list(OLD)[: N // 2]}
    found = surest.gate(OLD, first_half, 0.03, seed=1)
    assert (found.verdict, found.items_counted < 20) == ("undecided", True)
    assert any("150 items have both values, but only the first " in note for note in found.notes)
    assert surest.gate(OLD, first_half, 0.03, shuffled=True).items_counted == N // 2


def test_the_interval_agrees_with_the_verdict() -> None:
    rng = np.random.default_rng(8)
    for shift in (-12, -3, 0, 6):
        path = np.repeat([1.0, -1.0, 0.0], [20 + shift, 20 - shift, 160])
        for _ in range(10):
            found = judge(rng.permutation(path)[:120], 200.0, 0.08, 0.1)
            assert (found.passed is not None, found.failed is not None) == (found.low >= -0.08, found.high <= 0)


def test_an_estimate_is_never_outside_of_its_own_interval() -> None:
    """Both are of other times: the ends are the best that ever held, and the items since may lead elsewhere."""
    questions = [f"q{i}" for i in range(1000)]
    old = {name: float(100 <= i < 200) for i, name in enumerate(questions)}
    new = {name: float(i < 100) for i, name in enumerate(questions)}
    moved = 0
    for seed in range(5, 11):  # of the first twenty, those of two lead elsewhere: 5 and 10
        order = [row[0] for row in surest.gate(old, new, 0.03, seed=seed).scores]
        for first, second in ((old, new), (new, old)):
            found = surest.gate(first, {name: second[name] for name in order[:700]}, 0.03, seed=seed)
            low, high = found.interval
            assert low <= found.difference <= high
            moved += found.difference in found.interval
    assert moved > 0
    # Items that are known, but do not come next, may leave the mean of those that count impossible.
    names = [row[0] for row in surest.gate(dict.fromkeys("abcdefghij", 0.5), {}, seed=1).scores]
    known = {name: 1.0 if k < 2 else 0.0 for k, name in enumerate(names) if k != 2}
    odd = surest.gate(dict.fromkeys("abcdefghij", 0.5), known, 0.01, seed=1)
    assert (odd.verdict, odd.exact, odd.items_counted) == ("fail", True, 2)
    assert odd.difference == odd.interval[1] == pytest.approx(-0.15)


def test_what_history_tells_of_an_item_does_not_depend_on_the_order() -> None:
    """Else, where singular values tie, items that are still to come would choose what is predicted of them."""
    rows = (hadamard(64)[1:9] + 1) / 2  # after the first, seven rows whose singular values are all the same
    rows[:, 60:] = 0.5
    names = [f"q{i}" for i in range(64)]
    old, *older = (dict(zip(names, row.tolist(), strict=True)) for row in rows)

    def told(listed: list[str], **how: Any) -> dict[str, tuple[float, ...]]:
        found = surest.gate({item: old[item] for item in listed}, {}, 0.1, history=older, **how)
        return {item: features for (item, *_), features in zip(found.scores, found.features, strict=True)}

    first = told(names, seed=0)
    assert np.linalg.matrix_rank(np.array([*first.values()])) == 4
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(names).tolist()
        assert told(names, seed=seed) == told(mixed, seed=seed) == told(mixed, shuffled=True) == first


def test_a_baseline_that_is_completed_later_has_said_nothing_that_it_would_not_say_then() -> None:
    """0.3 of the evidence counts while some of it is missing, and that is never more than all of it."""
    part = in_order("b", NEW, 200)
    for share, gap in ((0.3, 1), (0.3, 90), (1.0, 90)):
        known = {item: value for k, (item, value) in enumerate(in_order("b", OLD, N).items()) if k < N - gap}
        found = surest.gate(known, part, 0.1, seed="b", items=list(OLD), predict=share < 1)
        whole = surest.gate(OLD, part, 0.1, seed="b", predict=share < 1)
        assert (found.share, found.features) == (share, ())
        assert 0 < whole.decided_after <= (found.decided_after or N)
        assert whole.interval[0] >= found.interval[0]
