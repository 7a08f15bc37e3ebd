"""What holds for all tests."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from calling import Run, in_process

collect_ignore = ["kernels/kernel_bits.py", "integrations/inspect_logs.py"]
"""Scripts for processes of their own: the first one puts a digest around every kernel, the second imports a heavy package."""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
SLOWNESS = [HealthCheck.too_slow]  # says how fast the machine is, not whether the code is right
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=SLOWNESS)
settings.load_profile("repeatable")


def not_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With CI=true everything that tests need must be there: what would be skipped has failed."""
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} would be skipped, which CI=true does not allow: {reason}"


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


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in a folder of its own, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREST_STORAGE", raising=False)
    return in_process(capsys)
