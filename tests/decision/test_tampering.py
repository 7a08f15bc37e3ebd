"""Whoever changes a decision file is found out: at once, or by the claim that no longer follows, or by the hash."""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surest
import surest_verify
from decision.decisions import (
    DUELS,
    Line,
    against_known,
    best_of_four,
    chained,
    challenged,
    cheapest_of_four,
    coins,
    known_gate,
    lines_of,
    made,
    refusal,
)


def passing_gate() -> surest.Gate:
    rng = np.random.default_rng(3)
    old = {f"q{i}": float(x) for i, x in enumerate(rng.random(300) < 0.5)}
    new = {item: max(x, float(rng.random() < 0.1)) for item, x in old.items()}
    return surest.gate(old, new.__getitem__, 0.1, seed="4f2a9c")


FRESH = {
    "best": 0,
    "few": 1,
    "narrow": 2,
    "epsilon": 1,
    "contenders": 3,
    "top": 2,
    "top contenders": 0,
    "growing": 0,
    "seconds": 1,
}
"""Decisions on fresh rewards, by seed: together they have every kind of line."""
SAMPLES: dict[str, Callable[[], Any]] = {
    "race": best_of_four,
    "race with another seed": partial(best_of_four, seed=2),
    "race that is not decided": partial(best_of_four, budget=20),
    "race within epsilon": partial(best_of_four, epsilon=0.2),
    "race with a spread": lambda: surest.evaluate(
        0.35 + 0.3 * coins(0.8, 0.5, 0.45, 0.2, items=300), seed=1, spread=0.3, simulate=True
    ),
    "race to the top": lambda: surest.evaluate(coins(0.8, 0.8, 0.4, 0.2, items=200), seed=1, top=2, simulate=True),
    "race of one arm": lambda: surest.evaluate({'a" is the best': {"q": 0.5}}, seed=1),
    "race on a population": partial(best_of_four, target="population", top=2, budget=90),
    # Arm 0 was put in by bets and evaluated no more, so the sums of the others, which tie, grew past its own.
    "race with an arm that is in": lambda: surest.evaluate(
        np.array([np.ones(60), *np.tile([0.5, 0.0, 0.0, 0.5], (2, 15))]), seed=0, top=2, simulate=True
    ),
    # Far less than the range apart: the search takes these for equal, the exact sums do not.
    "race up to rounding": lambda: surest.evaluate(
        {"bad": [100.0] * 20, "good": [900.0] * 20}, seed=5, bounds=(0, 1e13), simulate=True
    ),
    "race that ties": lambda: surest.evaluate({arm: dict.fromkeys(range(20), 0.3) for arm in "ab"}, seed=5),
    "gate": passing_gate,
    "gate that is open": lambda: surest.gate(dict.fromkeys("abcd", 0.5), {"a": 0.5}, 0.1),
    # It passed once, for certain.
    "gate with a difference far below the range": lambda: surest.gate([900.0] * 4, [100.0] * 4, bounds=(0, 1e13)),
    "gate on a number of items": lambda: surest.gate(
        [0.0, 1.0] * 40, [1.0, 1.0] * 40, items=200, shuffled=True, margin=0.1
    ),
    "gate with a part of a baseline": lambda: surest.gate(  # from which nothing is predicted
        {f"q{i}": 1.0 for i in range(90)}, {f"q{i}": 1.0 for i in range(50)}, 0.3, items=100, shuffled=True
    ),
    "gate with predictions": partial(known_gate, 3),
    "known control": partial(against_known, 1),
    "known control that is open": partial(against_known, 2, budget=30),
    "challenge": partial(challenged, 0.8),
    "challenge that fails": partial(challenged, 0.3),
    "cheapest": cheapest_of_four,
    "cheapest that is open": partial(cheapest_of_four, budget=40),
    "duels": DUELS["winner"],
    "top that is open": lambda: surest.identify(
        surest.bernoulli([0.8, 0.7, 0.1]), top=2, seed=1, budget=60, record=True
    ),
    **{kind: partial(made, kind, seed) for kind, seed in FRESH.items()},
}


@cache
def decision(sample: str) -> list[Line]:
    return lines_of(SAMPLES[sample]())


def raw_of(sample: str) -> list[bytes]:
    """The lines as they are in the file."""
    return chained(decision(sample)).lines


# --- lines that are changed, the hashes made to fit -----------------------------------------------------------------------


