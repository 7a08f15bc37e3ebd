"""`surest`, with the algorithm of the durability tests that shows every reward lost, doubled or swapped.

With --hasty, clients must be quick. With --few, there is room for 60 connections. With --stuck FOLDER, a report is not done
before there is a file FOLDER/release; each that begins adds a mark to FOLDER/begun.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

from surest.cli import main
from surest.server import limits


@dataclass(frozen=True)
class Hasty(limits.Limits):
    """Limits whose end a test can wait for."""

    header_seconds: float = 1.0
    body_seconds: float = 1.0
    grace_seconds: float = 2.0


@dataclass(frozen=True)
class Few(limits.Limits):
    """Limits that a test can reach."""

    connections: int = 60


def get_stuck(folder: Path) -> None:
    """Let reports wait."""
    from surest.server.pages import files as pages_files

    made = pages_files.report_of_study

    def stuck(*arguments: Any) -> Any:
        with (folder / "begun").open("a") as begun:
            begun.write("x")
        while not (folder / "release").exists():
            time.sleep(0.01)
        return made(*arguments)

    pages_files.report_of_study = stuck


if __name__ == "__main__":
    support.register()
    if "--hasty" in sys.argv:
        sys.argv.remove("--hasty")
        limits.Limits = Hasty  # type: ignore[misc]
    if "--few" in sys.argv:
        sys.argv.remove("--few")
        limits.Limits = Few  # type: ignore[misc]
    if "--stuck" in sys.argv:
        get_stuck(Path(sys.argv.pop(sys.argv.index("--stuck") + 1)))
        sys.argv.remove("--stuck")
    main()
