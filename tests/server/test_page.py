"""docs/service.md says what is there."""

import re
from pathlib import Path

from surest.server import guard, server
from surest.server.limits import Limits
from surest.server.tokens import ROLES

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()


def test_limits_and_roles_are_those_of_the_code() -> None:
    limits = Limits()
    table = PAGE[PAGE.index("## Limits") : PAGE.index("## Logs")]
    figures = {
        "a request's body": f"{limits.body >> 20} MiB; {limits.upload >> 20} MiB",
        "headers; an address": f"{guard.LARGEST_HEADERS:,} bytes; {guard.LONGEST_PATH:,} characters",
        "time for the head": f"{limits.header_seconds:g} s; {limits.body_seconds:g} s",
        "requests a second": f"{limits.rate:,.0f}",
        "requests a second without a token": f"{limits.stranger_rate:g}, ",
        "connections": f"{limits.connections:,}, ",
        "a connection without a request": f"{server.KEEP_ALIVE_SECONDS} s; {server.STRANGERS_SECONDS} s",
        "browsers that watch": f"{limits.listeners}; {limits.listeners_each} ",
        "`ask` that waits": f"{limits.wait:g} s",
    }
    for what, figure in figures.items():
        assert re.search(rf"^\| {re.escape(what)}.*\| {re.escape(figure)}", table, re.MULTILINE), what
    assert (50 * limits.wrong_tokens, [role for role in ROLES if f"| `{role}` |" not in PAGE]) == (10, [])
