"""The command line's contract: what is printed where, and with which exit status."""

import resource
import subprocess
import sys

import pytest

import surest
from calling import Run
from surest.algorithms import REGISTRY
from surest.cli import COMMANDS, doctor

NAIVE = "--algorithm naive-best-arm --quiet"


def test_a_seed_repeats_and_is_reported(run) -> None:
    line = f"identify bernoulli:0.5,0.4 --json {NAIVE}"
    first = run(line).json
    seeds = (first["seed"], first["seed"], first["seed"] + 1)
    one, again, other = ({**run(f"{line} --seed {seed}").json, "seconds": 0} for seed in seeds)
    assert one == again != other
    assert one["pulls_per_arm"] == first["pulls_per_arm"]


@pytest.mark.parametrize(
    "algorithm",
    [
        name
        for name, e in REGISTRY.items()
        if e.goal in ("best arm", "either") and e.works_on != "items" and "best" in e.answers
    ],
)
def test_one_arm_answers_at_once(run, algorithm: str) -> None:
    said = run(f"identify bernoulli:0.3 --algorithm {algorithm} --json")
    assert (said.status, said.json["pulls"], said.json["certified"]) == (0, 0, True)
    assert "only arm" in run("identify", "bernoulli:0.3", "--algorithm", algorithm)[1]


def test_debug_adds_a_traceback_and_nothing_else(run) -> None:
    status, out, err = run("identify", "bernoulli:2", "--debug")
    assert (status, out) == (2, "")
    assert "Traceback" in err
    assert err.splitlines()[-1] == run("identify", "bernoulli:2")[2].strip()


def test_our_own_fault_is_status_1(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("surest.lab.cli.bounds.hardness", broken)
    status, out, err = run("bounds", "example1:3")
    assert (status, out) == (1, "")
    assert "a fault of surest" in err
    assert "out of order" in err
    assert "Traceback" not in err
    assert "Traceback" in run("--debug", "bounds", "example1:3")[2]


def test_every_command_explains_itself(run: Run) -> None:
    assert run("--version")[:2] == (0, f"surest, version {surest.__version__}\n")
    status, out, _ = run("--help")
    assert (status, [name for name in COMMANDS if name not in out]) == (0, [])
    for command in COMMANDS:
        status, out, _ = run(command, "--help")
        assert (status, "Usage" in out) == (0, True)


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        (["--help"], {"numpy", "scipy", "rich"}),
        (
            ["identify", "bernoulli:0.9,0.1"],
            {"asyncio", "scipy", "sqlalchemy", "alembic", "matplotlib", "sqlite3", "surest.study"},
        ),
    ],
)
def test_a_command_waits_for_nothing_that_it_does_not_need(command: list[str], needless: set[str]) -> None:
    look = f"import sys; from surest.cli import cli; cli.main({command}, standalone_mode=False)"
    done = subprocess.run([sys.executable, "-c", f"{look}; print(*sys.modules)"], capture_output=True, check=True)
    assert not set(done.stdout.decode().split()) & needless


def test_algorithms_are_listed(run: Run) -> None:
    listed = {row["name"]: row for row in run("algorithms --json").json}
    assert listed.keys() == {*REGISTRY, "tally"}
    assert all(row[key] for row in listed.values() for key in ("name", "reference", "goal", "standing", "summary"))
    assert {name for name, row in listed.items() if "h1" in row["options"]} == {"ucb-e", "ugape-b"}


def test_help_is_quick_beside_python_itself() -> None:
    """Python starts in some 20 ms of CPU; help may take 25 times that, half a second. A loaded machine changes neither much."""

    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def least(*arguments: str) -> float:
        taken = []
        for _ in range(5):
            began = spent()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
            taken.append(spent() - began)
        return min(taken)

    assert least("-m", "surest", "--help") < 25 * least("-c", "pass")


def test_doctor_tells_what_is_there_and_not_and_shows_no_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"surest {surest.__version__}" in run("doctor").out
    found = run("doctor --json").json
    assert (bool(found["needed"]["numpy"]), found["writable"]["temporary files"]) == (True, True)
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no-such-package"))
    monkeypatch.setenv("SUREST_STORAGE", "postgresql://bob:s3cret@db/x")
    said = run("doctor")
    assert (said.status, "s3cret" in said.out + said.err) == (1, False)
    assert "MISSING: pip install no-such-package" in said.out
