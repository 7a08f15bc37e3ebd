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

import pytest
from serving_support import Answer, Service

from surest.server import api
from surest.server.app import make_app
from waiting import together, until

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


def test_a_study_is_made_asked_told_and_deleted(service: Service) -> None:
    at = made(service, name="a/b ü?#%2F")
    assert "a/b ü?#%2F" in service.get("/api/studies").json["studies"]
    asked = service.post(f"{at}/ask", {"k": 2, "worker": "ann"}).json
    assert asked["tickets"] == [{"ticket": 0, "index": 0, "arm": "a"}, {"ticket": 1, "index": 0, "arm": "a"}]
    assert (asked["finished"], asked["paused"], asked["lease_seconds"]) == (False, False, 600.0)
    assert service.post(f"{at}/tell", {"ticket": 0, "reward": 0.25}).json == {"tickets": [0], "rewards": [0.25]}
    assert service.post(f"{at}/tell", {"tickets": [1, 0], "rewards": [1, 0.25]}).status == 200, "0 again, harmlessly"
    status = service.get(f"{at}/status").json
    assert (status["told"], status["out"], status["finished"]) == (2, 0, False)
    assert service.get(f"{at}/result").json["certified"] is False
    exported = service.get(f"{at}/export")
    assert [ticket[1] for ticket in exported.json["tickets"]] == [0.25, 1.0]
    assert exported.headers["content-disposition"] == "attachment; filename*=UTF-8''a%2Fb%20%C3%BC%3F%23%252F.json"
    again = service.post("/api/import?name=copy", exported.json)
    assert (again.status, again.json) == (201, {"name": "copy"})
    assert service.call("DELETE", at).json == {"deleted": "a/b ü?#%2F"}
    refused(service.get(f"{at}/status"), 404, "there is no study")
    refused(service.call("DELETE", at), 404, "there is no study")


def test_what_is_wrong_is_refused_with_a_reason(service: Service) -> None:
    at = made(service)
    service.post(f"{at}/ask", {"worker": "ann"})
    service.post(f"{at}/tell", {"ticket": 0, "reward": 0.5})
    tell = f"{at}/tell"
    refused(service.post(tell, {"ticket": 0, "reward": 0.6}), 409, "already told 0.5")
    refused(service.post(tell, {"ticket": 99, "reward": 0.6}), 409, "never handed out")
    refused(service.post(tell, {"ticket": 0, "reward": 1.5}), 422, "not a number in \\[0, 1\\]")
    refused(service.post(tell, {"ticket": 0, "reward": "0.5"}), 422, "Expected `float")
    refused(service.post(tell, {"ticket": 0, "reward": True}), 422, "Expected `float")
    refused(service.post(tell, {"ticket": -1, "reward": 0}), 422, "Expected `int` >= 0")
    refused(service.post(tell, {"ticket": 10**30, "reward": 0}), 422, "Expected `int` <= ")
    refused(service.post(tell, {"ticket": 0}), 422, "give a ticket and its reward")
    both = {"ticket": 1, "tickets": [0], "rewards": [0.5]}
    refused(service.post(tell, both), 422, "give a ticket and its reward")
    refused(service.post(tell, {"tickets": [0, 1], "rewards": [0]}), 422, "as many tickets as rewards")
    refused(service.post(tell, {"ticket": 0, "reward": 0.5, "wroker": "x"}), 422, "unknown field `wroker`")
    refused(service.post(tell, b'{"ticket": 0', headers={"Content-Type": "application/json"}), 400, "not JSON")
    refused(service.post(tell, b"\xff\xfe", headers={"Content-Type": "application/json"}), 400, "not JSON")
    deep = b'{"name": "x", "arms": 2, "settings": {"options": ' + b"[" * 100_000
    refused(service.post("/api/studies", deep, headers={"Content-Type": "application/json"}), 400, "not JSON")
    refused(service.post(tell, b"ticket=0&reward=1"), 415, "send JSON")
    refused(service.post(f"{at}/ask", {"k": 0}), 422, ">= 1")
    refused(service.post(f"{at}/fail", {"ticket": 0, "worker": "bob"}), 409, "already told")
    refused(service.post("/api/studies", {"name": "x", "arms": ["a", "a"]}), 400, "two arms are called 'a'")
    refused(service.post("/api/studies", {"name": "x", "arms": []}), 422, "length >= 1")
    refused(service.post("/api/studies", {"name": "x", "arms": 2, "settings": {"delta": 2}}), 400, "delta is 2")
    refused(service.post("/api/studies", {"name": "x", "arms": 2, "settings": {"detla": 2}}), 400, "detla")
    settings = {"retries": "two", "note": "not in the message"}
    answer = service.post("/api/studies", {"name": "x", "arms": 2, "settings": settings})
    refused(answer, 400, "^setting retries is 'two': expected `int`, got `str`$")
    long = {"name": "x", "arms": 2, "settings": {"note": 2001 * "n"}}
    refused(service.post("/api/studies", long), 400, "the note has 2,001 characters; at most 2,000 are allowed")
    refused(service.post(f"{at}/fail", {"ticket": 0, "reason": 10_001 * "r"}), 422, "length <= 10000 - at `\\$.reason`")
    refused(service.post("/api/studies", {"name": "a\nb", "arms": 2}), 400, "one line")
    name = service.get(at).json["name"]
    refused(service.post("/api/studies", {"name": name, "arms": 2}), 409, "already a study")
    refused(service.get("/api/studies/%ff/status"), 400, "not percent-encoded UTF-8")
    refused(service.get("/api/nothing"), 404, "openapi.json")
    refused(service.call("PUT", at), 405, "does not take that method")
    refused(service.post(f"{at}/arms", {"labels": ["c"]}), 400, "arms")
    for own in ("storage", "name", "load_if_exists"):
        hidden = {"name": "x", "arms": 2, "settings": {"options": {own: "y"}}}
        refused(service.post("/api/studies", hidden), 400, f"{own} cannot be given")
    for body in (b"", b"{", b"\xff", b"[" * 100_000):
        refused(service.post("/api/import", body, headers={"Content-Type": "application/json"}), 400, "not JSON")


