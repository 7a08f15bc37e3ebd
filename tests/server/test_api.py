"""What workers and programs do over HTTP: the same rules as everywhere, with fitting statuses."""

import http.client
import itertools
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from serving_support import Service

from surest.server import api
from surest.server.openapi import document
from visiting import Answer
from waiting import until

counter = itertools.count()


def made(service: Service, arms: Any = ("a", "b"), name: str | None = None, **settings: Any) -> str:
    """A new study; where it is."""
    name = f"study {next(counter)}" if name is None else name
    given = {"algorithm": "naive-best-arm", "delta": 0.1, "seed": 1, **settings}
    items = given.pop("items", None)
    body = {"name": name, "arms": arms, "settings": given, **({} if items is None else {"items": items})}
    answer = service.post("/api/studies", body)
    assert answer.status == 201, answer.body
    assert answer.json["name"] == name
    return f"/api/studies/{quote(name, safe='')}"


def refused(answer: Answer, status: int, words: str) -> None:
    assert (answer.status, bool(re.search(words, answer.reason))) == (status, True), answer


def test_bodies_that_a_page_cannot_show_are_refused(service: Service) -> None:
    at, kind = made(service), {"Content-Type": "application/json"}
    long = {"name": "x", "arms": 2, "settings": {"note": 2001 * "n"}}
    refused(service.post("/api/studies", long), 400, "the note has 2,001 characters; at most 2,000 are allowed")
    refused(service.post(f"{at}/fail", {"ticket": 0, "reason": 10_001 * "r"}), 422, "length <= 10000 - at `\\$.reason`")
    deep = b'{"name": "x", "arms": 2, "settings": {"options": ' + b"[" * 100_000
    broken = [(f"{at}/tell", b"\xff\xfe"), ("/api/studies", deep), ("/api/import", b""), ("/api/import", b"\xff")]
    for path, body in broken:
        refused(service.post(path, body, headers=kind), 400, "not JSON")
    document = service.get(f"{at}/export").json
    refused(service.post("/api/import?name=..", document), 400, "no URL leads to it")
    refused(service.post("/api/import", document), 409, "already a study")


def test_who_asks_may_wait(service: Service) -> None:
    """A worker that waits is served as soon as another tells what the algorithm needs; or says that there is nothing."""
    at = made(service, algorithm="telltale", rounds=3)
    tickets = service.post(f"{at}/ask", {"k": 100, "worker": "ann"}).json["tickets"]
    assert service.post(f"{at}/ask", {"wait": 0.1}).json["tickets"] == []
    found: list[Any] = []
    waits = threading.Thread(target=lambda: found.append(service.post(f"{at}/ask", {"wait": 50, "worker": "bob"}).json))
    waits.start()
    numbers = [ticket["ticket"] for ticket in tickets]
    assert service.post(f"{at}/tell", {"tickets": numbers, "rewards": [0.5] * len(numbers)}).status == 200
    waits.join(20)
    assert found[0]["tickets"][0]["ticket"] == len(numbers)


def test_events_tell_of_changes(service: Service) -> None:
    at = made(service)
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("GET", f"{at}/events")
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")

    def next_change() -> bytes:
        while not (line := stream.readline()).startswith(b"data:"):
            assert line, "the stream ended"
        return line

    assert b'"told":0,"out":0' in next_change()
    service.post(f"{at}/ask", {})
    assert b'"told":0,"out":1' in next_change()
    service.post(f"{at}/tell", {"ticket": 0, "reward": 1})
    assert b'"told":1,"out":0' in next_change()
    service.call("DELETE", at)
    while stream.readline():
        pass  # the stream ends with the study
    connection.close()
    stream.close()
    until(lambda: "surest_watching 0" in service.get("/metrics").body.decode(), "nobody watches")


def told_so_far(service: Service) -> int:
    found = re.search(r"^surest_rewards_told_total (\d+)$", service.get("/metrics").body.decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_health_and_metrics(service: Service) -> None:
    assert service.get("/healthz").json == {"status": "ok"}
    at = made(service)
    service.post(f"{at}/ask", {})
    before = told_so_far(service)
    for _ in range(3):
        service.post(f"{at}/tell", {"ticket": 0, "reward": 0.5})
    assert told_so_far(service) == before + 1, "a reward that is told again counts once"
    text = service.get("/metrics").body.decode()
    assert re.search(r'surest_requests_total\{method="POST",route="/api/studies/\{name\}/ask",status="200"\} \d+', text)
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    described = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in names} == described
    assert at.rpartition("/")[2] not in text, "names of studies are nobody's metrics"


def test_the_document_names_every_request_and_form_once() -> None:
    found = document(api.ENDPOINTS)
    forms = set(re.findall(r"#/components/schemas/(\w+)", str(found)))
    assert forms <= found["components"]["schemas"].keys()
    operations = [way["operationId"] for ways in found["paths"].values() for way in ways.values()]
    assert len(set(operations)) == len(operations) == len(api.ENDPOINTS)


def test_a_worker_that_leaves_while_it_waits_gets_no_ticket(service: Service) -> None:
    at = made(service, algorithm="telltale", rounds=3, lease_seconds=3600)
    tickets = service.post(f"{at}/ask", {"k": 100, "worker": "ann"}).json["tickets"]
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    body = json.dumps({"wait": 50, "worker": "gone"})
    connection.request("POST", f"{at}/ask", body, {"Content-Type": "application/json"})
    time.sleep(0.3)
    connection.close()
    time.sleep(0.3)
    numbers = [ticket["ticket"] for ticket in tickets]
    service.post(f"{at}/tell", {"tickets": numbers, "rewards": [0.5] * len(numbers)})
    (ticket,) = service.post(f"{at}/ask", {"worker": "bob"}).json["tickets"]
    assert ticket["ticket"] == len(numbers)


def test_a_name_that_many_want_at_once_is_taken_once(service: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.post("/api/studies", {"name": "wanted", "arms": 2}), range(8)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]
