"""The command line's contract: what is printed where, and with which exit status."""

import json
import math
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import surest
from calling import in_process
from surest.algorithms import REGISTRY
from surest.cli import COMMANDS

NAIVE = ["--algorithm", "naive-best-arm", "--seed", "1", "--quiet"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Run a command: its exit status, standard output and standard error."""
    return in_process(capsys)


def refused(outcome: tuple[int, str, str], *words: str) -> None:
    """A user's mistake: status 2, nothing on standard output, a message, no traceback."""
    status, out, err = outcome
    assert status == 2
    assert out == ""
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_identify_prints_one_object(run) -> None:
    status, out, _ = run("identify", "example1:5", *NAIVE, "--delta", "0.1", "--json")
    found = json.loads(out)
    assert status == 0
    assert set(found) >= {
        *("index", "arm", "certified", "delta", "epsilon", "algorithm", "standing"),
        *("pulls", "pulls_per_arm", "rounds", "seconds", "seed"),
    }
    assert (found["index"], found["arm"], found["certified"]) == (0, "1", True)
    assert (found["delta"], found["epsilon"], found["algorithm"]) == (0.1, 0, "naive-best-arm")
    assert (found["standing"], found["seed"]) == ("proven", 1)
    assert found["pulls"] == sum(found["pulls_per_arm"]) > 0
    assert len(found["pulls_per_arm"]) == 5
    assert found["rounds"] > 0
    assert found["seconds"] > 0


def test_a_seed_repeats_and_is_reported(run) -> None:
    _, out, _ = run("identify", "bernoulli:0.5,0.4", "--json", "--quiet", "--algorithm", "naive-best-arm")
    seed = json.loads(out)["seed"]
    outcomes = [
        json.loads(run("identify", "bernoulli:0.5,0.4", "--json", "--algorithm", "naive-best-arm", "--seed", str(s))[1])
        for s in (seed, seed, seed + 1)
    ]
    for outcome in outcomes:
        outcome.pop("seconds")
    assert outcomes[0] == outcomes[1] != outcomes[2]
    assert outcomes[0]["pulls_per_arm"] == json.loads(out)["pulls_per_arm"]


def test_identify_tells_a_person(run) -> None:
    status, out, _ = run("identify", "example1:10", *NAIVE)
    assert status == 0
    assert "Arm 1 is the best: wrong with probability at most 0.05." in out
    assert re.search(r"It took [\d,]+ pulls", out)
    assert "must expect to make at least 312 pulls here; this run made" in " ".join(out.split())
    assert "… 4 more" in out


def test_a_spent_budget_is_status_3_with_the_answer_so_far(run) -> None:
    status, out, _ = run("identify", "bernoulli:0.5,0.1,0.1", *NAIVE, "--budget", "3e4", "--json")
    found = json.loads(out)
    assert status == 3
    assert not found["certified"]
    assert found["index"] == 0
    assert 0 < found["pulls"] <= 30_000
    status, out, _ = run("identify", "bernoulli:0.5,0.1,0.1", *NAIVE, "--budget", "3e4")
    assert status == 3
    assert "Not decided (budget spent)" in out


@pytest.mark.parametrize("source", ["bernoulli:0.5,0.5,0.1", "bernoulli:0,0", "bernoulli:1,1"])
def test_equal_best_arms_end_at_the_budget(run, source: str) -> None:
    status, out, _ = run("identify", source, *NAIVE, "--budget", "1e7")
    assert status == 3
    assert "Not decided" in out
    assert "equally good" in out


def test_constant_arms_are_decided(run, tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    path.write_text("arm,value\nlow,0.25\nhigh,0.75\nmiddle,0.5\n")
    status, out, _ = run("identify", str(path), *NAIVE, "--json", "--resample")
    assert status == 0
    assert (json.loads(out)["arm"], json.loads(out)["index"], json.loads(out)["resampled"]) == ("high", 1, True)


@pytest.mark.parametrize(
    "algorithm",
    [
        name
        for name, e in REGISTRY.items()
        if e.goal in ("best arm", "either") and e.works_on != "items" and "best" in e.answers
    ],
)
def test_one_arm_answers_at_once(run, algorithm: str) -> None:
    status, out, _ = run("identify", "bernoulli:0.3", "--algorithm", algorithm, "--json")
    assert status == 0
    assert (json.loads(out)["pulls"], json.loads(out)["certified"]) == (0, True)
    assert "only arm" in run("identify", "bernoulli:0.3", "--algorithm", algorithm)[1]


@pytest.mark.parametrize("command", ["identify", "bounds"])
@pytest.mark.parametrize("delta", ["0", "1", "-0.1", "1.5", "nan", "inf"])
def test_delta_must_be_a_probability(run, command: str, delta: str) -> None:
    refused(run(command, "bernoulli:0.5,0.4", "--delta", delta), "strictly between 0 and 1", str(float(delta)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "-0.1"], ["epsilon is -0.1", "≥ 0"]),
        (["--epsilon", "nan"], ["epsilon is nan"]),
        (["--epsilon", "0.1", "--algorithm", "naive-best-arm"], ["0.1 given", "naive-best-arm-est"]),
        (["--algorithm", "best-arm-est"], ["give epsilon > 0"]),
        (["--algorithm", "nave-best-arm"], ["'nave-best-arm'", "did you mean", "naive-best-arm"]),
        (["--algorithm", "zzz"], ["'zzz'", "surest algorithms"]),
        (["--budget", "-1"], ["-1", "--budget"]),
        (["--budget", "nan"], ["nan"]),
        (["--budget", "inf"], ["inf"]),
        (["--budget", "many"], ["many"]),
        (["--seed", "x"], ["'x'", "integer"]),
        (["--instance", "x"], ["goes with a CSV file"]),
        (["--colour"], ["--colour"]),
    ],
)
def test_mistakes_in_options(run, arguments: list[str], words: list[str]) -> None:
    refused(run("identify", "bernoulli:0.5,0.4", *arguments), *words)


