"""``surest study``: a shell script can be the worker."""

import json
import subprocess
from pathlib import Path

import pytest

from calling import Run
from surest.cli.searches import _say_once
from surest.search.desk import Desk
from surest.search.executor import drive
from surest.study.study import open_study
from transcripts import ROOT, blocks, environment

STORAGE, ESCAPE = "sqlite:///surest.db", "\x1b[31mred"


def documented_loop() -> str:
    """The worker loop of docs/studies.md."""
    (block,) = [block for block in blocks(ROOT / "docs" / "studies.md", "sh") if "surest study ask" in block]
    return block[block.index("while true") : block.index("\ndone") + len("\ndone\n")]


def test_the_documented_loop_with_two_workers(run: Run, tmp_path: Path) -> None:
    run("study create solvers --arm 'fast one' --arm safe --budget 4 --option batch=2 --seed 1")
    (tmp_path / "evaluate").write_text(
        '#!/bin/sh\n[ $# -eq 1 ] || exit 9\n[ -n "$1" ] || { touch empty; exit 9; }\n'
        'if mkdir "failed once" 2>/dev/null; then exit 7; fi\n'
        'case "$1" in "fast one") echo 0.9;; safe) echo 0.1;; *) touch unknown;; esac\n'
    )
    (tmp_path / "evaluate").chmod(0o755)
    variables = {**environment(tmp_path), "SUREST_STORAGE": f"sqlite:///{tmp_path}/surest.db"}
    loop = documented_loop().replace("sleep 1", "sleep 0.2")
    workers = []
    for number in (1, 2):
        place = tmp_path / f"worker-{number}"
        place.mkdir()
        script = loop.replace("./evaluate", "../evaluate")
        workers.append(subprocess.Popen(["sh", "-c", script], cwd=place, env=variables, stdout=subprocess.DEVNULL))
    assert [worker.wait() for worker in workers] == [0, 0]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert not [name for name in ("empty", "unknown") if list(tmp_path.rglob(name))], left
    study = open_study(STORAGE, "solvers")
    assert study.finished
    assert study.status().told > 3
    assert {t[1] for t in study.export()["tickets"]} == {0.1, 0.9}
    assert sum(of.get("failed", 0) for of in study.health().values()) == len(list(tmp_path.rglob("failed once")))


def test_what_a_terminal_would_obey_is_escaped_in_json(run: Run) -> None:
    strange = "a\x9b31m\u202eb\u200d\x7f"
    open_study(STORAGE, "s", [strange, "é"], 0.2).close()
    for line in ("ask s --json", "status s --json", "export s"):
        out = run(f"study {line}").out
        assert out.rstrip("\n").isprintable(), line
        assert json.dumps(strange) in json.dumps(json.loads(out)), "the same data"
        assert line == "ask s --json" or "é" in out, "letters stay letters"


def test_labels_and_names_of_studies_are_shown_as_text(run: Run) -> None:
    name = f"{ESCAPE}[/x]"
    assert run("study", "create", "fake", "--arm=x\n7 fake", "--arm=b").status == 2
    said = [run("study", "create", name, *(f"--arm={label}" for label in ("model[large]", "[/x]", ESCAPE, ":smile:")))]
    said.append(run("study", "ask", name, "-k", "8"))
    tickets = said[-1].out.splitlines()
    assert [line.split(" ", 1)[1] for line in tickets[::2]] == ["model[large]", "[/x]", "\\x1b[31mred", ":smile:"]
    said.append(run("study", "fail", name, "1", ESCAPE))
    said += [run("study", what, name) for what in ("status", "result")]
    said += [run("report", name, f"--output=r.{form}") for form in ("md", "html", "json")]
    said += [run("study", "list"), run("study", "result", f"{ESCAPE} nowhere"), run("study", "delete", name, "--yes")]
    assert [one.status for one in said] == [0, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0]
    assert not any("\x1b" in one.out + one.err for one in said)
    assert not any("\x1b" in Path(f"r.{form}").read_text() for form in ("md", "html"))


def test_no_report_has_a_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREST_STORAGE", "sqlite:///kept.db?password=s3cret")
    run("study create n --arms=2")
    for form in ("md", "html", "json"):
        assert "s3cret" not in "".join(map(str, run(f"report n --output=o.{form}")))
        assert "s3cret" not in Path(f"o.{form}").read_text()


def test_a_worker_says_that_it_waits(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    study = open_study(STORAGE, "mine", ["a", "b"], 0.2, seed=1, batch=2)
    held, waited, say_once = study.ask(100, worker="elsewhere"), list[int](), _say_once()
    say_once()
    say_once()
    assert capsys.readouterr().err.count("waiting for rewards of other workers") == 1

    def then_told() -> None:
        if not waited:
            study.tell_all(held, [float(ticket.arm) for ticket in held])
        waited.append(1)

    drive(Desk(study, on_wait=then_told), lambda ticket: (float, ticket.arm), None, 1)
    assert waited
    assert study.result().best == "b"
