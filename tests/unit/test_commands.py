"""Shell commands as arms, from `surest identify --command`."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surest.bandits.commands import Command, CommandFailed, Runner, Scale, last_number, parse_command
from surest.bandits.seeds import ticket_seed
from surest.cli import main
from surest.errors import RewardError, SourceError, UsageError

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


def surest(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["identify", *arguments])
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def arms(draw: Path, **chances: int) -> list[str]:
    return [f"--command={name}=sh {draw} {name} {{seed}} {draw.parent} {chance}" for name, chance in chances.items()]


def test_each_run_has_a_seed_of_its_own_and_the_whole_is_repeatable(
    draw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*arms(draw, good=950, bad=50), "--seed", "4", "--json"]
    status, out, _ = surest(*given, "--workers", "4", capsys=capsys)
    result = json.loads(out)
    assert status == 0
    assert (result["arm"], result["certified"]) == ("good", True)
    seeds = [
        int(line.split()[1])
        for name in ("good", "bad")
        for line in (draw.parent / f"{name}.log").read_text().splitlines()
    ]
    assert sorted(seeds) == sorted(ticket_seed(4, ticket) for ticket in range(result["pulls"]))
    again = json.loads(surest(*given, "--workers", "4", capsys=capsys)[1])
    assert {**again, "seconds": 0} == {**result, "seconds": 0}


def test_costs_are_minimised_and_shown_in_their_own_units(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--command=slow=echo 55", "--command=quick=echo 5", "--bounds=0,60", "--minimise"]
    status, out, _ = surest(*given, capsys=capsys)
    assert status == 0
    assert "Arm quick is the best" in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(("quick", "slow"))] == [
        ["quick", "5"],
        ["slow", "55"],
    ]


def test_a_number_beyond_the_bounds_is_refused_or_clipped(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--command=a=echo 70", "--command=b=echo 5", "--bounds=0,60", "--minimise"]
    status, _, err = surest(*given, capsys=capsys)
    assert status == 2
    assert "arm 'a' gave 70.0, which is not in [0, 60]" in err
    assert "--clip" in err
    status, out, _ = surest(*given, "--clip", "--json", capsys=capsys)
    assert (status, json.loads(out)["means"]) == (0, [60.0, pytest.approx(5.0)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "write NAME=COMMAND"),
        ("./solve --x=1", "write NAME=COMMAND"),
        ("=echo 1", "write NAME=COMMAND"),
        ("a=", "no command"),
        ("a='", "No closing quotation"),
        ("a=echo 1 | cat", r"\| needs a shell"),
        ("a=./no-such-program {seed}", "command 'a' cannot be started: ./no-such-program"),
        ("a=/etc/passwd", "cannot be started"),
    ],
)
def test_a_command_that_makes_no_sense_exits_2(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match=message):
        parse_command(text)
    status, out, err = surest(f"--command={text}", "--command=b=echo 1", capsys=capsys)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


def test_a_program_that_the_system_refuses_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program"
    program.write_text("")
    program.chmod(0o755)
    program.write_bytes(b"\x7fELF nonsense")
    status, _, err = surest(f"--command=a={program}", "--command=b=echo 1", capsys=capsys)
    assert status == 2
    assert "command 'a' cannot be started" in err


def test_the_error_output_of_a_failing_command_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = f"echo x >> {tmp_path}/runs; echo no licence found >&2; exit 7"
    status, out, err = surest(
        f"--command=a=sh -c {shlex.quote(script)}", "--command=b=echo 1", "--retries=2", capsys=capsys
    )
    assert (status, out) == (2, "")
    assert "arm 'a'" in err
    assert "failed 3 times" in err
    assert "exit status 7" in err
    assert "no licence found" in err
    assert "Traceback" not in err


def test_a_failure_that_was_retried_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = f"if mkdir {tmp_path}/once 2>/dev/null; then echo starting up >&2; exit 1; fi; echo 0"
    status, out, err = surest(f"--command=a=sh -c {shlex.quote(script)}", "--command=b=echo 1", "--json", capsys=capsys)
    assert status == 0
    assert json.loads(out)["arm"] == "b"
    assert "starting up" in json.loads(out)["last_failures"]["a"]
    assert "a run of arm 'a' failed" in err


def test_a_timeout_ends_the_command_and_what_it_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    began = time.monotonic()
    status, out, _ = surest(
        f"--command=a=sh -c {shlex.quote(script)}",
        "--command=b=echo 1",
        "--timeout=0.3",
        "--on-failure=60",
        "--bounds=0,60",
        "--minimise",
        "--budget=4",
        "--json",
        capsys=capsys,
    )
    assert status == 3
    assert time.monotonic() - began < 20
    assert json.loads(out)["means"] == [60.0, 1.0]
    assert "longer than 0.3 s" in json.loads(out)["last_failures"]["a"]
    assert not alive(int((tmp_path / "child").read_text()))


def alive(pid: int) -> bool:
    for _ in range(100):  # a killed process stays as a zombie until its new parent has noticed
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return False
        except FileNotFoundError:
            return False
        time.sleep(0.02)
    return True


def test_an_interrupt_ends_the_commands(tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; exec sleep 60"
    run = subprocess.Popen(
        [sys.executable, "-m", "surest", "identify", f"--command=a=sh -c {shlex.quote(script)}", "--command=b=echo 1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(1500):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Not decided (interrupted)" in out
    assert "Traceback" not in err
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("output", ["", "\n\n", "0.5 seconds", "nan", "0,5"])
def test_output_without_a_number_is_a_failure(output: str) -> None:
    with pytest.raises(CommandFailed):
        last_number(output)


def test_bytes_that_are_no_text_do_no_harm() -> None:
    command = Command("a", ("sh", "-c", r"printf '\377\376\n0.25\n'; printf '\377' >&2"))
    assert Runner().run(command, 1) == 0.25
    failing = Command("a", ("sh", "-c", r"printf '\377' >&2; exit 1"))
    with pytest.raises(CommandFailed, match="�"):
        Runner().run(failing, 1)


def test_a_stopped_runner_starts_nothing() -> None:
    runner = Runner()
    runner.stop()
    with pytest.raises(CommandFailed, match="stopped"):
        runner.run(Command("a", ("echo", "1")), 1)


def test_a_command_does_not_read_our_input() -> None:
    assert Runner().run(Command("a", ("sh", "-c", "wc -c")), 1) == 0


def test_a_reward_beyond_the_bounds_is_no_failure_to_be_retried() -> None:
    with pytest.raises(RewardError):
        Runner(Scale(0, 1)).run(Command("a", ("echo", "1.5")), 1)
    with pytest.raises(UsageError):
        Runner(timeout=0)


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--workers=2", "bernoulli:0.5,0.4"],
        ["--minimise", "bernoulli:0.5,0.4"],
        ["--arm=a", "bernoulli:0.5,0.4"],
        ["--command=a=echo 1", "bernoulli:0.5,0.4"],
        ["--command=a=echo 1", "--command=a=echo 2"],
        ["--command=a=echo 1", "--command=b=echo 0", "--bounds=1,0"],
        ["--command=a=echo 1", "--command=b=echo 0", "--bounds=1"],
        ["--command=a=echo 1", "--command=b=echo 0", "--bounds=0,x"],
        ["--command=a=echo 1", "--command=b=echo 0", "--on-failure=2"],
        ["--command=a=echo 1", "--command=b=echo 0", "--timeout=-1"],
        ["--command=a=echo 1", "--command=b=echo 0", "--workers=0"],
    ],
)
def test_options_that_do_not_go_together_exit_2(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = surest(*given, capsys=capsys)
    assert (status, out) == (2, "")
    assert err
    assert "Traceback" not in err
