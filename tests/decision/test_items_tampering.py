"""Decisions on lists that were tampered with, hashes made to fit: every change that matters is refused, with the line."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
import surest_verify
from decision.listed import Line, best_of_four, chained, lines_of, refusal
from surest.decision.gate import decision_of_gate
from surest.decision.lists import decision_on_items
from surest_verify_lists import gate_sentence

Change = Callable[[list[Line]], Any]


def setting(name: str, value: Any) -> Change:
    """Change a setting in the first line."""
    return lambda lines: lines[0].update({name: value})


def score(line: int, place: int, value: Any) -> Change:
    """Change one score."""
    return lambda lines: lines[line]["values"].__setitem__(place, value)


def stated(**fields: Any) -> Change:
    """Change fields of the conclusion."""
    return lambda lines: lines[-1].update(fields)


def claimed(**fields: Any) -> Change:
    """Change fields of the claim, with words that fit."""

    def change(lines: list[Line]) -> None:
        lines[-1]["claim"].update(fields)
        lines[-1]["words"] = surest_verify.sentence(lines[0], lines[-1]["claim"])

    return change


def without(line: int, field: str) -> Change:
    return lambda lines: lines[line].pop(field)


def swapped_items(lines: list[Line]) -> None:
    lines[5]["item"], lines[6]["item"] = lines[6]["item"], lines[5]["item"]


def swapped_scores(lines: list[Line]) -> None:
    """Two lines' scores, with the items where they were."""
    one, two = (next(line for line in lines[1:12] if line["values"][:2] == pair) for pair in ([1.0, 0.0], [1.0, 1.0]))
    one["values"], two["values"] = two["values"], one["values"]


def arm_left_out(lines: list[Line]) -> None:
    """An arm that is in the way is not evaluated any more."""
    for line in lines[8:-1]:
        line["arms"], line["values"] = line["arms"][:-1], line["values"][:-1]


def arm_kept(lines: list[Line]) -> None:
    """An arm that is out is evaluated once more."""
    first = next(line for line in lines[1:-1] if len(line["arms"]) == 3)
    first["arms"], first["values"] = [0, 1, 2, 3], [*first["values"], 0.0]


def other_order(lines: list[Line]) -> None:
    for line in lines[1:-1]:
        line["item"] = 299 - line["item"]


def renamed(lines: list[Line]) -> None:
    """An arm gets another name: the words of the claim have its own."""
    lines[0]["labels"][0] = "mine"


def exchanged_arms(lines: list[Line]) -> None:
    """The scores of two arms change places."""
    for line in lines[1:-1]:
        line["values"][:2] = line["values"][1::-1]


def evidence(more: float) -> Change:
    """Say that there was more evidence against the first arm that is out."""
    return lambda lines: lines[-1]["decided"][0].__setitem__(2, lines[-1]["decided"][0][2] + more)


IMPUTED = {"kind": "event", "what": "imputed", "arm": 0, "times": 1}


def imputed(at: int, arm: int = 0, times: int = 1) -> Change:
    """An event before a line, which the claim and its words have, too."""

    def change(lines: list[Line]) -> None:
        lines.insert(at, {**IMPUTED, "arm": arm, "times": times})
        place = len(lines) + at - 1 if at < 0 else at
        for one in lines[-1]["decided"]:
            one[1] += one[1] > place
        claimed(events={"imputed": times})(lines)

    return change


