"""Decisions of every kind, made small, their lines as data, and what the verifier says of them."""

import json
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import surest
import surest_verify
from surest.decision.chain import Chain
from surest.decision.two import decision_of_gate
from surest.decision.write import decision_of

Line = dict[str, Any]


def lines_of(decided: surest.Result | surest.Gate | surest.Challenge) -> list[Line]:
    """The lines of a decision as data that may be changed: without their hashes and without the end."""
    if isinstance(decided, surest.Challenge):
        assert decided.fought is not None
        chain = decided.fought()
    else:
        chain = decision_of_gate(decided) if isinstance(decided, surest.Gate) else decision_of(decided)
    lines = [json.loads(line) for line in chain.lines[:-1]]
    return [{key: value for key, value in line.items() if key != "prev"} for line in lines]


def chained(lines: Iterable[Mapping[str, Any]]) -> Chain:
    """Lines with hashes that fit, as somebody would make them who changed something."""
    chain = Chain()
    for line in lines:
        chain.add(**line)
    chain.end()
    return chain


def refusal(lines: Iterable[Mapping[str, Any]] | Iterable[bytes], known_by: str | None = None) -> str:
    """Why the verifier refuses a file with these lines, as data or as they are; nothing if it is valid."""
    lines = list(lines)
    raw = lines if not lines or isinstance(lines[0], bytes) else chained(lines).lines
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decision.jsonl"
        path.write_bytes(b"".join(raw))
        try:
            surest_verify.verify(str(path), known_by)
        except surest_verify.Invalid as error:
            return str(error)
    return ""


def _asked_and_told(session: surest.Session, draw: Callable[[int], float], until: int) -> None:
    """Answer tickets, every 40th of which fails once; a few failures are imputed."""
    told = 0
    while not session.finished and told < until:
        for ticket in session.ask(3):
            told += 1
            if told % 40 == 0:
                session.fail(ticket.id)
            elif told % 55 == 0:
                session.note(ticket.id, "imputed")
                session.tell(ticket.id, session.scale.worst)
            else:
                session.tell(ticket.id, draw(ticket.arm))


def made(kind: str, seed: int) -> surest.Result:
    """A search of some kind, with its record."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.integers(2, 6)) + (9 if kind == "best" else 0)  # more than there are paired bets for
    means = np.sort(rng.uniform(0.1, 0.6, n))
    means[-1] += 0.25 if "contenders" not in kind else 0.05
    rng.shuffle(means)
    delta = float(rng.choice([0.01, 0.05, 0.2]))
    settings: dict[str, Any] = {"delta": delta, "seed": seed, "budget": 2_000}
    draws: dict[str, Callable[[int], float]] = {
        "coins": lambda arm: float(rng.random() < means[arm]),
        "continuous": lambda arm: float(rng.beta(4 * means[arm], 4 * (1 - means[arm]))),
        "narrow": lambda arm: float(rng.beta(60 * means[arm], 60 * (1 - means[arm]))),
        "seconds": lambda arm: round(60 * (1 - float(rng.beta(8 * means[arm], 8 * (1 - means[arm])))), 1),
    }
    draw, later = draws["coins"], 0
    match kind:
        case "epsilon":
            settings["epsilon"] = 0.1
        case "contenders":
            settings["budget"] = int(rng.integers(40, 300))
        case "few":
            settings["batch"] = 3 * n
        case "continuous" | "narrow":
            draw = draws[kind]
        case "seconds":
            draw = draws["seconds"]
            settings |= {"bounds": (0, 60), "minimise": True, "epsilon": float(rng.choice([0.0, 3.0]))}
        case "top":
            settings |= {"top": int(rng.integers(1, n)), "epsilon": 0.05}
        case "top contenders":
            settings |= {"top": 1, "budget": 150}
        case "growing":
            settings |= {"reserve": 0.2, "epsilon": float(rng.choice([0.0, 0.1]))}
            later = int(rng.integers(1, n))
    session = surest.Session([f"arm {i}" for i in range(n - later)], record=True, **settings)
    if later:
        _asked_and_told(session, draw, int(rng.integers(20, 120)))
        for i in range(n - later, n) if not session.finished else ():
            session.grow([f"arm {i}"])
            _asked_and_told(session, draw, int(rng.integers(1, 40)))
            if session.finished:
                break
    _asked_and_told(session, draw, 5_000)
    return session.result()


KINDS = ("best", "few", "narrow", "epsilon", "contenders", "continuous", "seconds", "top", "top contenders", "growing")


def table_of(kind: int, n: int, total: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of arms on items: numbers, zeros and ones, tenths, or the same for all arms."""
    level = rng.random((n, 1))
    if kind == 0:
        return np.clip(0.7 * rng.random((n, total)) + 0.3 * level, 0, 1)
    if kind == 1:
        return (rng.random((n, total)) < level).astype(float)
    if kind == 2:
        return rng.integers(0, 11, (n, total)) / 10
    return np.tile(rng.integers(0, 3, (1, total)) / 2, (n, 1))


