"""Data never runs code: whatever door a study comes in by, a Python file that it names is not run unless this call names it.

The file leaves a mark when it is run. The doors: every command on a shared database, Python, every address of the service, a file
that is imported, and a service that sends what it likes.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from calling import Run
from surest.errors import SurestError, UsageError
from surest.server import api
from surest.server.pages import site
from surest.study.study import Study, list_studies, open_study
from surest.study.transfer import import_study
from visiting import Answer, Visitor, serving

EVIL = """
def mark():
    with open({mark!r}, "a") as file:
        file.write("x")
mark()
def f(arms, delta, **options):
    mark()
    import surest
    means = yield surest.Pull(arms, 4, surest.Statistic.MEAN)
    return int(arms[means.argmax()])
"""
COMMANDS = """
study list
study ask NAME
study tell NAME 0 1
study fail NAME 1 --worker=w
study work NAME -- echo {arm}
study status NAME
study result NAME
study result NAME --decision=d.jsonl
study export NAME
study export NAME --output=e.json
study add-arms NAME new
study pause NAME
study resume NAME
study create copy --like=NAME
study import evil.json --name=other
report NAME --output=r.html
report NAME --output=r.json
report result.json --output=r.html
identify data.csv --study=NAME
identify --study=NAME '--command=echo 1 a' '--command=echo 0 b'
evaluate table.csv --study=NAME
gate --study=NAME --old=a --new=b
""".strip().splitlines()
PYTHON: dict[str, Callable[[Study], Any]] = {
    "ask": lambda study: study.ask(),
    "finished": lambda study: study.finished,
    "running": lambda study: study.running,
    "status": lambda study: study.status(),
    "result": lambda study: study.result(record=True),
    "session": lambda study: study.session(),
    "export": lambda study: study.export(),
    "paused": lambda study: study.paused,
    "html": lambda study: study._repr_html_(),
    "add_arms": lambda study: study.add_arms(["c"]),
}


class Trap(NamedTuple):
    """A study whose algorithm is in a file, its export, and the mark that the file leaves."""

    storage: str
    named: str
    documents: dict[str, Any]
    mark: Path

    def caught(self) -> bool:
        """Whether the file was run since this was last asked. It is changed, so that it would be run again."""
        found = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        file = Path(self.named.removesuffix(":f"))
        file.write_text(file.read_text() + "#\n")
        return found


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    monkeypatch.chdir(tmp_path)
    file, mark, storage = tmp_path / "evil.py", tmp_path / "mark", f"sqlite:///{tmp_path}/shared.db"
    file.write_text(EVIL.format(mark=str(mark)))
    documents = {}
    for name, options in (("plain", {}), ("queues", {"workers": 4})):
        study = open_study(storage, name, ["a", "b"], 0.1, algorithm=f"{file}:f", seed=1, **options)
        tickets = study.ask(3, worker="w")
        study.tell(tickets[2].id, 0.5)
        documents[name] = study.export()
        study.close()
    (tmp_path / "result.json").write_text(json.dumps(documents["plain"]["result"]))
    (tmp_path / "data.csv").write_text("arm,value\n" + "a,1\nb,0\n" * 20)
    (tmp_path / "table.csv").write_text("arm,item,value\n" + "".join(f"a,{i},1\nb,{i},0\n" for i in range(20)))
    (tmp_path / "evil.json").write_text(json.dumps(documents["plain"]))
    found = Trap(storage, f"{file}:f", documents, mark)
    assert found.caught(), "the one who made it named the file"
    return found


@pytest.fixture
def hostile(trap: Trap) -> Iterator[str]:
    """The address of a service that sends the study."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = trap.documents["queues" if "queues" in self.path else "plain"]
            facts = {"name": "other", "arms": [arm["label"] for arm in document["arms"]], "items": 0}
            facts |= {"settings": document["settings"], "finished": False, "paused": False}
            progress = {**document["result"], "told": 1, "out": 2, "waiting": 0, "request_left": 7, "health": {}}
            progress |= {"per_second": None, "in_play": None, "finished": False}
            answers = {"export": document, "result": document["result"], "status": progress}
            answers |= {"studies": {"studies": ["plain"]}, "ask": {"tickets": [], "finished": True, "paused": False}}
            body = json.dumps(answers.get(self.path.partition("?")[0].rpartition("/")[2], facts)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", ["plain", "queues"])
def test_commands(trap: Trap, hostile: str, run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for storage in (trap.storage, hostile):
        monkeypatch.setenv("SUREST_STORAGE", storage)
        for line in COMMANDS:
            code, out, err = run(line.replace("NAME", name))
            assert not trap.caught(), (storage, line, out, err)
            assert code in (0, 1, 2, 3), (line, err)
            assert "a fault of surest" not in err, (line, err)


def test_who_names_the_file_runs_it(trap: Trap, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this the other tests here could not fail."""
    monkeypatch.setenv("SUREST_STORAGE", trap.storage)
    asked = "study status plain", "study export plain", "study ask queues", "study import evil.json --name=again"
    for line in (*asked, "report plain --output=r.md"):
        code, _, err = run(line)
        assert (code, trap.caught()) == (2, False), line
        assert f"runs only if you name it: if you trust that file, give --algorithm {trap.named}" in err
        assert run(line, f"--algorithm={os.path.basename(trap.named)}")[0] == 2, "that is not what the study names"
        assert not trap.caught(), line
        assert run(line, f"--algorithm={trap.named}")[0] == 0
        assert trap.caught(), line
    assert open_study(trap.storage, "plain", algorithm=trap.named).status().told == 1
    assert trap.caught()


def test_python(trap: Trap, hostile: str) -> None:
    for storage in (trap.storage, hostile):
        for study in list_studies(storage):
            for what, call in PYTHON.items():
                with contextlib.suppress(SurestError):
                    call(study)
                assert not trap.caught(), (storage, study, what)
    for place in ("memory:trap", f"sqlite:///{trap.mark.parent}/other.db"):
        with pytest.raises(UsageError, match="runs only if you name it"):
            import_study(place, json.dumps(trap.documents["plain"]))
    assert not trap.caught()


@pytest.mark.parametrize("name", ["plain", "queues"])
def test_every_address_of_the_service(trap: Trap, name: str) -> None:
    bodies = {"tell": {"ticket": 1, "reward": 0}, "fail": {"ticket": 1}, "arms": {"labels": ["x"]}}
    bodies |= {"renew": {"tickets": [1]}, "return": {"tickets": [1]}}
    with serving(trap.storage) as address:
        visitor = Visitor(address)

        def post(method: str, path: str, body: Any) -> Answer:
            return visitor.request(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"})

        assert visitor.get("/").status == 200, "one study that cannot be looked at does not hide the others"
        for endpoint in api.ENDPOINTS:
            if endpoint.path.endswith("/import"):
                sent = {**trap.documents[name], "name": "sent"}
                answer = post("POST", "/api/import", sent)
                assert answer.status == 400
            elif "{" in endpoint.path and endpoint.method != "DELETE" and not endpoint.path.endswith("/events"):
                path = endpoint.path.partition("{")[0] + name + endpoint.path.partition("}")[2]
                answer = post(endpoint.method, path, bodies.get(path.rpartition("/")[2], {}))
                assert answer.status < 500, (path, answer.text)
            assert not trap.caught(), endpoint.path
        for page in site.PAGES:
            path = page.path.replace("{name:name}", name).replace("{number:name}", "1")
            if name in path:
                answer = visitor.get(path)
                assert answer.status < 500, (path, answer.text)
                assert not trap.caught(), path
