"""Nobody gets in where they do not belong. What was tried first is here, line by line."""

import asyncio
import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from serving_support import SOURCES, Service, connected, raw
from starlette.applications import Starlette

import surest
from calling import ran
from surest.server.app import make_app
from surest.server.endpoints import HEADERS, Asked
from surest.server.events import watched
from surest.server.limits import Limits
from surest.server.studies import Moment
from surest.server.tokens import Tokens
from visiting import asked, serving

Guarded = tuple[Service, dict[str, str]]


def test_a_wrong_token_is_refused_and_soon_slowed_down(guarded: Guarded) -> None:
    service, tokens = guarded
    near = tokens["look"][:-1] + ("a" if tokens["look"][-1] != "a" else "b")
    for wrong in ("x", near, tokens["look"] + "x", tokens["look"].upper(), "é", "surest-", "' OR 1=1 --"):
        sent = f"Bearer {wrong}".encode().decode("latin-1")
        answer = service.get("/api/studies", headers={"Authorization": sent})
        assert answer.status in (401, 429), wrong
        assert wrong not in answer.body.decode()
    statuses = [service.get("/api/studies", token="x").status for _ in range(30)]
    assert statuses[-1] == 429
    assert service.get("/api/studies", token=tokens["look"]).status == 200, "who has a right one is not slowed down"
    log = service.log.read_text()
    assert not any(token in log for token in (*tokens.values(), near)), "no token is in the log"


def test_every_answer_has_the_headers_that_protect(service: Service) -> None:
    for path in ("/", "/api/studies", "/nothing", "/healthz", "/api/studies/none/status", "/openapi.json"):
        headers = service.get(path).headers
        assert all(headers[name.lower()] == value for name, value in HEADERS.items()), path
        assert "server" not in headers
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


BEGIN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
POST = b"POST /api/studies/s/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"


def test_paths_lead_nowhere_else(service: Service) -> None:
    for path in (
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/%252e%252e/app.py", "/static//etc/passwd",
        "/static/..\\app.py", "/../../etc/passwd", "//etc/passwd", "/api/studies/../../etc/passwd", "/static/%00",
        "/api/studies/%00/status",
        "/studies/%ff", "/studies/x/tickets/x/fail", f"/studies/x/tickets/{'9' * 5000}/fail",
        "/api/studies//status", "/.git/config", "/api/studies/..%2f..%2fetc%2fpasswd",
    ):  # fmt: skip
        answer = raw(service, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"404", b"400", b"405"), (path, answer[:200])
        assert b"root:" not in answer
        assert b"make_app" not in answer


def test_nobody_writes_lines_into_the_log(service: Service) -> None:
    service.get('/x%0a{"event":"forged"}')
    service.get("/y", headers={"User-Agent": '\t{"event":"forged"}'})
    assert all(event["event"] != "forged" for event in service.events())


def test_heads_that_are_too_large_or_not_http(service: Service) -> None:
    for data in (
        BEGIN + b"X: " + b"a" * 70_000 + b"\r\n\r\n",
        BEGIN + b"".join(b"X-%d: 1\r\n" % i for i in range(5000)) + b"\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) * 4 + b"\r\n\r\n",
        BEGIN + b"X y: z\r\n\r\n",
    ):
        answer = raw(service, data)
        assert answer == b"" or answer.split()[1] in (b"400", b"414", b"431"), answer[:100]
    assert service.get("/healthz").status == 200