NOT_VALID: dict[str, Change] = {
    "a smaller delta": setting("delta", 0.01),
    "a smaller delta in the claim, too": lambda lines: [setting("delta", 0.01)(lines), claimed(delta=0.01)(lines)],
    "a larger delta": lambda lines: [setting("delta", 0.2)(lines), claimed(delta=0.2)(lines)],
    "another epsilon": lambda lines: [setting("epsilon", 0.1)(lines), claimed(within=0.1)(lines)],
    "a negative epsilon": setting("epsilon", -0.1),
    "an epsilon beyond the range": setting("epsilon", 2.0),
    "another seed": setting("seed", "2"),
    "a seed that is no number": setting("seed", "one"),
    "a number as the seed": setting("seed", 1),
    "the other direction": setting("minimise", True),
    "wider bounds": setting("bounds", [0.0, 2.0]),
    "bounds that are no range": setting("bounds", [1.0, 0.0]),
    "three bounds": setting("bounds", [0.0, 1.0, 2.0]),
    "the population": setting("target", "population"),
    "another target": setting("target", "everything"),
    "another algorithm": setting("algorithm", "race-above"),
    "the algorithm of fresh rewards": setting("algorithm", "wager"),
    "another version": setting("version", 2),
    "an item less": lambda lines: lines[0]["items"].pop(),
    "an item more": lambda lines: lines[0]["items"].append("new"),
    "no items": setting("items", []),
    "an arm less": lambda lines: lines[0]["labels"].pop(),
    "an arm more": lambda lines: lines[0]["labels"].append("new"),
    "an arm renamed": renamed,
    "a setting more": setting("budget", 7),
    "a setting less": without(0, "target"),
    "a score changed": score(2, 0, 0.0),
    "a score changed a little": score(2, 0, 0.999999),
    "a score out of bounds": score(2, 0, 1.5),
    "a score that is huge": score(2, 0, 2**80),
    "a score that is a text": score(2, 0, "1"),
    "a score that is true": score(2, 0, True),
    "a score that is missing": score(2, 0, None),
    "a score less": lambda lines: lines[2]["values"].pop(),
    "a score more": lambda lines: lines[2]["values"].append(0.0),
    "lines swapped": lambda lines: lines.insert(5, lines.pop(6)),
    "items swapped": swapped_items,
    "scores swapped": swapped_scores,
    "arms exchanged": exchanged_arms,
    "a line dropped": lambda lines: lines.pop(6),
    "the first line of scores dropped": lambda lines: lines.pop(1),
    "the last line of scores dropped": lambda lines: lines.pop(-2),
    "a line twice": lambda lines: lines.insert(6, deepcopy(lines[6])),
    "the last line of scores twice": lambda lines: lines.insert(-1, deepcopy(lines[-2])),
    "an arm left out": arm_left_out,
    "an arm kept": arm_kept,
    "arms in another order": lambda lines: lines[2]["arms"].reverse(),
    "an arm twice": lambda lines: lines[2]["arms"].__setitem__(1, 0),
    "the order not from its seed": other_order,
    "an item of another number": lambda lines: lines[2].update(item=10**6),
    "an event that is hidden": lambda lines: lines.insert(3, IMPUTED),
    "an event of an arm that is not there": imputed(3, arm=9),
    "an event of an arm that is out": imputed(-2, arm=3),
    "two imputed scores of one": imputed(3, times=2),
    "an event after all scores": imputed(-1),
    "an event that happened 0 times": lambda lines: lines.insert(3, {**IMPUTED, "times": 0}),
    "two items of one name": lambda lines: lines[0]["items"].__setitem__(1, lines[0]["items"][0]),
    "two arms of one name": lambda lines: lines[0]["labels"].__setitem__(3, lines[0]["labels"][2]),
    "an event that did not happen": claimed(events={"imputed": 1}),
    "a kind that is not known": lambda lines: lines[2].update(kind="rewards"),
    "a known score, as for a gate": lambda lines: lines[2].update(kind="known"),
    "a field more": lambda lines: lines[2].update(weight=2),
    "a field less": without(2, "item"),
    "another arm named": claimed(arms=[1], contenders=[1]),
    "two arms named": claimed(arms=[0, 1], contenders=[0, 1]),
    "an arm that does not exist": lambda lines: lines[-1]["claim"].update(arms=[9], contenders=[9]),
    "no arm": claimed(arms=[], contenders=[]),
    "more contenders": claimed(contenders=[0, 1]),
    "certain": claimed(exact=True),
    "closer than known": claimed(within=-0.1),
    "less close": claimed(within=0.1),
    "another delta in the claim": claimed(delta=0.01),
    "words of another claim": stated(words="0 is the best of 4 arms; certain"),
    "more scores counted": lambda lines: lines[-1]["counted"].__setitem__(0, 300),
    "fewer scores counted": lambda lines: lines[-1]["counted"].__setitem__(3, 1),
    "an arm out at another line": lambda lines: lines[-1]["decided"][0].__setitem__(1, 3),
    "another arm out": lambda lines: lines[-1]["decided"][0].__setitem__(0, 1),
    "more evidence": lambda lines: lines[-1]["decided"][0].__setitem__(2, 9.0),
    "a millionth of a nat more": evidence(1e-6),
    "an arm that is out left out": lambda lines: lines[-1]["decided"].pop(),
    "evidence of nothing": lambda lines: lines[-1]["decided"].append([]),
    "evidence without a line": lambda lines: lines[-1]["decided"][0].pop(),
    "no conclusion": lambda lines: lines.pop(),
    "the conclusion too early": lambda lines: lines.insert(3, deepcopy(lines[-1])),
    "the first line twice": lambda lines: lines.insert(1, deepcopy(lines[0])),
    "no first line": lambda lines: lines.pop(0),
}


def verdict(said: str, exact: bool = False) -> Change:
    """Change the verdict of a gate, with words that fit."""

    def change(lines: list[Line]) -> None:
        lines[-1]["claim"].update(verdict=said, exact=exact)
        lines[-1]["words"] = gate_sentence(lines[0], lines[-1]["claim"])

    return change