def search(seed: int, spreads: bool = False) -> surest.Result:
    """A search with everything about it drawn at random: the table, the question, its settings, perhaps with a spread."""
    rng = np.random.default_rng([77 + spreads, seed])
    n, total = int(rng.integers(2, 8)), int(rng.integers(2, 150))
    table, spread = table_of(seed % 4, n, total, rng), float(rng.choice([0.1, 0.3, 0.05, 0.7])) if spreads else 1.0
    settings: dict[str, Any] = {
        "seed": int(rng.integers(2**53)),
        "delta": float(rng.choice([0.05, 0.2, 0.01])),
        "epsilon": spread * float(rng.choice([0, 0, 0.05, 0.2])),
        "target": str(rng.choice(["items", "items", "population"])),
    }
    if spreads:  # tenths are not exact in doubles
        table = np.clip((1 - spread) * rng.integers(0, 11, total) / 10 + spread * table, 0, 1)
        settings["spread"] = spread
    elif n > 2 and rng.random() < 0.4:
        settings["top"] = int(rng.integers(1, n))
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(n, n * total + 1))
    if rng.random() < 0.3:
        table, wider = 6 * table - 2, {name: 6 * settings[name] for name in ("epsilon", "spread") if name in settings}
        settings |= {"bounds": (-2.0, 4.0), "minimise": bool(rng.random() < 0.5), **wider}
    return surest.evaluate(table, **settings, simulate=seed % 5 > 0)


def coins(*means: float, items: int) -> np.ndarray:
    """Zeros and ones, a row an arm."""
    return (np.random.default_rng(3).random((len(means), items)) < np.array(means)[:, None]).astype(float)


def best_of_four(**settings: Any) -> surest.Result:
    """A decision by bets: of four arms the first is the best."""
    table = coins(0.8, 0.5, 0.45, 0.2, items=300)
    return surest.evaluate(table, simulate=True, **{"seed": 1, **settings})


def cheapest_of_four(**settings: Any) -> surest.Result:
    """A decision by bets: of three arms that are good enough the third is the cheapest."""
    table = coins(0.9, 0.8, 0.78, 0.2, items=300)
    asked = {"cheapest": 0.2, "cost": dict(zip("abcd", (9.0, 5.0, 3.0, 1.0), strict=True)), "seed": 1, **settings}
    return surest.evaluate(list("abcd"), range(300), score=lambda arm, item: table["abcd".index(arm), item], **asked)


def known_gate(seed: int, **more: Any) -> surest.Gate:
    """A gate that is decided with predictions from a baseline and older rows."""
    rng = np.random.default_rng([8, seed])
    ease = np.clip(rng.random(240) * 1.6 - 0.3, 0, 1)
    old, new, *older = (rng.random((5, 240)) < ease).astype(float)
    if seed % 3 == 1:
        new = new * (rng.random(240) < 0.7)
    names = [f"q{i}" for i in range(240)]
    history = [dict(zip(names, row.tolist(), strict=True)) for row in older] if seed % 2 else None
    given: dict[str, Any] = {"margin": 0.1, "seed": str(seed), "history": history, **more}
    if seed == 4:
        old, new, given = 3 * (1 - old), 3 * (1 - new), {**given, "bounds": (0.0, 3.0), "minimise": True}
    rows = [dict(zip(names, row.tolist(), strict=True)) for row in (old, new)]
    return surest.gate(rows[0], rows[1].get, **given)


def against_known(seed: int, total: int = 200, **more: Any) -> surest.Result:
    """A search against a control whose row is known, with older rows or without, and in units of its own."""
    rng = np.random.default_rng([11, seed])
    ease, shifts = np.clip(rng.random(total) * 1.6 - 0.3, 0, 1), np.array([[0.0], [0.25], [-0.2], [0.02]])
    rows = np.clip(ease + shifts, 0, 1) if seed % 5 == 2 else (rng.random((4, total)) < ease + shifts).astype(float)
    older, asked = (
        (rng.random((2, total)) < ease).astype(float),
        {"control": "old", "seed": seed, "margin": 0.1, **more},
    )
    if seed % 3 == 1:
        rows, older = 3 * (1 - rows), 3 * (1 - older)
        asked |= {"bounds": (0.0, 3.0), "minimise": True, "margin": 3 * asked["margin"]}
    arms: dict[str, Any] = {name: row.__getitem__ for name, row in zip("abc", rows[1:], strict=True)}
    own = {"older": older.tolist()} if seed % 2 else {}
    return surest.evaluate({"a": arms.pop("a"), "old": rows[0].tolist(), **arms}, range(total), **own, **asked)


def challenged(rate: float) -> surest.Challenge:
    """A challenge that is decided by bets, of a champion whose scores are known in part."""
    table = coins(0.5, 0.3, rate, items=400)
    champion = surest.Champion(lambda arm, item: table[arm, item], range(400), worth=0.05, seed=3)
    return [champion.challenge(arm) for arm in range(3)][-1]


