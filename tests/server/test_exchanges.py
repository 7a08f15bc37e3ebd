"""What the service answers: each page of `exchanges` has requests, and all that came back of each.

A line `> METHOD PATH BODY` is a request, after lines `> Header: value` of its own. LOOK, WORK and ADMINISTER stand for tokens
of these roles; a page that names one is about a service that has tokens.
"""

import re
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from calling import steady
from surest.server import api
from surest.server.openapi import document
from surest.server.tokens import ROLES, Tokens
from visiting import serving

PAGES = sorted((Path(__file__).parent / "exchanges").glob("*.txt"))
SHOWN = ("www-authenticate", "content-disposition", "retry-after", "set-cookie", "access-control-allow-origin")
DOCUMENT = document(api.ENDPOINTS)["paths"]


def documented(method: str, path: str, status: int) -> bool:
    """Whether the document names this status of an address that it has."""
    for address, ways in DOCUMENT.items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(address)), path.partition("?")[0]):
            return method.lower() not in ways or str(status) in ways[method.lower()]["responses"]
    return True


def answer(host: str, method: str, path: str, body: str, headers: dict[str, str]) -> str:
    connection = HTTPConnection(host, timeout=60)
    kind = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body.encode(), {**kind, **headers})
    response = connection.getresponse()
    shown = "".join(f"{name}: {response.headers[name]}\n" for name in SHOWN if name in response.headers)
    text = re.sub(r'"settings":\{.*\},"lease', '"settings":{…},"lease', response.read().decode())
    connection.close()
    none = response.status in (400, 421)  # of addresses and hosts that are none
    assert none or documented(method, path, response.status), (method, path, response.status)
    return f"{response.status} {text if len(text) < 500 else '…'}".rstrip() + f"\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_answered(page: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kept, shown, headers = page.read_text(encoding="utf-8"), "", {}
    book = Tokens(tmp_path / "tokens.json")
    tokens = {role.upper(): book.add(role, role) for role in ROLES} if "LOOK" in kept else {}
    with serving(f"sqlite:///{tmp_path}/s.db", tmp_path / "tokens.json" if tokens else None) as address:
        host = urlsplit(address).netloc
        for line in re.findall(r"^(?:[>#] .*|)$\n?", kept, re.MULTILINE):
            shown += line
            line = re.sub("|".join([*tokens, "HOST"]), lambda name: {**tokens, "HOST": host}[name[0]], line)
            if header := re.match(r"> ([A-Z][\w-]+): (.*)\n", line):
                headers[header[1]] = header[2]
            elif asked := re.match(r"> ([A-Z]+) (\S+) ?(.*)\n", line):
                said = answer(host, asked[1], asked[2], asked[3], headers)
                assert not any(token in said for token in tokens.values()), "no token is told"
                shown, headers = shown + steady(said), {}
    if request.config.option.update_snapshots:
        page.write_text(shown, encoding="utf-8")
    assert shown == page.read_text(encoding="utf-8")
