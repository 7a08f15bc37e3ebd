"""The processes that the durability tests start, kill and race. Run as a script: worker.py TASK ARGUMENTS."""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

with contextlib.suppress(ImportError):
    import psycopg  # noqa: F401  (once, and not by each of the processes that are forked)

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))
import support

from surest.errors import TicketError
from surest.study.study import open_study


def loop(
    storage: str,
    acknowledged: Path,
    kind: str = "pulls",
    k: int = 1,
    ready: int | None = None,
    hold: bool = False,
    most: float = float("inf"),
    **more: Any,
) -> None:
    """Ask, evaluate, tell in any order; write down each reward only once it has been acknowledged.

    One that is to be killed says when it is `ready`: at its first ask, or with `hold` when it has asked and not told, and then
    it waits for the kill. After `most` rewards it waits for it too.
    """
    log = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    study = open_study(storage, "s", 3, 0.1, **{**support.ASKED[kind], **more})
    rng = random.Random(os.urandom(8))
    while not study.finished:
        if ready is not None and not hold:
            os.write(ready, b".")
            ready = None
        tickets = study.ask(k)
        if tickets and ready is not None:
            os.write(ready, b".")
            signal.pause()
        if not tickets:
            time.sleep(0.005)
        for ticket in rng.sample(tickets, len(tickets)):
            reward = rng.random()
            try:
                study.tell(ticket.id, reward)
            except TicketError:
                continue  # its lease had run out, and another was faster
            os.write(log, f"{ticket.id} {reward!r}\n".encode())
            most -= 1
            if most <= 0:
                signal.pause()


def kills(storage: str, acknowledged: str, times: str, longest: str, kind: str, rounds: str) -> None:
    """Start the loop, kill it at a random moment or between an ask and its tell, again and again; then let it end."""
    rng = random.Random(20240611)
    done = 0
    given: Any = {"kind": kind, "k": 3, "lease_seconds": 0.02, "rounds": int(rounds)}
    most = 16  # rewards of one turn: all turns together stay far from the end
    for turn in range(int(times)):
        heard, ready = os.pipe()
        child = os.fork()
        if child == 0:
            loop(storage, Path(acknowledged), ready=ready, hold=turn % 4 == 3, most=most, **given)
            os._exit(0)
        if turn % 10 != 4:  # one in ten is killed while it still opens the study
            os.read(heard, 1)
        os.close(heard)
        os.close(ready)
        if turn % 4 != 3:
            time.sleep(rng.random() * float(longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        done += os.WIFSIGNALED(status)
    loop(storage, Path(acknowledged), **given)
    print(done)


def work(storage: str, acknowledged: str, rounds: str) -> None:
    """One of several workers on a study."""
    loop(storage, Path(acknowledged), rounds=int(rounds))


def openers(directory: str, rounds: str, processes: str, urls: str) -> None:
    """Round after round, several processes open a new database at the same moment; prints the failures."""
    failures = 0
    made = [f"sqlite:///{directory}/{i}.db" for i in range(int(rounds))]
    storages = made if urls == "-" else Path(urls).read_text().split()
    for storage in storages:
        moment = time.time() + 0.02
        children = []
        for _ in range(int(processes)):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    time.sleep(max(0.0, moment - time.time()))
                    open_study(storage, "s", ["a", "b"], 0.1, algorithm="naive-best-arm", seed=3)
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        failures += sum(os.waitpid(child, 0)[1] != 0 for child in children)
    print(failures)


if __name__ == "__main__":
    support.register()
    {"kills": kills, "work": work, "openers": openers}[sys.argv[1]](*sys.argv[2:])
