"""Decisions on fresh rewards: what the library decides is VALID, and an earlier file begins a later one."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

import surest
import surest_verify
from decision.decisions import KINDS, lines_of, made, refusal
from surest.decision.pulls import decision_on_pulls
from surest.decision.write import decision_of


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_valid_and_their_evidence_is_the_librarys(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 1e-9 nats."""
    plain, found = surest_verify.Pulls.enough, list[float]()

    def spy(checker: Any, witness: dict[str, Any], nats: float, goal: float, rewards: int) -> None:
        found.append(abs(witness["nats"] - nats))
        plain(checker, witness, nats, goal, rewards)

    monkeypatch.setattr(surest_verify.Pulls, "enough", spy)
    for seed in range(4):
        result = made(kind, seed)
        chain, conclusion = decision_of(result), lines_of(result)[-1]
        assert refusal(chain.lines, chain.known_by) == ""
        claim = conclusion["claim"]
        assert (claim["certified"], tuple(claim["arms"])) == (result.certified, tuple(sorted(result.indices)))
        if result.problem.epsilon == 0 and not result.certified:
            assert claim["contenders"] == list(result.contender_indices or ())
        assert len(found) == len(conclusion["witnesses"])
        assert max(found, default=0.0) < 1e-9
        found.clear()


def test_decisions_with_paired_bets_have_them() -> None:
    for kind, seed in (("few", 1), ("narrow", 2)):
        lines = lines_of(made(kind, seed))
        assert (lines[0]["version"], lines[0]["paired"]) == (3, 0.98)
        assert sum(line["kind"] == "stakes" for line in lines) > 4
        assert {witness["slot"] for witness in lines[-1]["witnesses"]} == {0}
    assert {lines_of(made(kind, 0))[0]["version"] for kind in ("best", "epsilon")} == {1}


def test_a_later_file_extends_an_earlier_one() -> None:
    whole = made("growing", 4)
    problem, transcript = whole.problem, whole.transcript
    later = decision_on_pulls(problem, transcript, whole.additions, whole.events)
    for answered in (0, 1, 20, len(transcript) // 2, len(transcript) - 1):
        additions = [addition for addition in whole.additions if addition[0] < answered]
        there = len(problem.labels) - sum(more for at, more in whole.additions if at >= answered)
        then = msgspec.structs.replace(problem, labels=problem.labels[:there])
        earlier = decision_on_pulls(then, transcript[:answered], additions, whole.events)
        assert refusal(earlier.lines) == ""
        assert earlier.lines[:-2] == later.lines[: len(earlier.lines) - 2]


def test_a_search_that_is_kept_in_a_study_has_a_decision_too(tmp_path: Path) -> None:
    rng = random.Random(1)
    arms = {"a": lambda: rng.random() < 0.8, "b": lambda: rng.random() < 0.2}
    path, storage = tmp_path / "decision.jsonl", f"sqlite:///{tmp_path}/s.db"
    result = surest.identify(arms, storage=storage, name="s", seed=1, record=True, progress=False)
    assert '"a" has the largest mean of 2 arms;' in surest_verify.verify(str(path), result.write_decision(path))[-2]
