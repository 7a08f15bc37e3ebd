"""A mistake in the evidence of the library makes decisions that the verifier refuses."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest

import surest
from decision.decisions import against_known, challenges, cheapest_of_four, known_gate, lines_of, made, refusal
from evidence.test_over_all_orders import make, mistakes_seen_by
from mistakes import Change


def decided(count: int, **settings: Any) -> Iterable[surest.Result]:
    """Searches on lists of items."""
    rng = np.random.default_rng(8)
    for seed in range(count):
        table = (rng.random((4, 120)) < np.array([[0.7], [0.6], [0.5], [0.5]])).astype(float)
        table *= 0.8 * settings["spread"] if "spread" in settings else 1.0
        yield surest.evaluate(table, seed=seed, simulate=True, **settings)


DECIDED: dict[str, Callable[[], Iterable[Any]]] = {
    "race": partial(decided, 3),
    "the best arms": partial(decided, 3, top=2),
    "pairs": partial(decided, 12, epsilon=0.2),
    "spread": partial(decided, 12, spread=0.5, epsilon=0.1),
    "gate": lambda: (known_gate(seed, predict=False, history=None) for seed in range(4)),
    "predictions": lambda: map(known_gate, range(3)),
    "known control": lambda: map(against_known, range(4)),
    "challenge": lambda: (one for seed in range(12) for one in challenges(seed)),
    "cheapest": lambda: [cheapest_of_four()],
    "fresh rewards": lambda: (made("best", seed) for seed in range(4)),
    "added arms": lambda: (made("growing", seed) for seed in range(4)),
}
"""Decided searches, some of which must be refused when there is a mistake in what they rest on."""


@pytest.mark.parametrize(("about", "modules", "name", "change"), mistakes_seen_by("decisions"))
def test_a_mistake_is_noticed(
    about: str, modules: str, name: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(monkeypatch, about, modules, change)
    assert any(refusal(lines_of(found)) for found in DECIDED[about]()), name


@pytest.mark.parametrize("about", DECIDED)
def test_without_a_mistake_these_are_valid(about: str) -> None:
    assert not any(refusal(lines_of(found)) for found in DECIDED[about]())
