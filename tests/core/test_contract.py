"""The contract between an algorithm and the world: every breach is an error that names who did what, wherever it runs."""

import timeit
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import surest
from asking import answered
from calling import refused
from pages import same_as_kept
from surest.core.procedure import check_reply, check_request
from surest.core.protocol import Cells, Pull, Request, Statistic
from surest.errors import ContractError
from surest.search.loading import load_algorithm

FORMS = (
    lambda name: surest.identify(surest.bernoulli([0.5, 0.4]), algorithm=name),
    lambda name: surest.identify({"a": lambda: 1, "b": lambda: 0}, algorithm=name),
    lambda name: answered(surest.Session(["a", "b"], algorithm=load_algorithm(name)), lambda ticket: 0.5),
    lambda name: answered(surest.open_study("memory:", "s", ["a", "b"], algorithm=name), lambda ticket: 0.5),
)
"""Wherever an algorithm runs."""


def runs(body: str) -> None:
    """The same is said of an algorithm in all forms. Its file has a folder of its own: it is read once if it does not change."""
    head = "from surest import Cells, Pull, Statistic\n\ndef mine(arms, delta):\n    "
    with TemporaryDirectory() as folder, chdir(folder):
        Path("mine.py").write_text(head + body.replace("; ", "\n    "))
        said = {refused(partial(form, "mine.py:mine")).replace("mine.py:mine", "mine") for form in FORMS}
        assert len(said) == 1
        FORMS[0]("mine.py:mine")


def answers(request: Request, reply: object) -> None:
    """A reply to a request, of whatever somebody calls arms."""

    class Bandit:
        labels = ("a", "b")

        def answer(self, request):
            return reply

    def asks(arms, delta):
        yield request
        return 0

    if isinstance(request, Pull):
        with pytest.raises(ContractError, match="Bandit answered"):
            surest.identify(Bandit(), algorithm=asks)
    check_reply(request, reply, "Bandit")


def test_a_breach_names_who_did_it_and_what_is_allowed(request: pytest.FixtureRequest) -> None:
    own = {"runs": runs, "answers": answers, "check_request": check_request, "np": np}
    page = Path(__file__).with_name("contract.txt")
    same_as_kept(page, request, names={**vars(surest.core.protocol), **own}, mistaken=True)


def test_a_request_that_keeps_the_contract_is_returned_as_it_is() -> None:
    for request in (Pull([1, 0], [4, 2], Statistic.PAIRS), Cells([1], [3, 0], ahead=[2])):
        assert check_request(request, 2, "mine", items=4) is request


def test_what_a_list_looks_ahead_at_is_gone_through_once_and_not_for_each_of_its_items() -> None:
    order = np.arange(2_000_000)
    first, second = (Cells([0, 1], order[k : k + 1], order[k + 1 :]) for k in (0, 1))

    def took(before: Cells | None) -> float:
        return min(timeit.repeat(lambda: check_request(second, 2, "mine", len(order), before), number=3, repeat=5))

    assert took(first) < took(None) / 10
