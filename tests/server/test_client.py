"""A study behind a service is used like any other."""

import random
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from serving_support import Service, connected

import surest
from calling import Run
from pages import same_as_kept
from surest.errors import StorageError, SurestError, UsageError
from surest.report.page import to_html
from surest.report.report import report_of_study
from surest.study.connection import Connection
from surest.study.study import Study


def test_commands(service: Service, run: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREST_STORAGE", service.url)
    same_as_kept(Path(__file__).with_name("client.txt"), request, run, instead={service.url: "URL"})


def test_tokens_of_the_client(guarded: tuple[Service, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    service, tokens = guarded
    with pytest.raises(UsageError, match=r"a token is required.*SUREST_TOKEN"):
        surest.open_study(service.url, "mine")
    boss = service.url.replace("//", f"//:{tokens['administer']}@")
    study = surest.open_study(boss, "mine", ["a", "b"], 0.1)
    assert tokens["administer"] not in study.store.shown
    monkeypatch.setenv("SUREST_TOKEN", tokens["work"])
    worker = surest.open_study(service.url, "mine")
    (ticket,) = worker.ask()
    worker.tell(ticket.id, 1)
    with pytest.raises(UsageError, match="may administer"):
        worker.pause()
    monkeypatch.setenv("SUREST_TOKEN", "wrong-token")
    with pytest.raises(UsageError, match="unknown token") as wrong:
        surest.open_study(service.url, "mine")
    assert "wrong-token" not in str(wrong.value)


def test_a_service_that_is_away(tmp_path: Path) -> None:
    """A client goes on by itself when the service comes back; when it does not, it says so without its token."""
    service = Service(tmp_path).start()
    study = surest.open_study(service.url, "away", ["a", "b"], 0.1, algorithm="naive-best-arm", lease_seconds=3600)
    (first,) = study.ask()
    service.kill()
    told = threading.Thread(target=study.tell, args=(first.id, 0.5))
    told.start()
    service.start()
    told.join(30)
    assert not told.is_alive()
    assert study.status().told == 1
    service.stop()
    away = Connection(service.url.replace("//", "//:surest-secret@"), patience=0.1)
    with pytest.raises(StorageError, match="cannot be reached") as error:
        away.get("/api/studies")
    assert "surest-secret" not in str(error.value)


def changed(answer: Any, rng: random.Random) -> Any:
    """JSON with a value that is gone or another one."""
    spot, strange = answer, [None, True, -1, 2**70, 0.5, "x", [], {}, [None], ["a"], [{}]]
    if not isinstance(answer, dict) or rng.random() < 0.2:
        return rng.choice(strange)
    while True:
        key = rng.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        if not isinstance(spot[key], dict | list) or not spot[key] or rng.random() < 0.3:
            break
        spot = spot[key]
    if rng.random() < 0.3:
        del spot[key]
    else:
        spot[key] = rng.choice(strange)
    return answer


def test_an_answer_of_another_form_is_an_error_of_the_service(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    surest.open_study(service.url, "odd", ["a", "b"], 0.1, seed=1, batch=4)
    surest.open_study(service.url, "odd list", ["a", "b"], 0.1, seed=1, items=["q", ("r", {"x": 1})])
    calls: list[Callable[[Study], Any]] = [
        Study.ask, Study.status, Study.result, Study.health, Study.export, lambda study: study.finished,
        lambda study: study.paused, lambda study: study.renew([0]), lambda study: study.give_back([0]),
        lambda study: [study.item_of(ticket) for ticket in study.ask(3)], lambda study: str(study.result(history=True)),
    ]  # fmt: skip
    rng, once, errors = random.Random(1), Connection._once, 0

    def odd(self: Connection, *request: Any) -> tuple[int, Any, float]:
        status, answer, after = once(self, *request)
        if rng.random() < 0.5 and status < 300:
            answer = changed(answer, rng)
        return status, answer, after

    for _ in range(300):
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "_once", odd)
            try:
                rng.choice(calls)(surest.open_study(service.url, rng.choice(["odd", "odd list"])))
            except SurestError as error:
                errors += "sent what no service of surest sends" in str(error)
    assert errors > 50


@pytest.mark.parametrize("most", [3, 12, 13, 20, 60])
def test_an_answer_that_is_cut_inside_its_head_is_asked_for_again(service: Service, most: int) -> None:
    """A proxy passes the first bytes of three answers to `tell`, and closes."""
    study = surest.open_study(service.url, f"cut-{most}", ["a", "b"], 0.1, seed=1)
    (ticket,) = study.ask()
    left, listening = [3], socket.create_server(("127.0.0.1", 0))

    def pass_on() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client, connected(service) as server:
                asked = client.recv(1 << 16)
                while not asked.partition(b"\r\n\r\n")[2] and asked.startswith(b"POST"):  # its body comes apart
                    asked += client.recv(1 << 16)
                server.sendall(asked.replace(b"Accept:", b"Connection: close\r\nAccept:", 1))
                answer = b"".join(iter(lambda: server.recv(1 << 16), b""))
                cut = b"/tell" in asked and left[0] > 0
                left[0] -= cut
                client.sendall(answer[:most] if cut else answer)

    thread = threading.Thread(target=pass_on)
    thread.start()
    far = surest.open_study(f"http://127.0.0.1:{listening.getsockname()[1]}", f"cut-{most}")
    far.tell(ticket.id, 0.5)
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()
    assert (left, study.status().told) == ([0], 1)


def test_duels_over_http_by_several_workers(service: Service) -> None:
    strength = {"a": 8.0, "b": 2.0, "c": 1.0}

    def judge(first: str, second: str, item: int) -> bool:
        return random.Random(item).random() < strength[first] / (strength[first] + strength[second])

    with ThreadPoolExecutor(3) as pool:
        kept: dict[str, Any] = {"storage": service.url, "name": "duels", "executor": pool, "in_flight": 3}
        result = surest.duel(list(strength), judge, items=range(10**6), seed=2, **kept)
    assert (result.best, result.labels) == ("a", ("a", "b", "c"))
    again = surest.open_study(service.url, "duels")
    assert again.result().best == "a"
    assert "Who beats whom" in to_html(report_of_study(again))
    with urlopen(f"{service.url}/studies/duels") as page:
        assert "Who beats whom" in page.read().decode()