def test_algorithms_of_files_are_not_run(service: Service) -> None:
    for algorithm in ("/tmp/evil.py:run", "evil.py:run", ["wager"], 7, "no such"):
        answer = service.post("/api/studies", {"name": "evil", "arms": 2, "settings": {"algorithm": algorithm}})
        assert answer.status == 400, answer
        document = service.get(f"{made(service)}/export").json
        document["settings"]["algorithm"] = algorithm
        assert service.post("/api/import?name=evil", document).status == 400
    assert "evil" not in service.get("/api/studies").json["studies"]


HELD = {"tickets": [0], "gone": []}


def test_failures_leases_and_arms(service: Service) -> None:
    at = made(service, algorithm="wager", reserve=0.1, batch=4)
    (ticket,) = service.post(f"{at}/ask", {"worker": "ann"}).json["tickets"]
    refused(service.post(f"{at}/fail", {"ticket": ticket["ticket"], "worker": "bob"}), 409, "with worker 'ann'")
    assert service.post(f"{at}/renew", {"tickets": [ticket["ticket"]], "worker": "ann"}).json == HELD
    for stranger in ("renew", "return"):
        asked = service.post(f"{at}/{stranger}", {"tickets": [99, ticket["ticket"]], "worker": "bob"})
        assert asked.json == {"tickets": [], "gone": [0, 99]}, "what is not one's own stays as it is"
    assert service.post(f"{at}/fail", {"ticket": ticket["ticket"], "reason": "no", "worker": "ann"}).status == 200
    (again,) = service.post(f"{at}/ask", {"worker": "bob"}).json["tickets"]
    assert again == ticket, "a failed ticket is handed out again first"
    assert service.post(f"{at}/return", {"tickets": [ticket["ticket"]], "worker": "bob"}).json == HELD
    assert service.post(f"{at}/renew", {"tickets": [ticket["ticket"]], "worker": "bob"}).json["gone"] == [0]
    (again,) = service.post(f"{at}/ask", {"worker": "cid"}).json["tickets"]
    assert again == ticket
    health = service.get(f"{at}/status").json["health"]
    assert health == {"a": {"failed": 1, "retried": 2, "interrupted": 1}}
    assert service.post(f"{at}/arms", {"labels": ["c"]}).json["arms"] == ["a", "b", "c"]


