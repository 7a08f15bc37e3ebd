"""A paused study hands out nothing, whoever asks."""

from pathlib import Path

import pytest

from surest.cli import main
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


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage = ["--storage", f"sqlite:///{tmp_path}/s.db"]

    def status(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["study", *words, *storage])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    assert status("create", "s", "--arms", "2") == 0
    assert status("pause", "s") == 0
    assert status("ask", "s") == 4, "none now"
    assert status("resume", "s", "--json") == 0
    assert capsys.readouterr().out.splitlines()[-1] == '{"name": "s", "paused": false}'
    assert status("ask", "s") == 0
