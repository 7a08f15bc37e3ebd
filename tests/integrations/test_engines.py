"""Workers of other engines: loky, Dask, Ray and MPI give the transcript of one process, whoever dies meanwhile."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import pytest

import arms_for_workers
import surest
from arms_for_workers import ARMS, MIDDLE, Killing
from asking import transcript

SETTINGS = {"delta": 0.05, "seed": 5, "seeded": True, "batch": 128, "record": True}
Engine = Callable[[], Executor] | Executor


@pytest.fixture(scope="module")
def sequential() -> list[tuple[object, ...]]:
    return transcript(surest.identify(ARMS, **SETTINGS))


@contextmanager
def on_loky() -> Iterator[Engine]:
    import loky

    try:
        yield lambda: loky.get_reusable_executor(max_workers=2)
    finally:
        loky.get_reusable_executor(max_workers=2).shutdown(kill_workers=True)


@contextmanager
def on_dask() -> Iterator[Engine]:
    import distributed

    local = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(processes=True, **local) as cluster, distributed.Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        yield client.get_executor()
        assert set(client.run(os.getpid).values()) != before


@contextmanager
def on_ray() -> Iterator[Engine]:
    """Three nodes, of which one is removed once another's worker has died."""
    import ray
    from ray.cluster_utils import Cluster

    from surest.integrations.ray import executor

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        ray.cloudpickle.register_pickle_by_value(arms_for_workers)
        removed = threading.Timer(0, lambda: None)

        def begun() -> Executor:
            nonlocal removed
            removed = threading.Timer(0.5, cluster.remove_node, (node,))
            removed.start()
            return executor(num_cpus=1, max_retries=10)

        yield begun
        removed.join()
        assert sum(node["Alive"] for node in ray.nodes()) == 1
    finally:
        ray.cloudpickle.unregister_pickle_by_value(arms_for_workers)
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.parametrize("engine", [on_loky, on_dask, on_ray])
def test_a_worker_dies(
    engine: Callable[[], Iterator[Engine]], tmp_path: Path, sequential: list[tuple[object, ...]]
) -> None:
    with engine() as workers:
        arms = ARMS | {"middle": Killing(tmp_path / "killed", MIDDLE)}
        result = surest.identify(arms, executor=workers, in_flight=8, **SETTINGS)
    assert (tmp_path / "killed").exists()
    assert transcript(result) == sequential


MPI = """
import json, sys
sys.path.insert(0, {tests!r})
import surest
from mpi4py.futures import MPIPoolExecutor
from arms_for_workers import ARMS
from asking import transcript
from integrations.test_engines import SETTINGS

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(json.dumps(transcript(surest.identify(ARMS, executor=pool, in_flight=8, progress=False, **SETTINGS))))
"""


def test_processes_of_mpi(tmp_path: Path, sequential: list[tuple[object, ...]]) -> None:
    (tmp_path / "search.py").write_text(MPI.format(tests=str(Path(__file__).parents[1])))
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    assert mpiexec, "the Python package openmpi has one"
    command = [mpiexec, *["--allow-run-as-root", "--oversubscribe", "-n", "3"], sys.executable, "-m", "mpi4py.futures"]
    done = subprocess.run([*command, "search.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == json.loads(json.dumps(sequential))
