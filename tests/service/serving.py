"""`surest`, with the algorithm of the durability tests that shows every reward lost, doubled or swapped."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

from surest.cli import main

if __name__ == "__main__":
    support.register()
    main()
