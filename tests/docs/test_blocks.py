"""Every block of code on every page runs, in the order of the page; what cannot run says why, and its options exist.

A block that cannot run stands below ``<!-- not run: the reason -->``. Tutorials are run by test_tutorials.py, which compares what
they print, too.
"""

import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import matplotlib as mpl
import pytest
import yaml

mpl.use("agg")
import matplotlib.pyplot as plt

from surest.cli import cli
from transcripts import ROOT, TUTORIALS, environment, in_python

BLOCK = re.compile(
    r"^(<!-- not run: (.+?) -->\n)?```(python|sh|console)\n(.*?)^```(?:\n\n(?:[^\n]+:\n\n)?```text\n(.*?)^```)?",
    re.DOTALL | re.MULTILINE,
)
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOUND = [(page, BLOCK.findall(page.read_text(encoding="utf-8"))) for page in TEXTS if page not in TUTORIALS]
PAGES = [(page, blocks) for page, blocks in FOUND if blocks]
PROGRAMS = {
    "ask": 'case "$1" in --terse) echo 0.1 ;; *) echo 0.9 ;; esac',
    "solve": 'case "$1" in --fast) echo 1 ;; *) echo 0 ;; esac',
    "time-a": "echo 59",
    "time-b": "echo 1",
    "evaluate": 'if [ -n "$1" ]; then [ "$1" = fast ]; echo $((1 - $?)); else sed "s/$/,1/"; fi',
}


