"""Ask-and-tell pairs a second through a service, beside the library's and Optuna's gRPC proxy, in one run.

    apt-get install wrk
    pip install 'surest[serve,postgresql,optuna]' grpcio protobuf
    python benchmarks/service_load.py [--seconds 5] [--workers 1,8,32] [--rounds 3]
    python benchmarks/service_load.py --soak 600 --rate 100

A worker asks for one ticket, answers at once and tells the reward. Over HTTP each worker is a thread and a connection of wrk
(service_load.lua); through the library and Optuna's proxy each is a process. All acknowledge what is told only when the
database has it. The rounds of all take turns. `--soak` runs at a fixed rate, and looks at the service's memory and pages
meanwhile.
"""

import argparse
import contextlib
import json
import logging
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path += [str(Path(__file__).resolve().parent.parent / "tests" / part) for part in ("durability", "")]
import support  # starts PostgreSQL

SETTINGS = {"algorithm": "naive-best-arm", "delta": 0.05, "seed": 1}
ARMS = 10
SCRIPT = Path(__file__).with_suffix(".lua")


@contextlib.contextmanager
def service(storage: str) -> Iterator[tuple[int, int]]:
    """`surest serve`: its port and its process."""
    command = [sys.executable, "-m", "surest", "serve", "--storage", storage, "--port", "0", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([*command, "--tokens", f"{folder}/none"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            process.wait()


def call(port: int, method: str, path: str, data: object = None) -> bytes:
    """The body of an answer, which must be a good one."""
    body = None if data is None else json.dumps(data).encode()
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/html"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, kinds, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def make(port: int, name: str, settings: dict[str, object] = SETTINGS) -> None:
    """A study whose first ticket was handed out and told."""
    call(port, "POST", "/api/studies", {"name": name, "arms": ARMS, "settings": settings})
    first = json.loads(call(port, "POST", f"/api/studies/{name}/ask", {"worker": "first"}))["tickets"][0]
    call(port, "POST", f"/api/studies/{name}/tell", {"ticket": first["ticket"], "reward": 0.5})


def loaded(port: int, name: str, workers: int, seconds: float, rate: float | None = None) -> "subprocess.Popen[str]":
    """wrk, with so many workers; at most `rate` pairs a second, all together, if that is given."""
    given = [name] if rate is None else [name, str(rate), str(workers)]
    options = ["-t", workers, "-c", workers, "-d", f"{seconds:.0f}s", "--timeout", "30s", "-s", SCRIPT]
    command = ["wrk", *map(str, options), f"http://127.0.0.1:{port}", "--", *given]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def times_of(load: "subprocess.Popen[str]") -> list[float]:
    """How long each pair took, in seconds. A request that failed ends the benchmark."""
    printed, _ = load.communicate()
    assert load.returncode == 0, printed
    assert "failed:" not in printed, printed
    assert "errors: 0\n" in printed, printed
    return [float(one) / 1000 for line in re.findall("took: (.*)", printed) for one in line.split()]


def over_http(storage: str, name: str, workers: int, seconds: float) -> list[float]:
    with service(storage) as (port, _):
        make(port, name)
        return times_of(loaded(port, name, workers, seconds))


def library(storage: str, name: str, seconds: float, gate, took) -> None:
    import surest

    study = surest.open_study(storage, name, ARMS, **SETTINGS)
    study.finished  # noqa: B018  (as a worker does that joins)
    times = []
    gate.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        for ticket in study.ask():
            study.tell(ticket.id, 0.5)
        times.append(time.monotonic() - began)
    took.put(times)


def proxied(port: str, name: str, seconds: float, gate, took) -> None:
    import optuna

    warnings.simplefilter("ignore")  # the proxy is experimental
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.disable(logging.CRITICAL)
    storage = optuna.storages.GrpcStorageProxy(host="localhost", port=int(port))
    storage.wait_server_ready(timeout=60)
    sampler = optuna.samplers.RandomSampler()
    study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True, sampler=sampler)
    times = []
    gate.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        trial = study.ask()
        trial.suggest_categorical("arm", list(range(ARMS)))
        study.tell(trial, 0.5)
        times.append(time.monotonic() - began)
    took.put(times)


def proxy(storage: str, port: int) -> None:
    """Optuna's proxy, until it is ended."""
    import optuna

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.storages.run_grpc_proxy_server(optuna.storages.RDBStorage(storage), host="localhost", port=port)


def over_grpc(storage: str, name: str, workers: int, seconds: float) -> list[float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = multiprocessing.get_context("fork").Process(target=proxy, args=(storage, port))
    server.start()
    try:
        return processes(proxied, str(port), name, workers, seconds)
    finally:
        server.terminate()
        server.join()


def processes(worker, storage: str, name: str, workers: int, seconds: float) -> list[float]:
    """How long each pair took, of so many processes that begin together, after the study exists."""
    context = multiprocessing.get_context("fork")
    took = context.Queue()
    times = []
    for number, length in ((1, 0.0), (workers, seconds)):  # the first makes the study
        gate = context.Barrier(number)
        all_ = [context.Process(target=worker, args=(storage, name, length, gate, took)) for _ in range(number)]
        for process in all_:
            process.start()
        times = [took.get(timeout=seconds + 300) for _ in all_]
        for process in all_:
            process.join()
    return [one for of_worker in times for one in of_worker]


def shown(rounds: list[list[float]], seconds: float) -> str:
    """Pairs a second, the median round, and the 99th percentile of all pairs in ms."""
    rate = median(len(times) / seconds for times in rounds)
    every = [one for times in rounds for one in times]
    return f"{rate:,.0f} | {part(every, 0.99):,.0f}"


def compare(workers: list[int], seconds: float, rounds: int, kinds: list[str]) -> None:
    load_now = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{rounds} rounds of {seconds:g} s each; load of the machine before: {load_now}; {os.cpu_count()} cores")
    print(
        "| storage | workers | service, pairs/s | 99 %, ms | library, pairs/s | 99 %, ms | Optuna's proxy, pairs/s | 99 %, ms |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, support.postgres_server() as server:
        for kind in kinds:
            own, library_own, other = (
                [f"sqlite:///{folder}/{name}.db" for name in ("service", "library", "optuna")]
                if kind == "SQLite"
                else [server.database(name) for name in ("service", "library", "optuna")]
            )
            other = other.replace("postgresql:", "postgresql+psycopg:")
            for number in workers:
                http, direct, grpc = [], [], []
                for turn in range(rounds):
                    name = f"{number}-{turn}"
                    http.append(over_http(own, name, number, seconds))
                    direct.append(processes(library, library_own, name, number, seconds))
                    grpc.append(over_grpc(other, name, number, seconds))
                row = " | ".join(shown(times, seconds) for times in (http, direct, grpc))
                print(f"| {kind} | {number} | {row} |", flush=True)


def watched(port: int, pid: int, name: str, seconds: float, rate: float) -> None:
    """Run at a fixed rate, looking at memory and pages each second."""
    memory: list[int] = []
    pages: dict[str, list[float]] = {path: [] for path in ("/", f"/studies/{name}", f"/api/studies/{name}/status")}
    load = loaded(port, name, 8, seconds, rate)
    until = time.monotonic() + seconds - 1
    while time.monotonic() < until:
        time.sleep(1)
        memory.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096)
        for path, times in pages.items():
            at = time.monotonic()
            call(port, "GET", path)
            times.append(time.monotonic() - at)
    took = times_of(load)
    print(
        f"{len(took):,} pairs in {seconds:g} s, {len(took) / seconds:.0f} a second; 99 % within {part(took, 0.99):.0f} ms"
    )
    quarters = [memory[min(place * len(memory) // 4, len(memory) - 1)] for place in range(5)]
    print("memory at first and after each quarter:", ", ".join(f"{one / 2**20:.1f} MiB" for one in quarters))
    for path, times in pages.items():
        ms = [f"{part(times, share):.0f} ms" for share in (0.5, 0.99, 1.0)]
        slow = [place for place, one in enumerate(times) if one > 0.2]
        print(f"{path}: median {ms[0]}, 99 % within {ms[1]}, all within {ms[2]}; loads over 200 ms: {slow or 'none'}")


def part(times: list[float], share: float) -> float:
    """Milliseconds within which this share of times lies."""
    return 1000 * sorted(times)[round(share * (len(times) - 1))]


def soak(seconds: float, rate: float, kind: str) -> None:
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=Path.cwd()))
        storage = f"sqlite:///{folder}/soak.db"
        if kind == "PostgreSQL":
            storage = stack.enter_context(support.postgres_server()).database("soak")
        port, pid = stack.enter_context(service(storage))
        make(port, "soak", {"delta": 1e-9, "seed": 1})
        watched(port, pid, "soak", seconds, rate)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--workers", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default="SQLite,PostgreSQL")
    parser.add_argument("--soak", type=float)
    parser.add_argument("--rate", type=float, default=100.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.soak is not None:
        soak(given.soak, given.rate, given.kinds.split(",")[0])
    else:
        import optuna.storages  # before processes are forked

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        compare([int(n) for n in given.workers.split(",")], given.seconds, given.rounds, given.kinds.split(","))


if __name__ == "__main__":
    main()