@pytest.mark.parametrize("command", ["identify", "bounds"])
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("bernouli:0.5", ["did you mean bernoulli"]),
        ("missing.csv", ["missing.csv", "allowed"]),
        ("example1:0", ["whole number"]),
        ("bernoulli:0.5,2", ["[0, 1]"]),
    ],
)
def test_mistakes_in_sources(run, command: str, source: str, words: list[str]) -> None:
    refused(run(command, source), *words)


def test_a_bad_reward_in_a_file_is_found_by_its_line(run, tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text("arm,value\na,0.5\nb,1.5\n")
    refused(run("identify", str(path)), str(path), "line 3", "1.5", "[0, 1]")
    path.write_text("")
    refused(run("bounds", str(path)), "is empty")


def test_no_such_command(run) -> None:
    refused(run("identity", "example1:3"), "identity")
    refused(run("identify"), "SOURCE")


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


def test_algorithms_are_listed(run) -> None:
    status, out, _ = run("algorithms", "--json")
    listed = {row["name"]: row for row in json.loads(out)}
    assert status == 0
    assert listed.keys() == {*REGISTRY, "tally"}
    assert all(row[key] for row in listed.values() for key in ("name", "reference", "goal", "standing", "summary"))
    assert {name for name, row in listed.items() if "h1" in row["options"]} == {"ucb-e", "ugape-b"}
    for name in ("vd-best-arm-id", "vd-best-arm-id-star", "naive-best-arm", "best-arm-est", "naive-best-arm-est"):
        assert name in listed
    status, out, _ = run("algorithms")
    assert status == 0
    assert all(name in out for name in REGISTRY)


def test_bounds_as_data(run) -> None:
    status, out, _ = run("bounds", "bernoulli:0.45,0.5,0.43,0.4", "--delta", "0.1", "--json")
    found = json.loads(out)
    assert status == 0
    assert (found["n"], found["index"], found["arm"], found["delta"]) == (4, 1, "2", 0.1)
    assert found["gaps"] == pytest.approx([0.05, 0.05, 0.07, 0.1])
    assert found["variances"] == pytest.approx([0.2475, 0.25, 0.2451, 0.24])
    assert found["H"] == pytest.approx(2 / 0.0025 + 1 / 0.0049 + 100)
    assert found["H_var"] == pytest.approx(0.4975 / 0.0025 + 40 + 0.2451 / 0.0049 + 1 / 0.07 + 34)
    share = 400 / (400 + 1 / 0.0049 + 100)  # the gap of 0.05 is a class of its own, those of 0.07 and 0.1 are another
    assert found["gap_entropy"] == pytest.approx(-share * math.log(share) - (1 - share) * math.log(1 - share))
    assert found["t_star"] == pytest.approx(989.8, abs=0.05)
    assert found["lower_bound"] == pytest.approx(989.79 * 1.75778, rel=1e-4)
    assert found["weights"] == pytest.approx([0.390, 0.417, 0.136, 0.057], abs=5e-4)
    assert found["paper_lower_bound"] == pytest.approx(found["H_var"] * 2.302585 / 80)
    assert all(value > 0 for value in found["upper_bounds"].values())


def test_bounds_for_a_person(run) -> None:
    status, out, _ = run("bounds", "example1:100", "--delta", "0.1")
    words = " ".join(out.split())
    assert status == 0
    assert "Arm 1 is the best of 100, with mean 0.99. The closest other arm, 2, is 0.01 below it." in words
    assert "must expect to make at least T*·kl(δ, 1−δ) = 2,580 pulls here" in words
    assert "The gap entropy Ent(I) = 1.15 nats" in words
    assert "VD-BestArmId" in words
    assert "only arm" in run("bounds", "bernoulli:0.5")[1]


def test_bounds_of_equal_arms_are_null(run) -> None:
    status, out, _ = run("bounds", "bernoulli:0.5,0.5", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["t_star"] is found["lower_bound"] is found["H"] is found["H_var"] is None
    assert found["weights"] == [None, None]
    assert "equally good" in run("bounds", "bernoulli:0.5,0.5")[1]


def test_bounds_of_one_instance_of_a_file(run, tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text("instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0.5,7\ny,c,0.5,1\n")
    found = json.loads(run("bounds", str(path), "--instance", "x", "--json")[1])
    assert (found["arm"], found["means"]) == ("a", [0.75, 0.5])
    refused(run("bounds", str(path)), "--instance", "x, y")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "Usage" in out


def test_version_and_help(run) -> None:
    assert run("--version")[:2] == (0, f"surest, version {surest.__version__}\n")
    status, out, _ = run("--help")
    assert status == 0
    assert all(name in out for name in COMMANDS)


def test_help_waits_for_nothing_heavy() -> None:
    heavy = "import sys; from surest.cli import cli; cli.main(['--help'], standalone_mode=False)"
    check = "; sys.exit(bool({'numpy', 'scipy', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", heavy + check], capture_output=True, check=False).returncode == 0


def test_a_search_of_simulated_arms_waits_for_nothing_that_it_does_not_need() -> None:
    search = (
        "import sys; from surest.cli import cli; cli.main(['identify', 'bernoulli:0.9,0.1'], standalone_mode=False)"
    )
    look = "; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", search + look], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    elsewhere = {
        "asyncio",
        "scipy",
        "matplotlib",
        "sqlite3",
        "surest.study",
        "surest.cli.searches",
    }
    assert "surest.algorithms.wager.wager" in loaded
    assert not loaded & elsewhere


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


def test_the_installed_command_exits_with_the_status() -> None:
    command = [sys.executable, "-m", "surest", "identify", "bernoulli:0.5,0.5", "--budget", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "Not decided" in done.stdout


def test_public_names_are_there_and_no_others() -> None:
    assert surest.__all__ == sorted(surest.__all__)
    for name in surest.__all__:
        assert getattr(surest, name) is not None
    public = {name for name in vars(surest) if not name.startswith("_") and not hasattr(vars(surest)[name], "__path__")}
    modules = {name for name in public if type(vars(surest)[name]).__name__ == "module"}
    assert public - modules - {"TYPE_CHECKING"} <= set(surest.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = surest.nothing
