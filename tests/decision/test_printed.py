"""What surest-verify prints, and its exit status."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import surest
import surest_verify
from decision.decisions import chained
from decision.test_tampering import SAMPLES, decision

Verify = Callable[..., tuple[int, str, str]]
KEPT = {path.stem: path for path in Path(__file__).parent.glob("*-version-*.jsonl")}
"""Decision files of earlier versions."""


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Run surest-verify: its status, output and errors, without hashes."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["surest-verify", *map(str, arguments)])
        status = surest_verify.main()
        out, err = capsys.readouterr()
        return status, re.sub("[0-9a-f]{64}", "…", out), err

    return run


@pytest.mark.parametrize("sample", [*SAMPLES, *KEPT])
def test_what_is_printed(sample: str, verify: Verify, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = KEPT.get(sample, tmp_path / "decision.jsonl")
    if sample in SAMPLES:
        chained(decision(sample)).write(path)
    status, out, err = verify(path)
    assert (status, out.splitlines()[-1], err) == (0, "VALID", "")
    assert out == snapshot


def test_a_known_hash_and_every_status(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "decision.jsonl.gz"
    known_by = chained(decision("seconds")).write(path)
    assert "the one given" in verify(path, "--hash", known_by.upper())[1]
    status, out, _ = verify(path, "--hash", "0" * 64)
    assert (status, out.startswith("NOT VALID: line ")) == (1, True)
    path.write_bytes(path.read_bytes()[:-20])
    assert (verify(path)[0], verify()[0]) == (1, 2)
    for unreadable in (tmp_path / "missing.jsonl", tmp_path):
        status, out, err = verify(unreadable)
        assert (status, out, "nothing was checked" in err) == (2, "", True)


def test_labels_cannot_act_on_a_terminal(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "decision.jsonl"
    surest.identify({"\x1b[31mred": [1.0] * 80, "\udc80 δ": [0.0] * 80}, seed=1, record=True).write_decision(path)
    status, out, _ = verify(path)
    assert (status, "\x1b" in out, "[31mred" in out) == (0, False, True)


HEADER = {"labels": ["a", 'b" has', "c"], "algorithm": "wager-top", "top": 2, "epsilon": 0, "bounds": [0.0, 60]}
CLAIM = {"arms": [0, 1], "contenders": [0, 1], "certified": True, "within": 0, "delta": 0.05, "events": {}}
OPEN = {**CLAIM, "certified": False, "contenders": [0, 1, 2], "within": 60.0}
LISTED = {"minimise": False, "algorithm": "race-top", "items": ["q"], "target": "population"}


def test_words_say_which_means_and_whose(snapshot: SnapshotAssertion) -> None:
    claims = ({"minimise": True}, CLAIM), ({"minimise": False}, OPEN), (LISTED, OPEN)
    assert "\n".join(surest_verify.sentence({**HEADER, **more}, claim) for more, claim in claims) == snapshot
