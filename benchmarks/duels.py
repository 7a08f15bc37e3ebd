"""Figures of docs/questions/duels.md: python benchmarks/duels.py [WHAT...] prints a line of JSON for each.

Votes are read from ../shared/data/duels, if they are there. Every figure has a seed of its own, on which nothing was tuned.
"""

import csv
import json
import sys
from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np

from surest.algorithms import start
from surest.core.duels import players_of
from surest.evidence.duels import ROUNDS, Tournament

DATA = Path("../shared/data/duels")
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Runs, first players, second players."""


def simulated(
    chances: np.ndarray, ties: np.ndarray | float, runs: int, seed: int, choose: "Callable[..., Pairs] | None" = None,
    most: int = 10**9, **settings: object,
) -> tuple[Tournament, np.ndarray, np.ndarray]:  # fmt: skip
    """Tournaments side by side: their books, verdicts, and who is named (−1: nobody)."""
    n, rng = len(chances), np.random.default_rng(seed)
    book = Tournament(n, runs=runs, **{"delta": 0.05, **settings})  # type: ignore[arg-type]
    ties = np.broadcast_to(ties, chances.shape)
    verdict, named, orders = np.zeros(runs, int), np.full(runs, -1), np.empty((runs, 0), int)
    while (verdict == 0).any() and book.duels.max() < most:
        live = np.flatnonzero(verdict == 0)
        done = int(book.duels[live[0]])
        if choose is not None:
            run, a, b = choose(book, live)
        elif done < ROUNDS * (n // 2):
            if done % (n // 2) == 0:
                orders = np.argsort(rng.random((runs, n)), axis=1)
            at = 2 * (done % (n // 2))
            run, a, b = live, orders[live, at], orders[live, at + 1]
        else:
            best = book.keys()[live].reshape(len(live), -1).argmin(axis=1)
            run, a, b = live, *np.divmod(best, n)
        u, p, t = rng.random(len(run)), chances[a, b], ties[a, b]
        score = np.where(u < p - t / 2, 1.0, np.where(u < p + t / 2, 0.5, 0.0))
        book.count(a, b, score, run)
        if choose is not None or done >= ROUNDS * (n // 2) - 1:
            found = book.verdict()
            fresh = (verdict == 0) & (found != 0)
            verdict[fresh] = found[fresh]
            named[fresh & (found > 0)] = book.leaders[fresh & (found > 0)].argmax(axis=1)
    return book, verdict, named


def round_robin(n: int) -> Callable[[Tournament, np.ndarray], Pairs]:
    """Everybody meets everybody still in play, in the order of the circle method; a round of n/2 duels at a time."""
    m, at = n + n % 2, [0]

    def choose(book: Tournament, live: np.ndarray) -> Pairs:
        while True:
            ring = [0, *np.roll(np.arange(1, m), at[0] % (m - 1))]
            at[0] += 1
            pairs = [(ring[i], ring[m - 1 - i]) for i in range(m // 2) if max(ring[i], ring[m - 1 - i]) < n]
            a, b = (np.tile([p[k] for p in pairs], len(live)) for k in (0, 1))
            run = np.repeat(live, len(pairs))
            last = (~book.out[run]).sum(axis=1) <= book.top  # who is left meets those who are out
            fits = np.where(last, ~book.out[run, a] | ~book.out[run, b], ~book.out[run, a] & ~book.out[run, b])
            if fits.any():
                return run[fits], a[fits], b[fits]

    return choose


def told(what: str, found: tuple[Tournament, np.ndarray, np.ndarray], right: int, **more: object) -> None:
    book, verdict, named = found
    duels, runs = book.duels, len(verdict)
    wrong = int(((named != right) & (verdict != 0)).sum() if right >= 0 else (verdict > 0).sum())
    print(json.dumps({"what": what, "runs": runs, "duels": round(float(duels.mean()), 1),
          "error": round(float(duels.std() / runs**0.5), 1), "wrong": wrong,
          "open": int((verdict == 0).sum()), **more}), flush=True)  # fmt: skip


def votes(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Chances and ties of recorded votes, and who has the highest chances."""
    with open(DATA / f"chat_models_{name}.csv") as file:
        rows = list(csv.DictReader(file))
    players = sorted({row["first"] for row in rows} | {row["second"] for row in rows})
    games, score, ties = (np.zeros((len(players),) * 2) for _ in range(3))
    for row in rows:
        a, b, s = players.index(row["first"]), players.index(row["second"]), float(row["score"])
        for i, j, own in ((a, b, s), (b, a, 1 - s)):
            games[i, j] += 1
            score[i, j] += own
            ties[i, j] += own == 0.5
    games = np.maximum(games, 1)
    chances = score / games + np.eye(len(players)) / 2
    return chances, ties / games, int(chances.min(axis=1).argmax())


def bradley_terry(strength: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-(strength[:, None] - strength[None, :]))))


def field(n: int) -> np.ndarray:
    """Strengths as a normal law spreads them, with a standard deviation of one logit; in an order that says nothing."""
    from scipy.stats import norm

    strength = norm.ppf((np.arange(n) + 0.5) / n)
    return np.random.default_rng(n).permutation(strength)


