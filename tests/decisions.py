"""Decisions of every kind on fresh rewards, made small, and ways to change them."""

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

import surest
from surest.decision.chain import Chain
from surest.decision.write import decision_of

Lines = list[dict[str, Any]]


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
    n = int(rng.integers(2, 6)) + (5 if kind == "best" else 0)  # more than there are paired bets for
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


@cache
def lines_of(kind: str, seed: int) -> tuple[bytes, ...]:
    """The lines of a decision of some kind."""
    return tuple(decision_of(made(kind, seed)).lines)


def parsed(lines: Iterable[bytes]) -> Lines:
    """Lines as data, which may be changed."""
    return [json.loads(line) for line in lines]


def rechained(lines: Lines) -> list[bytes]:
    """Lines with the hashes that somebody who knows how they are made would give them."""
    chain = Chain()
    for line in lines:
        chain.add(**{name: value for name, value in line.items() if name != "prev"})
    return chain.lines


def linked(lines: Iterable[bytes]) -> list[bytes]:
    """Lines of bytes, each with the hash of the one before in place of its own."""
    found: list[bytes] = []
    for line in lines:
        if found:
            head, _, tail = line.partition(b'"prev":"')
            line = head + b'"prev":"' + hashlib.sha256(found[-1]).hexdigest().encode() + tail[64:]
        found.append(line)
    return found