def test_a_worker_gets_again_what_it_never_heard_of(service: Service) -> None:
    at = made(service)
    first = service.post(f"{at}/ask", {"k": 3, "worker": "ann"}).json["tickets"]
    lost = service.post(f"{at}/ask", {"k": 9, "worker": "ann", "held": [1]}).json["tickets"]
    assert lost == [first[0], first[2]]
    fresh = service.post(f"{at}/ask", {"k": 1, "worker": "bob", "held": []}).json["tickets"]
    assert fresh[0]["ticket"] == 3, "only what is one's own"


def test_items_come_with_what_evaluations_need(service: Service) -> None:
    items = ["plain", {"key": "q", "payload": {"answer": [4, "ü"]}}]
    at = made(service, algorithm="race", items=items)
    tickets = []
    while fresh := service.post(f"{at}/ask", {"k": 4}).json["tickets"]:
        tickets += fresh
        service.post(f"{at}/tell", {"tickets": [t["ticket"] for t in fresh], "rewards": [0.5 for _ in fresh]})
    assert {(t["item"], str(t.get("payload"))) for t in tickets} == {("plain", "None"), ("q", "{'answer': [4, 'ü']}")}
    assert service.get(f"{at}/items").json["items"] == [{"key": "plain", "payload": None}, items[1]]


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


def test_the_document_has_every_route() -> None:
    from surest.server.openapi import document, plain_path

    found = document(api.ENDPOINTS)
    said = {(path, method.upper()) for path, ways in found["paths"].items() for method in ways}
    there = {
        (plain_path(route.path), method)
        for route in make_app("memory:routes").routes
        if getattr(route, "path", "").startswith(("/api", "/healthz", "/metrics", "/openapi"))
        for method in route.methods - {"HEAD"}
    }
    assert said == there
    text = str(found)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in found["components"]["schemas"]
    operations = [way["operationId"] for ways in found["paths"].values() for way in ways.values()]
    assert len(set(operations)) == len(operations)


def test_statuses_that_the_document_names_are_those_that_come(service: Service) -> None:
    """What each refusal of the tests above has as its status is in the document."""
    document = service.get("/openapi.json").json
    ask = document["paths"]["/api/studies/{name}/ask"]["post"]
    assert set(ask["responses"]) >= {"200", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"}
    copy = service.get(f"{made(service, name='documented')}/export").json
    for path, body in (("/api/studies", {"name": "documented", "arms": 2}), ("/api/import", copy)):
        refused(service.post(path, body), 409, "already a study")
        assert "409" in document["paths"][path]["post"]["responses"]
    renew = document["paths"]["/api/studies/{name}/renew"]["post"]
    assert renew["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("HeldAnswer")
    assert ask["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("AskForm")


def test_many_at_once_are_one_transaction(service: Service) -> None:
    """Twenty workers that come at the same time get different tickets, and all their rewards are told."""
    at = made(service)
    got: list[int] = []

    def work() -> None:
        for _ in range(5):
            (ticket,) = service.post(f"{at}/ask", {}).json["tickets"]
            got.append(ticket["ticket"])
            assert service.post(f"{at}/tell", {"ticket": ticket["ticket"], "reward": 0.5}).status == 200

    together(*[work] * 20)
    assert (sorted(got), service.get(f"{at}/status").json["told"]) == (list(range(100)), 100)


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


@pytest.mark.parametrize("name", ["...", "%", "a;b", "'; DROP TABLE surest_studies; --", "<script>", "x" * 500, " "])
def test_any_name_is_a_name(service: Service, name: str) -> None:
    answer = service.post("/api/studies", {"name": name, "arms": 2})
    if not name.strip():
        return refused(answer, 400, "text of 1 to 500")
    assert answer.status == 201
    assert service.get(f"/api/studies/{quote(name, safe='')}/status").json["name"] == name
    assert service.call("DELETE", f"/api/studies/{quote(name, safe='')}").status == 200


@pytest.mark.parametrize("name", [".", ".."])
def test_no_study_has_a_name_that_no_address_can_have(service: Service, name: str) -> None:
    """Browsers and curl take such a part of an address for a folder: nobody could open the study."""
    refused(service.post("/api/studies", {"name": name, "arms": 2}), 400, "no address leads to it")
    document = service.get(f"{made(service)}/export").json
    refused(service.post(f"/api/import?name={name}", document), 400, "no address leads to it")


def test_a_name_that_many_want_at_once_is_taken_once(service: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.post("/api/studies", {"name": "wanted", "arms": 2}), range(8)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]
