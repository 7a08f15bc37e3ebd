"""`surest`, with the algorithm of the durability tests that shows every reward lost, doubled or swapped.

With --hasty, clients must be quick.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

from surest.cli import main
from surest.service import limits


@dataclass(frozen=True)
class Hasty(limits.Limits):
    """Limits whose end a test can wait for."""

    header_seconds: float = 1.0
    body_seconds: float = 1.0


if __name__ == "__main__":
    support.register()
    if "--hasty" in sys.argv:
        sys.argv.remove("--hasty")
        limits.Limits = Hasty  # type: ignore[misc]
    main()
