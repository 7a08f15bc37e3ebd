"""What holds for all tests."""

import fcntl
import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from browsing import driven
from calling import Run, in_process

collect_ignore = ["kernels/kernel_bits.py", "integrations/inspect_logs.py"]
"""Scripts for processes of their own: the first one puts a digest around every kernel, the second imports a heavy package."""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would each compile all that they import
SLOWNESS = [HealthCheck.too_slow]  # says how fast the machine is, not whether the code is right
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=SLOWNESS)
settings.load_profile("repeatable")


def not_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With CI=true everything that tests need must be there: what would be skipped has failed."""
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} would be skipped, which CI=true does not allow: {reason}"


def pytest_collection_finish() -> None:
    """What is loaded by now stays: no test waits while the collector of garbage looks through it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    not_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    not_skipped(report)
    return report


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The driver of a browser, for all tests that need one."""
    with driven() as driver:
        yield driver


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in a folder of its own, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREST_STORAGE", raising=False)
    return in_process(capsys)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Make a folder once in a run of the tests, whichever worker comes first: the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    for_all = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, make: Callable[[Path], None]) -> Path:
        with (for_all / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (for_all / name).exists():
                making = tmp_path_factory.mktemp("making")
                make(making)
                making.rename(for_all / name)
        return for_all / name

    return folder
