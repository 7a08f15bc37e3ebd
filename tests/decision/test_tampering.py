"""Whoever changes a decision file is found out: at once, or by the claim that no longer follows, or by the hash."""

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import surest_verify
from decisions import Lines, lines_of, linked, parsed, rechained
from surest_verify import sentence

Verdict = Callable[..., str]
SAMPLES = {"best": 0, "few": 1, "narrow": 2, "epsilon": 1, "contenders": 3, "top": 2, "growing": 0, "seconds": 1}
"""Decisions that are tampered with, by seed: together they have every kind of line."""
WRONG = ("1e999", "-1e999", "NaN", "Infinity", str(2**80), "true", "null", '"0.5"', "[0.5]", "{}", "-1e-9e", "0x10")
"""What may stand where a number should."""


def place(lines: Lines, kind: str, number: int = 0) -> int:
    """Where the line of a kind is, the last one for −1."""
    return [at for at, line in enumerate(lines) if line["kind"] == kind][number]


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


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    at(value, path[:-1])[path[-1]] = new


def every_leaf() -> list[tuple[str, str, tuple[Any, ...]]]:
    """Each place of each kind of line, once."""
    found: dict[tuple[str, str], tuple[str, str, tuple[Any, ...]]] = {}
    for sample, seed in SAMPLES.items():
        for line in parsed(lines_of(sample, seed)):
            for path in leaves(line):
                found.setdefault((line["kind"], str(path)), (sample, line["kind"], path))
    return [one for one in found.values() if one[2] not in (("prev",), ("kind",))]


LEAVES = every_leaf()


@pytest.mark.parametrize(("sample", "kind", "path"), LEAVES)
def test_what_is_not_a_number_is_refused_in_its_line(
    sample: str, kind: str, path: tuple[Any, ...], verdict: Verdict
) -> None:
    lines = parsed(lines_of(sample, SAMPLES[sample]))
    where = place(lines, kind)
    was = at(lines[where], path)
    put(lines[where], path, "@here@")
    raw = rechained(lines)
    for wrong in WRONG:
        if (isinstance(was, str) and wrong.startswith('"')) or (isinstance(was, bool) and wrong == "true"):
            continue
        said = verdict(linked([line.replace(b'"@here@"', wrong.encode()) for line in raw]))
        assert said.startswith(f"line {where + 1}: "), (wrong, said)


@pytest.mark.parametrize(
    "kind", ["surest decision", "bets", "rewards", "nomination", "addition", "event", "conclusion"]
)
def test_fields_that_come_twice_are_missing_or_unknown_are_refused(kind: str, verdict: Verdict) -> None:
    lines = parsed(lines_of("growing", SAMPLES["growing"]))
    where = place(lines, kind)
    for name in [name for name in lines[where] if name not in ("prev", "kind")]:
        fewer = copy.deepcopy(lines)
        del fewer[where][name]
        assert verdict(rechained(fewer)).startswith(f"line {where + 1}: ")
        text = json.dumps({name: lines[where][name]}, ensure_ascii=False, separators=(",", ":"))[1:-1].encode()
        raw = rechained(lines)
        raw[where] = raw[where].replace(text, text + b"," + text, 1)
        assert verdict(linked(raw)) == f"line {where + 1}: a key comes twice"
    lines[where]["more"] = 1
    assert verdict(rechained(lines)).startswith(f"line {where + 1}: ")