class Tampered:
    """The lines of a decision with fields for attributes, and what tampering.txt does to them."""

    def __init__(self, sample: str) -> None:
        self.lines = json.loads(json.dumps(decision(sample)), object_hook=lambda fields: SimpleNamespace(**fields))
        self.head, self.end = self.lines[0], self.lines[-1]
        self.claim = self.end.claim

    def data(self) -> list[Line]:
        return json.loads(json.dumps(self.lines, default=vars))

    def of(self, kind: str) -> list[Any]:
        return [line for line in self.lines if line.kind == kind]

    def at(self, line: Any) -> int:
        return next(place for place, one in enumerate(self.lines) if one is line)

    def double(self, line: Any) -> None:
        self.lines.insert(self.at(line), deepcopy(line))

    def move(self, line: Any, by: int) -> None:
        where = self.at(line)
        self.lines.insert(where + by, self.lines.pop(where))

    def fit(self) -> None:
        """Words that say what is claimed now."""
        labels = sum((line.labels for line in self.of("addition")), self.head.labels)
        plain = self.data()
        self.end.words = surest_verify.sentence({**plain[0], "labels": labels}, plain[-1]["claim"])

    def told(self, place: int, event: Any) -> None:
        """An event before a line, which the claim and its words have, too."""
        self.lines.insert(place, event)
        for one in getattr(self.end, "decided", []):
            one[1] += one[1] > place
        for witness in getattr(self.end, "witnesses", []):
            witness.line += witness.line > place
        setattr(self.claim.events, event.what, getattr(self.claim.events, event.what, 0) + event.times)
        self.fit()

    def staked(self, side: str, factor: float) -> None:
        """Change the bets that the first witness rests on."""
        one = self.end.witnesses[0]
        line = self.of("nomination")[one.slot - 1]
        getattr(line, side)[line.arms.index(one.arms[0])][one.arms[1]] *= factor

    def names(self) -> dict[str, Any]:
        """What a change may use."""
        new = lambda kind, **fields: SimpleNamespace(kind=kind, **fields)  # noqa: E731
        event = partial(new, "event", **{"what": "imputed", "arm": 0, "times": 1})
        methods = {name: getattr(self, name) for name in ("of", "at", "double", "move", "fit", "told", "staked")}
        return {**vars(self), **methods, "new": new, "event": event, "copy": deepcopy, "Tampered": Tampered}


