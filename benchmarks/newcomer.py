"""What a newcomer waits for, and what it takes on disk: two versions side by side, each in fresh virtual environments.

    python benchmarks/newcomer.py BEFORE NOW [--clone]

BEFORE and NOW name commits of this repository; a third column is the small installation of NOW (docs/install.md). Measured are
`pip install .` by the clock, the size of the environment, and in processor time `import surest` and verdicts in Python and on
the command line: the first, with no machine code on disk, and later ones. With --clone also `git clone` and `make run` by the
clock, and what is printed meanwhile. Packages come from pip's cache where it has them.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = """
import random, surest
rng = random.Random(7)
arms = {"old": lambda: rng.random() < 0.35, "new": lambda: rng.random() < 0.75, "two": lambda: rng.random() < 0.5}
print(surest.identify(arms, delta=0.05, budget=1_000_000, seed=1).best)
"""
COMMAND = ["-m", "surest", "identify", "example1:100", "--delta", "0.1", "--seed", "1", "--quiet"]
SMALL = ["click", "msgspec", "numpy", "rich"]
Figures = dict[str, float]


def seconds(command: list[str], folder: Path, **how: object) -> tuple[float, float]:
    """Seconds by the clock and of processor time that a command takes."""
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    variables = {**os.environ, "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(folder)}
    subprocess.run(command, cwd=folder, env=variables, check=True, **{"capture_output": True, **how})
    passed, now = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def megabytes(folder: Path) -> float:
    files = {file.stat().st_ino: file.stat().st_blocks for file in folder.rglob("*") if file.is_file()}
    return sum(files.values()) * 512 / 1e6


def installed(source: Path, folder: Path, small: bool) -> Figures:
    """What an installation takes, and its first answers."""
    python = folder / "venv" / "bin" / "python"
    seconds([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    cache = ["--cache-dir", os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))]
    install = [str(python), "-m", "pip", "install", *cache]
    if small:
        spent = [seconds([*install, *words], folder)[0] for words in (["--no-deps", str(source)], SMALL)]
    else:
        spent = [seconds([*install, str(source)], folder)[0]]
    found = {"pip install ., s": sum(spent)}
    found["environment, MB"] = megabytes(folder / "venv")
    for name, words in (("in Python", ["-c", PYTHON]), ("on the command line", COMMAND)):
        cold, *warm = (seconds([str(python), *words], folder)[1] for _ in range(4))
        found[f"first verdict {name}, s"] = cold
        found[f"later verdicts {name}, s"] = statistics.median(warm)
    timed = [seconds([str(python), "-c", "import surest"], folder)[1] for _ in range(5)]
    found["import surest, s"] = statistics.median(timed)
    return found


def cloned(commit: str, folder: Path) -> Figures:
    """From `git clone` to the verdict of `make run`."""
    before = time.perf_counter()
    seconds(["git", "clone", "--quiet", str(ROOT), "clone"], folder)
    seconds(["git", "-C", "clone", "checkout", "--quiet", commit], folder)
    (folder / ".cache").symlink_to(Path.home() / ".cache")
    print(f"git clone and make run of {commit}:", flush=True)
    seconds(["make", "-C", "clone", f"PYTHON={sys.executable}", "run"], folder, capture_output=False)
    return {
        "git clone and make run, s": time.perf_counter() - before,
        "its environment, MB": megabytes(folder / "clone" / ".venv"),
    }


def main(before: str, now: str, clone: bool) -> None:
    """Print a table."""
    columns: list[Figures] = []
    for commit, small in ((before, False), (now, False), (now, True)):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "source")
            source.mkdir()
            archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
            figures = installed(source, Path(folder), small)
            columns.append({**figures, **(cloned(commit, Path(folder)) if clone and not small else {})})
    print("| | before | now | ratio | small | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, first in columns[0].items():
        second, third = columns[1][name], columns[2].get(name)
        rest = "| |" if third is None else f"{third:.3g} | {third / first:.2f} |"
        print(f"| {name} | {first:.3g} | {second:.3g} | {second / first:.2f} | {rest}")


if __name__ == "__main__":
    versions = [word for word in sys.argv[1:] if word != "--clone"]
    main(*versions, "--clone" in sys.argv)
