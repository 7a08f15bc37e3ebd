"""Shell commands as arms, from `surest identify --command`."""

import json
import re
import shlex
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

import waiting
from calling import Run, ran
from surest.report.report import read_report
from surest.search.call import seed_of
from surest.search.tickets import SPARE, Ticket
from surest.study.study import open_study
from transcripts import in_shell
from waiting import PATIENCE, begun, line_with

pytestmark = pytest.mark.usefixtures("run")  # in a folder of its own: a search that is stopped leaves a file
DRAW = """
n=$(( ($2 * 7919 + 12345) % 1000 ))
echo "seed $2" >> "$3/$1.log"
echo noise
if [ $n -lt $4 ]; then echo 1; else echo 0; fi
"""
"""A shell script that pays 1 with a probability of so many in a thousand, decided by the seed alone."""


@pytest.fixture
def draw(tmp_path: Path) -> Path:
    path = tmp_path / "draw.sh"
    path.write_text(DRAW)
    return path


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "identify")


def arms(draw: Path, **chances: int) -> list[str]:
    return [f"--command={name}=sh {draw} {name} {{seed}} {draw.parent} {chance}" for name, chance in chances.items()]


def seeds_of(pulls_per_arm: list[int]) -> set[int]:
    """Of a search by several workers between two arms, whose seed is 4: the seeds of what counted."""
    draws = [2 * place + arm for arm, pulls in enumerate(pulls_per_arm) for place in range(pulls)]
    return {seed_of(4, Ticket(0, 0, "", draw=draw)) for draw in draws}


def test_each_run_has_a_seed_of_its_own_and_the_whole_is_repeatable(draw: Path, run: Run) -> None:
    given = [*arms(draw, good=950, bad=50), "--seed", "4", "--json"]
    said = run(*given, "--workers", "4")
    result = said.json
    assert (said.status, result["arm"], result["certified"]) == (0, "good", True)
    seeds = [
        int(line.split()[1])
        for name in ("good", "bad")
        for line in (draw.parent / f"{name}.log").read_text().splitlines()
    ]
    assert seeds_of(result["pulls_per_arm"]) <= set(seeds)
    assert len(set(seeds)) == len(seeds) <= result["pulls"] + SPARE * 4  # some run ahead of the algorithm
    again = json.loads(run(*given, "--workers", "4")[1])
    timing = {"seconds": 0, "evaluations": 0}  # how many ran ahead depends on it, and what counts does not
    assert again | timing == result | timing


def test_a_timeout_ends_the_command_and_what_it_started(tmp_path: Path, run: Run) -> None:
    script = f"sleep 3600 & echo $! > {tmp_path}/child; wait"
    given = ["--workers=4", "--retries=0", "--on-failure=60", "--bounds=0,60", "--minimise", "--budget=4", "--json"]
    timeout = "--timeout=4"  # within which any machine starts a shell
    said = run(f"--command=a=sh -c {shlex.quote(script)}", "--command=b=echo 1", timeout, *given)
    assert (said.status, said.json["means"]) == (3, [60.0, 1.0])
    assert "longer than 4 s" in said.json["last_failures"]["a"]
    assert not alive(int((tmp_path / "child").read_text()))


def alive(pid: int) -> bool:
    for _ in range(3000):  # a killed process stays as a zombie until its new parent has noticed
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return False
        except FileNotFoundError:
            return False
        time.sleep(0.02)
    return True


def started(*arguments: str, until: Path) -> subprocess.Popen[str]:
    """A search in a process of its own, once a file has something in it."""
    run = begun("identify", *arguments)
    waiting.until(lambda: until.exists() and until.read_text(), f"{until} is written")
    return run


def idle(pid: int) -> bool:
    """Whether all threads of a process wait for something, and go on doing so. One that waits for a processor does not."""
    for _ in range(20):
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "stat").read_text().rpartition(")")[2].split()[0] != "S":
                return False
        time.sleep(0.01)
    return True


def go_on(err: str) -> str:
    """Paste the command that was printed into a shell."""
    (line,) = [line for line in err.splitlines() if line.startswith("  surest ")]
    return in_shell(line, Path())


def kept_files() -> list[str]:
    return sorted(path.name for path in Path().glob("surest-identify-*"))


COMMAND = "if mkdir once 2>/dev/null; then echo $$ > pid; until [ -e go ]; do sleep 0.02; done; touch end; fi; echo 0"
FUNCTION = """
import os, pathlib, time
def a():
    pathlib.Path("pid").write_text(str(os.getpid()))
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    pathlib.Path("end").touch()
    return 0
arms = {"it's": a, "b": lambda: 1}
"""
WAITING = {
    "commands": ["--command=b=echo 1", f"--command=it's=sh -c {shlex.quote(COMMAND)}", "--workers=2"],
    "functions": ["slow_arms.py:arms", "--study=identify"],
}


@pytest.mark.parametrize(
    ("kind", "number", "status"),
    [("commands", signal.SIGINT, 130), ("commands", signal.SIGTERM, 143), ("functions", signal.SIGINT, 130)],
)
def test_a_stopped_search_lets_what_runs_finish(kind: str, number: int, status: int) -> None:
    """To end it and run it again would favour numbers that come quickly."""
    Path("slow_arms.py").write_text(FUNCTION)
    # what is evaluated until the stop is noticed does not decide it
    run = started(*WAITING[kind], "--delta=1e-60", until=Path("pid"))
    waiting.until(lambda: idle(run.pid), "nothing else is about to begin: it would be given back")
    run.send_signal(number)
    waits = line_with("waiting", run)
    Path("go").touch()
    out, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, Path("end").exists(), "Traceback" in err + out) == (status, True, False)
    assert "Not decided (interrupted)" in out
    again = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    assert re.match(rf"surest: waiting for [12] running evaluations? to finish; {again} again to end", waits)
    told = re.search(r"^surest: (\d+) rewards? (is|are) kept .*To go on:", err, re.MULTILINE)
    study = open_study(f"sqlite:///{(kept_files() or ['surest.db'])[0]}", "identify")
    assert (study.status().told, study.status().out, study.health()) == (int(told[1]), 0, {})


