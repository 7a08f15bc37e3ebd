"""What the tests of decisions share."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import surest_verify


@pytest.fixture
def verdict(tmp_path: Path) -> Callable[..., str]:
    """What the verifier says of lines: VALID, or what is wrong."""

    def said(lines: Iterable[bytes], known_by: str | None = None) -> str:
        path = tmp_path / "decision.jsonl"
        path.write_bytes(b"".join(lines))
        try:
            surest_verify.verify(str(path), known_by)
        except surest_verify.Invalid as error:
            return str(error)
        return "VALID"

    return said
