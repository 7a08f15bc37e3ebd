"""What is handed out: the wheel, the archive of sources, the container, the completion of the shell."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import partial
from importlib.metadata import files, requires
from pathlib import Path
from typing import Any

import numpy
import pytest
from packaging.requirements import Requirement

import surest
from transcripts import ROOT, environment

PACKAGE = ROOT / "src" / "surest"


def build(folder: Path, compiler: str) -> None:
    without = shutil.ignore_patterns(
        ".git", ".venv", ".*_cache", "__pycache__", "*.so", "*.egg-info", "lib.*", "temp.*", "site"
    )
    shutil.copytree(ROOT, folder / "copy", ignore=without)
    # Neither --sdist nor --wheel: so the wheel is built from what is in the archive.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    variables = {**os.environ, "CC": compiler}
    done = subprocess.run(command, cwd=folder / "copy", env=variables, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=["a compiler", "no compiler"])
def built(request: pytest.FixtureRequest, made_once: Any, tmp_path: Path) -> Path:
    """A folder with the archive of a copy and the wheel made from it by the build's backend itself: nothing is fetched.

    What the compiler makes is not optimised: so it takes half the time.
    """
    compiler = tmp_path / "cc"
    if request.param == "a compiler":
        compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
        compiler.chmod(0o755)
    return made_once(f"dist, {request.param}", partial(build, compiler=str(compiler)))


def needed(name: str) -> set[str]:
    """The packages that one declares, and those that these declare, without extras."""
    declared = map(Requirement, requires(name) or ())
    own = {one.name for one in declared if one.marker is None or one.marker.evaluate({"extra": ""})}
    return own.union(*map(needed, own))


def test_the_wheel_is_used_in_an_empty_environment(built: Path) -> None:
    """What it declares that it needs is lent to it, and nothing else. Without machine code it says so, once."""
    (wheel,) = built.glob("*.whl")
    compiled = any(name.endswith((".so", ".pyd")) for name in zipfile.ZipFile(wheel).namelist())
    venv, lent = built / "venv", built / "lent"
    python, surest_there = venv / "bin" / "python", venv / "bin" / "surest"
    lent.mkdir()
    for package in needed("surest"):
        for part in {file.parts[0] for file in files(package) or ()} - {".."}:
            (lent / part).symlink_to(Path(numpy.__file__).parents[1] / part)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=100)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, timeout=100)
    variables = {**os.environ, "PYTHONPATH": str(lent)}

    def there(*command: object) -> subprocess.CompletedProcess[str]:
        how = {"cwd": built, "env": variables, "capture_output": True, "text": True, "timeout": 100}
        return subprocess.run([str(word) for word in command], check=True, **how)

    search, doctor = there(surest_there, "identify", "bernoulli:0.9,0.1", "--seed", "1"), there(surest_there, "doctor")
    assert "Arm 1 is the best" in search.stdout
    assert ("kernels: compiled" if compiled else "plain Python") in doctor.stdout
    assert [done.stderr.count("without a C compiler") for done in (search, doctor)] == [not compiled] * 2
    where = there(python, "-W", "ignore", "-c", "import surest.kernels.bets as b; print(b.__file__)").stdout
    assert where.startswith(str(venv))
    assert where.strip().endswith(".py") != compiled


def test_the_wheel_is_the_package_and_nothing_else(built: Path, request: pytest.FixtureRequest) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name.startswith(f"surest-{surest.__version__}-cp3")
    assert {"surest/kernels/bets.pxd", "surest/kernels/libm.py"} <= names
    compiled = {name.split(".")[0] for name in names if re.fullmatch(r"surest/kernels/.*\.(so|pyd)", name)}
    typed = [path.relative_to(PACKAGE).with_suffix("") for path in (PACKAGE / "kernels").rglob("*.pxd")]
    kernels = {f"surest/{path.as_posix()}" for path in typed if path.name != "libm"}
    with_compiler = "[a compiler]" in request.node.name
    assert compiled == ({*kernels, "surest/kernels/_shared"} if with_compiler else set())
    sources = {f"surest/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*.py")}
    verifier = {"surest_verify.py"}
    assert {name for name in names if name.endswith(".py")} == sources | verifier
    assert "surest/py.typed" in names
    pages = [path for part in ("templates", "static") for path in (PACKAGE / "server" / part).iterdir()]
    assert pages
    assert {f"surest/{path.relative_to(PACKAGE).as_posix()}" for path in pages} <= names
    assert {name.partition("/")[0] for name in names} == {"surest", f"surest-{surest.__version__}.dist-info", *verifier}


def test_the_archive_has_all_that_a_build_and_a_test_need(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE", "PKG-INFO"]
    wanted += ["pyproject.toml", "Makefile", "mkdocs.yml", "Dockerfile", "conftest.py", "docs/install.md"]
    wanted += ["src/surest/py.typed", "tests/release/test_files.py", "examples/medoid.py", "benchmarks/full.py"]
    assert [name for name in wanted if name not in names] == []
    assert [name for name in names if re.search(r"__pycache__|\.pyc$|\.db$|^site/|\.venv", name)] == []


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == surest.__version__


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each with its arguments."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


STEPS = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_container_runs_as_an_ordinary_user_from_a_pinned_base() -> None:
    (base,) = [words for name, words in STEPS if name == "ARG"]  # so that a digest can be given
    assert re.fullmatch(r"BASE=python:3\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", base)
    assert [words.split()[0] for name, words in STEPS if name == "FROM"] == ["${BASE}"] * 2
    last = STEPS[max(i for i, (name, _) in enumerate(STEPS) if name == "FROM") :]
    users = [words for name, words in last if name == "USER"]
    assert len(users) == 1
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[0])
    after = [name for name, _ in last[last.index(("USER", users[0])) + 1 :]]
    assert set(after) <= {"ENTRYPOINT", "CMD"}
    assert not {"ADD", "VOLUME"} & {name for name, _ in STEPS}
    assert not [words for _, words in STEPS if re.search(r"(?i)secret|token|passw|curl|wget|sudo", words)]


def test_the_container_has_packages_of_known_hashes_that_fit_what_is_declared() -> None:
    installs = re.findall(r"pip install (.*?)(?:&&|$)", " ".join(words for name, words in STEPS if name == "RUN"))
    assert all("--require-hashes" in install or "--no-index" in install for install in installs)
    locked = re.sub(r"\\\n", " ", (ROOT / "requirements.lock").read_text(encoding="utf-8"))
    lines = [line for line in locked.splitlines() if line[:1].isalpha()]
    assert all("--hash=sha256:" in line for line in lines)
    versions = dict(line.split()[0].split("==") for line in lines)
    assert "://" not in locked  # of whatever registry it was resolved with
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, build = declared["project"], declared["build-system"]
    extras = [one for extra in ("postgresql", "plot", "serve") for one in project["optional-dependencies"][extra]]
    for wanted in map(Requirement, [*project["dependencies"], *extras, *build["requires"]]):
        assert wanted.specifier.contains(versions[wanted.name]), wanted


def test_what_the_container_writes_at_run_time_goes_to_tmp() -> None:
    variables = dict(re.findall(r"(\w+)=(\S+)", " ".join(words for name, words in STEPS if name == "ENV")))
    assert all(variables[name].startswith("/tmp") for name in ("HOME", "MPLCONFIGDIR"))
    assert variables["PYTHONDONTWRITEBYTECODE"] == "1"


BUILT = "surest-release-test"
TMP = ["--read-only", "--tmpfs", "/tmp"]


def container_tool() -> str:
    """A program that builds and runs containers here."""
    for tool in ("docker", "podman"):
        if shutil.which(tool) and subprocess.run([tool, "info"], capture_output=True, timeout=60).returncode == 0:
            return tool
    pytest.skip("neither docker nor podman works here")


@pytest.mark.slow
def test_the_container_is_built_and_runs_on_a_read_only_root() -> None:
    tool = container_tool()
    done = subprocess.run([tool, "build", "-t", BUILT, "."], cwd=ROOT, capture_output=True, text=True, timeout=1200)
    if done.returncode and re.search(r"no such host|dial tcp|pinging container registry|i/o timeout", done.stderr):
        pytest.skip("the base image cannot be fetched")
    assert done.returncode == 0, done.stderr
    try:
        assert run(tool, "run", "--rm", *TMP, "--entrypoint", "id", BUILT, "-u").strip() == "10001"
        search = ["identify", "bernoulli:0.9,0.1", "--seed", "1", "--quiet"]
        assert run(tool, "run", "--rm", *TMP, BUILT, *search).startswith("Arm 1 is the best")
        touched = [tool, "run", "--rm", *TMP, "--entrypoint", "touch", BUILT, "/opt/surest/x"]
        assert "Read-only" in subprocess.run(touched, capture_output=True, text=True, timeout=100).stderr
    finally:
        subprocess.run([tool, "rmi", "--force", BUILT], capture_output=True, timeout=100)


def test_only_what_is_needed_reaches_the_container() -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert ignored[0] == "*"
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    copies = [words.split()[:-1] for name, words in STEPS if name == "COPY" and "--from" not in words]
    copied = {word for words in copies for word in words}
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)


def run(*command: str, **variables: str) -> str:
    how = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables}
    done = subprocess.run(command, env=how, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell: str) -> None:
    script = run(sys.executable, "-m", "surest", _SUREST_COMPLETE=f"{shell}_source")
    assert f"_SUREST_COMPLETE={shell}_complete" in script


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """A real bash sources the script and calls the function that it installs, as the Tab key would."""
    script = """
        eval "$(_SUREST_COMPLETE=bash_source surest)" && complete -p surest > /dev/null || exit 1
        COMP_WORDS=(surest ev); COMP_CWORD=1; _surest_completion surest; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(surest gate --marg); COMP_CWORD=2; _surest_completion surest; echo "${COMPREPLY[@]}"
    """
    printed = run("bash", "-c", script, PATH=environment(tmp_path)["PATH"])
    assert printed.splitlines() == ["evaluate", "--margin"]


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from surest.cli import main
main(sys.argv[1:])
"""


def test_the_small_installation_searches(tmp_path: Path) -> None:
    """What docs/install.md says works without the large packages."""
    table = tmp_path / "scores.csv"
    rows = [f"{arm},q{item},{value}\n" for item in range(60) for arm, value in (("a", 1), ("b", item % 2))]
    table.write_text("arm,item,value\n" + "".join(rows))
    recorded = tmp_path / "rewards.csv"
    recorded.write_text("arm,value\n" + "".join(row.split(",")[0] + "," + row.split(",")[2] for row in rows))
    commands = [
        (["identify", str(recorded), "--seed", "1", "--quiet"], "Arm a is the best"),
        (["evaluate", str(table), "--seed", "1"], "Arm a has the best mean"),
        (["gate", str(table), "--baseline", "b", "--candidate", "a"], "PASS"),
        (["bounds", "bernoulli:0.9,0.1"], "Arm 1 is the best of 2"),
    ]
    for words, verdict in commands:
        assert run(sys.executable, "-c", WITHOUT, *words).startswith(verdict)