def drawn_gate(seed: int) -> surest.Gate:
    """A gate with everything about it drawn at random: the scores, the gaps, the settings."""
    rng = np.random.default_rng([9, seed])
    total = int(rng.integers(1, 140))
    kinds = [rng.random(total), (rng.random(total) < 0.6).astype(float), rng.integers(0, 11, total) / 10]
    old = kinds[seed % 3]
    new = np.where(rng.random(total) < 0.2, np.roll(old, 1), old) if seed % 2 else np.clip(old + rng.normal() / 5, 0, 1)
    settings: dict[str, Any] = {"margin": float(rng.choice([0, 0.03, 0.1])), "delta": float(rng.choice([0.05, 0.2]))}
    if rng.random() < 0.3:
        old, new = 6 * old - 2, 6 * new - 2
        settings |= {"bounds": (-2.0, 4.0), "minimise": bool(rng.random() < 0.5), "margin": 6 * settings["margin"]}
    settings |= [{}, {"seed": f"commit {seed}"}, {"shuffled": True}, {"target": "population"}][seed // 3 % 4]
    baseline, kept = {f"q{i}": x for i, x in enumerate(old.tolist())}, rng.random(total) < rng.choice([1, 0.95, 0.5])
    candidate = {f"q{i}": x for i, x in enumerate(new.tolist()) if kept[i]}
    return surest.gate(baseline, candidate, **settings)


def challenges(seed: int) -> list[surest.Challenge]:
    """Challenges with everything about them drawn at random, each with what is known of the champion by then."""
    rng = np.random.default_rng([41, seed])
    candidates, total, settings = int(rng.integers(3, 8)), int(rng.integers(3, 300)), dict[str, Any]()
    table, width = table_of(seed % 3, candidates, total, rng), 1.0
    if rng.random() < 0.3:
        table, width = 6 * table - 2, 6.0
        settings = {"bounds": (-2.0, 4.0), "minimise": bool(rng.random() < 0.5)}
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(1, total))
    settings |= {"delta": float(rng.choice([0.05, 0.2])), "worth": width * float(rng.choice([0, 0.02, 0.1]))}
    champion = surest.Champion(lambda arm, item: float(table[arm, item]), range(total), seed=seed, **settings)
    return [champion.challenge(arm) for arm in range(candidates)][1:]


def cheapest_search(seed: int) -> surest.Result:
    """A search with everything about it drawn at random: on a list, a sample or a complete table, or by fresh pulls."""
    rng = np.random.default_rng([5, seed])
    n, total = int(rng.integers(1, 6)), int(rng.integers(2, 120))
    table = table_of(seed % 4, n, total, rng)
    near, slack, high = float(rng.choice([0, 0.05, 0.2])), float(rng.choice([0, 0.1])), float(rng.choice([1, 60]))
    settings: dict[str, Any] = {
        "cheapest": near * high,
        "slack": slack * high,
        "cost": {str(arm): float(rng.integers(1, 4)) for arm in range(n)},
        "delta": float(rng.choice([0.05, 0.3])),
    }
    settings |= {"seed": seed, "bounds": (0.0, high), "minimise": high > 1}
    arms, table = [str(arm) for arm in range(n)], table * high
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(1, n * total + 1))
    match seed // 4 % 4:
        case 0:
            pulled = {arm: lambda row=row: float(rng.choice(row)) for arm, row in zip(arms, table, strict=True)}
            return surest.identify(pulled, record=True, **{"budget": 300, **settings})
        case 1:
            return surest.evaluate(dict(zip(arms, table.tolist(), strict=True)), **settings)
        case 2:
            settings["target"] = "population"
    return surest.evaluate(arms, range(total), score=lambda arm, item: table[int(arm), item], **settings)


STRENGTH = {"a": 8.0, "b": 2.0, "c": 1.0}


def judge_of(seed: int) -> Callable[[str, str], bool]:
    rng = random.Random(seed)
    return lambda a, b: rng.random() < STRENGTH[a] / (STRENGTH[a] + STRENGTH[b])


def rps(first: str, second: str) -> str:
    return second if {"rock": "paper", "paper": "scissors", "scissors": "rock"}[first] == second else first


def often_silent(first: str, second: str) -> str | None:
    return None if random.random() < 0.2 else first


DUELS = {
    "winner": lambda: surest.duel(list(STRENGTH), judge_of(1), seed=1, record=True),
    "strict": lambda: surest.duel(list(STRENGTH), judge_of(2), seed=1, record=True, strict=True),
    "epsilon": lambda: surest.duel(list(STRENGTH), judge_of(3), seed=1, record=True, epsilon=0.1),
    "top": lambda: surest.duel(list(STRENGTH), judge_of(4), seed=1, record=True, top=2),
    "ranked": lambda: surest.duel(list(STRENGTH), judge_of(5), seed=1, record=True, rank=True),
    "none": lambda: surest.duel(["rock", "paper", "scissors"], rps, seed=1, record=True),
    "open": lambda: surest.duel(list(STRENGTH), judge_of(1), seed=1, record=True, budget=15),
    "recorded": lambda: surest.duel([("a", "b", 1), ("c", "a", 0), ("b", "c", 1)] * 30, record=True),
    "imputed": lambda: surest.duel(
        list(STRENGTH), often_silent, seed=1, record=True, budget=30, on_failure=0.5, retries=0
    ),
}