def tamperings() -> Iterator[tuple[str, str, str]]:
    sample = ""
    for line in Path(__file__).with_name("tampering.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            sample = line[1:-1]
        elif line and not line.startswith("#"):
            yield (sample, *line.split(": ", 1))


@pytest.mark.parametrize(("sample", "name", "change"), [*tamperings()])
def test_a_decision_that_was_tampered_with_is_not_valid(sample: str, name: str, change: str) -> None:
    tampered = Tampered(sample)
    exec(change, tampered.names())
    assert repr(tampered.data()) != repr(decision(sample))
    assert refusal(tampered.data()).startswith("line "), name


@pytest.mark.parametrize("place", [1, 3, -2])
def test_an_event_in_its_place_is_valid(place: int) -> None:
    told = Tampered("race")
    told.told(place % len(told.lines), SimpleNamespace(kind="event", what="imputed", arm=0, times=1))
    assert refusal(told.data()) == ""


@pytest.mark.parametrize("sample", ["race", "best"])
def test_whoever_makes_the_chain_anew_is_found_out_by_the_hash(sample: str) -> None:
    """Names say nothing to a theorem: who renames an arm everywhere has another search, as far as the file goes."""
    renamed = Tampered(sample)
    renamed.head.labels[0] = "renamed"
    renamed.fit()
    known_by = chained(decision(sample)).known_by
    assert refusal(renamed.data()) == refusal(decision(sample), known_by) == ""
    assert refusal(renamed.data(), known_by).startswith(f"line {len(renamed.lines) + 1}: the hash of the decision is ")


# --- what is no line of a decision ----------------------------------------------------------------------------------------

WRONG = ("1e999", "-1e999", "NaN", "Infinity", str(2**80), "true", "null", '"0.5"', "[0.5]", "{}", "-1e-9e", "0x10")
"""What may stand where a number should."""


def linked(lines: Iterable[bytes]) -> list[bytes]:
    """Lines of bytes, each with the hash of the one before in place of its own."""
    found: list[bytes] = []
    for line in lines:
        if found:
            head, _, tail = line.partition(b'"prev":"')
            line = head + b'"prev":"' + hashlib.sha256(found[-1]).hexdigest().encode() + tail[64:]
        found.append(line)
    return found


def place(lines: list[Line], kind: str) -> int:
    """Where the first line of a kind is."""
    return next(at for at, line in enumerate(lines) if line["kind"] == kind)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of numbers and texts in a line: of each list the first entry."""
    if isinstance(value, dict):
        for name in value:
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, list):
        yield from leaves(value[0], (*path, 0)) if value else ()
    else:
        yield path


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@cache
def every_leaf() -> list[tuple[str, str, tuple[Any, ...]]]:
    """Each place of each kind of line, once: the first sample that has it, the kind and the place."""
    found: dict[tuple[str, str], tuple[str, str, tuple[Any, ...]]] = {}
    for sample in (*FRESH, "race", "gate"):
        for line in decision(sample):
            for path in leaves(line):
                found.setdefault((line["kind"], str(path)), (sample, line["kind"], path))
    return [one for one in found.values() if one[2] != ("kind",)]


@pytest.mark.parametrize("sample", [*FRESH, "race", "gate"])
def test_what_is_not_a_number_is_refused_in_its_line(sample: str) -> None:
    for kind, path in [leaf for first, *leaf in every_leaf() if first == sample]:
        lines = deepcopy(decision(sample))
        where = place(lines, kind)
        was = at(lines[where], path)
        at(lines[where], path[:-1])[path[-1]] = "@here@"
        raw = chained(lines).lines
        for wrong in WRONG:
            if (isinstance(was, str) and wrong.startswith('"')) or (isinstance(was, bool) and wrong == "true"):
                continue
            said = refusal(linked([line.replace(b'"@here@"', wrong.encode()) for line in raw]))
            assert said.startswith(f"line {where + 1}: "), (path, wrong, said)


@pytest.mark.parametrize(
    "kind", ["surest decision", "bets", "rewards", "nomination", "addition", "event", "conclusion"]
)
def test_fields_that_come_twice_are_missing_or_unknown_are_refused(kind: str) -> None:
    lines = deepcopy(decision("growing"))
    where = place(lines, kind)
    for name in [name for name in lines[where] if name != "kind"]:
        fewer = deepcopy(lines)
        del fewer[where][name]
        assert refusal(fewer).startswith(f"line {where + 1}: ")
        text = json.dumps({name: lines[where][name]}, ensure_ascii=False, separators=(",", ":"))[1:-1].encode()
        raw = raw_of("growing")
        raw[where] = raw[where].replace(text, text + b"," + text, 1)
        assert refusal(linked(raw)) == f"line {where + 1}: a key appears twice"
    lines[where]["more"] = 1
    assert refusal(lines).startswith(f"line {where + 1}: ")


@pytest.mark.parametrize("sample", [*FRESH, "race", "gate"])
def test_any_changed_byte_breaks_the_chain(sample: str) -> None:
    raw = raw_of(sample)
    for where in {0, 1, 2, len(raw) // 2, len(raw) - 3, len(raw) - 2}:
        changed = bytearray(raw[where])
        last = max(changed.rfind(b"%d" % digit) for digit in range(10))
        changed[last] = ord("1") if changed[last] != ord("1") else ord("2")
        said = refusal([*raw[:where], bytes(changed), *raw[where + 1 :]])
        assert said.startswith((f"line {where + 1}: ", f"line {where + 2}: it does not carry")), said


@pytest.mark.parametrize("where", [1, 15, -2])
def test_lines_that_are_cut_moved_or_doubled_are_refused(where: int) -> None:
    raw, other = raw_of("best"), raw_of("epsilon")
    where %= len(raw)
    for beside in (
        [*raw[:where], *raw[where + 1 :]],
        [*raw[: where + 1], *raw[where:]],
        [*raw[:where], *other[-where:]],
    ):
        assert "hash of the line before" in refusal(beside)
    assert refusal(raw[:where]) == f"line {where}: the file is cut after this line"
    assert refusal([*raw[:where], raw[where][:-9]]).startswith(f"line {where + 1}: not JSON")


NO_LINES = [b" ", b"\n", b" \n", b"\0", b"\r\n", b"{}\n"]


def test_lines_are_json_in_utf_8_and_nothing_stands_beside_them(tmp_path: Path) -> None:
    raw = raw_of("best")
    *before, last = raw
    for encoding in ("utf-16", "utf-16-le", "utf-32-be", "utf-8-sig"):
        assert refusal([*before, last.decode().encode(encoding)]).startswith(f"line {len(raw)}: ")
        assert refusal([line.decode().encode(encoding) for line in raw]).startswith("line 1: not JSON")
    for more in (last, *NO_LINES):
        assert refusal([*raw, more]).startswith(f"line {len(raw) + 1}: ")
        assert refusal([*before, last[:-1] + more + b"\n"]) != ""
    for changed in (b" " + last, last.replace(b",", b", "), last[:-1]):
        assert refusal([*before, changed]) != ""
    assert refusal([]) == "line 0: the file is cut after this line"
    assert refusal([b"7\n"]) == "line 1: not a JSON object"
    for line in (b"\xff\xfe\n", b"[" * 100_000 + b"\n"):
        assert refusal([line]).startswith("line 1: not JSON")
    path, packed = tmp_path / "decision.jsonl.gz", gzip.compress(b"".join(raw))
    for wrong, words in (
        (packed + b"\0" * 9, "follows"),
        (packed + gzip.compress(b""), "follows"),
        (packed[:-5], "cut"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(surest_verify.Invalid, match=words):
            surest_verify.verify(str(path))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100)
@given(st.data())
def test_no_input_makes_the_verifier_stumble(data: st.DataObject) -> None:
    """One to three values, anywhere, are something else: the file is valid or refused."""
    lines = deepcopy(
        decision(data.draw(st.sampled_from(["growing", "top", "seconds", "race", "race with a spread", "gate"])))
    )
    for _ in range(data.draw(st.integers(1, 3))):
        line = lines[data.draw(st.sampled_from([0, 1, len(lines) // 2, len(lines) - 1]))]
        path = data.draw(st.sampled_from([path for path in leaves(line) if path != ("kind",)]))
        path = path[: data.draw(st.integers(1, len(path)))]
        at(line, path[:-1])[path[-1]] = data.draw(json_values)
    raw, before = [], ""
    for line in [*lines, {"kind": "end"}]:
        raw.append(json.dumps({**line, "prev": before} if before else line).encode() + b"\n")
        before = hashlib.sha256(raw[-1]).hexdigest()
    assert refusal(raw) == "" or refusal(raw).startswith("line ")


# --- more work than a file of its size may ask for ------------------------------------------------------------------------


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_of("best")
    monkeypatch.setattr(surest_verify, "LONGEST", max(map(len, raw)) + 1)
    assert refusal(raw) == ""
    with pytest.raises(surest_verify.TooMuch, match="a line has more than"):
        refusal([raw[0], b" " * 10**6])


@pytest.mark.parametrize("repeated", ["witnesses", "rewards"])
def test_a_small_file_cannot_ask_for_much_work(
    repeated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is neither valid nor not: whoever calls is told by a status of its own."""
    lines, path = lines_of(made("continuous", 0)), tmp_path / "decision.jsonl.gz"
    if repeated == "witnesses":
        lines[-1]["witnesses"] *= 100
    else:
        line = lines[place(lines, "rewards")]
        line.update(values=[[value] * 50_000 for (value, *_) in line["values"]], times=[])
    chained(lines).write(path)
    monkeypatch.setattr(surest_verify.Work, "BASE", 10**5)
    monkeypatch.setattr(surest_verify.Work, "BYTE", 10)
    for arguments, status, said in (
        ([], 3, "CANNOT BE CHECKED: it takes more work than a file of its size may"),
        (["--limit", "100000"], 1 if repeated == "rewards" else 0, "VALID"),
        (["--limit", "-1"], 2, ""),
        (["--limit"], 2, ""),
    ):
        monkeypatch.setattr("sys.argv", ["surest-verify", str(path), *arguments])
        assert surest_verify.main() == status
        assert said in capsys.readouterr().out
    monkeypatch.setattr(surest_verify, "verify", lambda *_: bytearray(2**62))
    monkeypatch.setattr("sys.argv", ["surest-verify", str(path)])
    assert surest_verify.main() == 3, "a lack of memory is not a verdict"


def test_many_sets_of_arms_are_work(monkeypatch: pytest.MonkeyPatch) -> None:
    head = {**decision("top")[0], "algorithm": "race-top", "items": ["q"], "target": "items", "top": 10}
    monkeypatch.setattr(surest_verify.Work, "BASE", 10**6)
    for labels in (20, 30):
        with pytest.raises(surest_verify.TooMuch):
            refusal([{**head, "labels": [str(arm) for arm in range(labels)]}])
