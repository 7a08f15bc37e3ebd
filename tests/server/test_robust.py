"""Slow clients, half-open connections, floods and signals: refused or served, and never down."""

import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving_support import Service, connected, raw

import surest
from surest.server.tokens import Tokens
from waiting import until

HASTY = {"header_seconds": 1.0, "body_seconds": 1.0, "grace_seconds": 2.0}  # limits whose end a test can wait for
HEAD = b"POST /api/studies/s/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def ask(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(data) + data


def test_connections_that_say_nothing_or_half_of_it(tmp_path: Path) -> None:
    """A hundred that never send a head, and a hundred that stop in its middle, are let go; others are served meanwhile."""
    with Service(tmp_path, **HASTY) as service:
        silent = [connected(service, HEAD[: 40 * (number % 2)]) for number in range(200)]
        assert service.get("/healthz").status == 200
        for one in silent:
            with one, contextlib.suppress(ConnectionResetError):
                assert one.recv(1000) == b""  # let go, after `header_seconds`
        service.post("/api/studies", {"name": "s", "arms": 2})
        with connected(service, HEAD + b"Content-Length: 100\r\n\r\n{") as slow:
            assert service.get("/healthz").status == 200
            assert slow.recv(1000).split()[1] == b"408", "a body that does not come"
        connected(service, HEAD + b"Content-Length: 100\r\n\r\n{").close()
        assert service.get("/healthz").status == 200


def test_who_does_not_read_a_download_blocks_nobody(service: Service) -> None:
    """An export is read from the log at once, not at the pace of who takes it: others ask and tell meanwhile."""
    service.post("/api/studies", {"name": "download", "arms": 2, "items": [f"{i}: {'x' * 400}" for i in range(20_000)]})
    with connected(service) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/studies/download/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.recv(100)
        began = time.monotonic()
        (ticket,) = service.post("/api/studies/download/ask", {}).json["tickets"]
        assert service.post("/api/studies/download/tell", {"ticket": ticket["ticket"], "reward": 1}).status == 200
        assert time.monotonic() - began < 30, "the limit on a slow reader is 60 seconds"
    service.call("DELETE", "/api/studies/download")


@pytest.mark.parametrize("idle", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_idle_workers(tmp_path: Path, idle: int) -> None:
    """Workers that wait cost next to nothing; when there is something to do, they are served, each ticket to one of them."""
    with Service(tmp_path) as service:
        settings = {"algorithm": "naive-best-arm", "delta": 0.001}
        service.post("/api/studies", {"name": "s", "arms": 2, "settings": settings})
        service.post("/api/studies/s/pause")
        waiting = [connected(service, ask({"wait": 50, "worker": f"w{number}"})) for number in range(idle)]
        until(lambda: f"surest_asks_waiting {idle}" in service.get("/metrics").text)
        assert service.get("/api/studies/s/status").json["out"] == 0
        service.post("/api/studies/s/resume")
        assert sorted(first_ticket(one) for one in waiting) == list(range(idle))


def first_ticket(connection: socket.socket) -> int:
    """Of what comes on a connection, which is closed then."""
    data = b""
    with connection:
        while b"\r\n\r\n" not in data or not data.endswith(b"}"):
            part = connection.recv(65536)
            assert part, data
            data += part
    return int(json.loads(data.partition(b"\r\n\r\n")[2])["tickets"][0]["ticket"])


def test_sigterm_finishes_what_is_in_hand(tmp_path: Path) -> None:
    """Who waits is answered, what was being written is acknowledged, browsers are let go; the status is 0."""
    service = Service(tmp_path).start()
    service.post("/api/studies", {"name": "s", "arms": 2})
    service.post("/api/studies/s/pause")
    watch = b"GET /api/studies/s/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ThreadPoolExecutor(2) as pool:
        waits, watches = (pool.submit(raw, service, sent) for sent in (ask({"wait": 50}), watch))
        until(lambda: "surest_asks_waiting 1" in service.get("/metrics").text)
        until(lambda: "surest_watching 1" in service.get("/metrics").text)
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began < 20
        assert b'{"tickets":[],"finished":false' in waits.result()
        assert b"event: change" in watches.result()
    assert service.events()[-1]["event"] == "ended"
    service = Service(tmp_path).start()
    assert (service.get("/healthz").status, service.stop(signal.SIGINT)) == (200, 0)


def begun(folder: Path) -> int:
    """How many reports were begun."""
    return len((folder / "begun").read_text()) if (folder / "begun").exists() else 0


def running(service: Service, token: str) -> int:
    """How many requests are being answered, beside the one that asks for it."""
    lines = service.get("/metrics", token=token).body.decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("surest_requests_running "))) - 1


def asked_for(service: Service, path: str, token: str) -> socket.socket:
    """A connection on which something was asked for."""
    sent = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    return connected(service, sent.encode())