def test_requests_cannot_be_smuggled(service: Service) -> None:
    """What two servers could read in two ways is refused."""
    for data in (
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Transfer-Encoding: xchunked\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n",
        b"Host: evil.example\r\nContent-Length: 2\r\n\r\n{}",
    ):
        assert raw(service, POST + data).split()[1] in (b"400", b"501"), data
    chunks = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    both = POST.replace(b"Connection: close\r\n", b"") + chunks
    answer = raw(service, both + b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (answer.split()[1], answer.count(b"HTTP/1.1")) == (b"400", 1)
    assert all(event.get("path") != "/smuggled" for event in service.events()), "the connection ends with the request"


def test_bodies_that_are_too_large(service: Service) -> None:
    service.post("/api/studies", {"name": "large", "arms": 2})
    stated = service.post("/api/studies/large/ask", b" " * (2 << 20), headers={"Content-Type": "application/json"})
    assert (stated.status, "1,048,576 bytes" in stated.reason) == (413, True)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = b"HTTP/1.1 413"  # it may be lost when the connection is closed
    with connected(service, POST + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(64):
                connection.sendall(chunk)
        with contextlib.suppress(ConnectionResetError):
            answer = connection.recv(65536)
    assert (answer.split()[1], service.get("/healthz").status) == (b"413", 200)


@pytest.mark.parametrize("proxies", [(), ("--proxy", "127.0.0.1"), ("--proxy", "10.0.0.0/8")])
def test_where_a_request_came_from_is_believed_of_stated_proxies_only(tmp_path: Path, proxies: tuple[str, ...]) -> None:
    Tokens(tmp_path / "tokens.json").add("ann", "look")
    with Service(tmp_path, *proxies) as service:
        service.get("/healthz", headers={"X-Forwarded-For": "203.0.113.9"})
    seen = [event["client"] for event in service.events() if event["event"] == "request"]
    assert seen == ["203.0.113.9" if "127.0.0.1" in proxies else "127.0.0.1"]


LOST: dict[str, Callable[[Path], object]] = {
    "revoked": lambda file: Tokens(file).revoke("ann"),
    "file": lambda file: file.unlink(),
    "damaged": lambda file: file.write_text("what is this"),
    "open to others": lambda file: file.chmod(0o640),
}


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_a_service_with_tokens_never_opens_to_everybody(tmp_path: Path, lose: Callable[[Path], object]) -> None:
    """Without tokens this machine may do everything; a running service must not fall back to that."""
    file, storage = tmp_path / "tokens.json", f"sqlite:///{tmp_path}/s.db"
    known = {"Authorization": f"Bearer {Tokens(file).add('ann', 'administer')}"}
    with serving(storage, file) as site:
        ask = partial(asked, urlsplit(site).netloc)
        assert ask("GET", "/api/studies", headers=known).status == 200
        lose(file)
        refused = ask("GET", "/api/studies", headers=known)
        assert (refused.status, "tokens.json" in refused.text) == (401, False)
        assert ask("GET", "/api/studies").status == 401
        assert ask("POST", "/api/studies", {"name": "s", "arms": 2}).status == 401


@pytest.mark.anyio
@pytest.mark.parametrize(("address", "status"), [("127.0.0.1", 200), ("::1", 200), ("192.0.2.7", 421)])
async def test_who_says_localhost_from_afar_is_refused_without_tokens(
    tmp_path: Path, address: str, status: int
) -> None:
    """The name that a request calls is what its sender likes."""
    app = make_app(f"sqlite:///{tmp_path}/s.db")
    assert (await answered(app, "/openapi.json", client=(address, 5)))[0] == status


async def answered(app: Starlette, path: str, **scope: Any) -> tuple[int, str]:
    """Status and body, without a server."""
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0 if said else 60)  # whoever asks stays
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)

    usual = {"type": "http", "method": "GET", "query_string": b"", "http_version": "1.1", "scheme": "http",
             "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 5)}  # fmt: skip
    await app({**usual, "path": path, **scope}, receive, send)
    return said[0]["status"], said[1]["body"].decode()


@pytest.mark.anyio
async def test_requests_without_a_token_are_few(tmp_path: Path) -> None:
    """Whoever has none cannot keep the service busy for those who have one."""
    token = Tokens(tmp_path / "tokens.json").add("ann", "look")
    app = make_app(f"sqlite:///{tmp_path}/s.db", tokens=tmp_path / "tokens.json", limits=Limits(stranger_rate=1e-9))
    app.studies.store.prepare(create=True)
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    asked = [("/healthz", {}), ("/login", {}), ("/healthz", {}), ("/api/studies", {"headers": headers})]
    assert [(await answered(app, path, **more))[0] for path, more in asked] == [200, 429, 429, 200]


@pytest.mark.anyio
async def test_a_page_is_kept_for_its_own_address(tmp_path: Path) -> None:
    """A proxy may show one service below two paths: no page leads from one of them to the other."""
    study = surest.open_study(f"sqlite:///{tmp_path}/s.db", "s", 2)
    study.ask(1, "w")
    app = make_app(study.store)
    for root in ("one", "two"):
        status, page = await answered(app, f"/{root}/studies/s", root_path=f"/{root}")
        assert status == 200
        assert f'href="/{root}/studies/s/tickets/0/fail"' in page
        assert page.count(f'"/{root}/') == page.count('"/one/') + page.count('"/two/')


@pytest.mark.anyio
@pytest.mark.parametrize("limits", [Limits(listeners=1), Limits(listeners_each=1)])
async def test_who_comes_to_watch_at_the_same_moment_cannot_be_too_many(tmp_path: Path, limits: Limits) -> None:
    study = surest.open_study(f"sqlite:///{tmp_path}/s.db", "s", 2)

    async def never() -> dict[str, Any]:
        raise AssertionError

    async def told(moment: Moment) -> str:
        return str(moment.told)

    app = make_app(study.store, limits=limits)
    asked = Asked({"type": "http", "headers": [], "path_params": {"name": "s"}}, never, never, app)
    streams = [watched(asked, told, "") for _ in range(2)]  # both are let in: nobody watches yet
    assert [await anext(stream) for stream in streams] == ["retry: 2000\n\n"] * 2
    assert [await anext(stream, None) for stream in streams] == ["0", None]
    await streams[0].aclose()


def test_a_study_made_anew_by_another_process_is_seen_at_every_address(service: Service) -> None:
    """Nothing is said of the old one, and rewards of the new one's tickets are not refused."""
    at = "/api/studies/anew"

    def again(arm: str) -> None:
        """Another study of the same name: ticket 0 is out, ticket 1 is told."""
        if "anew" in service.get("/api/studies").json["studies"]:
            surest.delete_study(service.storage, "anew")
        study = surest.open_study(service.storage, "anew", [f"{arm} 1", f"{arm} 2"], lease_seconds=1e6)
        _, second = study.ask(2, "w")
        study.tell(second.id, 1.0)

    for kind in ("arms", "tickets/0/fail", "log", "rewards.csv"):
        for arm, other in (("early", "late"), ("late", "early")):
            again(arm)
            said = service.get(f"/studies/anew/{kind}").body.decode()
            assert (arm in said, other in said) == (True, False), kind
    theirs = {"tickets": [0], "worker": "w"}
    bodies = {
        "tell": {"ticket": 0, "reward": 1},
        "fail": {"ticket": 0, "worker": "w"},
        "renew": theirs,
        "return": theirs,
    }
    for what, body in bodies.items():
        again("early")
        assert service.get(at).status == 200
        again("late")
        answer = service.post(f"{at}/{what}", body)
        assert (answer.status, answer.json.get("gone", [])) == (200, []), what
    surest.delete_study(service.storage, "anew")
    for path in ("log", "log?show=events", "arms", "delete", "tickets/0/fail", "rewards.csv", "evaluate", "live"):
        assert service.get(f"/studies/anew/{path}").status == 404, path


def test_only_text_that_a_study_takes_gets_into_it(service: Service) -> None:
    """An import may say of an item what is not JSON, have a line break in a name, or options that are not an algorithm's."""
    at, given = "/api/studies/texts", {"name": "texts", "arms": ["a", "b"], "items": ["k", "l"]}
    assert service.post("/api/studies", given).status == 201
    whole = service.get(f"{at}/export").json
    changes: list[dict[str, Any]] = [
        {"items": [{"key": "k", "payload": '1,"arm":2'}, {"key": "l"}]},
        {"items": [{"key": "k", "payload": 5000 * "["}, {"key": "l"}]},
        {"items": [{"key": "k\n7\tb", "payload": None}, {"key": "l"}]},
        {"items": [{"key": "k"}, {"key": "k"}]},
        {"arms": [{"label": "a\n7\tb", "added_at": 0}, {"label": "b", "added_at": 0}]},
        *({"settings": {**whole["settings"], "options": bad}} for bad in ("x", {"delta": 0.5}, {"script": []})),
    ]
    for change in changes:
        assert service.post("/api/import?name=texts2", {**whole, **change}).status == 400, change
    assert service.post("/api/import?name=texts2", whole).status == 201
    for made in ("texts", "texts2"):
        service.call("DELETE", f"/api/studies/{made}")


def test_every_line_of_the_log_is_json() -> None:
    """Also what a thread that compiles says, and warnings, such as that there is no compiler."""
    said = (
        "import threading, warnings; from surest.server.logs import set_up; set_up()\n"
        "warnings.warn('one\\ntwo'); thread = threading.Thread(target=int, args=('x',)); thread.start(); thread.join()"
    )
    first, second = map(json.loads, ran("-c", said, env={**os.environ, "PYTHONPATH": str(SOURCES)}).err.splitlines())
    assert "one\ntwo" in first["event"]
    assert (second["event"], "ValueError" in second["traceback"]) == ("fault", True)


def test_faults_are_told_to_the_log_alone(service: Service, tmp_path: Path) -> None:
    """No message has the storage, a traceback, or a path of the machine."""
    for path in ("/api/studies/none/status", "/api/studies/none/export"):
        said = service.get(path).body.decode()
        assert str(service.folder) not in said
        assert "sqlite" not in said
    with Service(tmp_path) as broken:
        broken.post("/api/studies", {"name": "s", "arms": 2})
        with sqlite3.connect(tmp_path / "s.db") as connection:
            connection.execute("DROP TABLE surest_tickets")
        connection.close()
        answer = broken.get("/api/studies/s/status")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert str(tmp_path) not in json.dumps(answer.json)
