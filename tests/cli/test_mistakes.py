"""What the command line answers to mistakes: a message that says what to do, status 2, nothing on standard output."""

import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from calling import Run, refusals

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
}
MISTAKES = {
    "commands": """
identity example1:3
study stats mine
study qqqq
identify
""",
    "options": """
identify bernoulli:0.5,0.4 --delta 0
identify bernoulli:0.5,0.4 --delta 1
identify bernoulli:0.5,0.4 --delta -0.1
identify bernoulli:0.5,0.4 --delta nan
bounds bernoulli:0.5,0.4 --delta inf
identify bernoulli:0.5,0.4 --epsilon -0.1
identify bernoulli:0.5,0.4 --epsilon nan
identify bernoulli:0.5,0.4 --epsilon 0.1 --algorithm naive-best-arm
identify bernoulli:0.5,0.4 --algorithm best-arm-est
identify bernoulli:0.5,0.4 --algorithm nave-best-arm
identify bernoulli:0.5,0.4 --algorithm zzz
identify bernoulli:0.5,0.4 --budget -1
identify bernoulli:0.5,0.4 --budget nan
identify bernoulli:0.5,0.4 --budget inf
identify bernoulli:0.5,0.4 --budget many
identify bernoulli:0.5,0.4 --seed x
identify bernoulli:0.5,0.4 --instance x
identify bernoulli:0.5,0.4 --colour
identify bernoulli:0.5,0.4 --bounds 1
identify bernoulli:0.5,0.4 --bounds 5,1
identify bernoulli:0.5,0.4 --bounds a,b
identify bernoulli:0.5,0.4 --bounds 1,1
identify bernoulli:0.5,0.4 --bounds 0,inf
identify bernoulli:0.5,0.4 --bounds 1,2,3
identify bernoulli:0.5,0.4 --bounds ''
identify bernoulli:0.5,0.4 --bounds 0 5
gate old.csv new.csv --bounds 0 5
evaluate table.csv --bounds 0 5
identify bernoulli:0.5,0.4 --workers=2
identify bernoulli:0.5,0.4 --clip
identify bernoulli:0.5,0.4 --arm=a
identify bernoulli:0.5,0.4 --study=s
identify bernoulli:0.5,0.4 --storage=sqlite:///x.db
identify bernoulli:0.5,0.4 --follow
identify bernoulli:0.5,0.4 --plot x.gif
identify bernoulli:0.5,0.4 --plot nowhere/x.png
""",
    "sources": """
identify bernouli:0.5
identify missing.csv
identify example1:0
identify bernoulli:0.5,0.3x
identify bernoulli:0.5,0.3x-1
identify bernoulli:0.5,x5
identify bernoulli:0.5,0.3x9999999999
identify bernoulli:0.3x999999999
bounds bernoulli:0.5,2
identify bad.csv
bounds empty.csv
identify head.csv
bounds two.csv
identify stars.csv --bounds 1,4.5
identify break.csv
identify break.csv --resample
bounds break.csv
identify arms.py
identify mine:arrms
identify nowhere.py:arms
identify no_such_module_at_all:arms
identify bernouli:p
identify faulty:arms
identify faulty.py:arms
identify mine.py:boom
identify mine.py:number
identify mine.py:crashing
identify mine.py:text
identify mine.py:stars
identify arms.py:arms --instance x
identify other.csv
identify count.csv --suggest=3
identify words.csv --item-column=item --arm-column=item --suggest=3
identify short.csv --suggest=3
identify old.csv --suggest=3
identify two.csv --suggest=3
identify bad.csv --suggest=3
identify bad.csv --suggest=3 --arm=a --clip
identify bad.csv --suggest=3 --arm=a --arm=b --arm=a --clip
identify none.csv --suggest=3 --arm=a
identify . --suggest=3 "--command=a=echo 1"
identify head.csv --suggest=3
identify nothing --suggest=3
""",
    "options of algorithms": """
identify bernoulli:0.5,0.4 --option=rserve=0.1
identify bernoulli:0.5,0.4 --option=epsilon=0.1
identify bernoulli:0.5,0.4 --option=h1=3 --algorithm=lucb
identify bernoulli:0.5,0.4 --option=reserve=much
identify bernoulli:0.5,0.4 --option=reserve=NaN
identify bernoulli:0.5,0.4 --option=reserve=true
identify bernoulli:0.5,0.4 --option=reserve=2
identify bernoulli:0.5,0.4 --option=batch=1.5
identify bernoulli:0.5,0.4 --option=batch=0
study create t --arms=2 --option=batch=1000000000000
study create t --arms=2 --option=batch
study create t --arms=2 --option==1
study create t --arms=2 --option=batch=2 --option=batch=3
study create t --arms=2 --option=constants=1 --algorithm=naive-best-arm
study create t --arms=2 --option=x=1 --algorithm=nonsense
study create t --arms=2 --option=rserve=0.1
study add-arms s c
""",
    "algorithms in files": """
identify bernoulli:0.9,0.1 --algorithm=mine.py:late
identify bernoulli:0.9,0.1 --algorithm=mine.py:early
identify bernoulli:0.9,0.1 --algorithm=mine.py:lat
identify bernoulli:0.9,0.1 --algorithm=raising.py:race
identify bernoulli:0.9,0.1 --algorithm=leaving.py:race
identify bernoulli:0.9,0.1 --algorithm=nowhere.py:race
""",
    "shell commands": """
identify --command=nonsense --command='b=echo 1'
identify --command='./solve --x=1' --command='b=echo 1'
identify --command='=echo 1' --command='b=echo 1'
identify --command=a= --command='b=echo 1'
identify --command="a='" --command='b=echo 1'
identify --command='a=echo 1 | cat' --command='b=echo 1'
identify --command='a=echo 1; exit 3' --command='b=echo 1'
identify --command='a=./no-such-program {seed}' --command='b=echo 1'
identify --command=a=/etc/passwd --command='b=echo 1'
identify --command=a=./elf --command='b=echo 1'
identify --command='a=echo 1' bernoulli:0.5,0.4
identify --command='a=echo 1' --command='a=echo 2'
identify --command='a=echo 1' --command='b=echo 0' --bounds=1,0
identify --command='a=echo 1' --command='b=echo 0' --on-failure=2
identify --command='a=echo 1' --command='b=echo 0' --timeout=-1
identify --command='a=echo 1' --command='b=echo 0' --workers=0
identify --command='a=echo 1' --command='b=echo 0' --storage=sqlite:///x.db
identify --command='a=echo 1' --arm-column=x
identify --command='a=echo 70' --command='b=echo 5' --bounds=0,60 --minimise
""",
    "evaluate": """
evaluate
evaluate missing.csv
evaluate table.csv --delta 2
evaluate table.csv --items table.csv
evaluate table.csv --value-column score
evaluate --items table.csv
evaluate table.csv --target people
evaluate table.csv --epsilon=1
evaluate garbage.eval
evaluate other.csv
evaluate bad.csv
evaluate table.csv old.csv
""",
    "gate": """
gate
gate old.csv
gate old.csv new.csv bad.csv
gate old.csv new.csv --baseline=a --candidate=b
gate old.csv --baseline=a
gate --study=s --baseline=a
gate old.csv none.csv
gate old.csv new.csv --margin=2
gate old.csv new.csv --margin=-1
gate old.csv new.csv --delta=1
gate old.csv new.csv --bounds=1,0
gate old.csv new.csv --items=20
gate old.csv new.csv --items=none.txt
gate old.csv new.csv --value-column=score
gate old.csv new.csv --markdown=nowhere/summary.md
gate old.csv new.csv --target=all
gate old.csv new.csv --baseline=a --study=s
gate table.csv --baseline=a --candidate=best
gate old.csv twice.csv
gate old.csv nan.csv
gate old.csv far.csv
gate old.csv words.csv
gate old.csv wide.csv
gate old.csv unnamed.csv
gate old.csv nan.jsonl
gate old.csv field.jsonl
""",
    "studies": """
study create t
study create t --arm a --arms 2
study create t --arms 2 --bounds 1
study create t --arms 2 --bounds a,b
study create s --arms 2
study tell s 0 much
study tell s 0 -1
study tell s 7 0.5
study tell s 0 nan
study fail s 7
study ask s -k 0
study status nothing
study import no-such-file
study status s --storage mysql://x
study work s -- true
study work s -- x {arm} {item}
study create third --like s --arm d
""",
    "reports": """
report nothing --output r.html
report nothing --storage sqlite:///no.db --output r.html
report . --output r.html
report s --output r.pdf
report s --output no/r.html
""",
    "bench": """
bench nothing
bench example1:3 --algorithms wagr
bench example1:3 --delta 2
bench example1:3 --delta x
bench example1:3 --runs 0
bench example1:3 --workers 0
bench example1:3 --workers host
bench example1:3 --budget 0
bench example1:3 --epsilon -1 --algorithms wager
bench example1:3 --plot x.gif
bench example1:3 --plot no/x.png
bench example1:3 --output no/x.jsonl --algorithms wager
bench bernoulli:0.5,0.5 --algorithms wager
bench example1:1 --algorithms wager
bench real
bench quick --only zzz
""",
    "fastest": """
fastest true
fastest
fastest true true --tolerance much
fastest true true --tolerance nan
fastest true true --delta nan
fastest true true -N --shell bash
fastest true true -n a -n b -n c
fastest true no-such-program-x
fastest true true --runs 40 --max-runs 50
fastest true true --export-json no/x.json
""",
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_answered_with_what_to_do(
    run: Run, kind: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("elf").chmod(0o755)
    Path("nothing").mkdir()
    monkeypatch.syspath_prepend(".")
    for name in ("mine", "arms", "faulty"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    run("study create s --arms 2 --seed 1")
    run("study ask s")
    assert refusals(run, MISTAKES[kind]) == snapshot
    assert run("study status s").words.count("0 rewards told, 1 ticket with workers")
    assert not list(Path().glob("*.html"))