def test_reports_keep_nobody_waiting_but_who_asks_for_them(tmp_path: Path) -> None:
    """While reports are being made, all others are served; what nobody waits for any more is not begun."""
    tokens = Tokens(tmp_path / "tokens.json")
    ann, bob, worker = tokens.add("ann", "look"), tokens.add("bob", "look"), tokens.add("worker", "administer")
    with Service(tmp_path, stuck=True) as service:
        for name in ("s", "other"):
            assert service.post("/api/studies", {"name": name, "arms": 2}, token=worker).status == 201
        hasty = [asked_for(service, "/studies/s/report.md", ann) for _ in range(20)]
        until(lambda: running(service, worker) == 8)
        assert sum(one.recv(12).endswith(b"429") for one in hasty[8:]) == 12, "twenty are too many for one token"
        for one in hasty:
            one.close()
        until(lambda: running(service, worker) == 0)
        stays = asked_for(service, "/studies/s/report.md", ann)
        assert begun(tmp_path) == 1, "one is made at a time for a token"
        others = asked_for(service, "/studies/s/report.md", bob)
        until(lambda: begun(tmp_path) == 2)
        assert (service.get("/healthz").status, service.get("/studies/s", token=ann).status) == (200, 200)
        assert service.get("/api/studies/s/status", token=bob).status == 200
        for name in ("s", "other"):
            (ticket,) = service.post(f"/api/studies/{name}/ask", {}, token=worker).json["tickets"]
            told = {"ticket": ticket["ticket"], "reward": 1}
            assert service.post(f"/api/studies/{name}/tell", told, token=worker).status == 200
        assert begun(tmp_path) == 2, "all of that came before any report"
        (tmp_path / "release").touch()
        assert [one.recv(12)[-3:] for one in (stays, others)] == [b"200", b"200"]
        assert begun(tmp_path) == 3, "the one whose client left, and two for clients who stayed"
        for one in (stays, others):
            one.close()


@pytest.mark.parametrize("what", ["report", "reports of clients who left", "nobody reads", "others write"])
def test_sigterm_ends_the_service_whatever_is_running(tmp_path: Path, what: str) -> None:
    service = Service(tmp_path, stuck=True, **HASTY).start()
    items = [f"{i}: {'x' * 400}" for i in range(20_000)]
    service.post("/api/studies", {"name": "s", "arms": 2, "items": items if what == "nobody reads" else 5})
    path = "/api/studies/s/export" if what == "nobody reads" else "/studies/s/report.md"
    connections: list[Any] = [asked_for(service, path, "") for _ in range(3 * (what != "others write"))]
    if what == "others write":  # so that workers wait for the database
        other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        connections = [connected(service, ask({})), other]
        until(lambda: running(service, "") == 1)
    elif what == "nobody reads":
        assert connections[0].recv(12).endswith(b"200")
    else:
        until(lambda: begun(tmp_path) == 1)
    if what == "reports of clients who left":
        for one in connections:
            one.close()
    assert service.stop() == 0  # nobody releases the report
    assert service.events()[-1]["event"] == "ended"
    assert not [event for event in service.events() if "traceback" in event]
    for one in connections:
        one.close()


def test_a_log_that_nobody_reads_keeps_nobody_waiting(tmp_path: Path) -> None:
    service = Service(tmp_path, **HASTY)
    os.mkfifo(service.log)
    unread = os.open(service.log, os.O_RDONLY | os.O_NONBLOCK)
    service.start()
    for _ in range(300):  # a pipe holds 64 KiB
        assert service.get(f"/{'x' * 400}").status == 404
    assert service.stop() == 0
    os.close(unread)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the files that a process has open")
def test_sigterm_ends_a_service_that_waits_for_its_database_at_the_start(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db"
    surest.open_study(storage, "s", 2).close()
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    command = [sys.executable, str(Path(__file__).with_name("serving.py")), "serve", "--storage", storage, "--port=0"]
    process = subprocess.Popen([*command, "--tokens", str(tmp_path / "tokens.json")], stderr=subprocess.PIPE, text=True)
    until(lambda: str(tmp_path / "s.db") in open_files(process.pid))
    process.terminate()
    _, said = process.communicate(timeout=60)  # SQLite waits twice as long
    assert (process.returncode, said.strip()) == (143, "surest: terminated")
    other.close()


def test_idle_connections_shut_nobody_out(tmp_path: Path) -> None:
    """As many as there may be, with a request each and without a token: whoever has one is served, and keeps theirs."""
    token = Tokens(tmp_path / "tokens.json").add("ann", "work")

    def listed(connection: http.client.HTTPConnection) -> None:
        connection.request("GET", "/api/studies", headers={"Authorization": f"Bearer {token}"})
        assert connection.getresponse().read() == b'{"studies":[]}'

    with Service(tmp_path, connections=60) as service, contextlib.ExitStack() as opened:
        mine = [http.client.HTTPConnection("127.0.0.1", service.port, timeout=60) for _ in range(51)]
        for one in mine:
            opened.callback(one.close)
        for number in range(100):
            if number % 50 == 0:
                listed(mine[0])
                here = mine[0].sock
            opened.enter_context(asked_for(service, "/healthz", "not-one") if number % 2 else connected(service))
        assert service.get("/api/studies", token=token).status == 200
        assert service.get("/healthz").status == 200
        listed(mine[0])
        assert mine[0].sock is here, "it was never let go"
        for one in mine[1:]:  # nor does a token take all of them
            listed(one)
        assert service.get("/healthz").status == 200


def open_files(pid: int) -> set[str]:
    """What a process has open; it may close a file while we look."""
    names = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.add(os.readlink(link))
    return names
