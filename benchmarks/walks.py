"""Count the functions and files of surest that one call walks through: how much somebody must read to follow it.

    python benchmarks/walks.py          the counts, beside the most that they may be
    python benchmarks/walks.py --list   and the functions

Nested functions, comprehensions and generated methods count with the function or the module that holds them.
"""

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import surest

HOME = str(Path(surest.__file__).parent)
MOST = {"identify": (100, 20), "evaluate": (160, 30), "tell": (120, 30)}
"""Functions and files, at most."""


@contextmanager
def walking() -> Iterator[set[tuple[str, str]]]:
    """The functions of surest that are entered meanwhile, in threads that are started meanwhile too, each with its file."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        inside = code.co_filename.startswith(HOME) and "/kernels/" not in code.co_filename  # compiled, or not
        if event == "call" and inside and not code.co_name.startswith("<"):
            seen.add((code.co_filename.removeprefix(HOME + "/"), code.co_qualname.partition(".<locals>")[0]))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk(call: Callable[[], object]) -> set[tuple[str, str]]:
    """The functions of surest that a call enters."""
    with walking() as seen:
        call()
        seen.clear()  # imports are no part of it
        call()
    return seen


def identify() -> set[tuple[str, str]]:
    """Two functions, called in this thread."""
    search = surest.identify  # found when asked, as all public names are
    return walk(lambda: search({"a": lambda: 0.0, "b": lambda: 1.0}, progress=False))


def evaluate() -> set[tuple[str, str]]:
    """Two functions on a list of items, kept in SQLite."""
    arms = {"a": lambda item: 0.0, "b": lambda item: 1.0}

    def kept() -> None:
        with tempfile.TemporaryDirectory() as folder:
            surest.evaluate(arms, range(50), progress=False, storage=f"sqlite:///{folder}/studies.db", name="walk")

    return walk(kept)


def tell() -> set[tuple[str, str]]:
    """A worker tells a reward over HTTP, and the study's page shows it."""
    from starlette.testclient import TestClient

    from surest.server.app import make_app

    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/studies.db"
        study = surest.open_study(storage, "walk", ["a", "b"], algorithm="naive-best-arm")
        tickets = [ticket.id for ticket in study.ask(2)]
        app = make_app(storage)
        with walking() as seen, TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1)) as browser:

            def told_and_shown() -> None:
                told = browser.post("/api/studies/walk/tell", json={"ticket": tickets.pop(), "reward": 0.5})
                assert told.is_success, told.text
                assert browser.get("/studies/walk").is_success

            told_and_shown()
            seen.clear()
            told_and_shown()
            return set(seen)  # the end of the service is no part of it


if __name__ == "__main__":
    for name, (functions, files) in MOST.items():
        found = globals()[name]()
        count = len({file for file, _ in found})
        print(f"{name:10} {len(found):4} functions in {count:3} files (at most {functions} in {files})")
        if "--list" in sys.argv:
            print(*(f"    {file:40} {function}" for file, function in sorted(found)), sep="\n")
