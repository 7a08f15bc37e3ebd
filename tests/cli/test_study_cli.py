"""``surest study``: a shell script can be the worker."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from surest.cli import cli
from surest.errors import UsageError
from surest.study.records import seal
from surest.study.study import open_study

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


def test_a_study_from_the_command_line(storage: str, tmp_path: Path) -> None:
    assert run("create", "s", *SETTINGS) == "study s: 2 arms\n"
    assert run("ask", "s", "-k", "2") == "0 fast\n1 fast\n"
    assert json.loads(run("ask", "s", "--json")) == [{"ticket": 2, "index": 0, "arm": "fast"}]
    assert run("tell", "s", "0", "0.75") == "ticket 0: 0.75\n"
    assert json.loads(run("tell", "s", "0", "0.75", "--json")) == {"ticket": 0, "reward": 0.75}
    assert run("fail", "s", "1", "no memory") == "health: fast: 1 failed\n"
    shown = run("status", "s")
    assert "Running. No arm leads yet" in shown
    assert "1 reward told, 1 ticket with workers, 1 to be handed out again." in shown
    assert "health: fast: 1 failed" in shown
    status = json.loads(run("status", "s", "--json"))
    assert (status["told"], status["out"], status["waiting"], status["finished"]) == (1, 1, 1, False)
    assert status["health"] == {"fast": {"failed": 1}}
    assert json.loads(run("result", "s", "--json"))["reason"] == "still running"
    assert "health:" in run("result", "s")
    assert [study["name"] for study in json.loads(run("list", "--json"))] == ["s"]
    assert run("list").startswith("s\trunning\t–\t2 arms")
    run("export", "s", "--output", str(tmp_path / "s.json"))
    assert run("import", str(tmp_path / "s.json"), "--name", "copy") == "study copy\n"
    assert json.loads(run("export", "copy"))["tickets"] == json.loads(run("export", "s"))["tickets"]
    assert json.loads(run("delete", "copy", "--json")) == {"deleted": "copy"}
    with pytest.raises(UsageError, match="no study 'copy'"):
        run("status", "copy")


def test_a_study_is_made_like_another(storage: str) -> None:
    """With all that its items hold, the arms that it began with, and other settings where they are given."""
    items = [("q1", {"text": "2 + 2?"}), ("q2", None)]
    first = open_study(storage, "s", ["a", "b"], 0.2, items=items, seed=7, lease_seconds=5, reserve=0.1)
    first.add_arms(["c"])
    assert run("create", "again", "--like", "s", "--delta", "0.1") == "study again: 2 arms\n"
    made = open_study(storage, "again")
    assert made.items == first.items
    assert made.settings.plain() == {**first.settings.plain(), "delta": 0.1}
    with pytest.raises(click.UsageError, match="--like STUDY"):
        run("create", "third", "--like", "s", "--arm", "d")


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
    run("create", "w", "--arm", "fast", "--arm", "safe", "--seed", "1")
    first = json.loads(run("ask", "w", "-k", "100", "--json"))
    for ticket in first:
        run("tell", "w", str(ticket["ticket"]), str(float(ticket["arm"] == "safe")))
    shown = " ".join(run("status", "w").split())
    assert f"Running. Arm safe leads so far. {len(first)} rewards told, 0 tickets with workers." in shown
    assert "nothing is certified yet; both arms may still be the best." in shown
    assert "a decision needs is not known yet." in shown or "more rewards are needed" in shown


def test_a_study_of_costs_shows_costs(storage: str, tmp_path: Path) -> None:
    run(
        "create",
        "times",
        *["--arm", "slow", "--arm", "quick", "--bounds", "0,60", "--minimise", "--delta", "0.2", "--seed", "1"],
    )
    while tickets := json.loads(run("ask", "times", "-k", "20", "--json")):
        for ticket in tickets:
            run("tell", "times", str(ticket["ticket"]), "55" if ticket["arm"] == "slow" else "5")
    found = json.loads(run("result", "times", "--json"))
    assert (found["arm"], found["certified"], found["minimise"]) == ("quick", True, True)
    assert found["means"] == pytest.approx([55, 5])
    shown = run("status", "times")
    assert "Arm quick is the best" in shown
    assert shown.index("quick  ") < shown.index("slow  ")
    page = tmp_path / "page.md"
    CliRunner().invoke(cli, ["report", "times", "--output", str(page)], catch_exceptions=False, standalone_mode=False)
    text = page.read_text(encoding="utf-8")
    assert "| costs | from 0 to 60 |" in text
    assert " --minimise " in text
    with pytest.raises(UsageError, match="minimise True, not False"):
        open_study(storage, "times", minimise=False)


def test_the_exit_status_of_ask_tells_a_worker_what_to_do(storage: str) -> None:
    def status(*arguments: str) -> int:
        return int(CliRunner().invoke(cli, ["study", *arguments], standalone_mode=False).return_value)

    run("create", "s", *SETTINGS)
    run("create", "spent", *SETTINGS, "--budget", "30")
    assert status("ask", "s", "-k", "100000") == 0
    assert status("ask", "s") == 4  # the rewards of others are awaited
    assert status("ask", "spent") == 3  # nothing is left
    assert status("result", "spent") == 3


def documented_loop() -> str:
    """The worker loop of docs/studies.md."""
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    (block,) = [part.partition("```")[0] for part in page.split("```sh\n") if "surest study ask" in part]
    return block[block.index("while true") : block.index("\ndone") + len("\ndone\n")]


def test_the_documented_loop_with_two_workers(storage: str, tmp_path: Path) -> None:
    run(
        "create", "solvers", "--arm", "fast one", "--arm", "safe", "--budget", "8", "--option", "batch=4", "--seed", "1"
    )
    (tmp_path / "surest").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m surest "$@"\n')
    (tmp_path / "evaluate").write_text(
        '#!/bin/sh\n[ $# -eq 1 ] || exit 9\n[ -n "$1" ] || { touch empty; exit 9; }\n'
        'if mkdir "failed once" 2>/dev/null; then exit 7; fi\n'
        'case "$1" in "fast one") echo 0.9;; safe) echo 0.1;; *) touch unknown;; esac\n'
    )
    for script in ("surest", "evaluate"):
        (tmp_path / script).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SUREST_STORAGE": storage}
    loop = documented_loop().replace("sleep 1", "sleep 0.2")
    workers = []
    for number in (1, 2):
        place = tmp_path / f"worker-{number}"
        place.mkdir()
        script = loop.replace("./evaluate", "../evaluate")
        workers.append(subprocess.Popen(["sh", "-c", script], cwd=place, env=environment, stdout=subprocess.DEVNULL))
    assert [worker.wait() for worker in workers] == [0, 0]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert not [name for name in ("empty", "unknown") if list(tmp_path.rglob(name))], left
    study = open_study(storage, "solvers")
    assert study.finished
    assert study.status().told > 3
    assert {t[1] for t in study.export()["tickets"]} == {0.1, 0.9}
    assert sum(of.get("failed", 0) for of in study.health().values()) == len(list(tmp_path.rglob("failed once")))


def test_a_worker_without_a_loop(storage: str, tmp_path: Path) -> None:
    run("create", "s", "--arm", "a b", "--arm", "c", "--delta", "0.2", "--budget", "30", "--seed", "1")
    command = ["sh", "-c", 'echo noise; case "$1" in "a b") echo 0.9;; c) echo 0.1;; *) exit 3;; esac', "x", "{arm}"]
    out = run("work", "s", "--workers", "2", "--", *command)
    assert "Arm a b" in out
    study = open_study(storage, "s")
    assert study.finished
    assert {ticket[1] for ticket in study.export()["tickets"]} <= {0.1, 0.9}
    for words, said in ((["true"], "must say {arm}"), (["x", "{arm}", "{item}"], "has no items")):
        with pytest.raises(UsageError, match=said):
            run("work", "s", "--", *words)


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
