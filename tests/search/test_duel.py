"""`surest.duel` and `surest.aduel`: judges of all kinds, recorded duels, studies, and what a result tells."""

import asyncio
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import surest
from asking import answered
from calling import refused
from surest.errors import EvaluationError, UsageError
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


STRONG = {"a": 27.0, "b": 9.0, "c": 3.0, "d": 1.0}
ALIKE = {"a": 0.6, "b": 0.6, "c": 0.1, "d": 0.02}
ROCK = ["rock", "paper", "scissors"]
TIE = lambda *_: 0.5  # noqa: E731
GAMES = "first,second,score\n" + "a,b,1\nb,a,0\na,c,1\nc,b,0.5\n" * 40
PGN = '[Event "x"]\n[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n1. e4 e5 {}\n\n'
PLAYED = [("A", "B", "1-0"), ("B", "A", "0-1"), ("A", "B", "1/2-1/2")] * 30 + [("A", "B", "*")]
SORTED = [("a", "b", 1.0)] * 60 + [("a", "b", 0.0)] * 20


def recorded(name: str, text: str) -> Result:
    """Duels of a file."""
    Path(name).write_text(text)
    return surest.duel(Path(name))


def cycle(**asked: Any) -> Result:
    """Rock, paper, scissors, of which one in ten is decided by who is first."""
    rng = random.Random(1)
    return surest.duel(ROCK, lambda a, b: rps(a, b) if rng.random() < 0.9 else a, seed=1, rank=True, **asked)


CASES: dict[str, Callable[[], Result]] = {
    "the winner": lambda: surest.duel(NAMES, judge_of(1), seed=1),
    "the winner, named by the judge": lambda: surest.duel(NAMES, naming(judge_of(1), "{}"), seed=1),
    "the winner, named with a line break": lambda: surest.duel(NAMES, naming(judge_of(1), " {}\n"), seed=1),
    "no winner": lambda: surest.duel(ROCK, rps, seed=0),
    "strictly": lambda: surest.duel(NAMES, judge_of(2), seed=1, strict=True),
    "a tie, up to epsilon": lambda: surest.duel(["x", "y"], TIE, seed=1, epsilon=0.1),
    "a tie, and no more budget": lambda: surest.duel(["x", "y"], TIE, seed=1, budget=500),
    "the two best": lambda: surest.duel(list(ALIKE), judge_of(4, ALIKE), seed=1, top=2),
    "a ranking": lambda: surest.duel(list(STRONG), judge_of(4, STRONG), seed=1, rank=True),
    "a ranking, too early": lambda: surest.duel(list(STRONG), judge_of(4, STRONG), seed=1, rank=True, budget=60),
    "a cycle, ranked": cycle,
    # What is told up to ε does not say that nobody beats all others.
    "a cycle, ranked up to epsilon": lambda: cycle(epsilon=0.05),
    "a file": lambda: recorded("games.csv", GAMES),
    "a few rows": lambda: surest.duel([("a", "b", "a"), ("b", "a", "a"), ("a", "b", "tie")]),
    # Nobody knows whether a won because it was first.
    "rows in which one is always first": lambda: surest.duel([("a", "b", 1)] * 9),
    # a beats c, but they never met; b is out by c alone.
    "a pair without rows": lambda: surest.duel([("a", "b", 1)] * 3 + [("a", "c", 1)] * 40 + [("c", "b", 1)] * 40),
    "rows in an order that is no accident, shuffled": lambda: surest.duel(SORTED, shuffle=1),
    "games of chess": lambda: recorded("games.pgn", "".join(PGN.format(w, b, r, r) for w, b, r in PLAYED)),
    "rows that share an item": lambda: recorded("g.csv", "first,second,item,score\na,b,q,1\na,c,q,1\na,b,r,1\n"),
}


def naming(judge: Callable[..., bool], form: str) -> Callable[[str, str], str]:
    """A judge that says who wins."""
    return lambda first, second: form.format(first if judge(first, second) else second)


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", CASES)
def test_what_is_found(name: str, snapshot: SnapshotAssertion) -> None:
    result = CASES[name]()
    table = result.duels
    assert (table.score + table.score.T == table.games).all()
    assert result.pulls == table.games.sum() // 2
    assert result.pulls_per_arm.tolist() == table.games.sum(axis=1).tolist()
    text = re.sub(r"[\d.]+ s\b", "… s", str(result))
    assert f"{result.chosen}, certified {result.certified}, contenders {result.contenders}\n{text}" == snapshot


