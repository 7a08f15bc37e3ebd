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
from calling import Run, same_as_kept

PAGES = sorted(Path(__file__).parent.glob("*/*.txt"))
CHANCE, CELL = random.Random(2), random.Random(1)
OLD = {f"q{i}": int(CHANCE.random() < 0.7) for i in range(200)}
NEW = {item: value if CHANCE.random() < 0.9 else 1 - value for item, value in OLD.items()}
WORSE = {item: value if CHANCE.random() < 0.7 else 0 for item, value in OLD.items()}
CELLS = [
    (i, arm, int(CELL.random() < p)) for i in range(60) for arm, p in (("wordy", 0.2), ("kind", 0.9), ("terse", 0.4))
]
LOG = "".join(f"day {k},{'abc'[k % 3]},{int(CHANCE.random() < (0.7, 0.4, 0.3)[k % 3])},7\n" for k in range(900))
FILES = {
    "searches": {
        "constant.csv": "arm,value\nlow,0.25\nhigh,0.75\nmiddle,0.5\n",
        "two.csv": "instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0.5,7\ny,c,0.5,1\n",
        "stars.csv": "arm,value,count\nx,1,5\nx,5,5\ny,4,1\n",
    },
    "totals": {
        "totals.csv": "date,variant,won,shown\nmonday,old,400,1000\nmonday,new,500,1000\nmonday,worst,240,800\n",
        "clicks.csv": "date,arm,clicks,impressions\nmonday,old,400,1000\nmonday,new,500,1000\n",
        "days.csv": "date,arm,clicks,impressions\nmonday,old,400,1000\nmonday,new,500,1000\ntuesday,old,100,300\n",
        "rows.csv": "arm,value\na,1\n",
    },
    "recorded": {
        "sorted.csv": "arm,value\n" + "a,1\n" * 150 + "a,0\n" * 150 + "b,0\n" * 150 + "b,1\n" * 150,
        "times.csv": "arm,value\nquick,4\nslow,50\nslow,52\n",
        "torn.csv": "arm,value\na,0.5\nb,0.25\nb,0.7",
        "log.csv": "date,variant,clicked,counts\n" + LOG,
        "counts.csv": "date,arm,value,counts\n" + LOG,
    },
    "python": {
        "beside.py": "P = 0.9\n",
        "page.py": "from beside import P\n"
        "mapping = {'good': lambda: P, 'bad': lambda: 0.2}\n"
        "sequence = [lambda: 0.2, lambda: P]\n"
        "several = [lambda k: [0.2] * k, lambda k: [P] * k]\n"
        "stars = {'a': lambda: 4, 'b': lambda: 2}\n"
        "def build(): return mapping\n"
        "class Box: inner = mapping\n"
        "def race(arms, delta, *, times=50):\n"
        "    from surest import Pull, Statistic\n"
        "    means = yield Pull(arms, times, Statistic.MEAN)\n"
        "    return int(arms[means.argmax()])\n",
        "rows.csv": "arm,value\n" + "good,1\nbad,0\n" * 60,
        "law.csv": "arm,value,count\ngood,1,9\ngood,0,1\nbad,0,9\nbad,1,1\n",
    },
    "evaluate": {
        f"{name}.csv": "arm,item,value\n" + "".join(f"{arm},q{i},{v if i in known else ''}\n" for i, arm, v in CELLS)
        for name, known in (("table", range(60)), ("gaps", (1, 2)))
    }
    | {
        "ask.sh": 'case "${2:-$(cat)}" in *question*) echo $1;; *) echo nothing;; esac',
        "items.txt": "".join(f"question {i}\n" for i in range(30)),
    }
    | {"costs.csv": "arm,item,value,cost\n" + "".join(f"{arm},{i},{v},{len(arm) / 100}\n" for i, arm, v in CELLS)},
    "duel": {
        "judge.sh": "case $1$2 in xy|xz|yz) w=8;; *) w=2;; esac\n"
        "echo thinking; if [ $(( $3 % 10 )) -lt $w ]; then echo $1; else echo $2; fi\n",
        "games.csv": "white,second,winner\n" + "a,b,a\nb,c,b\na,c,tie\nc,a,a\n" * 40,
        "one.csv": "first,second,score\na,b,1\n",
    },
    "newcomers": {
        "gaps.csv": "arm,item,value\n"
        + "".join(f"{a},q{i},1\n" for a in "ab" for i in range(40) if a == "a" or i < 10),
        "table.csv": "arm,item,value\n"
        + "".join(f"{arm},{i},{float(arm == 'a')}\n" for arm in "ab" for i in range(40)),
        "r.csv": "arm,value\n" + "a,1\nb,0\n" * 60,
        "items.csv": "arm,item,value\na,q,1\nb,q,0\n",
        "questions.csv": "model,question,value\na,q,1\nb,q,0\n",
    },
    "gate": {
        "items.txt": "".join(f"{item}\n" for item in [*OLD, *(f"more {i}" for i in range(100))]),
        "table.csv": "arm,item,value\n"
        + "".join(f"{arm},{i},{v}\n" for arm, row in (("old", OLD), ("worse", WORSE)) for i, v in row.items()),
        **{
            f"{name}.jsonl": "".join(json.dumps({"id": item, "score": value}) + "\n" for item, value in row.items())
            for name, row in {"old": OLD, "worse": {item: bool(value) for item, value in WORSE.items()}}.items()
        },
    },
    "mistakes": {
        "empty.csv": "",
        "bad.csv": "arm,value\na,0.5\nb,1.5\n",
        "head.csv": "arm,value\n",
        "broken.csv": 'arm,value\na,1\n"b,0',
        "stars.csv": "arm,value,count\nx,1,5\nx,5,5\ny,4,1\n",
        "count.csv": "arm,value,count\na,0.5,3\n",
        "short.csv": "arm,value\na\n",
        "two.csv": "instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0.5,7\ny,c,0.5,1\n",
        "break.csv": 'arm,value\n"x\n7 fake",1\nb,0\n',
        "arms.py": "arms = {'a': lambda: 1}\n",
        "faulty.py": "import there_is_no_such_module\n",
        "mine.py": "from arms import arms\nnumber = 7\ntext = {'a': lambda: 'high', 'b': lambda: 1}\n"
        "def boom(): raise RuntimeError('no weights')\n"
        "def crash(): raise ZeroDivisionError('by nothing')\n"
        "crashing = {'fine': lambda: 1, 'crash': crash}\nstars = {'a': lambda: 5, 'b': lambda: 1}\n"
        "def late(arms, delta):\n    from surest import Pull, Statistic\n    yield Pull(arms, 5, Statistic.MEAN)\n"
        "    return 1 / 0\n"
        "def early(arms, delta):\n    raise KeyError('k')\n",
        "raising.py": "\n1 / 0\n",
        "leaving.py": "raise SystemExit(0)\n",
        "table.csv": "arm,item,value\n" + "".join(f"a,q{i},1\nb,q{i},0\n" for i in range(40)),
        "other.csv": "model,question,score\na,1,0.5\n",
        "old.csv": "item,value\nq0,1\nq1,1\n",
        "new.csv": "item,value\nq0,1\nq1,0\n",
        "twice.csv": "item,value\nq0,1\nq0,0\n",
        "nan.csv": "item,value\nq0,nan\n",
        "far.csv": "item,value\nq0,1.5\n",
        "words.csv": "item,value\nq0,good\n",
        "wide.csv": "item,value\nq0,1,2\n",
        "unnamed.csv": "item,value\n,1\n",
        "nan.jsonl": '{"item": "q0", "value": NaN}\n',
        "field.jsonl": '{"item": "q0"}\n',
        "garbage.eval": "garbage",
        "elf": "\x7fELF nonsense",
        "one.csv": "first,second,score\na,b,1\n",
    },
}


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
    for module in (
        "page",
        "beside",
        "mine",
        "arms",
        "faulty",
    ):  # what another test may have imported under the same name
        monkeypatch.delitem(sys.modules, module, raising=False)
    mistaken = page.parent.name == "mistakes"
    for name, text in FILES.get("mistakes" if mistaken else page.stem, {}).items():
        Path(name).write_text(text)
    if page.stem == "gate" and not mistaken:
        gated()
    if mistaken:
        Path("elf").chmod(0o755)
        Path("nothing").mkdir()
        run("study create s --arms 2 --seed 1")
        run("study ask s")
    same_as_kept(run, page, request, status=2 if mistaken else None)
    if mistaken:
        assert run("study status s").words.count("0 rewards told, 1 ticket with workers")
    left = ("*.html", "x") if mistaken else ("surest-*.db",)  # what was kept is gone at the end
    assert not [path for pattern in left for path in Path().glob(pattern)]
