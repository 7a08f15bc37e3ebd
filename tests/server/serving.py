"""`surest`, with the algorithm of the durability tests that shows every reward lost, doubled or swapped.

The variable LIMITS has other limits than a service's own, as JSON. Where STUCK names a folder, a report is not done before
there is a file `release` in it; each that begins adds a mark to `begun`.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
sys.path.insert(1, str(Path(__file__).parents[1]))
import support

from surest.cli import main
from surest.server import limits


class Others(limits.Limits):
    """Limits that a test can reach, or wait for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**json.loads(os.environ.get("LIMITS", "{}")), **given)


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
    limits.Limits = Others  # type: ignore[misc]
    if folder := os.environ.get("STUCK"):
        get_stuck(Path(folder))
    main()
