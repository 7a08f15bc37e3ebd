"""A study behind a service is used like any other."""

import random
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from serving_support import Service, connected
from syrupy.assertion import SnapshotAssertion

import surest
from calling import refused
from surest.errors import StorageError, SurestError, UsageError
from surest.report.page import to_html
from surest.report.report import report_of_study
from surest.server.tokens import Tokens
from surest.study.connection import Connection
from surest.study.study import Study


def test_commands(service: Service, tmp_path: Path) -> None:
    from surest.cli import cli

    def surest_study(*words: str) -> Any:
        return CliRunner().invoke(cli, ["study", *words], env={"SUREST_STORAGE": service.url}, standalone_mode=False)

    made = surest_study("create", "commands", "--arm", "a", "--arm", "b", "--option", "batch=4", "--seed", "1")
    assert made.exception is None
    assert surest_study("ask", "commands", "--worker", "me").output == "0 a\n"
    assert surest_study("tell", "commands", "0", "0.5").output == "ticket 0: 0.5\n"
    assert "1 reward" in surest_study("status", "commands").output
    worked_out = surest_study("work", "commands", "--", "sh", "-c", "test {arm} = b && echo 1 || echo 0")
    assert worked_out.return_value == 0, worked_out.output
    assert "b is the best" in worked_out.output
    assert surest_study("export", "commands", "--output", str(tmp_path / "x.json")).exception is None
    assert surest_study("import", str(tmp_path / "x.json"), "--name", "imported").exception is None
    assert surest_study("delete", "imported", "--yes").output == "study imported deleted\n"


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


def test_what_is_not_a_service(snapshot: SnapshotAssertion) -> None:
    urls = ["http://", "http://host:port", "http://host?x=1", "http://:a b@host", "http://evil@localhost"]
    urls += ["http://localhost:8080@evil", "http://:x@y@localhost", "http://evil\\localhost"]
    assert refused(*(partial(surest.open_study, url, "x") for url in urls)) == snapshot


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


def test_tokens_are_kept_as_digests(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "deep" / "tokens.json")
    assert not tokens
    made = tokens.add("ann", "look")
    assert made not in (tmp_path / "deep" / "tokens.json").read_text()
    assert (tmp_path / "deep" / "tokens.json").stat().st_mode & 0o777 == 0o600
    other = Tokens(tokens.path)
    found = other.identify(made)
    assert found is not None
    assert (found.name, found.role) == ("ann", "look")
    with pytest.raises(UsageError, match="already a token called 'ann'"):
        tokens.add("ann", "work")
    tokens.revoke("ann")
    assert other.identify(made) is None, "a running service heeds it"
    with pytest.raises(UsageError, match="there is no token called 'ann'"):
        tokens.revoke("ann")
    with pytest.raises(UsageError, match="without tabs"):
        tokens.add("a\tb", "work")
    (tmp_path / "link.json").symlink_to(tmp_path / "deep" / "tokens.json")
    assert other.identify(Tokens(tmp_path / "link.json").add("bob", "look")) is not None, "a link stays one"
    with pytest.raises(UsageError, match="cannot be written"):
        Tokens(tmp_path / "link.json" / "tokens.json").add("ann", "look")
    assert tokens.path is not None
    tokens.path.write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        other.all()


def test_tokens_made_at_once_are_all_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: Tokens(tmp_path / "t.json").add(f"w{number}", "work"), range(40)))
    there = Tokens(tmp_path / "t.json")
    assert {there.identify(token).name for token in made} == {f"w{number}" for number in range(40)}  # type: ignore[union-attr]


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
