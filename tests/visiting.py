"""A service in a thread of the test, visitors who send forms as browsers do, and workers that speak HTTP."""

import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import uvicorn

from surest.server.app import make_app
from surest.server.server import bound
from surest.server.tokens import Tokens
from waiting import PATIENCE, until


@contextmanager
def serving(storage: str, tokens: Path | None = None, port: int = 0) -> Iterator[str]:
    """The address of a service on a store."""
    app = make_app(storage, tokens=Tokens(tokens))
    listening = bound("127.0.0.1", port)
    config = uvicorn.Config(app, log_config=None, server_header=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive(), "the service starts")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        app.studies.closing.set()  # who watches is let go
        server.should_exit = True
        thread.join()
        listening.close()


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def words(self) -> str:
        """The text that a reader sees."""
        return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", self.text)))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        return str(self.json["error"]["message"])


def asked(host: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """One request on a connection of its own. What is not bytes is sent as JSON."""
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    kind = {} if body is None or isinstance(body, bytes) else {"Content-Type": "application/json"}
    with closing(connection):
        connection.request(method, path, json.dumps(body).encode() if kind else body, {**kind, **(headers or {})})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


class Visitor:
    """Somebody with a browser that keeps cookies, follows redirects and sends along what forms hold."""

    def __init__(self, service: str) -> None:
        self.host = urlsplit(service).netloc
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        cookie = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
        answer = asked(self.host, method, path, body, {"Accept": "text/html", **cookie, **(headers or {})})
        for line in answer.headers.get_all("set-cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
            if "Max-Age=0" in line:
                del self.cookies[name]
        return answer

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a stream, as they come."""
        connection = http.client.HTTPConnection(self.host, timeout=240)
        connection.request("GET", path, headers={"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())})
        with closing(connection), connection.getresponse() as response:
            yield from iter(response.readline, b"")

    def followed(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """What comes after redirects."""
        answer = self.request(method, path, body, headers)
        return self.get(answer.headers["location"]) if answer.status == 303 else answer

    def get(self, path: str) -> Answer:
        """A page, after redirects."""
        return self.followed("GET", path)

    def csrf(self, path: str) -> str:
        """What the forms of a page send along."""
        found = re.search('name="csrf" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None, f"{path} has no form"
        return found[1]

    def send(self, path: str, on: str, **fields: str) -> Answer:
        """Fill in a form of the page `on`, and send it to a path."""
        body = urlencode({"csrf": self.csrf(on), **fields}).encode()
        return self.followed("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})

    def upload(self, path: str, on: str, file: tuple[str, str, bytes], **fields: str) -> Answer:
        """Send a form with a file: its field, its name and what it holds."""
        mark, field, name, data = "a-border-of-parts", *file
        parts = [
            f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in {"csrf": self.csrf(on), **fields}.items()
        ]
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'.encode()
        body = b"".join([*parts, head, data, f"\r\n--{mark}--\r\n".encode()])
        return self.followed("POST", path, body, {"Content-Type": f"multipart/form-data; boundary={mark}"})


def call(service: str, method: str, path: str, **body: Any) -> Any:
    """What the API says."""
    answer = asked(urlsplit(service).netloc, method, path, body)
    assert answer.status < 300, f"{method} {path}: {answer}"
    return answer.json


def work(
    service: str,
    study: str,
    worker: str,
    rewards: dict[str, list[float]],
    start: threading.Barrier,
    stop: threading.Event,
) -> None:
    """Evaluate tickets over HTTP until the study is finished: evaluations of an arm give its rewards, again and again.

    All workers have a first ticket before any of them tells a reward: each of them takes part, whoever is faster.
    """
    address, told = f"/api/studies/{quote(study, safe='')}", dict.fromkeys(rewards, 0)
    while not stop.is_set():
        answer = call(service, "POST", f"{address}/ask", worker=worker, wait=1)
        if answer["tickets"] and not any(told.values()):
            start.wait(PATIENCE)
        for ticket in answer["tickets"]:
            arm = ticket["arm"]
            reward = rewards[arm][told[arm] % len(rewards[arm])]
            told[arm] += 1
            call(service, "POST", f"{address}/tell", ticket=ticket["ticket"], reward=reward)
        if answer["finished"]:
            return
