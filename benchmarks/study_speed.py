"""Ask-and-tell pairs a second of stored studies, beside Optuna's, on the same disk and in one run.

    pip install optuna
    python benchmarks/study_speed.py [--seconds 5] [--workers 1,2,8] [--postgresql URL]

Each worker is a process of its own that asks for one ticket, answers at once and tells the reward; Optuna's asks for a trial
with its random sampler, suggests one of the arms and tells. Both acknowledge what is told only when the database has it.
Rounds of both take turns, so that both meet the same disk.
"""

import argparse
import logging
import multiprocessing
import sys
import tempfile
import time
import warnings
from pathlib import Path


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
    parser.add_argument("--workers", default="1,2,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--postgresql", action="append", default=[], metavar="URL", help="two empty databases: ours, Optuna's"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        import optuna
    except ImportError:
        sys.exit("this compares with Optuna: pip install optuna")
    print(f"{given.rounds} rounds of {given.seconds:g} s each; Optuna {optuna.__version__}; best round of each")
    print("| storage | workers | surest, pairs/s | Optuna, pairs/s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        places = [("SQLite", [f"sqlite:///{directory}/ours.db", f"sqlite:///{directory}/optuna.db"])]
        if given.postgresql:
            places.append(
                ("PostgreSQL", [url.replace("postgresql:", "postgresql+psycopg:") for url in given.postgresql])
            )
        for kind, (own, other) in places:
            for workers in map(int, given.workers.split(",")):
                best = [0.0, 0.0]
                for turn in range(given.rounds):
                    name = f"{workers}-{turn}"
                    best[0] = max(best[0], rate(ours, own, name, workers, given.seconds))
                    best[1] = max(best[1], rate(optunas, other, name, workers, given.seconds))
                print(f"| {kind} | {workers} | {best[0]:,.0f} | {best[1]:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
