"""A champion in every kind of storage, with several challenges at a time."""

from concurrent.futures import ThreadPoolExecutor

import surest
from surest.study.ledger import Ledger


def score(rate: float, item: int) -> float:
    return float(item * 0.618 % 1 < rate)


def test_challenges_at_the_same_time_have_numbers_of_their_own_and_one_champion(storage: str) -> None:
    def opened() -> surest.Champion:
        return surest.Champion(score, range(200), storage=storage, worth=0.05)

    opened().challenge(0.3)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda rate: opened().challenge(rate), [0.6, 0.7, 0.1, 0.8]))
    rows = Ledger(storage).rows()
    assert sorted(one.number for one in found) == [row.number for row in rows] == [1, 2, 3, 4]
    promoted = [rate for rate, one in zip([0.6, 0.7, 0.1, 0.8], found, strict=True) if one.promoted]
    assert sum(row.verdict == "pass" for row in rows) == len(promoted) >= 1
    assert opened().best == max(promoted)
    assert opened().known == {item: score(opened().best, item) for item in opened().known}
