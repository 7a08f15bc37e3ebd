"""What the command line answers to mistakes: a message that says what to do, status 2, nothing on standard output."""

import sys
from pathlib import Path

import pytest

from calling import Run, same_as_kept

FILES = {
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
}
PAGES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_mistakes_are_answered_with_what_to_do(
    run: Run, page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mistakes/*.txt` have the commands, each with its message."""
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("elf").chmod(0o755)
    Path("nothing").mkdir()
    monkeypatch.syspath_prepend(".")
    for name in ("mine", "arms", "faulty"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    run("study create s --arms 2 --seed 1")
    run("study ask s")
    same_as_kept(run, page, request, status=2)
    assert run("study status s").words.count("0 rewards told, 1 ticket with workers")
    assert not list(Path().glob("*.html"))
