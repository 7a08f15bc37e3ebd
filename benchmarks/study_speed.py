"""Ask-and-tell pairs a second of stored studies, beside Optuna's, on the same disk and in one run.

    pip install optuna
    python benchmarks/study_speed.py [--seconds 5] [--workers 1,2,8,32] [--rounds 3]

Each worker is a process of its own that asks for one ticket, answers at once and tells the reward; Optuna's asks for a trial
with its random sampler, suggests one of the arms and tells. Both acknowledge what is told only when the database has it.
Rounds of both take turns, so that both meet the same disk. SQLite, and the PostgreSQL server that the tests start.
"""

import argparse
import logging
import multiprocessing
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

sys.path += [str(Path(__file__).resolve().parent.parent / "tests" / part) for part in ("durability", "")]
import support  # starts PostgreSQL


def ours(storage: str, name: str, until: float, pairs) -> None:
    import surest

    study = surest.open_study(storage, name, 10, 0.05, algorithm="naive-best-arm", seed=1)
    study.finished  # noqa: B018  (as a worker does that joins)
    done = 0
    while time.time() < until:
        for ticket in study.ask():
            study.tell(ticket.id, 0.5)
            done += 1
    pairs.put(done)


def optunas(storage: str, name: str, until: float, pairs) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.disable(logging.CRITICAL)
    study = optuna.create_study(
        storage=storage, study_name=name, load_if_exists=True, sampler=optuna.samplers.RandomSampler()
    )
    done = 0
    while time.time() < until:
        trial = study.ask()
        trial.suggest_categorical("arm", list(range(10)))
        study.tell(trial, 0.5)
        done += 1
    pairs.put(done)


def rate(worker, storage: str, name: str, workers: int, seconds: float) -> float:
    """Pairs a second of so many processes together, after everything is loaded and the study exists."""
    context = multiprocessing.get_context("fork")
    pairs = context.Queue()
    worker(storage, name, time.time(), pairs)  # makes the study
    pairs.get()
    until = time.time() + seconds
    processes = [context.Process(target=worker, args=(storage, name, until, pairs)) for _ in range(workers)]
    began = time.time()
    for process in processes:
        process.start()
    done = sum(pairs.get(timeout=seconds + 120) for _ in processes)
    took = time.time() - began
    for process in processes:
        process.join()
    return done / took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--workers", default="1,2,8,32")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        import optuna
    except ImportError:
        sys.exit("this compares with Optuna: pip install optuna")
    print(f"{given.rounds} rounds of {given.seconds:g} s each; Optuna {optuna.__version__}; median round of each")
    print("| storage | workers | surest, pairs/s | Optuna, pairs/s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory, support.postgres_server() as server:
        places = {
            "SQLite": [f"sqlite:///{directory}/{name}.db" for name in ("ours", "optuna")],
            "PostgreSQL": [server.database(name) for name in ("ours", "optuna")],
        }
        for kind, (own, other) in places.items():
            for workers in map(int, given.workers.split(",")):
                rates = [
                    [
                        rate(ours, own, f"{workers}-{turn}", workers, given.seconds),
                        rate(optunas, driven(other), f"{workers}-{turn}", workers, given.seconds),
                    ]
                    for turn in range(given.rounds)
                ]
                first, second = (median(column) for column in zip(*rates, strict=True))
                print(f"| {kind} | {workers} | {first:,.0f} | {second:,.0f} |", flush=True)


def driven(url: str) -> str:
    """The URL with the driver that is installed, which surest chooses by itself."""
    return url.replace("postgresql:", "postgresql+psycopg:")


if __name__ == "__main__":
    main()
