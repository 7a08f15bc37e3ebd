"""What each engine adds to an evaluation that takes no time: milliseconds per evaluation, the median of some rounds in turn.

python benchmarks/engines.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import surest

EVALUATIONS, ROUNDS, WORKERS = 2_000, 5, 2
MPI = "from engines import *\nif __name__ == '__main__':\n    from mpi4py.futures import MPIPoolExecutor\n    \
with MPIPoolExecutor() as pool:\n        print(*(seconds(pool) for _ in range(ROUNDS)))\n"


def low(seed: int) -> float:
    return 0.4 + seed % 3 / 10


def high(seed: int) -> float:
    return 0.401 + seed % 3 / 10


def seconds(executor: Executor | Callable[[], Executor] | None, **settings: object) -> float:
    """The time that so many evaluations take."""
    began = time.perf_counter()
    given = {"budget": EVALUATIONS, "seeded": True, "seed": 1, "progress": False, **settings}
    if executor is not None:
        given |= {"executor": executor, "in_flight": 8}
    result = surest.identify({"low": low, "high": high}, **given)
    return (time.perf_counter() - began) / result.pulls


@contextmanager
def on_dask() -> Iterator[Executor]:
    import distributed

    with (
        distributed.LocalCluster(n_workers=WORKERS, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.upload_file(__file__)
        yield client.get_executor()


@contextmanager
def on_ray() -> Iterator[Executor]:
    import ray

    from surest.integrations.ray import executor

    ray.init(num_cpus=WORKERS, log_to_driver=False, include_dashboard=False)
    yield executor()
    ray.shutdown()


def main() -> None:
    """Print a line for each engine."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        import loky

        storage = f"sqlite:///{folder}/s.db"
        threads = stack.enter_context(ThreadPoolExecutor(WORKERS))
        engines: dict[str, tuple[Executor | Callable[[], Executor] | None, bool]] = {
            "this process": (None, False),
            "threads": (threads, False),
            "processes": (stack.enter_context(ProcessPoolExecutor(WORKERS)), False),
            "loky": (lambda: loky.get_reusable_executor(max_workers=WORKERS), False),
            "Dask": (stack.enter_context(on_dask()), False),
            "Ray": (stack.enter_context(on_ray()), False),
            "this process, SQLite": (None, True),
            "threads, SQLite": (threads, True),
        }
        found: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(ROUNDS):
            for name, (pool, kept) in engines.items():
                found[name].append(seconds(pool, **{"storage": storage, "name": f"{time.time()}"} if kept else {}))
        Path(folder, "search.py").write_text(MPI)
        here = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
        }
        mpi = [
            "mpiexec",
            "--allow-run-as-root",
            "--oversubscribe",
            "-n",
            str(WORKERS + 1),
            sys.executable,
            "-m",
            "mpi4py.futures",
        ]
        done = subprocess.run([*mpi, f"{folder}/search.py"], env=here, capture_output=True, text=True, check=True)
        found["MPI"] = [float(each) for each in done.stdout.split()]
        for name, times in found.items():
            print(
                f"| {name} | {1000 * statistics.median(times):.2f} | {1000 * min(times):.2f} – {1000 * max(times):.2f} |"
            )


if __name__ == "__main__":
    main()
