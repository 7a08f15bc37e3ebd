"""Say that kernels are being compiled: the first search on a machine waits for it, and should not seem to hang."""

from surest import compiled
from surest.cli.streams import say


def tell_of_compiling() -> None:
    """Have a line printed on standard error when something is really compiled in this process."""
    compiled.on_compile(_tell)


def _tell() -> None:
    kept = compiled.keeps_machine_code()
    how_often = (
        "once; later runs find it on disk" if kept else "in each run: set NUMBA_CACHE_DIR to a folder that keeps it"
    )
    say(f"surest: compiling, {how_often} (this takes some seconds, and does not count as time of the search)", err=True)
