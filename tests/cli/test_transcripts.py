"""What people read: each page of `transcripts` has commands, and all that a terminal shows of them.

Those of `mistakes` are answered with a message that says what to do, status 2, and nothing on standard output.
"""

import gzip
import io
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import Run
from pages import same_as_kept, write_files

PAGES = sorted(
    page for folder in ("transcripts", "mistakes") for page in Path(__file__).with_name(folder).glob("*.txt")
)
CHANCE, CELL = random.Random(2), random.Random(1)
OLD = {f"q{i}": int(CHANCE.random() < 0.7) for i in range(200)}
NEW = {item: value if CHANCE.random() < 0.9 else 1 - value for item, value in OLD.items()}
WORSE = {item: value if CHANCE.random() < 0.7 else 0 for item, value in OLD.items()}
CELLS = [
    (i, arm, int(CELL.random() < p)) for i in range(60) for arm, p in (("wordy", 0.2), ("kind", 0.9), ("terse", 0.4))
]
LOG = "".join(f"day {k},{'abc'[k % 3]},{int(CHANCE.random() < (0.7, 0.4, 0.3)[k % 3])},7\n" for k in range(900))
HEAD = "arm,item,value\n"
FILES = {
    "recorded": {
        "sorted.csv": "arm,value\n" + "a,1\n" * 150 + "a,0\n" * 150 + "b,0\n" * 150 + "b,1\n" * 150,
        "torn.csv": "arm,value\na,0.5\nb,0.25\nb,0.7",
        "log.csv": "date,variant,clicked,counts\n" + LOG,
        "counts.csv": "date,arm,value,counts\n" + LOG,
    },
    "python": {"rows.csv": "arm,value\n" + "good,1\nbad,0\n" * 60},
    "evaluate": {
        "table.csv": HEAD + "".join(f"{arm},q{i},{v}\n" for i, arm, v in CELLS),
        "gaps.csv": HEAD + "".join(f"{arm},q{i},{v if i in (1, 2) else ''}\n" for i, arm, v in CELLS),
        "costs.csv": "arm,item,value,cost\n" + "".join(f"{arm},{i},{v},{len(arm) / 100}\n" for i, arm, v in CELLS),
        "items.txt": "".join(f"question {i}\n" for i in range(30)),
    },
    "duel": {"games.csv": "white,second,winner\n" + "a,b,a\nb,c,b\na,c,tie\nc,a,a\n" * 40},
    "newcomers": {
        "gaps.csv": HEAD + "".join(f"{a},q{i},1\n" for a in "ab" for i in range(40) if a == "a" or i < 10),
        "table.csv": HEAD + "".join(f"{arm},{i},{float(arm == 'a')}\n" for arm in "ab" for i in range(40)),
        "r.csv": "arm,value\n" + "a,1\nb,0\n" * 60,
    },
    "gate": {
        "items.txt": "".join(f"{item}\n" for item in [*OLD, *(f"more {i}" for i in range(100))]),
        "table.csv": HEAD
        + "".join(f"{arm},{i},{v}\n" for arm, row in (("old", OLD), ("worse", WORSE)) for i, v in row.items()),
        **{
            f"{name}.jsonl": "".join(json.dumps({"id": item, "score": value}) + "\n" for item, value in row.items())
            for name, row in {"old": OLD, "worse": {item: bool(value) for item, value in WORSE.items()}}.items()
        },
    },
    "mistakes": {
        "broken.csv": 'arm,value\na,1\n"b,0',
        "table.csv": HEAD + "".join(f"a,q{i},1\nb,q{i},0\n" for i in range(40)),
        "garbage.eval": "garbage",
        "elf": "\x7fELF nonsense",
    },
}
"""Of each page: what is long or odd. Other files are written out beside it."""


def prepare(page: Path) -> None:
    """Make the files that a page needs."""
    mistaken = page.parent.name == "mistakes"
    write_files(page.with_name("all.files") if mistaken else page)
    for name, text in FILES.get("mistakes" if mistaken else page.stem, {}).items():
        Path(name).write_text(text)
    if page.stem == "gate" and not mistaken:
        gated()


def write(name: str, scores: Mapping[str, Any], header: str = "item,value") -> str:
    """A file of scores."""
    Path(name).write_text("".join([header, "\n", *(f"{item},{value}\n" for item, value in scores.items())]))
    return name


def gated() -> None:
    """Scores in files of every kind, and in a study."""
    first = [item for _, item in surest.gate(OLD, {}).wanted]
    rows = {"old": OLD, "new": NEW, "worse": WORSE, "same": OLD, "empty": {}, "real": dict.fromkeys(OLD, 0.5)}
    rows |= {"half": dict(list(WORSE.items())[:60]), "few": dict(list(NEW.items())[:150])}
    rows |= {"later": {item: WORSE[str(item)] for item in first[1:60]}}
    for name, scores in rows.items():
        write(f"{name}.csv", scores)
    write("renamed.csv", OLD, "question,correct")
    write("other.csv", NEW, "question,correct")
    Path("packed.csv.gz").write_bytes(gzip.compress(Path("worse.csv").read_bytes()))
    surest.evaluate(["old", "worse"], list(OLD), 1e-6, score=lambda arm, item: (OLD if arm == "old" else WORSE)[item],
                    storage="sqlite:///s.db", name="s", seed=1)  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_a_terminal_shows(
    page: Path, run: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.syspath_prepend(".")
    for module in ("page", "beside", "mine", "arms", "faulty"):  # another test may have imported one of the same name
        monkeypatch.delitem(sys.modules, module, raising=False)
    mistaken = page.parent.name == "mistakes"
    prepare(page)
    if mistaken:
        Path("elf").chmod(0o755)
        Path("nothing").mkdir()
        run("study create s --arms 2 --seed 1")
        run("study ask s")
    same_as_kept(page, request, run, mistaken=mistaken)
    if mistaken:
        assert run("study status s").words.count("0 rewards told, 1 ticket with workers")
    left = ("*.html", "x") if mistaken else ("surest-*.db",)  # what was kept is gone at the end
    assert not [path for pattern in left for path in Path().glob(pattern)]
