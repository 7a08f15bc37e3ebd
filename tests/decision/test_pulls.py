"""Decisions on fresh rewards: what the library decides is VALID, and an earlier file begins a later one."""

import ast
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surest
import surest_verify
from decisions import KINDS, lines_of, made, parsed
from surest.decision.pulls import decision_on_pulls
from surest.decision.write import decision_of
from surest.errors import UsageError
from surest_verify import sentence

Verdict = Callable[..., str]


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_valid_and_their_evidence_is_the_librarys(
    kind: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-9 nats."""
    plain, found = surest_verify.Pulls.enough, list[float]()

    def spy(checker: Any, witness: dict[str, Any], nats: float, goal: float, rewards: int) -> None:
        found.append(abs(witness["nats"] - nats))
        plain(checker, witness, nats, goal, rewards)

    monkeypatch.setattr(surest_verify.Pulls, "enough", spy)
    for seed in range(4):
        result = made(kind, seed)
        chain = decision_of(result)
        assert verdict(chain.lines, chain.known_by) == "VALID"
        conclusion = json.loads(chain.lines[-2])
        claim = conclusion["claim"]
        assert (claim["certified"], tuple(claim["arms"])) == (result.certified, tuple(sorted(result.indices)))
        if result.problem.epsilon == 0 and not result.certified:
            assert claim["contenders"] == list(result.contender_indices or ())
        assert len(found) == len(conclusion["witnesses"])
        assert max(found, default=0.0) < 1e-9
        found.clear()


@pytest.mark.slow
def test_a_thousand_decisions_are_valid(verdict: Verdict) -> None:
    """docs/verify.md has the count."""
    seen = {(kind, seed): verdict(lines_of(kind, seed)) for kind in KINDS for seed in range(1_000, 1_100)}
    assert len(seen) == 1_000
    assert set(seen.values()) == {"VALID"}


@pytest.mark.parametrize(("version", "best"), [(1, 1), (2, 0)])
def test_decisions_of_earlier_versions_are_valid(version: int, best: int) -> None:
    """Three arms, without paired bets, and with those of the second version."""
    said = surest_verify.verify(str(Path(__file__).with_name(f"wager-version-{version}.jsonl")))
    assert f'Claim: "{best}" has the largest mean of 3 arms; wrong with probability at most 0.1' in said[-2]


def test_decisions_with_paired_bets_have_them() -> None:
    for kind, seed in (("few", 1), ("narrow", 2)):
        lines = parsed(lines_of(kind, seed))
        assert (lines[0]["version"], lines[0]["paired"]) == (3, 0.98)
        assert sum(line["kind"] == "stakes" for line in lines) > 4
        assert {witness["slot"] for witness in lines[-2]["witnesses"]} == {0}
    assert parsed(lines_of("best", 0))[0]["version"] == parsed(lines_of("epsilon", 0))[0]["version"] == 1


def test_a_later_file_extends_an_earlier_one(verdict: Verdict) -> None:
    whole = made("growing", 4)
    problem, transcript = whole.problem, whole.transcript
    later = decision_on_pulls(problem, transcript, whole.additions, whole.events)
    for answered in (0, 1, 20, len(transcript) // 2, len(transcript) - 1):
        additions = [addition for addition in whole.additions if addition[0] < answered]
        there = len(problem.labels) - sum(more for at, more in whole.additions if at >= answered)
        then = msgspec.structs.replace(problem, labels=problem.labels[:there])
        earlier = decision_on_pulls(then, transcript[:answered], additions, whole.events)
        assert verdict(earlier.lines) == "VALID"
        assert earlier.lines[:-2] == later.lines[: len(earlier.lines) - 2]


def test_the_verifier_needs_python_alone() -> None:
    for name in ("surest_verify.py", "surest_verify_lists.py"):
        text = (Path(surest_verify.__file__).parent / name).read_text(encoding="utf-8")
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        roots = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
        roots |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
        own = {"surest_verify"} if name != "surest_verify.py" else set()
        assert {root.partition(".")[0] for root in roots} - own <= sys.stdlib_module_names


def test_the_command_prints_what_was_checked(tmp_path: Path) -> None:
    result = made("seconds", 0)
    path = tmp_path / "decision.jsonl.gz"
    known_by = result.write_decision(path)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", surest_verify.__file__, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    done = run(path, "--hash", known_by)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "VALID"
    assert str(result.best) in done.stdout
    other = run(path, "--hash", "0" * 64)
    assert (other.returncode, other.stdout.startswith("NOT VALID: line ")) == (1, True)
    path.write_bytes(path.read_bytes()[:-20])
    assert (run(path).returncode, run(tmp_path / "none").returncode, run().returncode) == (1, 2, 2)


def test_what_has_no_record_or_no_checker_is_refused(tmp_path: Path) -> None:
    arms = {"a": [1.0] * 60, "b": [0.0] * 60}
    with pytest.raises(UsageError, match="record=True"):
        surest.identify(arms, seed=1).write_decision(tmp_path / "decision.jsonl")
    with pytest.raises(UsageError, match="no checker for lucb"):
        surest.identify(arms, seed=1, algorithm="lucb", record=True).write_decision(tmp_path / "decision.jsonl")
    with pytest.raises(UsageError, match="cannot be written"):
        surest.identify(arms, seed=1, record=True).write_decision(tmp_path / "no folder" / "decision.jsonl")


def test_a_search_that_is_kept_in_a_study_has_a_decision_too(tmp_path: Path) -> None:
    rng = random.Random(1)
    arms = {"a": lambda: rng.random() < 0.8, "b": lambda: rng.random() < 0.2}
    path, storage = tmp_path / "decision.jsonl", f"sqlite:///{tmp_path}/s.db"
    result = surest.identify(arms, storage=storage, name="s", seed=1, record=True, progress=False)
    assert '"a" has the largest mean of 2 arms;' in surest_verify.verify(str(path), result.write_decision(path))[-2]


def test_words_say_which_means_and_whose() -> None:
    header = {"labels": ["a", 'b" has', "c"], "algorithm": "wager-top", "top": 2, "epsilon": 0, "bounds": [0.0, 60]}
    claim = {"arms": [0, 1], "contenders": [0, 1], "certified": True, "within": 0, "delta": 0.05, "events": {}}
    ends = "; wrong with probability at most 0.05; rewards are from 0 to 60"
    said = sentence({**header, "minimise": True}, claim)
    assert said == '"a", "b\\" has" have the 2 smallest means of 3 arms' + ends
    open_claim = {**claim, "certified": False, "contenders": [0, 1, 2], "within": 60.0}
    said = sentence({**header, "minimise": False}, open_claim)
    assert said.startswith("any given one of the arms with the 2 largest means of 3 arms is among ")
    listed = {**header, "minimise": False, "algorithm": "race-top", "items": ["q"], "target": "population"}
    assert sentence(listed, open_claim).startswith(
        "each of the arms with the 2 largest means of 3 arms in the population"
    )


def test_strange_labels_are_written_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arms = {"\x1b[31mred": [1.0] * 80, "\udc80 δ": [0.0] * 80}
    path = tmp_path / "decision.jsonl"
    surest.identify(arms, seed=1, record=True).write_decision(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["surest-verify", str(path)])
        assert surest_verify.main() == 0
    assert "\x1b" not in capsys.readouterr().out


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(st.data())
def test_no_input_makes_the_verifier_stumble(data: st.DataObject) -> None:
    lines = parsed(lines_of(data.draw(st.sampled_from(["growing", "top", "seconds"])), 0))
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(lines))
        names = [name for name in line if name not in ("kind", "prev")]
        if not names:
            continue
        name, new = data.draw(st.sampled_from(names)), data.draw(json_values)
        if isinstance(line[name], dict) and line[name]:
            line[name][data.draw(st.sampled_from(sorted(line[name])))] = new
        elif isinstance(line[name], list) and line[name] and data.draw(st.booleans()):
            line[name][data.draw(st.integers(0, len(line[name]) - 1))] = new
        else:
            line[name] = new
    raw, before = b"", ""
    for line in lines:
        text = json.dumps({**line, "prev": before} if before else line).encode() + b"\n"
        raw, before = raw + text, hashlib.sha256(text).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decision.jsonl"
        path.write_bytes(raw)
        with suppress(surest_verify.Invalid):
            assert surest_verify.verify(str(path))