@pytest.mark.parametrize("bad", [None, float("nan"), "I cannot say", OSError("refused")])
def test_a_judge_that_fails_is_retried_then_counted_or_the_end(bad) -> None:
    def answer(value):
        if isinstance(value, Exception):
            raise value
        return value

    judge, calls = judge_of(1), Counter()

    def sometimes(a, b):
        calls["all"] += 1
        return answer(bad) if calls["all"] % 5 == 0 else judge(a, b)

    result = surest.duel(NAMES, sometimes, seed=1)
    assert result.best == "a"
    assert sum(of["failed"] for of in result.health.values()) >= 5
    with pytest.raises(EvaluationError):
        surest.duel(NAMES, lambda *_: answer(bad), retries=1)
    counted = surest.duel(NAMES, lambda *_: answer(bad), retries=0, on_failure=0.5, budget=20)
    assert counted.duels.score.sum() * 2 == counted.duels.games.sum()


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


def side_biased(rng: random.Random):
    return lambda first, second: rng.random() < 0.75


def wrong_names(runs: int, **settings) -> int:
    """How often one of two equal players is named by a judge who favours the first side."""
    return sum(
        surest.duel(["x", "y"], side_biased(random.Random(i)), seed=i, budget=150, **settings).certified
        for i in range(runs)
    )


def test_a_coin_for_sides_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_names(40) <= 7  # 0.05 of 40, and chance
    biased = surest.duel(["x", "y"], side_biased(random.Random(1)), seed=1, budget=400, batch=50)
    _mean, low, high = biased.duels.first
    assert low > 0.5
    assert low < 0.75 < high
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
    assert wrong_names(40) > 30


def test_threads_async_judges_and_one_at_a_time_agree_on_the_winner() -> None:
    with ThreadPoolExecutor(4) as pool:
        result = surest.duel(NAMES, judge_of(1), seed=1, executor=pool, in_flight=4)
    assert result.best == "a"

    async def judge(first, second, item):
        await asyncio.sleep(0)
        return judge_of(item)(first, second)

    assert asyncio.run(surest.aduel(NAMES, judge, items=range(500), seed=1, in_flight=5)).best == "a"
    assert "aduel" in refused(partial(surest.duel, NAMES, judge))


def test_a_study_goes_on_where_it_was_and_keeps_players_labels(tmp_path: Path) -> None:
    where = {"storage": f"sqlite:///{tmp_path}/s.db", "name": "votes"}

    def judge(first, second, item):
        return judge_of(item)(first, second)

    def broken(first, second, item):
        broken.left -= 1
        if broken.left < 0:
            raise SystemExit
        return judge(first, second, item)

    broken.left = 25
    with pytest.raises(SystemExit):
        surest.duel(NAMES, broken, items=range(10_000), seed=3, **where)
    assert surest.open_study(*where.values()).status().told >= 20
    went_on = surest.duel(NAMES, judge, items=range(10_000), seed=3, **where)
    at_once = surest.duel(NAMES, judge, items=range(10_000), seed=3)
    assert (went_on.best, went_on.pulls, went_on.labels) == (at_once.best, at_once.pulls, tuple(NAMES))
    study = surest.open_study(*where.values())
    assert (study.result().best, study.labels[0]) == ("a", "a vs b")


def test_a_study_of_players_by_ask_and_tell() -> None:
    study = surest.open_study("memory:", "duels", NAMES, algorithm="duels", seed=1, workers=3)
    judge = judge_of(1)
    assert answered(study, lambda ticket: float(judge(*ticket.label.split(" vs "))), 3).result().best == "a"


def test_a_longer_record_continues_the_same_run() -> None:
    rng = random.Random(1)
    rows = [(a, b, float(rng.random() < 0.7)) for _ in range(60) for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    early, late = surest.duel(rows[:60]), surest.duel(rows)
    assert (late.duels.games >= early.duels.games).all()
    assert late.best == "a"


def test_json_says_all_and_is_read_again() -> None:
    result = surest.duel(NAMES, judge_of(1), seed=1)
    data = json.loads(json.dumps(result.to_dict()))
    again = from_json(data, "it")
    assert str(again).splitlines()[:3] == str(result).splitlines()[:3]
    assert (again.duels.games == result.duels.games).all()
    assert again.duels.groups == result.duels.groups
    for part, wrong in (("games", [[0]]), ("groups", [["a"]]), ("order", [0, 0, 1, 2])):
        with pytest.raises(UsageError, match="not a result"):
            from_json({**data, "duels": {**data["duels"], part: wrong}}, "it")


def test_the_borda_winner_in_one_line() -> None:
    """d beats everybody by a hair, a beats all others by far: the winners differ."""
    chances = {("a", "b"): 1.0, ("a", "c"): 1.0, ("a", "d"): 0.4, ("b", "d"): 0.4, ("c", "d"): 0.4, ("b", "c"): 0.5}
    rng = random.Random(2)

    def judge(a, b):
        p = 0.5 if a == b else chances[a, b] if (a, b) in chances else 1 - chances[b, a]
        return float(rng.random() < p)

    borda = surest.identify({a: lambda a=a: judge(a, rng.choice(NAMES)) for a in NAMES}, seed=1)
    assert borda.best == "a"
    assert borda.certified
    assert surest.duel(NAMES, judge, seed=1).best == "d"
