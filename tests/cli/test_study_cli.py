"""``surest study``: a shell script can be the worker."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from surest.cli import cli
from surest.study.sql import seal
from surest.study.study import open_study
from transcripts import ROOT, blocks, environment

SETTINGS = ["--arm", "fast", "--arm", "safe", "--delta", "0.2", "--algorithm", "naive-best-arm", "--seed", "1"]


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/study.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREST_STORAGE", url)
    return url


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["study", *arguments], catch_exceptions=False, standalone_mode=False)
    return done.output


def test_a_study_is_made_like_another(storage: str) -> None:
    """With all that its items hold, the arms that it began with, and other settings where they are given."""
    items = [("q1", {"text": "2 + 2?"}), ("q2", None)]
    first = open_study(storage, "s", ["a", "b"], 0.2, items=items, seed=7, lease_seconds=5, reserve=0.1)
    first.add_arms(["c"])
    assert run("create", "again", "--like", "s", "--delta", "0.1") == "study again: 2 arms\n"
    made = open_study(storage, "again")
    assert (made.items, made.settings.plain()) == (first.items, {**first.settings.plain(), "delta": 0.1})


def test_a_study_like_another_may_ask_another_question(storage: str) -> None:
    """The usual algorithm is that of the new question; one that was chosen by hand stays."""
    open_study(storage, "usual", ["a", "b", "c"])
    run("create", "top", "--like", "usual", "--top", "2")
    run("create", "items", "--like", "usual", "--item", "q1", "--item", "q2")
    assert [open_study(storage, name).settings.problem.algorithm for name in ("top", "items")] == ["wager-top", "race"]
    open_study(storage, "chosen", ["a", "b", "c"], algorithm="naive-best-arm")
    run("create", "again", "--like", "chosen")
    assert open_study(storage, "again").settings.problem.algorithm == "naive-best-arm"


def test_rewards_that_wait_for_others_are_evaluations(storage: str) -> None:
    study = open_study(storage, "s", ["a", "b"], seed=1)
    (ticket,) = study.ask()
    study.tell(ticket.id, 1.0)
    for found in (study.result(), study.status().result, study.result(history=True)):
        assert (found.pulls, found.evaluations) == (0, 1)
    assert json.loads(run("result", "s", "--json"))["evaluations"] == 1
    assert study.export()["result"]["evaluations"] == 1


def test_a_status_says_who_leads_once_a_request_is_answered(storage: str) -> None:
    study = open_study(storage, "w", ["fast", "safe"], seed=1)
    tickets = study.ask(100)
    study.tell_all(tickets, [float(ticket.arm) for ticket in tickets])
    shown = " ".join(run("status", "w").split())
    assert f"Running. Arm safe leads so far. {len(tickets)} rewards told, 0 tickets with workers." in shown
    assert "nothing is certified yet; both arms may still be the best." in shown


def documented_loop() -> str:
    """The worker loop of docs/studies.md."""
    (block,) = [block for block in blocks(ROOT / "docs" / "studies.md", "sh") if "surest study ask" in block]
    return block[block.index("while true") : block.index("\ndone") + len("\ndone\n")]


def test_the_documented_loop_with_two_workers(storage: str, tmp_path: Path) -> None:
    run(
        "create", "solvers", "--arm", "fast one", "--arm", "safe", "--budget", "4", "--option", "batch=2", "--seed", "1"
    )
    (tmp_path / "evaluate").write_text(
        '#!/bin/sh\n[ $# -eq 1 ] || exit 9\n[ -n "$1" ] || { touch empty; exit 9; }\n'
        'if mkdir "failed once" 2>/dev/null; then exit 7; fi\n'
        'case "$1" in "fast one") echo 0.9;; safe) echo 0.1;; *) touch unknown;; esac\n'
    )
    (tmp_path / "evaluate").chmod(0o755)
    variables = {**environment(tmp_path), "SUREST_STORAGE": storage}
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
    study = open_study(storage, "solvers")
    assert study.finished
    assert study.status().told > 3
    assert {t[1] for t in study.export()["tickets"]} == {0.1, 0.9}
    assert sum(of.get("failed", 0) for of in study.health().values()) == len(list(tmp_path.rglob("failed once")))


def test_words_of_a_command_are_filled_once(storage: str, tmp_path: Path) -> None:
    """What an item says is not looked at again: it would become another question."""
    study = open_study(storage, "s", ["a {item}", "b"], 0.2, items=["who is {arm}?", "{seed}"], seed=1)
    study.close()
    script = 'printf "%s|%s\\n" "$1" "$2" >> seen; echo 1'
    run("work", "s", "--", "sh", "-c", script, "x", "{arm}", "{item}")
    seen = set(Path("seen").read_text().splitlines())
    assert seen <= {f"{arm}|{item}" for arm in ("a {item}", "b") for item in ("who is {arm}?", "{seed}")}
    assert any("who is {arm}?" in line for line in seen)


def test_labels_of_old_studies_are_printed_harmlessly(storage: str) -> None:
    run("create", "s", *SETTINGS)
    with open_study(storage, "s").store.writing() as log:  # as earlier versions allowed
        label = "x\n7 fake\x1b[31m[/x]"
        log.execute("UPDATE surest_arms SET label = ?, seal = ? WHERE arm = 0", label, seal(0, label, 0))
    assert run("ask", "s") == "0 x\\n7 fake\\x1b[31m[/x]\n"
    assert json.loads(run("ask", "s", "--json"))[0]["arm"] == label


def test_what_a_terminal_would_obey_is_escaped_in_json(storage: str) -> None:
    strange = "a\x9b31m\u202eb\u200d\x7f"
    open_study(storage, "s", [strange, "é"], 0.2).close()
    for words in (["ask", "s", "--json"], ["status", "s", "--json"], ["export", "s"]):
        out = run(*words)
        assert out.rstrip("\n").isprintable(), words
        assert json.dumps(strange) in json.dumps(json.loads(out)), "the same data"
        assert words[0] == "ask" or "é" in out, "letters stay letters"
