"""`surest`, with the algorithm of the durability tests that shows every reward lost, doubled or swapped.

With --hasty, clients must be quick.
"""

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

from surest.cli import main
from surest.service import limits

if __name__ == "__main__":
    support.register()
    if "--hasty" in sys.argv:
        sys.argv.remove("--hasty")
        limits.Limits = functools.partial(limits.Limits, header_seconds=1.0, body_seconds=1.0)  # type: ignore[misc, assignment]
    main()