TOP: dict[str, Change] = {
    "another m": setting("top", 1),
    "no arm": setting("top", 0),
    "more than there are": setting("top", 5),
    "without m": without(0, "top"),
    "another set": claimed(arms=[0, 2], contenders=[0, 2]),
    "one arm": claimed(arms=[0], contenders=[0]),
    "an arm out at another line": lambda lines: lines[-1]["decided"][-1].__setitem__(1, 2),
    "more evidence": lambda lines: lines[-1]["decided"][-1].__setitem__(2, 9.0),
    "a score changed": score(3, 1, 0.5),
    "the last line of scores dropped": lambda lines: lines.pop(-2),
}
GATE: dict[str, Change] = {
    "it fails": verdict("fail"),
    "it fails for certain": verdict("fail", True),
    "it passes for certain": verdict("pass", True),
    "another verdict": verdict("maybe"),
    "a smaller margin": setting("epsilon", 0.05),
    "a smaller delta": lambda lines: [setting("delta", 0.01)(lines), lines[-1]["claim"].update(delta=0.01)],
    "another seed": setting("seed", "other"),
    "an order that is stated": setting("seed", ""),
    "three arms": lambda lines: lines[0]["labels"].append("new"),
    "two arms of one name": lambda lines: lines[0]["labels"].__setitem__(1, lines[0]["labels"][0]),
    "two items of one name": lambda lines: lines[0]["items"].__setitem__(1, lines[0]["items"][0]),
    "an event that is hidden": lambda lines: lines.insert(3, IMPUTED),
    "the order of version 1": lambda lines: lines[0].__setitem__("version", 1),
    "a version that is not known": lambda lines: lines[0].__setitem__("version", 4),
    "an item less": lambda lines: lines[0]["items"].pop(),
    "a score changed": score(1, 1, 0.5),
    "sides exchanged": lambda lines: [line["values"].reverse() for line in lines[1:-1]],
    "lines swapped": lambda lines: lines.insert(1, lines.pop(2)),
    "a line dropped": lambda lines: lines.pop(3),
    "a line twice": lambda lines: lines.insert(3, deepcopy(lines[3])),
    "an item known that has counted": lambda lines: lines.insert(-1, {**deepcopy(lines[-2]), "kind": "known"}),
    "an item known that is not on the list": lambda lines: lines.insert(
        -1, {"kind": "known", "item": 400, "arms": [0, 1], "values": [0.0, 1.0]}
    ),
    "a line that counts said to be known only": lambda lines: lines[2].update(kind="known"),
    "fewer counted": stated(counted=[1, 1]),
    "decided earlier": lambda lines: lines[-1]["decided"][0].__setitem__(0, 5),
    "more evidence": lambda lines: lines[-1]["decided"][0].__setitem__(1, 9.0),
    "not decided": stated(decided=[]),
    "other words": stated(words="candidate is better than baseline"),
}
CHANGES = {"race": NOT_VALID, "top": TOP, "gate": GATE}


@cache
def decision(kind: str) -> list[Line]:
    """A decision by bets: on the best arm, on the best two, of a gate that passes."""
    rng = np.random.default_rng(3)
    if kind == "race":
        return best_of_four()
    if kind == "top":
        table = (rng.random((4, 200)) < np.array([[0.8], [0.8], [0.4], [0.2]])).astype(float)
        return lines_of(decision_on_items(surest.evaluate(table, seed=1, top=2, simulate=True)))
    old = {f"q{i}": float(x) for i, x in enumerate(rng.random(300) < 0.5)}
    new = {item: max(x, float(rng.random() < 0.1)) for item, x in old.items()}
    gate = surest.gate(old, new.__getitem__, 0.1, seed="4f2a9c")
    assert (gate.verdict, gate.exact) == ("pass", False)
    return lines_of(decision_of_gate(gate))


@pytest.mark.parametrize(
    ("kind", "change"), [(kind, change) for kind, changes in CHANGES.items() for change in changes]
)
def test_a_decision_that_was_tampered_with_is_not_valid(kind: str, change: str, tmp_path: Path) -> None:
    lines = deepcopy(decision(kind))
    CHANGES[kind][change](lines)
    assert repr(lines) != repr(decision(kind))
    assert refusal(lines, tmp_path / "decision.jsonl").startswith("line ")


@pytest.mark.parametrize("kind", CHANGES)
def test_the_decision_itself_is_valid(kind: str, tmp_path: Path) -> None:
    assert refusal(decision(kind), tmp_path / "decision.jsonl") == ""


@pytest.mark.parametrize("at", [1, 3, -2])
def test_an_event_in_its_place_is_valid(at: int, tmp_path: Path) -> None:
    lines = deepcopy(decision("race"))
    imputed(at)(lines)
    assert refusal(lines, tmp_path / "decision.jsonl") == ""


