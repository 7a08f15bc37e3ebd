"""`surest identify FILE --suggest K`: a record that another program writes, each row counted once, in order."""

import csv
import gzip
import json
import math
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest_verify
from calling import Run
from surest import identify
from surest.arms.kinds import read_source
from surest.arms.order import _few_runs, _many
from surest.core.scale import Scale
from surest.decision.write import decision_of
from surest.errors import SourceError, UsageError
from surest.search.recorded import feed, heeding_all
from surest.search.session import Session

MEANS = {"a": 0.3, "b": 0.5, "c": 0.8}


def sequences(length: int = 3000) -> dict[str, list[float]]:
    rng = np.random.default_rng(11)
    return {arm: (rng.random(length) < mean).astype(float).tolist() for arm, mean in MEANS.items()}


def test_rows_that_cannot_be_in_random_order_are_refused(run: Run) -> None:
    """Equal arms, sorted: the rows at the beginning said that one of them is the best."""
    rows = {"a": [1.0] * 150 + [0.0] * 150, "b": [0.0] * 150 + [1.0] * 150}
    with pytest.raises(SourceError, match="its 150 larger values of 300 come in 1 run, where about 76 are usual"):
        identify(rows)
    for seed in (3, None):
        Path("s.csv").write_text("arm,value\n" + "".join(f"{arm},{v}\n" for arm, of in rows.items() for v in of))
        said = run("identify s.csv --json --shuffle", *([] if seed is None else [str(seed)]))
        assert (said.status, said.json["contenders"]) == (3, ["a", "b"])
    for mean in (0.5, 0.02, 0.98):  # a drift, of frequent and of rare values
        rng, drift = np.random.default_rng(1), np.linspace(-0.2, 0.2, 4000)
        with pytest.raises(SourceError, match=r"are among the first 2,000 of 4,000 rows|where about"):
            identify({"a": rng.random(4000) < np.clip(mean + drift, 0.001, 0.999), "b": rng.random(4000) < 0.5})
    with pytest.raises(UsageError, match="shuffle requires recorded rewards"):
        identify([lambda: 1.0, lambda: 0.0], shuffle=1)


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


@pytest.mark.parametrize("settings", [{}, {"top": 1}, {"control": "b"}, {"above": 0.5}])
def test_nothing_is_certified_against_rows_that_were_left_over(settings: dict[str, Any]) -> None:
    first, rng = {"a": [1.0] * 40, "b": [0.0] * 40}, np.random.default_rng(5)
    found = identify(first, **settings, record=True)
    assert found.certified
    for left, certified in ((0.8, True), (0.2, False)):  # the mean of a in the rows that follow, and 1 less that of b
        units = [np.append(first[arm], rng.random(300) < mean) for arm, mean in (("a", left), ("b", 1 - left))]
        heeded = heeding_all(found, units)
        assert heeded.certified == certified
    assert heeded.reason == "the rows left over speak against it"
    assert heeded.means.tolist() == [values.mean() for values in units]
    assert "Not decided (the rows left over speak against it). " in str(heeded)
    with pytest.raises(UsageError, match=r"speak against it; there is no decision to write|no checker for"):
        decision_of(heeded)


def test_rows_left_over_may_refute_what_the_means_of_all_rows_say() -> None:
    found = identify({"a": [1.0] * 200, "b": [0.0] * 200})
    for more, certified in ((6, False), (2, True)):
        parts = zip(found.pulls_per_arm.tolist(), (1.0, 0.0), strict=True)
        units = [np.append(np.full(used, value), np.full(more, 1 - value)) for used, value in parts]
        assert units[0].mean() > units[1].mean()
        assert heeding_all(found, units).certified == certified


def numbers(path: Path) -> dict[str, list[float]]:
    return {arm: list(rewards) for arm, rewards in read_source(path, Scale(), growing=True).by_label.items()}


def append(path: Path, rows: list[tuple[str, float]]) -> None:
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(rows)


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
        for arm in todo:
            append(path, [(arm, source[arm][recorded[arm]])])
            recorded[arm] += 1
    whole = Session(list(MEANS), 0.05, seed=0, batch=10)
    fed = feed(whole, list(source.values()))
    assert not fed.missing
    assert result["suggestions"] == []
    assert (result["arm"], result["pulls_per_arm"]) == ("c", whole.running.pulls_per_arm.tolist())
    assert 5 < calls < 200


