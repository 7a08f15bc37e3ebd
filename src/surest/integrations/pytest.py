"""A fixture for pytest: ``pytest_plugins = ["surest.integrations.pytest"]`` in conftest.py.

def test_the_prompt_is_not_worse(surest_gate):
    surest_gate("baseline.csv", answer, margin=0.03)
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

import surest

COMMITS = ("SUREST_SEED", "GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "GIT_COMMIT")
"""Environment variables that name the commit of a build."""
LINES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a ledger."""
    parser.addoption(
        "--surest-ledger", metavar="FILE|URL", help="Remember all gates in a ledger: see surest gate --ledger."
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what each gate found, those that passed, too."""
    lines = config.stash.get(LINES, [])
    if lines:
        terminalreporter.section("gates")
        terminalreporter.write_line("\n".join(lines))


@pytest.fixture
def surest_gate(request: pytest.FixtureRequest) -> Callable[..., surest.Gate]:
    """`surest.gate` as an assertion: the test fails if the candidate is certified to be worse, and is skipped if undecided.

    The seed is the commit that the build names, with the name of the test; fresh, where there is none.
    """

    def check(baseline: Any, candidate: Any, margin: float = 0.0, delta: float = 0.05, **settings: Any) -> surest.Gate:
        commit = next(filter(None, map(os.environ.get, COMMITS)), None)
        if commit is not None and not settings.get("shuffled") and settings.get("target", "items") == "items":
            settings.setdefault("seed", f"{commit} {request.node.nodeid}")
        settings.setdefault("ledger", request.config.getoption("--surest-ledger"))
        found = surest.gate(baseline, candidate, margin, delta, **settings)
        request.config.stash.setdefault(LINES, []).append(f"{request.node.nodeid}: {found}")
        if found.failed:
            pytest.fail(str(found), pytrace=False)
        if not found.passed:
            pytest.skip(str(found))
        return found

    return check
