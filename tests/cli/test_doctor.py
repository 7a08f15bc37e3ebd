"""What surest says of the machine that it runs on, and of itself."""

import json

import pytest
from click.testing import CliRunner

from surest import __version__
from surest.cli import cli, doctor


def test_doctor_tells_what_is_there() -> None:
    shown = CliRunner().invoke(cli, ["doctor"], standalone_mode=False)
    assert shown.return_value == 0
    assert f"surest {__version__}" in shown.output
    found = json.loads(CliRunner().invoke(cli, ["doctor", "--json"], standalone_mode=False).output)
    assert found["needed"]["numpy"]
    assert found["writable"]["temporary files"]


def test_doctor_misses_what_is_not_there_and_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no-such-package"))
    monkeypatch.setenv("SUREST_STORAGE", "postgresql://bob:s3cret@db/x")
    shown = CliRunner().invoke(cli, ["doctor"], standalone_mode=False)
    assert shown.return_value == 1
    assert "MISSING: pip install no-such-package" in shown.output
    assert "s3cret" not in shown.output