def test_rows_count_once_in_order_and_the_surplus_is_kept() -> None:
    session = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    first = session.running.request.total // 2
    rewards = np.random.default_rng(1).random(first + 5).tolist()
    fed = feed(session, [rewards, []])
    assert (fed.used, fed.missing) == ([first, 0], {1: first})
    longer = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    fed = feed(longer, [rewards, rewards[::-1]])
    assert fed.used == [first + 5, first + 5]
    request, reply = longer.running.transcript[0]
    assert request.times.tolist() == [first, first]
    expected = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    expected.tell_all(expected.ask(2 * first), np.array([*rewards[:first], *rewards[::-1][:first]]))
    assert reply.tolist() == expected.running.transcript[0][1].tolist()


def test_a_growing_file_is_read_as_far_as_it_is_written_and_a_folder_by_the_names_of_its_files(tmp_path: Path) -> None:
    path, folder = tmp_path / "results.csv", tmp_path / "folder"
    for text, read in (
        (b"arm,value\na,0.5\nb,0.25\nb,0.7", {"a": [0.5], "b": [0.25]}),
        ("arm,value\na,0.5\né,0.25\né".encode()[:-1], {"a": [0.5], "é": [0.25]}),
        (b"arm,val", {}),
    ):
        path.write_bytes(text)
        assert numbers(path) == read
    folder.mkdir()
    (folder / "2.csv").write_text("value,arm\n0.3,a\n0.4,b\n")
    (folder / "1.csv").write_text("arm,value\na,0.1\na,0.2\n")
    (folder / "3.csv.gz").write_bytes(gzip.compress(b"arm,value\na,0.5\n"))
    (folder / "notes.txt").write_text("not a record")
    assert numbers(folder) == {"a": [0.1, 0.2, 0.3, 0.5], "b": [0.4]}


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


def test_a_finished_record_goes_on_where_an_arm_has_no_rows_left(tmp_path: Path, run: Run) -> None:
    """Two close arms with many rows, and a third that its 40 rows refute."""
    rewards = drawn(np.random.default_rng(5), a=(0.5, 20_000), b=(0.47, 20_000), c=(0.1, 40))
    ended, found = (identify(rewards, 0.1, finished=finished, record=True) for finished in (False, True))
    assert (ended.certified, list(ended.wanted), found.pulls_per_arm.tolist()) == (False, ["c"], [542, 551, 40])
    assert (found.best, found.certified, found.wanted) == ("a", True, {})
    assert "'c' had no rows left, and the search went on" in found.warnings[0]
    assert "rows" not in found.problem.options
    found.write_decision(tmp_path / "d.jsonl")
    assert "Claim: " in "".join(surest_verify.verify(str(tmp_path / "d.jsonl")))
    file = tmp_path / "r.csv"
    file.write_text("arm,value\n" + "".join(f"{arm},{v:g}\n" for arm, values in rewards.items() for v in values))
    looks = [("--finished",), (), ("--suggest", "2"), ("--finished", "--suggest", "2")]
    assert [run("identify", str(file), "--delta", "0.1", *more)[0] for more in looks] == [0, 3, 3, 2]


def test_a_finished_record_says_what_is_known_and_wanted() -> None:
    """Where an arm had no rows left at the end, but was not asked for more, it is the same search."""
    found = identify(
        drawn(np.random.default_rng(2), a=(0.5, 20_000), b=(0.47, 20_000), c=(0.1, 23)), 0.1, finished=True
    )
    assert (found.certified, found.pulls_per_arm[2], found.warnings) == (True, 23, ())
    rewards = drawn(np.random.default_rng(1), a=(0.9, 300), b=(0.2, 300), c=(0.9, 4))
    found = identify(rewards, finished=True)
    assert (found.certified, found.reason, list(found.wanted)) == (False, "more rewards needed", ["c"])
    assert (set(found.contenders), len(identify(rewards).contenders)) == ({"a", "c"}, 3)
    few = {"a": [1.0] * 3, "b": [0.0] * 3}
    assert identify(few, finished=True).wanted == identify(few).wanted


def test_a_best_arm_of_few_rows_is_lost_with_probability_at_most_delta() -> None:
    """Its first rows decide when it is not asked any more, but how many there are was known before them."""
    rng, lost = np.random.default_rng(8), 0
    for _ in range(150):
        found = identify(drawn(rng, a=(0.5, 30), b=(0.45, 400), c=(0.45, 400)), 0.3, finished=True, progress=False)
        lost += "a" not in (found.contenders or "a")  # None: rows left over spoke against it
    assert lost <= 64  # binomial of 0.3: more comes once in 1,000 times
    assert lost > 0
