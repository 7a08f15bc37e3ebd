"""What a search costs when arms have prices: Wager with evidence per cost, Wager that does not heed prices, and the lower bound.

    python benchmarks/costs.py FILE:INSTANCE …      # recorded rewards; FILE is a CSV file arm,value,count,instance

Prices are made: log-normal with a standard deviation of 1, the same in all runs. δ = 0.05.
"""

import sys

import numpy as np

import surest
from surest.arms.recorded import read_csv
from surest.lab.characteristic import characteristic

RUNS, DELTA = 40, 0.05


def main(sources: list[str]) -> None:
    print("| instance | arms | heeding prices | not heeding them | lower bound | wrong |\n|---|---|---|---|---|---|")
    for source in sources:
        path, _, instance = source.rpartition(":")
        arms = read_csv(path, instance)
        prices = np.exp(np.random.default_rng(1).normal(size=len(arms)))
        cost = dict(zip(arms.labels, prices.tolist(), strict=True))
        best, spent, wrong = int(np.argmax(arms.means)), {True: [], False: []}, 0
        for seed in range(RUNS):
            for heeding, paid in spent.items():
                found = surest.identify(arms, DELTA, seed=seed, progress=False, **({"cost": cost} if heeding else {}))
                paid.append(float(prices @ np.asarray(found.pulls_per_arm)))
                wrong += found.indices != (best,)
        told = [f"{np.mean(paid):,.0f} ± {np.std(paid) / RUNS**0.5:,.0f}" for paid in spent.values()]
        bound = characteristic(arms, prices).lower_bound(DELTA)
        print(f"| {instance} | {len(arms)} | {' | '.join(told)} | {bound:,.0f} | {wrong} of {2 * RUNS} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