def test_a_consistent_change_is_seen_by_the_hash(tmp_path: Path) -> None:
    """Names say nothing to a theorem: who renames an arm everywhere needs another hash."""
    lines, path = deepcopy(decision("race")), tmp_path / "decision.jsonl"
    renamed(lines)
    claimed()(lines)
    assert refusal(lines, path) == ""
    with pytest.raises(surest_verify.Invalid, match="hash"):
        surest_verify.verify(str(path), chained(decision("race")).known_by)


@pytest.mark.parametrize(
    "text", [b"1e999", b"NaN", b"Infinity", b"-Infinity", b"1" * 5000, b'1.0,"values":[0.0,0.0,0.0,0.0]']
)
def test_numbers_that_are_none_and_keys_that_come_twice_are_refused(text: bytes, tmp_path: Path) -> None:
    chain = chained(decision("race"))
    chain.lines[3] = chain.lines[3].replace(b'"item":', b'"item":' + text + b',"was":', 1)
    chain.write(tmp_path / "decision.jsonl")
    with pytest.raises(surest_verify.Invalid, match="line 4"):
        surest_verify.verify(str(tmp_path / "decision.jsonl"))


def test_the_tail_of_another_file_is_refused(tmp_path: Path) -> None:
    one, other = decision("race"), best_of_four(seed=2)
    for k in (1, 5, len(one) - 1):
        assert refusal([*one[:k], *other[k:]], tmp_path / "decision.jsonl").startswith("line ")


def test_a_search_that_is_not_decided_cannot_be_said_to_be(tmp_path: Path) -> None:
    lines = best_of_four(budget=20)
    assert refusal(lines, tmp_path / "decision.jsonl") == ""
    certified = {"certified": True, "contenders": [0], "within": 0.0}
    for fields in (certified, {"contenders": [0, 1]}, {"within": 0.5}, {"exact": True}):
        tampered = deepcopy(lines)
        claimed(**fields)(tampered)
        assert refusal(tampered, tmp_path / "decision.jsonl").startswith("line 7: ")


def test_with_epsilon_another_arm_cannot_be_named(tmp_path: Path) -> None:
    lines = best_of_four(epsilon=0.2)
    assert refusal(lines, tmp_path / "decision.jsonl") == ""
    assert len(lines[-1]["decided"]) < 3  # it was closeness that decided
    for change in (claimed(arms=[3], contenders=[3]), NOT_VALID["another epsilon"]):
        tampered = deepcopy(lines)
        change(tampered)
        assert refusal(tampered, tmp_path / "decision.jsonl").startswith("line ")


def test_an_arm_that_is_in_cannot_be_left_out_for_one_that_ties(tmp_path: Path) -> None:
    """Arm 0 was put in by bets and evaluated no more, so the sums of the others, which tie, grew past its own."""
    half = np.tile([0.5, 0.0, 0.0, 0.5], 15)
    table, path = np.array([np.ones(60), half, half]), tmp_path / "decision.jsonl"
    lines = lines_of(decision_on_items(surest.evaluate(table, seed=0, top=2, simulate=True)))
    assert refusal(lines, path) == ""
    assert lines[-1]["counted"][0] < 60
    assert 0 in lines[-1]["claim"]["arms"]
    claimed(arms=[1, 2], contenders=[1, 2])(lines)
    assert "lacks one that is in" in refusal(lines, path)


WEIRD: list[Any] = [None, True, -1, 0, 1, 7, 2**53, 2**80, -0.0, 0.5, 1e-320, 1e300, "", "0", "items", "\ud800"]
WEIRD += [[], [[]], [0], {}, {"a": 1}]


def spoilt(value: Any, rng: np.random.Generator) -> Any:
    """The same value with something strange in one place."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[int(rng.integers(len(value)))]
        return {**value, key: spoilt(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = int(rng.integers(len(value)))
        return [*value[:place], spoilt(value[place], rng), *value[place + 1 :]]
    return deepcopy(WEIRD[int(rng.integers(len(WEIRD)))])


@pytest.mark.parametrize("settings", [{}, {"top": 2}, {"epsilon": 0.2}, {"budget": 20}])
def test_whatever_is_in_a_file_it_is_valid_or_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    rng, lines, refused = np.random.default_rng(1), best_of_four(**settings), 0
    for _ in range(60):
        place = int(rng.choice([0, 1, int(rng.integers(len(lines))), len(lines) - 1]))
        line = spoilt({key: value for key, value in lines[place].items() if key != "kind"}, rng)
        changed = {"kind": lines[place]["kind"], **line} if isinstance(line, dict) else {"kind": line}
        refused += bool(refusal([*lines[:place], changed, *lines[place + 1 :]], tmp_path / "decision.jsonl"))
    assert refused > 45
