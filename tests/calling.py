"""The command line, called in the process of the tests."""

from collections.abc import Callable

import pytest

from surest.cli import main

Run = Callable[..., tuple[int, str, str]]
"""Takes the words of a command; returns its exit status, standard output and standard error."""


def in_process(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run commands as `surest` does, without a new process."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call
