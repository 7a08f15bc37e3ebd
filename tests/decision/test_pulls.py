"""Decisions on fresh rewards: what the library decides is VALID, and an earlier file begins a later one."""

import json
from collections.abc import Callable

import pytest

from decisions import KINDS, lines_of, made
from surest.decision.write import decision_of

Verdict = Callable[..., str]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_decisions_are_valid(kind: str, seed: int, verdict: Verdict) -> None:
    result = made(kind, seed)
    chain = decision_of(result)
    assert verdict(chain.lines, chain.known_by) == "VALID"
    claim = json.loads(chain.lines[-2])["claim"]
    assert claim["certified"] is result.certified
    assert tuple(claim["arms"]) == tuple(sorted(result.indices))
    if result.problem.epsilon == 0 and not result.certified:
        assert claim["contenders"] == list(result.contender_indices or ())


@pytest.mark.slow
def test_a_thousand_decisions_are_valid(verdict: Verdict) -> None:
    """docs/verify.md has the count."""
    seen = {(kind, seed): verdict(lines_of(kind, seed)) for kind in KINDS for seed in range(1_000, 1_125)}
    assert len(seen) == 1_000
    assert set(seen.values()) == {"VALID"}