def people() -> None:
    for name in ("people", "gpt4"):
        chances, ties, best = votes(name)
        for strict in (False, True):
            found = simulated(chances, ties, 1000, 20_001, strict=strict)
            told(f"votes {name}", found, best, strict=strict)
        told(f"votes {name}, round robin", simulated(chances, ties, 1000, 20_002, round_robin(6)), best)


def fields() -> None:
    for n, runs in ((10, 400), (30, 100), (100, 24)):
        strength = field(n)
        chances, best = bradley_terry(strength), int(strength.argmax())
        told(f"field of {n}", simulated(chances, 0.0, runs, 20_010 + n), best)
        told(f"field of {n}, round robin", simulated(chances, 0.0, runs, 20_011 + n, round_robin(n)), best)


def cycles() -> None:
    for p in (0.6, 0.7, 0.9):
        chances = np.array([[0.5, p, 1 - p], [1 - p, 0.5, p], [p, 1 - p, 0.5]])
        for strict in (False, True):
            told(f"rock, paper, scissors {p}", simulated(chances, 0.0, 500, 20_020, strict=strict), -1, strict=strict)
        told(f"rock, paper, scissors {p}, within 0.05", simulated(chances, 0.0, 500, 20_021, epsilon=0.05), -1)


def boundary() -> None:
    """Errors where they are most likely: a verdict of "nobody" among equals, a hair's lead, a cycle by a hair."""
    for n in (2, 3, 6):
        found = simulated(np.full((n, n), 0.5), 0.0, 2000, 20_030 + n, most=3000)
        none = int((found[1] < 0).sum())
        told(f"{n} equal players, 3,000 duels", found, 0, none=none)
    hair = np.full((3, 3), 0.5)
    hair[0, 1:], hair[1:, 0] = 0.51, 0.49
    told("ahead by 0.01, 3,000 duels", simulated(hair, 0.0, 2000, 20_041, most=3000), 0)
    for strict, epsilon in ((True, 0.0), (False, 0.02)):
        q = 0.49 - epsilon
        cycle = np.array([[0.5, q, 1 - q], [1 - q, 0.5, q], [q, 1 - q, 0.5]])
        found = simulated(cycle, 0.0, 2000, 20_042, most=3000, strict=strict, epsilon=epsilon)
        told("a cycle by 0.01, 3,000 duels", found, -1, strict=strict, epsilon=epsilon)


def engines(runs: int = 10) -> None:
    """15 engines 20 Elo apart, a third of the games drawn: duels until every pair is told apart."""
    elo = 20.0 * np.arange(15)
    chances, draws = bradley_terry(elo * log(10) / 400), 1 / 3
    gap = float(chances[1, 0] - 0.5)

    def play(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
        u = rng.random(len(p))
        t = np.minimum(draws, 2 * np.minimum(p, 1 - p))
        return np.where(u < p - t / 2, 1.0, np.where(u < p + t / 2, 0.5, 0.0))

    for epsilon in (0.0, gap):
        cost, wrong = [], 0
        for run in range(runs):
            rng = np.random.default_rng([20_050, run])
            players = [str(i) for i in range(15)]
            search = start("duels", 210, 0.05, epsilon=epsilon, seed=run, players=players, rank=True)
            request, total = next(search), 0
            while True:
                first, second = players_of(np.repeat(request.arms, request.times), 15)
                total += len(first)
                try:
                    request = search.send(play(rng, chances[first, second]))
                except StopIteration as end:
                    wins = end.value.status.duels.told
                    break
            cost.append(total)
            wrong += bool((wins & (chances < 0.5 - epsilon)).any())
        print(json.dumps({"what": "15 engines", "epsilon": round(epsilon, 4), "runs": runs, "duels": round(np.mean(cost)),
              "error": round(np.std(cost) / runs**0.5), "wrong": wrong}), flush=True)  # fmt: skip
    cost, wrong = [], 0
    bar = log(105 / 0.05)  # the same δ in all, a 105th for each pair
    for run in range(runs):
        rng, total, bad = np.random.default_rng([20_051, run]), 0, False
        for a in range(15):
            for b in range(a):  # a is the stronger one; the test is between a lead of 20 Elo and a deficit of 20
                p, t = float(chances[a, b]), min(draws, 2 * min(chances[a, b], 1 - chances[a, b]))
                won, lost = gap + (1 - draws) / 2, (1 - draws) / 2 - gap
                step, at, games = log(won / lost), 0.0, 0
                while abs(at) < bar:
                    u = rng.random(500)
                    moves = np.cumsum(np.where(u < p - t / 2, step, np.where(u < p + t / 2, 0.0, -step))) + at
                    over = np.flatnonzero(np.abs(moves) >= bar)
                    games += int(over[0]) + 1 if len(over) else 500
                    at = float(moves[over[0]] if len(over) else moves[-1])
                total, bad = total + games, bad or at < 0
        cost.append(total)
        wrong += bad
    print(json.dumps({"what": "15 engines, SPRT(-20, 20) of each pair", "runs": runs, "duels": round(np.mean(cost)),
          "error": round(np.std(cost) / runs**0.5), "wrong": wrong}), flush=True)  # fmt: skip


if __name__ == "__main__":
    for what in sys.argv[1:] or ("people", "fields", "cycles", "boundary", "engines"):
        globals()[what]()
