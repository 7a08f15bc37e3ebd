"""The contract between an algorithm and the world: every breach is an error that names who did what, wherever it runs."""

import timeit

import numpy as np
import pytest

import surest
from surest.core.procedure import check_reply, check_request
from surest.core.protocol import Answer, Atoms, Cells, Pull, Statistic
from surest.errors import ContractError, UsageError
from surest.search.loading import load_algorithm

FORMS = ("simulation", "functions", "session", "study")
BROKEN = {
    "twice": ("yield Pull([0, 0], 3, Statistic.MEAN)", "names arm 0 twice"),
    "unknown": ("yield Pull([5], 3, Statistic.MEAN)", "names arm 5; there are 2 arms, numbered 0 to 1"),
    "negative": ("yield Pull([-1], 3, Statistic.MEAN)", "names arm -1; there are 2 arms"),
    "odd": ("yield Pull([0], 3, Statistic.PAIRS)", "an even number of pulls"),
    "none": ("yield Pull([], 3, Statistic.MEAN)", "names no arm"),
    "never": ("yield Pull([0], 0, Statistic.MEAN)", "at least once"),
    "statistic": ("yield Pull([0], 1, 'median')", "wants the statistic 'median'"),
    "cells": ("yield Cells([0], [0])", "there is no list of items here"),
    "number": ("yield 7", "is not a request"),
    "nothing": ("yield Pull([0], 1, Statistic.MEAN); return None", "returned None"),
    "no arm": ("yield Pull([0], 1, Statistic.MEAN); return 9", "answered arm 9; there are arms 0 to 1"),
}


def algorithm_file(folder, body: str) -> str:
    path = folder / "mine.py"
    head = "from surest import Answer, Cells, Pull, Statistic\n\ndef mine(arms, delta):\n    "
    path.write_text(head + body.replace("; ", "\n    "))
    return f"{path}:mine"


def run(form: str, name: str, folder) -> None:
    if form == "simulation":
        surest.identify(surest.bernoulli([0.5, 0.4]), algorithm=name)
    elif form == "functions":
        surest.identify({"a": lambda: 1, "b": lambda: 0}, algorithm=name)
    elif form == "session":
        session = surest.Session(["a", "b"], algorithm=load_algorithm(name))
        for ticket in session.ask(9):
            session.tell(ticket.id, 0.5)
    else:
        study = surest.open_study(f"sqlite:///{folder}/studies.db", "s", ["a", "b"], algorithm=name)
        for ticket in study.ask(9):
            study.tell(ticket.id, 0.5)
        study.result()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_breach_names_the_algorithm_and_what_is_allowed(form: str, broken: str, tmp_path) -> None:
    body, words = BROKEN[broken]
    with pytest.raises(ContractError) as refused:
        run(form, algorithm_file(tmp_path, body), tmp_path)
    assert words in str(refused.value)
    assert "mine" in str(refused.value)


def test_a_request_that_keeps_the_contract_is_returned_as_it_is() -> None:
    for request in (Pull([1, 0], [4, 2], Statistic.PAIRS), Cells([1], [3, 0], ahead=[2])):
        assert check_request(request, 2, "mine", items=4) is request
    for cells, words in (
        (Cells([0], [4]), "names item 4; there are 4 items"),
        (Cells([0], [1], ahead=[9]), "looks ahead at items that do not exist"),
        (Cells([0], [1, 1]), "names item 1 twice"),
    ):
        with pytest.raises(ContractError, match=words):
            check_request(cells, 2, "mine", items=4)


def test_what_a_list_looks_ahead_at_is_gone_through_once_and_not_for_each_of_its_items() -> None:
    order = np.arange(2_000_000)
    first, second = (Cells([0, 1], order[k : k + 1], order[k + 1 :]) for k in (0, 1))

    def took(before: Cells | None) -> float:
        return min(timeit.repeat(lambda: check_request(second, 2, "mine", len(order), before), number=3, repeat=5))

    assert took(first) < took(None) / 10
    with pytest.raises(ContractError, match="looks ahead at items that do not exist"):
        check_request(Cells([0], [1], ahead=[9]), 2, "mine", 4, before=Cells([0], [0], ahead=[1, 9]))


OF_TWO, OF_ONE = (Pull(arms, 2, Statistic.MEAN) for arms in ([0, 1], [0]))


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        *((OF_TWO, reply) for reply in (np.array([0.5]), [0.5, 0.5], np.array([0.5, np.nan]), np.array([0.5, 1.5]))),
        *((OF_ONE, reply) for reply in (np.array([-0.1]), np.array([1]), None)),
        (Pull([0, 1], 2, Statistic.REWARDS), np.zeros(3)),
        (Pull([0, 1], 2, Statistic.ATOMS), np.zeros(2)),
        (Pull([0, 1], 2, Statistic.ATOMS), Atoms(np.array([0, 1]), np.array([0.5]), np.array([2]))),
        (Cells([0, 1], [0]), np.zeros(2)),
    ],
    ids=repr,
)
def test_a_reply_of_the_wrong_kind_is_refused(request_, reply) -> None:
    class Bandit:
        labels = ("a", "b")

        def answer(self, request):
            return reply

    def asks(arms, delta):
        yield request_
        return 0

    with pytest.raises(ContractError, match="Bandit answered"):
        check_reply(request_, reply, "Bandit")
    if isinstance(request_, Pull):
        with pytest.raises(ContractError, match="Bandit answered"):
            surest.identify(Bandit(), algorithm=asks)


def test_anybodys_algorithm_runs_and_is_called_what_it_is(tmp_path) -> None:
    def larger_mean(arms, delta, *, times=50):
        means = yield Pull(arms, times, Statistic.MEAN)
        return int(arms[means.argmax()])

    result = surest.identify(surest.bernoulli([0.1, 0.9]), algorithm=larger_mean, seed=1, times=30)
    assert (result.best, result.pulls, result.algorithm, result.standing) == ("1", 60, "larger_mean", "yours, unproven")
    assert "says larger_mean, of which surest knows no proof" in str(result)
    with pytest.raises(UsageError, match=r"file\.py:function"):
        surest.open_study(f"sqlite:///{tmp_path}/studies.db", "s", ["a", "b"], algorithm=larger_mean)


def test_an_answer_may_be_several_arms() -> None:
    def both(arms, delta):
        yield Pull(arms, 1, Statistic.MEAN)
        return Answer([1, 0])

    result = surest.identify(surest.bernoulli([0.1, 0.9]), algorithm=both, seed=1)
    assert (result.chosen, result.best, result.contenders) == (("1", "0"), "1", ("1", "0"))