@pytest.mark.parametrize("kind", WAITING)
def test_a_second_signal_ends_what_runs_and_the_search_goes_on_when_the_printed_command_is_pasted(kind: str) -> None:
    Path("slow_arms.py").write_text(FUNCTION)
    run = started(*WAITING[kind], "--delta=0.2", until=Path("pid"))
    run.send_signal(signal.SIGTERM)
    line_with("waiting", run)
    run.send_signal(signal.SIGTERM)
    out, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, "Traceback" in err) == (143, False)
    assert kind == "commands" or "Not decided (interrupted)" in out
    assert not alive(int(Path("pid").read_text()))
    assert len(kept_files()) == (kind == "commands"), "no journal is left open"
    Path("go").touch()
    out = go_on(err)
    assert "Arm b is the best: wrong with probability at most 0.2" in out
    assert "it's: 1 interrupted, 1 retried" in out
    assert kept_files() == [], "the file goes when the search is over"


def test_ctrl_c_in_a_slow_arm_that_is_kept_nowhere_does_not_wait() -> None:
    Path("slow_arms.py").write_text(FUNCTION)
    run = started("slow_arms.py:arms", "--json", until=Path("pid"))
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=PATIENCE)
    assert (run.returncode, json.loads(out)["reason"]) == (130, "interrupted")


def test_no_command_outlives_a_search_that_is_killed_and_it_goes_on_at_once() -> None:
    """Nor does what it has started. Tickets were leased to a process that is no more: nobody waits for the lease to end."""
    script = "if mkdir once 2>/dev/null; then sleep 3600 & echo $$ $! > pids; wait; fi; echo 0"
    arms = ["--command=b=echo 1", f"--command=a=sh -c {shlex.quote(script)}", "--study=s", "--delta=0.2"]
    run = started(*arms, until=Path("pids"))
    waiting.until(lambda: idle(run.pid), "the search has noted which commands run, and waits for them")
    run.kill()
    run.communicate()
    assert not any(alive(int(pid)) for pid in Path("pids").read_text().split())
    again = ran("-m", "surest", "identify", *arms)
    assert again.status == 0, again.err
    assert "health: a: 1 expired, 1 retried" in again.out


def test_a_search_that_an_arm_ends_can_go_on_when_it_is_mended(tmp_path: Path, run: Run) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho no licence >&2; exit 1\n")
    tool.chmod(0o755)
    status, _, err = run("--command=a=echo 1", f"--command=b={tool}", "--retries=1", "--seed=3")
    assert status == 2
    assert "failed 2 times" in err
    assert "no licence" in err
    assert "exit status 1" in err
    assert "2 rewards are kept" in err
    tool.write_text("#!/bin/sh\necho 0\n")
    out = go_on(err)
    assert "health: b: 2 failed, 1 interrupted" not in out
    assert "health: b: 2 failed, 2 retried" in out


def test_failures_are_counted_by_arm_in_text_json_and_report(tmp_path: Path, run: Run) -> None:
    script = "if mkdir one 2>/dev/null; then exit 1; fi; if mkdir two 2>/dev/null; then sleep 3600; fi; echo 0"
    given = [f"--command=a=sh -c {shlex.quote(script)}", "--command=b=echo 1", "--timeout=5"]
    _, out, err = run(*given, "--workers=1", "--json")
    found = json.loads(out)
    assert found["health"] == {"a": {"failed": 1, "retried": 2, "timed out": 1}}
    assert "longer than 5 s" in found["last_failures"]["a"]
    assert "a run of arm 'a' failed" in err
    assert "a: 1 failed, 2 retried, 1 timed out" in str(read_report(out).result)
    _, out, _ = run(*given)
    assert "health: no evaluation failed or expired" in out
    given = ["--command=a=false", "--command=b=echo 1", "--on-failure=0.25", "--json", "--budget=8"]
    found = json.loads(run(*given)[1])
    runs = found["pulls_per_arm"][0]
    assert found["health"] == {"a": {"failed": 4 * runs, "imputed": runs, "retried": 3 * runs}}
    assert found["means"][0] == 0.25


def test_two_processes_share_a_named_study(draw: Path) -> None:
    # No command ends before both processes have started one.
    both = 'mkdir -p p$PPID; for i in $(seq 4000); do [ $(ls -d p* | wc -l) = 2 ] && break; sleep 0.05; done; exec "$@"'
    of_both = [arm.replace("=sh ", f"=sh -c {shlex.quote(both)} sh sh ") for arm in arms(draw, good=900, bad=300)]
    given = [*of_both, "--seed=4", "--study=s", "--workers=2", "--json"]
    runs = [begun("identify", *given) for _ in range(2)]
    found = [json.loads(run.communicate(timeout=PATIENCE)[0]) for run in runs]
    assert ([run.returncode for run in runs], found[0]["pulls_per_arm"]) == ([0, 0], found[1]["pulls_per_arm"])
    study = open_study("sqlite:///surest.db", "s")
    seeds = [int(line.split()[1]) for name in ("good", "bad") for line in Path(f"{name}.log").read_text().splitlines()]
    assert seeds_of(study.result().pulls_per_arm.tolist()) <= set(seeds)
    assert (len(set(seeds)), len({ticket[3] for ticket in study.export()["tickets"]})) == (len(seeds), 2)
