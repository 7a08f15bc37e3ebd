"""docs/service.md says what is there."""

import re
from pathlib import Path

from surest.service import guard
from surest.service.api import ENDPOINTS
from surest.service.limits import Limits
from surest.service.openapi import plain_path
from surest.service.tokens import ROLES

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()


def test_every_endpoint_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`(?:GET|POST|DELETE) .*?) \| (\w+) \|", PAGE, re.MULTILINE)
    said = {}
    for request, role in rows:
        method = request[1:].split()[0]
        for path in re.findall(r"(?:/|…/)[^`\s,]*", request):
            whole = path.partition("?")[0].replace("…", "/api/studies/{name}").replace("NAME", "{name}")
            said[method, whole] = None if role == "everybody" else role
    there = {(e.method, plain_path(e.path)): e.role for e in ENDPOINTS if e.path != "/openapi.json"}
    assert said == there


def test_limits_and_roles_are_those_of_the_code() -> None:
    limits = Limits()
    table = PAGE[PAGE.index("## Limits") : PAGE.index("## Logs")]
    figures = {
        "a request's body": f"{limits.body >> 20} MiB; {limits.upload >> 20} MiB",
        "headers; an address": f"{guard.LARGEST_HEADERS:,} bytes; {guard.LONGEST_PATH:,} characters",
        "time for the head": f"{limits.header_seconds:g} s; {limits.body_seconds:g} s",
        "requests a second": f"{limits.rate:,.0f}",
        "connections; browsers": f"{limits.connections:,}; {limits.listeners}",
        "`ask` that waits": f"{limits.wait:g} s",
    }
    for what, figure in figures.items():
        assert re.search(rf"^\| {re.escape(what)}.*\| {re.escape(figure)}", table, re.MULTILINE), what
    assert 50 * limits.wrong_tokens == 10
    assert [role for role in ROLES if f"| `{role}` |" not in PAGE] == []
