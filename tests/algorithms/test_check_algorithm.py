"""`check_algorithm` says of bad algorithms what is bad about them, and lets good ones pass."""

import random
import re
from functools import partial
from math import log, sqrt

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from surest.core.protocol import Answer, Pull, Statistic, Status
from surest.testing import check_algorithm
from surest.testing.algorithms import AlgorithmError


def leader_of(left, sums) -> Status:
    return Status(int(left[sums[left].argmax()]))


def hoeffding_race(arms, delta, *, rng, epsilon=0.0, log_term=True, confidence=1.0):
    """Batches of all arms in play, dropping what is clearly worse; correct, if slow."""
    left, sums, times, batch = arms, np.zeros(len(arms)), 0, 0
    while len(left) > 1:
        batch += 1
        means = yield Pull(left, 20 * batch, Statistic.MEAN, partial(leader_of, left, sums))
        sums[left] += 20 * batch * means
        times += 20 * batch
        radius = confidence * sqrt(log(4 * len(arms) * batch**2 / delta) / (2 * times))
        estimates = sums[left] / times
        if 2 * radius <= epsilon:
            return int(left[estimates.argmax()])
        left = left[estimates >= estimates.max() - 2 * radius]
    return int(left[0])


@pytest.mark.parametrize("algorithm", [hoeffding_race, "naive-best-arm", "sequential-halving", "ucb-e", "best-arm-est"])
def test_good_ones_pass(algorithm) -> None:
    report = check_algorithm(algorithm)
    assert report.ok
    assert "passes" in str(report)
    assert len(report.checked) == 3


def made(name: str, body: str, more: str = ""):
    """An algorithm from its text, a statement after the other."""
    names = {"Pull": Pull, "Statistic": Statistic, "Answer": Answer, "Status": Status, "CALLS": [], "random": random}
    names |= {"np": np, "hoeffding_race": hoeffding_race}
    exec(f"def {name}(arms, delta{more}):\n    " + body.replace("; ", "\n    "), names)
    return names[name]


modest = made(
    "modest", "means = yield Pull(arms, 1, Statistic.MEAN); return Answer(int(arms[means.argmax()]), certified=False)"
)


@pytest.mark.parametrize(("algorithm", "runs"), [(modest, 2), (hoeffding_race, 0)])
def test_without_an_answer_nothing_is_said_of_errors(algorithm, runs) -> None:
    report = check_algorithm(algorithm, runs=runs)
    assert report.ok
    assert "passes" not in str(report)
    assert "it certified no answer, so nothing is known of its errors" in str(report)
    assert "wrong on" not in str(report)


def endless(arms, delta):
    while True:
        yield Pull(arms, 10**13, Statistic.MEAN)


def peeks(arms, delta, *, rng):
    """Bounds for one look, looked at again and again."""
    return (yield from hoeffding_race(arms, delta, rng=rng, confidence=0.2))


RACE = "return (yield from hoeffding_race(arms, delta, rng=None))"
MEANS = "means = yield Pull(arms, {}, Statistic.MEAN); return {}"
BAD = [
    made("twice", "yield Pull([0, 0], 3, Statistic.MEAN); return 0"),
    made("beyond", "yield Pull([len(arms)], 3, Statistic.MEAN); return 0"),
    made("odd", "yield Pull(arms, 3, Statistic.PAIRS); return 0"),
    made("no_request", "yield arms; return 0"),
    made("no_answer", "yield Pull(arms, 3, Statistic.MEAN)"),
    made("wrong_answer", MEANS.format(3, "len(arms)")),
    made("raises", MEANS.format(3, '{}["leader"]')),
    made("wrong_state", "yield Pull(arms, 3, Statistic.MEAN, lambda: Status(-1)); return 0"),
    endless,
    made("eager", "return 0"),
    made("overspends", MEANS.format("budget", "int(means.argmax())"), ", *, budget"),
    made("boasts", MEANS.format("budget // len(arms)", "Answer(int(means.argmax()))"), ", *, budget"),
    made("uses_random", f"yield Pull(arms, 1 + random.randrange(9), Statistic.MEAN); {RACE}"),
    made("uses_numpy", f"yield Pull(arms, 1 + np.random.randint(9), Statistic.MEAN); {RACE}"),
    made("unseeded", f"yield Pull(arms, 1 + np.random.default_rng().integers(10**9), Statistic.MEAN); {RACE}"),
    made("remembers", f"CALLS.append(1); yield Pull(arms, len(CALLS), Statistic.MEAN); {RACE}"),
    peeks,
    made("worst", MEANS.format(1000, "int(means.argmin())"), ", *, rng"),
]


@pytest.mark.parametrize("algorithm", BAD, ids=lambda given: given.__name__)
def test_bad_ones_are_told_what_is_wrong(algorithm, snapshot: SnapshotAssertion) -> None:
    counted = algorithm.__name__ in ("peeks", "worst")  # the others' mistakes show in a run or two
    with pytest.raises(AlgorithmError) as found:
        check_algorithm(algorithm, runs=60 if counted else 2)
    assert re.sub(r"request 1 is .*", "request 1 is …", str(found.value)) == snapshot


def test_it_leaves_the_global_generators_as_they_were() -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.Random(5).random(), np.random.RandomState(5).random()
    with pytest.raises(AlgorithmError):
        check_algorithm(next(bad for bad in BAD if bad.__name__ == "uses_numpy"), runs=2)
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002
