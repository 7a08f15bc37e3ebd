"""A paused study hands out nothing, whoever asks."""

from pathlib import Path

import pytest

from surest.study.study import open_study


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("items", [None, 5])
def test_a_paused_study(kind: str, items: int | None, tmp_path: Path) -> None:
    storage = f"memory:pause {items}" if kind == "memory" else f"sqlite:///{tmp_path}/s.db"
    study = open_study(storage, "s", ["a", "b"], 0.1, items=items)
    other = open_study(storage, "s")
    (ticket,) = study.ask()
    other.pause()
    assert study.paused
    assert study.ask(3) == []
    assert not study.finished
    study.tell(ticket.id, 0.5)
    assert study.status().told == 1, "what is out may be told"
    study.resume()
    assert not other.paused
    assert other.ask()
