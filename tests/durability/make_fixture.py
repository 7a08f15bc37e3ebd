"""Makes the database that later versions must still be able to open: run once for each version of the tables.

python tests/durability/make_fixture.py 1
"""

import json
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

from surest.study.study import Study, open_study

FIXTURES = Path(__file__).parent / "fixtures"


def work(study: Study, rewards: int) -> None:
    """Tell so many rewards, the same each time."""
    for ticket in study.ask(rewards, worker="somebody"):
        study.tell(ticket.id, random.Random(ticket.id).random() if ticket.arm else 1.0)


def main(version: str) -> None:
    path = FIXTURES / f"v{version}.sqlite"
    storage = f"sqlite:///{path}"
    made: Any = {"algorithm": "naive-best-arm", "seed": 7, "bounds": (-1.0, 3.0), "lease_seconds": 1.0}
    study = open_study(storage, "under way", ["α", "b", "c"], 0.1, **made)
    work(study, 150)
    failed, imputed, *_ = study.ask(4, worker="somebody else")
    study.fail(failed.id, "out of memory")
    study.fail(imputed.id, "hopeless", reward=0.0)
    ended = open_study(storage, "ended", ["only"], 0.1, **made)
    expected = {one.name: {k: v for k, v in one.export().items() if k != "result"} for one in (study, ended)}
    for one in (study, ended):
        one.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    (FIXTURES / f"v{version}.json").write_text(
        json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1])
