"""False promotions of rules that decide whether a candidate replaces the best one so far, on an optimiser with known true means.

Questions are right or wrong. A step of the optimiser answers 10 % of the champion's questions anew: most steps do harm or
nothing, one in five helps. Rules: surest.Champion; ahead on a random minibatch; and GEPA's default, ahead on a minibatch of 3,
after which it evaluates the candidate on all questions, and goes on from the best of its pool by those.
The figures of docs/champion.md: python benchmarks/champion.py
"""

import argparse

import numpy as np

from surest import Champion


def proposal(row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A changed row: 10 % of the questions are answered anew; one step in five is made by somebody who knows better."""
    new = row.copy()
    touched = rng.permutation(len(row))[: len(row) // 10]
    ease = 0.95 if rng.random() < 0.2 else max(row.mean() - 0.2, 0.0)
    new[touched] = rng.random(len(touched)) < ease
    return new


def start(items: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(items) < 0.5).astype(float)


def minibatch(items: int, steps: int, rng: np.random.Generator, size: int) -> tuple[int, int, int, float]:
    """Promotions, wrong ones, evaluations, and the true mean at the end."""
    best, promoted, wrong, evaluations = start(items, rng), 0, 0, 0
    for _ in range(steps):
        new, batch = proposal(best, rng), rng.permutation(items)[:size]
        evaluations += 2 * size
        if new[batch].sum() > best[batch].sum():
            promoted, wrong = promoted + 1, wrong + (new.mean() <= best.mean())
            best = new
    return promoted, wrong, evaluations, float(best.mean())


def gepa(items: int, steps: int, rng: np.random.Generator) -> tuple[int, int, int, float]:
    """Accepted, of these not better than the parent, evaluations, and the true mean of the best of the pool at the end."""
    best = start(items, rng)
    promoted, wrong, evaluations = 0, 0, items
    for _ in range(steps):
        new, batch = proposal(best, rng), rng.permutation(items)[:3]
        evaluations += 6
        if new[batch].sum() > best[batch].sum():
            promoted, wrong, evaluations = promoted + 1, wrong + (new.mean() <= best.mean()), evaluations + items
            best = new if new.mean() > best.mean() else best
    return promoted, wrong, evaluations, float(best.mean())


def champion(items: int, steps: int, rng: np.random.Generator, worth: float) -> tuple[int, int, int, float]:
    rows = [start(items, rng)]
    keeper = Champion(lambda who, item: rows[who][item], range(items), worth=worth)
    keeper.challenge(0)
    promoted, wrong, evaluations = 0, 0, 0
    for _ in range(steps):
        best = rows[keeper.best]
        rows.append(proposal(best, rng))
        found = keeper.challenge(len(rows) - 1)
        evaluations += found.evaluations
        promoted, wrong = promoted + found.promoted, wrong + (found.promoted and rows[-1].mean() <= best.mean())
    return promoted, wrong, evaluations, float(rows[keeper.best].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--seed", type=int, default=27)
    given = parser.parse_args()
    rules = {
        "champion, worth 0.02": lambda *a: champion(*a, 0.02),
        "champion, worth 0": lambda *a: champion(*a, 0.0),
        "ahead on 50": lambda *a: minibatch(*a, 50),
        "ahead on 200": lambda *a: minibatch(*a, 200),
        "GEPA's": gepa,
    }
    print(
        "| rule | promoted | wrong | evaluations | per right promotion | mean at the end |\n|---|---|---|---|---|---|"
    )
    for name, rule in rules.items():
        found = [rule(given.items, given.steps, np.random.default_rng([given.seed, run])) for run in range(given.runs)]
        promoted, wrong, evaluations, end = np.mean(found, axis=0)
        right = promoted - wrong
        each = f"{evaluations / right:,.0f}" if right else "–"
        print(
            f"| {name} | {promoted:.1f} | {wrong:.2f} ({wrong / promoted:.1%}) | {evaluations:,.0f} | {each} | {end:.3f} |"
        )


if __name__ == "__main__":
    main()
