"""What the tests of the service share: a service in a process of its own, and requests to it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from visiting import Answer, asked

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"


class Service:
    """`surest serve` in a process of its own. Its log goes to a file."""

    def __init__(
        self, folder: Path, *options: str, storage: str | None = None, stuck: bool = False, **limits: float
    ) -> None:
        self.storage, self.folder, self.options, self.port = storage or f"sqlite:///{folder}/s.db", folder, options, 0
        self.environment = {"LIMITS": json.dumps(limits), "STUCK": str(folder) if stuck else ""}
        self.log = folder / "log.jsonl"

    def start(self) -> "Service":
        given = [f"--storage={self.storage}", f"--port={self.port}", f"--tokens={self.folder}/tokens.json"]
        command = [sys.executable, str(HERE / "serving.py"), "serve", *given, *self.options]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), **self.environment}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        line = self.stdout.readline()
        found = re.search(r"http://[^:]+:(\d+)/", line)
        assert found is not None, line + self.log.read_text()
        self.port = int(found[1])
        return self

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, sig: int = signal.SIGTERM, seconds: float = 60) -> int:
        """Ask it to end, and its status."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        status = self.process.wait(seconds)
        self.stdout.close()
        return status

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def __enter__(self) -> "Service":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, headers: Any = None
    ) -> Answer:
        """One request on a connection of its own. What is not bytes is sent as JSON."""
        own = {} if token is None else {"Authorization": f"Bearer {token}"}
        return asked(f"127.0.0.1:{self.port}", method, path, body, {**own, **(headers or {})})

    def get(self, path: str, **how: Any) -> Answer:
        return self.call("GET", path, **how)

    def post(self, path: str, body: Any = None, **how: Any) -> Answer:
        return self.call("POST", path, body, **how)

    def events(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def connected(service: Service, sent: bytes = b"") -> socket.socket:
    """A connection on which so much was sent."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=60)
    connection.sendall(sent)
    return connection


def raw(service: Service, data: bytes) -> bytes:
    """What comes back for bytes as they are."""
    with connected(service, data) as connection:
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)