@pytest.mark.parametrize("sample", SAMPLES)
def test_any_changed_byte_breaks_the_chain(sample: str, verdict: Verdict) -> None:
    raw = list(lines_of(sample, SAMPLES[sample]))
    for where in {0, 1, 2, len(raw) // 2, len(raw) - 3, len(raw) - 2}:
        line = raw[where]
        changed = bytearray(line)
        last = max(line.rfind(b"%d" % digit) for digit in range(10))
        changed[last] = ord("1") if line[last] != ord("1") else ord("2")
        said = verdict([*raw[:where], bytes(changed), *raw[where + 1 :]])
        assert said.startswith(f"line {where + 1}: ") or said.startswith(f"line {where + 2}: it does not carry"), said


def test_lines_that_are_cut_moved_doubled_or_of_another_file_are_refused(verdict: Verdict) -> None:
    raw, other = list(lines_of("best", 0)), list(lines_of("epsilon", 1))
    middle = len(raw) // 2
    for where in range(1, len(raw) - 1, 7):
        assert "hash of the line before" in verdict([*raw[:where], *raw[where + 1 :]])
        assert "hash of the line before" in verdict([*raw[: where + 1], raw[where], *raw[where + 1 :]])
    assert verdict(raw[:-1]) == f"line {len(raw) - 1}: the file is cut after this line"
    assert verdict(raw[:middle]) == f"line {middle}: the file is cut after this line"
    assert verdict([*raw[:middle], raw[middle][:-9]]).startswith(f"line {middle + 1}: not JSON")
    assert "hash of the line before" in verdict([*raw[:middle], *other[-middle:]])
    assert verdict([*raw, *raw[-1:]]).startswith(f"line {len(raw) + 1}: ")
    assert verdict([]) == "line 0: the file is cut after this line"
    assert verdict([b"\xff\xfe\n"]).startswith("line 1: not JSON")
    assert verdict([b"[" * 100_000 + b"\n"]).startswith("line 1: not JSON")
    assert verdict([b"7\n"]) == "line 1: not a JSON object"


def test_a_line_without_an_end_is_refused(verdict: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = list(lines_of("best", 0))
    monkeypatch.setattr(surest_verify, "LONGEST", max(map(len, raw)) + 1)
    assert verdict(raw) == "VALID"
    with pytest.raises(surest_verify.TooMuch, match="a line has more than"):
        verdict([raw[0], b" " * 10**6])


def test_whoever_makes_the_chain_anew_is_found_out_by_the_hash(verdict: Verdict) -> None:
    lines = parsed(lines_of("best", 0))
    known_by = lines[-1]["prev"]
    out = set(range(len(lines[0]["labels"]))) - set(lines[-2]["claim"]["contenders"])
    lines[0]["labels"][out.pop()] = "renamed"
    raw = rechained(lines)
    assert verdict(raw) == "VALID"  # another search, as far as the file goes
    assert verdict(lines_of("best", 0), known_by) == "VALID"
    assert verdict(raw, known_by).startswith(f"line {len(raw)}: the hash of the decision is ")


def rewards(lines: Lines) -> dict[str, Any]:
    return lines[place(lines, "rewards")]


def conclusion(lines: Lines) -> dict[str, Any]:
    return lines[-2]


def drop_line(kind: str, number: int = 0) -> Callable[[Lines], None]:
    return lambda lines: lines.pop(place(lines, kind, number)) and None


def double_line(kind: str, number: int = 0) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        where = place(lines, kind, number)
        lines.insert(where, copy.deepcopy(lines[where]))

    return change


def move(kind: str, by: int) -> Callable[[Lines], None]:
    """A line of a kind to a later place, or an earlier one."""

    def change(lines: Lines) -> None:
        where = place(lines, kind)
        lines.insert(where + by, lines.pop(where))

    return change


def set_to(kind: str, *path: Any, new: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        line = lines[place(lines, kind, -1 if kind == "conclusion" else 0)]
        put(line, path, new(at(line, path)) if callable(new) else new)

    return change


def swap_rewards(lines: Lines) -> None:
    """The rewards of two arms."""
    line = next(line for line in lines if line["kind"] == "rewards" and line["values"] != line["values"][::-1])
    line["values"], line["times"] = line["values"][::-1], line["times"][::-1]


def witness(name: str, new: Any, number: int = 0) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        one = conclusion(lines)["witnesses"][number]
        one[name] = new(one[name])

    return change


def event(**fields: Any) -> Callable[[Lines], None]:
    """Change the first event; the claim does not say of which arm events are."""
    return lambda lines: lines[place(lines, "event")].update(fields)


def of_another_arm(lines: Lines) -> None:
    """Say of an event that it is of an arm which has no reward in the line that follows."""
    at = next(
        at for at, line in enumerate(lines) if line["kind"] == "event" and 0 < len(lines[at + 1].get("arms", [])) < 3
    )
    lines[at]["arm"] = min({0, 1, 2} - set(lines[at + 1]["arms"]))


def imputed(times: int) -> Callable[[Lines], None]:
    """So many imputed rewards where there was one, in the claim and its words, too."""

    def change(lines: Lines) -> None:
        line = next(line for line in lines if line.get("what") == "imputed")
        claim, was = conclusion(lines)["claim"], line["times"]
        line["times"], claim["events"]["imputed"] = times, claim["events"]["imputed"] + times - was
        labels = sum((line["labels"] for line in lines if line["kind"] == "addition"), lines[0]["labels"])
        conclusion(lines)["words"] = sentence({**lines[0], "labels": labels}, claim)

    return change


def witnessed(side: str, factor: float) -> Callable[[Lines], None]:
    """Change the bets that the first witness rests on."""

    def change(lines: Lines) -> None:
        one = conclusion(lines)["witnesses"][0]
        line = lines[place(lines, "nomination", one["slot"] - 1)]
        row = line["arms"].index(one["arms"][0])
        line[side][row][one["arms"][1]] *= factor

    return change


SEEN: dict[str, Callable[[Lines], Any]] = {
    "a reward changed": set_to("rewards", "values", 0, 0, new=lambda reward: 1.0 - reward),
    "a reward just outside of the bounds": set_to("rewards", "values", 0, 0, new=1.0000001),
    "the rewards of two arms swapped": swap_rewards,
    "a reward dropped": lambda lines: rewards(lines).update(arms=rewards(lines)["arms"][1:], values=[[0.0]], times=[]),
    "a reward doubled": lambda lines: rewards(lines)["values"][0].append(rewards(lines)["values"][0][0]),
    "a reward more": set_to("rewards", "times", new=lambda t: [[9]] * 9),
    "rewards of a line dropped": drop_line("rewards", 5),
    "rewards of the last line dropped": drop_line("rewards", -1),
    "rewards of a line doubled": double_line("rewards", 5),
    "an arm that is not there": set_to("rewards", "arms", 0, new=99),
    "an arm twice": set_to("rewards", "arms", 1, new=0),
    "a nomination later": move("nomination", 8),
    "a nomination earlier": move("nomination", -8),
    "a nomination dropped": drop_line("nomination"),
    "a nomination twice": double_line("nomination"),
    "another nominee": set_to("nomination", "arms", 0, new=lambda arm: 1 - arm if arm < 2 else 0),
    "another slot": set_to("nomination", "slot", new=2),
    "bets too few": lambda lines: lines[place(lines, "nomination")]["on"][0].pop(),
    "bets on the nominee larger": witnessed("on", 1.5),
    "bets on the nominee smaller": witnessed("on", 0.5),
    "bets against an arm larger": witnessed("against", 1.5),
    "bets against an arm smaller": witnessed("against", 0.5),
    "bets dropped": drop_line("bets"),
    "bets twice": double_line("bets"),
    "bets after the nomination": lambda lines: lines.insert(place(lines, "nomination") + 1, lines.pop(1)),
    "bets later": lambda lines: lines.insert(4, lines.pop(1)),
    "a weight larger": set_to("bets", "weights", 100, new=lambda w: w + 0.01),
    "the idle part larger": set_to("bets", "idle", new=lambda w: w + 1e-12),
    "the idle part smaller": set_to("bets", "idle", new=lambda w: w / 2),
    "a weight dropped": lambda lines: lines[1]["weights"].pop(),
    "a step of the grid changed": set_to("bets", "grid", 12, new=lambda step: 1.01 * step),
    "larger bets allowed": set_to("bets", "most", new=0.995),
    "δ smaller": set_to("surest decision", "delta", new=lambda d: d / 2),
    "δ larger": set_to("surest decision", "delta", new=lambda d: d * 2),
    "δ of the claim smaller": set_to("conclusion", "claim", "delta", new=lambda d: d / 2),
    "δ smaller everywhere": lambda lines: (
        set_to("surest decision", "delta", new=1e-9)(lines), set_to("conclusion", "claim", "delta", new=1e-9)(lines)
    ),
    "ε larger": set_to("surest decision", "epsilon", new=0.2),
    "the bounds wider": set_to("surest decision", "bounds", 1, new=2.0),
    "the bounds turned": set_to("surest decision", "bounds", new=[1, 0]),
    "three bounds": set_to("surest decision", "bounds", new=[0, 1, 2]),
    "costs instead of rewards": set_to("surest decision", "minimise", new=True),
    "a reserve that was not kept": set_to("surest decision", "reserve", new=0.5),
    "another algorithm": set_to("surest decision", "algorithm", new="lucb"),
    "another version": set_to("surest decision", "version", new=2),
    "a version that is not known": set_to("surest decision", "version", new=3),
    "a label twice": set_to("surest decision", "labels", 1, new="arm 0"),
    "an arm less": lambda lines: lines[0]["labels"].pop(),
    "the winner renamed": lambda lines: set_to(
        "surest decision", "labels", conclusion(lines)["claim"]["arms"][0], new="my arm"
    )(lines),
    "arms added": lambda lines: lines.insert(5, {"kind": "addition", "labels": ["new"]}),
    "another winner": set_to("conclusion", "claim", "arms", 0, new=lambda arm: (arm + 1) % 2),
    "two winners": lambda lines: conclusion(lines)["claim"]["arms"].append(5),
    "a contender more": set_to("conclusion", "claim", "contenders", new=lambda some: sorted({*some, 0, 1})),
    "no contender": set_to("conclusion", "claim", "contenders", new=[]),
    "not certified": set_to("conclusion", "claim", "certified", new=lambda c: not c),
    "closer than known": set_to("conclusion", "claim", "within", new=-0.1),
    "other words": set_to("conclusion", "words", new=lambda w: w.replace("probability", "certainty")),
    "an event that was not": set_to("conclusion", "claim", "events", new={"imputed": 1}),
    "a count changed": set_to("conclusion", "counted", 0, new=lambda c: c + 1),
    "a mean changed": set_to("conclusion", "means", 0, new=lambda m: m + 1e-6),
    "a witness dropped": lambda lines: conclusion(lines)["witnesses"].pop(),
    "a witness of another line": witness("line", lambda line: line - 4),
    "a witness before its slot": witness("line", lambda line: 3),
    "a witness of no slot": witness("slot", lambda slot: slot + 7),
    "a witness with more evidence": witness("nats", lambda nats: nats + 1e-5),
    "a witness with less evidence": witness("nats", lambda nats: nats - 1e-5),
    "a witness of another accuracy": witness("accuracy", lambda epsilon: epsilon + 0.2),
    "a witness of the nominee against itself": witness("arms", lambda arms: [arms[0], arms[0]]),
    "a witness with fewer bets": witness("bets", lambda bets: 3),
    "levels out of order": witness("levels", lambda levels: levels[::-1]),
    "levels outside": witness("levels", lambda levels: [*levels[:2], 1.0]),
    "two levels": witness("levels", lambda levels: levels[:2]),
    "levels far apart": witness("levels", lambda levels: [0.01, levels[1], 0.99]),
    "levels elsewhere": witness("levels", lambda levels: [level / 2 for level in levels]),
    "the conclusion twice": double_line("conclusion"),
    "no conclusion": drop_line("conclusion"),
    "the end earlier": move("end", -3),
    "a line of no kind": lambda lines: lines.insert(4, {"kind": "else"}),
    "another first line": set_to("surest decision", "kind", new="decision"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_a_change_that_matters_is_seen_though_the_chain_was_made_anew(name: str, verdict: Verdict) -> None:
    lines = parsed(lines_of("best", 0))
    SEEN[name](lines)
    said = verdict(rechained(lines))
    assert said.startswith("line "), said
    assert lines != parsed(lines_of("best", 0))


@pytest.mark.parametrize(
    ("sample", "name", "change"),
    [
        ("epsilon", "ε smaller", set_to("surest decision", "epsilon", new=lambda e: e / 2)),
        ("epsilon", "ε smaller everywhere", lambda lines: [
            set_to("surest decision", "epsilon", new=0.05)(lines), set_to("conclusion", "claim", "within", new=0.05)(lines)
        ]),
        ("epsilon", "a witness of a smaller ε", witness("accuracy", lambda epsilon: epsilon / 4)),
        ("contenders", "a contender less", lambda lines: conclusion(lines)["claim"]["contenders"].pop(-1)),
        ("contenders", "closer than known", set_to("conclusion", "claim", "within", new=lambda within: within / 2)),
        ("contenders", "certified", set_to("conclusion", "claim", "certified", new=True)),
        ("top", "one arm more", set_to("surest decision", "top", new=lambda m: m + 1)),
        ("top", "no arm", set_to("surest decision", "top", new=0)),
        ("top", "another set", lambda lines: lines[place(lines, "nomination", -1)]["arms"].reverse()
            or lines[place(lines, "nomination", -1)]["arms"].__setitem__(0, 4)),
        ("top", "a pair left out", lambda lines: conclusion(lines)["witnesses"].pop(0)),
        ("few", "stakes changed", set_to("stakes", "stakes", new=lambda stakes: [1.01 * stake for stake in stakes])),
        ("few", "a stake too large", set_to("stakes", "stakes", 0, new=9.0)),
        ("few", "another level", set_to("stakes", "levels", new=lambda levels: [level / 2 for level in levels])),
        ("few", "a stake dropped", drop_line("stakes", 3)),
        ("few", "a stake twice", double_line("stakes", 3)),
        ("few", "a stake later", move("stakes", 1)),
        ("few", "a stake on the arm itself", lambda lines: lines[place(lines, "stakes")].update(
            on=list(lines[place(lines, "stakes")]["arms"])
        )),
        ("few", "a stake against an arm twice", lambda lines: lines[place(lines, "stakes")].update(
            arms=[0, 0], on=[1, 1], levels=[0.5, 0.5], stakes=[0.1, 0.1]
        )),
        ("few", "a stake on an arm that is not there", set_to("stakes", "on", 0, new=99)),
        ("few", "another opponent", lambda lines: [
            line.update(on=[max({0, 1, 2} - {j, o}) for j, o in zip(line["arms"], line["on"], strict=True)])
            for line in lines if line["kind"] == "stakes"
        ]),
        ("few", "more for paired bets", set_to("surest decision", "paired", new=0.99)),
        ("few", "the second version", lambda lines: lines[0].update(version=2)),
        ("few", "the first version", lambda lines: [lines[0].pop("paired"), lines[0].update(version=1)]),
        ("few", "an account at another line", witness("line", lambda line: line - 2)),
        ("few", "an account with levels", witness("levels", lambda levels: [0.1, 0.2, 0.3])),
        ("growing", "an addition dropped", drop_line("addition")),
        ("growing", "an addition later", move("addition", 1)),
        ("growing", "two arms of one name", set_to("addition", "labels", 0, new="arm 0")),
        ("growing", "a smaller reserve", set_to("surest decision", "reserve", new=lambda r: r / 1000)),
        ("growing", "an event hidden", drop_line("event")),
        ("growing", "an imputed reward hidden", lambda lines: [
            lines.remove(next(line for line in lines if line.get("what") == "imputed")),
        ]),
        ("growing", "an event doubled", double_line("event")),
        ("growing", "an event of an arm that is not there", event(arm=999)),
        ("growing", "an event of an arm without rewards", of_another_arm),
        ("growing", "an event later", lambda lines: lines.insert(-2, lines.pop(place(lines, "event")))),
        ("growing", "an event before a nomination", lambda lines: lines.insert(
            place(lines, "nomination"), lines.pop(place(lines, "event"))
        )),
        ("growing", "more imputed than rewards", imputed(2**53)),
        ("growing", "two imputed rewards of one", imputed(2)),
        ("growing", "a true number of events", lambda lines: conclusion(lines)["claim"]["events"].update(imputed=True)),
        ("growing", "an event called something else", set_to("event", "what", new="retreid")),
        ("seconds", "a reward in other units", set_to("rewards", "values", 0, 0, new=lambda r: r / 60)),
        ("seconds", "rewards instead of costs", set_to("surest decision", "minimise", new=False)),
    ],
)  # fmt: skip
def test_changes_of_other_kinds_of_decisions_are_seen(
    sample: str, name: str, change: Callable[[Lines], Any], verdict: Verdict
) -> None:
    lines = parsed(lines_of(sample, SAMPLES[sample]))
    change(lines)
    assert verdict(rechained(lines)).startswith("line "), name


def test_there_are_two_hundred_kinds_of_tampering_and_more() -> None:
    assert len(SEEN) > 70
    assert len(LEAVES) * len(WRONG) + len(SEEN) > 200


@pytest.mark.parametrize("repeated", ["witnesses", "rewards"])
def test_a_small_file_cannot_ask_for_much_work(
    repeated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is neither valid nor not: whoever calls is told by a status of its own."""
    lines, path = parsed(lines_of("continuous", 0)), tmp_path / "decision.jsonl.gz"
    if repeated == "witnesses":
        conclusion(lines)["witnesses"] *= 100
    else:
        rewards(lines).update(values=[[value] * 50_000 for (value, *_) in rewards(lines)["values"]], times=[])
    path.write_bytes(gzip.compress(b"".join(rechained(lines)), mtime=0))
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


def test_many_sets_of_arms_are_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = {**parsed(lines_of("top", 2))[0], "algorithm": "race-top", "items": ["q"], "target": "items", "top": 10}
    path = tmp_path / "decision.jsonl"
    for labels in (20, 30):
        header["labels"] = [str(arm) for arm in range(labels)]
        path.write_bytes(b"".join(rechained([header])))
        monkeypatch.setattr(surest_verify.Work, "BASE", 10**6)
        with pytest.raises(surest_verify.TooMuch):
            surest_verify.verify(str(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be", "utf-8-sig"])
def test_lines_are_utf_8(verdict: Verdict, encoding: str) -> None:
    raw = list(lines_of("best", 0))
    assert verdict([*raw[:-1], raw[-1].decode().encode(encoding)]).startswith(f"line {len(raw)}: ")
    assert verdict([line.decode().encode(encoding) for line in raw]).startswith("line 1: not JSON")


@pytest.mark.parametrize("more", [b" ", b"\n", b" \n", b"\0", b"\r\n", b"{}\n"])
def test_nothing_stands_beside_the_lines(verdict: Verdict, tmp_path: Path, more: bytes) -> None:
    raw = list(lines_of("best", 0))
    assert verdict([*raw, more]).startswith(f"line {len(raw) + 1}: ")
    for changed in (raw[-1][:-1] + more + b"\n", b" " + raw[-1], raw[-1].replace(b",", b", "), raw[-1][:-1]):
        assert verdict([*raw[:-1], changed]) != "VALID"
    path = tmp_path / "decision.jsonl.gz"
    for packed in (gzip.compress(b"".join(raw)) + b"\0" * 9, gzip.compress(b"".join(raw)) + gzip.compress(b"")):
        path.write_bytes(packed)
        with pytest.raises(surest_verify.Invalid, match="something follows the compressed stream"):
            surest_verify.verify(str(path))
    path.write_bytes(gzip.compress(b"".join(raw))[:-5])
    with pytest.raises(surest_verify.Invalid, match="cut"):
        surest_verify.verify(str(path))


@pytest.mark.parametrize("what", ["imputed", "retried"])
def test_an_event_belongs_to_rewards(verdict: Verdict, what: str) -> None:
    lines = parsed(lines_of("best", 0))
    where = place(lines, "nomination")
    lines.insert(where, {"kind": "event", "what": what, "arm": lines[where]["arms"][0], "times": 1})
    events = conclusion(lines)["claim"]["events"]
    events[what] = events.get(what, 0) + 1
    for line in lines[-2:]:
        for witness in line.get("witnesses", []):
            witness["line"] += witness["line"] > where
    conclusion(lines)["words"] = sentence({**lines[0]}, conclusion(lines)["claim"])
    assert "events come right before a line of the kind nomination" in verdict(rechained(lines))
