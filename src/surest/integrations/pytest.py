"""A fixture for pytest: ``pytest_plugins = ["surest.integrations.pytest"]`` in conftest.py.

def test_the_prompt_is_not_worse(surest_gate):
    surest_gate("baseline.csv", answer, margin=0.03)
"""

import os
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import surest
from surest.errors import KnownOrderError

COMMITS = ("SUREST_SEED", "GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "GIT_COMMIT")
"""Environment variables that name the commit of a build."""
LINE = "surest gate"
"""The property of a test's report that has the line of a gate; reports reach the process that prints the summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a ledger."""
    parser.addoption(
        "--surest-ledger", metavar="FILE|URL", help="Remember all gates in a ledger: see surest gate --ledger."
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what each gate found, those that passed, too."""
    reports = [
        report for of in terminalreporter.stats.values() for report in of if getattr(report, "when", "") == "teardown"
    ]
    lines = [f"{report.nodeid}: {said}" for report in reports for name, said in report.user_properties if name == LINE]
    if lines:
        terminalreporter.section("gates")
        terminalreporter.write_line("\n".join(lines))


def in_an_order_of_its_own(*given: Any, seed: Any = None, **settings: Any) -> surest.Gate:
    """`surest.gate`, again with another seed for as long as its ledger knows the order."""
    drawn, runs = seed, count(2)
    while True:
        try:
            return surest.gate(*given, seed=drawn, **settings)
        except KnownOrderError:
            if seed is None:
                raise
            drawn = f"{seed}, run {next(runs)}"


@pytest.fixture
def surest_gate(request: pytest.FixtureRequest) -> Callable[..., surest.Gate]:
    """`surest.gate` as an assertion: the test fails if the candidate is certified to be worse, and is skipped if undecided.

    The seed is the commit that the build names, with the name of the test; fresh, where there is none. What is evaluated anew in
    a repeated build is a gate of its own for a ledger, in another order.
    """

    def check(baseline: Any, candidate: Any, margin: float = 0.0, delta: float = 0.05, **settings: Any) -> surest.Gate:
        commit = next(filter(None, map(os.environ.get, COMMITS)), None)
        own = settings.get("shuffled") or settings.get("target") == "population"  # an order that no seed draws
        if commit is not None and not own and not hasattr(settings.get("table"), "store"):
            settings.setdefault("seed", f"{commit} {request.node.nodeid}")
        settings.setdefault("ledger", request.config.getoption("--surest-ledger"))
        found = in_an_order_of_its_own(baseline, candidate, margin, delta, **settings)
        request.node.user_properties.append((LINE, str(found)))
        if found.failed:
            pytest.fail(str(found), pytrace=False)
        if not found.passed:
            pytest.skip(str(found))
        return found

    return check
