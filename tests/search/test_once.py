"""Records that another program writes: what searches on them come to. `pages/records.txt` has what is said of them."""

import json
import math
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from calling import Run
from surest import identify
from surest.arms.order import _few_runs, _many
from surest.search.recorded import feed
from surest.search.session import Session

MEANS = {"a": 0.3, "b": 0.5, "c": 0.8}


def sequences(length: int = 3000) -> dict[str, list[float]]:
    rng = np.random.default_rng(11)
    return {arm: (rng.random(length) < mean).astype(float).tolist() for arm, mean in MEANS.items()}


def test_rows_that_alternate_too_regularly_mislead_nobody() -> None:
    """They are not refused: running means, which bets follow, stay closer to the mean of all rows than in random order."""
    patterns = [
        pattern for size in (2, 3, 4) for pattern in product((0.0, 1.0), repeat=size) if 0 < sum(pattern) < size
    ]
    alike = [pair for pair in combinations(patterns, 2) if np.mean(pair[0]) == np.mean(pair[1])]
    assert len(alike) > 20
    for pair in alike:
        result = identify({str(pattern): np.tile(pattern, 600 // len(pattern)) for pattern in pair}, 0.2, seed=1)
        assert len(result.contenders) == 2, pair


@pytest.mark.parametrize(("ones", "zeros"), [(3, 5), (4, 4), (6, 2), (1, 7), (5, 6)])
def test_a_false_alarm_is_not_more_probable_than_what_is_computed(ones: int, zeros: int) -> None:
    size, runs, early = ones + zeros, Counter[int](), Counter[int]()
    for places in combinations(range(size), ones):
        large = np.isin(np.arange(size), places)
        runs[int(large[0]) + int((large[1:] & ~large[:-1]).sum())] += 1
        early[int(large[: size // 2].sum())] += 1
    for found in runs:
        exact = sum(times for k, times in runs.items() if k <= found) / runs.total()
        assert exact <= math.exp(_few_runs(found, ones, zeros)) * (1 + 1e-9)
    for found in early:
        exact = sum(times for k, times in early.items() if k >= found) / early.total()
        assert exact <= math.exp(_many(found, ones, size // 2, size)) * (1 + 1e-9)
    assert math.exp(_few_runs(1, ones, zeros)) == pytest.approx(runs[1] / runs.total())


def test_following_the_suggestions_leads_to_the_decision_of_an_uninterrupted_run(tmp_path: Path, run: Run) -> None:
    """The other program runs what is suggested, and now and then more than that."""
    source, path, rng = sequences(), tmp_path / "results.csv", np.random.default_rng(2)
    recorded = dict.fromkeys(MEANS, 0)
    path.write_text("arm,value\n")
    given = [str(path), "--suggest=5", "--json", *(f"--arm={arm}" for arm in MEANS)]
    calls = 0
    while True:
        status, out, _ = run("identify", *given)
        result = json.loads(out)
        assert result["rows"] == sum(recorded.values())
        assert all(done <= recorded[arm] for arm, done in zip(MEANS, result["pulls_per_arm"], strict=True))
        if status == 0:
            break
        assert (status, result["certified"], result["reason"]) == (3, False, "more rewards needed")
        calls += 1
        todo = [s["arm"] for s in result["suggestions"] for _ in range(s["times"] + int(rng.integers(0, 4)))]
        rng.shuffle(todo)
        with path.open("a") as file:
            for arm in todo:
                file.write(f"{arm},{source[arm][recorded[arm]]}\n")
                recorded[arm] += 1
    whole = Session(list(MEANS), 0.05, seed=0, batch=10)
    fed = feed(whole, list(source.values()))
    assert not fed.missing
    assert result["suggestions"] == []
    assert (result["arm"], result["pulls_per_arm"]) == ("c", whole.running.pulls_per_arm.tolist())
    assert 5 < calls < 200


def test_equal_arms_are_certified_in_at_most_delta_of_the_files() -> None:
    """Rewards that were recorded are evidence, not a law: 20 rows of three equal arms certify one of them hardly ever."""
    rng, delta, files = np.random.default_rng(11), 0.05, 400
    certified = 0
    for _ in range(files):
        rows = {label: rng.integers(0, 2, 20).astype(float) for label in "abc"}
        certified += identify(rows, delta).certified
    assert certified == 0
    simulated = sum(identify(rows, delta, resample=True, seed=seed).certified for seed in range(20))
    assert simulated == 20  # the mistake that this guards against


def drawn(rng: np.random.Generator, **arms: tuple[float, int]) -> dict[str, list[float]]:
    return {arm: (rng.random(rows) < mean).astype(float).tolist() for arm, (mean, rows) in arms.items()}


def test_a_best_arm_of_few_rows_is_lost_with_probability_at_most_delta() -> None:
    """Its first rows decide when it is not asked any more, but how many there are was known before them."""
    rng, lost = np.random.default_rng(8), 0
    for _ in range(150):
        found = identify(drawn(rng, a=(0.5, 30), b=(0.45, 400), c=(0.45, 400)), 0.3, finished=True, progress=False)
        lost += "a" not in (found.contenders or "a")  # None: rows left over spoke against it
    assert lost <= 64  # binomial of 0.3: more comes once in 1,000 times
    assert lost > 0
