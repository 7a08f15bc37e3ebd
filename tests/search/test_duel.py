"""`surest.duel` and `surest.aduel`: judges of all kinds, recorded duels, studies, and what a result tells."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surest
from asking import answered
from pages import same_as_kept
from surest.result.data import Result
from surest.result.json import from_json
from surest.search.call import work_of
from surest.search.duel import pairs_of
from surest.search.tickets import Ticket

STRENGTH = {"a": 0.5, "b": 0.2, "c": 0.1, "d": 0.1}
NAMES = list(STRENGTH)


def judge_of(seed: int, strength: dict[str, float] = STRENGTH):
    rng = random.Random(seed)
    return lambda first, second, *_: rng.random() < strength[first] / (strength[first] + strength[second])


def rps(first: str, second: str) -> str:
    beats = {"rock": "scissors", "scissors": "paper", "paper": "rock"}
    return first if beats[first] == second else second


def naming(judge: Callable[..., bool], form: str) -> Callable[[str, str], str]:
    """A judge that says who wins."""
    return lambda first, second: form.format(first if judge(first, second) else second)


def recorded(name: str, text: str) -> Result:
    """Duels of a file."""
    Path(name).write_text(text)
    return surest.duel(Path(name))


ROCK = ["rock", "paper", "scissors"]


def cycle(**asked: Any) -> Result:
    """Rock, paper, scissors, of which one in ten is decided by who is first."""
    rng = random.Random(1)
    return surest.duel(ROCK, lambda a, b: rps(a, b) if rng.random() < 0.9 else a, seed=1, rank=True, **asked)


PLAYED = [("A", "B", "1-0"), ("B", "A", "0-1"), ("A", "B", "1/2-1/2")] * 30 + [("A", "B", "*")]
CASES: dict[str, Any] = {
    **{"surest": surest, "judge_of": judge_of, "naming": naming, "recorded": recorded, "cycle": cycle, "rps": rps},
    **{"NAMES": NAMES, "ROCK": ROCK, "TIE": lambda *_: 0.5, "answered": answered, "from_json": from_json},
    **{"itertools": itertools, "json": json, "random": random},
    "STRONG": {"a": 27.0, "b": 9.0, "c": 3.0, "d": 1.0},
    "ALIKE": {"a": 0.6, "b": 0.6, "c": 0.1, "d": 0.02},
    "GAMES": "first,second,score\n" + "a,b,1\nb,a,0\na,c,1\nc,b,0.5\n" * 40,
    "CHESS": "".join(f'[White "{w}"]\n[Black "{b}"]\n[Result "{r}"]\n\n1. e4 e5 {r}\n\n' for w, b, r in PLAYED),
    "SORTED": [("a", "b", 1.0)] * 60 + [("a", "b", 0.0)] * 20,
}
"""What the page of cases may use."""


@pytest.mark.usefixtures("run")
def test_what_is_found(request: pytest.FixtureRequest) -> None:
    def said(result: object) -> str:
        if not isinstance(result, Result):
            return repr(result)
        table = result.duels
        assert (table.score + table.score.T == table.games).all()
        assert result.pulls == table.games.sum() // 2
        assert result.pulls_per_arm.tolist() == table.games.sum(axis=1).tolist()
        return f"{result.chosen}, certified {result.certified}, contenders {result.contenders}\n{result}"

    same_as_kept(Path(__file__).with_name("duels.txt"), request, names=CASES, show=said)


def test_items_are_drawn_anew_for_each_duel() -> None:
    """A seeded mistake, one item for all duels of a request, would make neighbours equal."""
    work = work_of(pairs_of(print, NAMES), 3, items=range(10), drawn=True)
    drawn = [work(Ticket(number, number % 12, ""))[1] for number in range(6000)]
    assert max(Counter(drawn).values()) < 700
    assert min(Counter(drawn).values()) > 500
    assert sum(x == y for x, y in itertools.pairwise(drawn)) < 700
    seen: list[int] = []
    judge = judge_of(1)
    surest.duel(NAMES, lambda a, b, item: seen.append(item) or judge(a, b), items=list(range(3)), seed=1)
    assert set(seen) == {0, 1, 2}


def one_sided(seed: int, **settings: Any) -> Result:
    """Two equal players, and a judge who favours the first side."""
    rng = random.Random(seed)
    return surest.duel(["x", "y"], lambda *_: rng.random() < 0.75, seed=seed, **settings)


def test_a_coin_for_sides_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(one_sided(seed, budget=150).certified for seed in range(40)) <= 7  # 0.05 of 40, and chance
    biased = one_sided(1, budget=400, batch=50)
    _mean, low, high = biased.duels.first
    assert 0.5 < low < 0.75 < high
    assert "favours a side" in str(biased)
    from surest.algorithms import duels

    monkeypatch.setattr(duels._Desk, "_recorded", lambda self, a, b, times: times)
    request = duels._Desk.request

    def stuck(self):
        self.rows, rows = [], self.rows
        try:
            return request(self)
        finally:
            self.rows = rows

    monkeypatch.setattr(duels._Desk, "request", stuck)
    assert sum(one_sided(seed, budget=150).certified for seed in range(10)) > 7