def samples(folder: Path) -> None:
    """The files and programs that pages speak of."""
    for name, script in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    rng = random.Random(1)
    rows = [f"{arm},q{i},{value}\n" for i in range(60) for arm, value in (("v1", 0.1), ("v2", 0.9))]
    drawn = [f"{arm},{int(rng.random() < p)}\n" for _ in range(200) for arm, p in (("a", 0.9), ("b", 0.2))]
    files = {
        "scores.csv": "arm,item,value\n" + "".join(rows),
        "rewards.csv": "arm,value\n" + "".join(drawn),
        "results.csv": "arm,value\n" + "".join(drawn),
        "results/first.csv": "arm,value\nfast,1\nsafe,0\n",
        "totals.csv": "arm,successes,trials\na,90,100\nb,20,100\n",
        "daily.csv": "variant,successes,trials\na,45,50\nb,10,50\na,45,50\nb,10,50\n",
        "questions.txt": "".join(f"question {i}\n" for i in range(30)),
        "older.csv": "item,value\n" + "".join(f"q{i},{i % 2}\n" for i in range(200)),
        "baseline.csv": "item,value\n" + "".join(f"q{i},1\n" for i in range(200)),
        "candidate.csv": "item,value\n" + "".join(f"q{i},1\n" for i in range(200)),
        "FILE": "".join(f"{rng.random()}\n" for _ in range(20_000)),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def in_bash(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands."""
    variables = {"HOME": str(folder), "COMMIT": "4f2a9c", "GITHUB_SHA": "4f2a9c", "GITHUB_STEP_SUMMARY": "step.md"}
    how = {"env": environment(folder) | variables, "capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(["bash", "-c", code], cwd=folder, **how)


def printed_by(code: str, folder: Path) -> str:
    """What commands print; each must end with a status that means something: 0, 3 (not decided), 4 (worse, or nothing to do)."""
    trap = "trap 'status=$?; case $status in 0|3|4) ;; *) echo \"status $status: $BASH_COMMAND\" >&2; exit 99 ;; esac' ERR\n"
    done = in_bash(trap + code, folder)
    assert done.returncode in (0, 3, 4), done.stderr
    return done.stdout


@pytest.mark.parametrize(("page", "blocks"), PAGES, ids=[page.name for page, _ in PAGES])
def test_every_block_runs(
    page: Path, blocks: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    samples(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for _, reason, language, code, promised in blocks:
        if language != "python":
            check_options(code)
        if reason:
            continue
        first = re.match(r"# (\w+\.py)\n", code)
        if first:
            (tmp_path / first[1]).write_text(code)
        printed = in_python(code, names) if language == "python" else printed_by(code, tmp_path)
        if promised and language == "python":
            for line, said in zip(promised.splitlines(), printed.splitlines(), strict=True):
                words = line.split("…")[0].split()
                assert said.split()[: len(words)] == words
    plt.close("all")


def check_options(code: str) -> None:
    """Every command of surest that a block names exists, with its options."""
    for line in re.sub(r"\\\n", " ", code).splitlines():
        words = shlex.split(line.removeprefix("while "), comments=True)
        if words[:1] != ["surest"]:
            continue
        end = next((k for k, word in enumerate(words) if word in ("|", ">", "--") or word.endswith(";")), len(words))
        words = words[1:end]
        command: click.Command | None = cli
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            command = command.get_command(click.Context(command), words[0])
            assert command is not None, line
            del words[0]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert used <= known | {"--version", "--help"}, line


def test_what_is_not_run_is_rare_and_says_why() -> None:
    reasons = [reason for _, blocks in PAGES for _, reason, *_ in blocks if reason]
    assert len(reasons) <= 22
    assert all(len(reason.split()) >= 3 for reason in reasons)


# --- what the page on gates says of builds and of pytest ------------------------------------------------------------------


def test_the_steps_of_a_build(tmp_path: Path) -> None:
    samples(tmp_path)
    (tmp_path / "evaluate").write_text("#!/bin/sh\nsed 's/$/,1/; s/7,1$/7,0/'\n")
    steps = yaml.safe_load((ROOT / "examples" / "gate_workflow.yml").read_text())["jobs"]["gate"]["steps"]
    evaluate, judge = (step["run"] for step in steps if "name" in step)
    assert in_bash(evaluate, tmp_path).returncode == 0
    (tmp_path / "silent").mkdir()
    samples(tmp_path / "silent")
    (tmp_path / "silent" / "evaluate").write_text("#!/bin/sh\ncat > seen.txt\n")
    silent = in_bash(evaluate, tmp_path / "silent")
    assert (silent.returncode, "wrote nothing" in silent.stdout) == (1, True)
    done = in_bash(judge, tmp_path)
    assert done.returncode == 4, done.stderr
    assert (tmp_path / "step.md").read_text().startswith("**FAIL**")
    assert (tmp_path / "flips.csv").read_text().startswith("item,baseline,candidate\n")
    (tmp_path / "candidate.csv").write_text("item,value\n")
    (tmp_path / "flips.csv").unlink()
    done = in_bash(judge, tmp_path)
    assert (done.returncode, "::warning::" in done.stdout) == (0, True)


def test_the_fixture_for_pytest(tmp_path: Path) -> None:
    samples(tmp_path)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["surest.integrations.pytest"]\n')
    (tmp_path / "test_it.py").write_text(
        "def test_worse(surest_gate):\n    surest_gate('baseline.csv', 'older.csv', margin=0.03)\n"
        "def test_same(surest_gate):\n    assert surest_gate('baseline.csv', lambda item: 1.0, margin=0.03).passed\n"
        "def test_open(surest_gate):\n    surest_gate('baseline.csv', {}, margin=0.03)\n"
        "def test_study(surest_gate):\n    import surest\n    kept = {'storage': 'sqlite:///s.db', 'name': 's'}\n"
        "    surest.evaluate(['old', 'new'], range(60), 1e-9, score=lambda arm, item: float(arm == 'new'), **kept)\n"
        "    surest_gate('old', 'new', table=surest.open_study(*kept.values()))\n"
    )
    printed = []
    for workers, gates in (("0", "4 gates, 2 passed."), ("2", "5 gates, 3 passed.")):  # the build is repeated
        options = f"-q -p no:cacheprovider -n {workers} --surest-ledger team.db"
        done = in_bash(f"python -m pytest {options} test_it.py", tmp_path)
        assert "1 failed, 2 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
        printed.append(sorted(re.findall(r"^test_it\.py::\w+: [A-Z]+", done.stdout, re.M)))
        assert gates in in_bash("surest gate --ledger team.db --show", tmp_path).stdout
    said = "open: UNDECIDED", "same: PASS", "study: PASS", "worse: FAIL"
    assert printed[0] == printed[1]
    assert printed[0] == [f"test_it.py::test_{one}" for one in said]
    shown = in_bash("surest gate --ledger team.db --show", tmp_path).stdout
    name = "seed 4f2a9c test_it.py::test_same"
    assert re.findall(r"PASS .*(seed .*)", shown) == [name, f"{name}, run 2"], "the files are the same gates as before"
