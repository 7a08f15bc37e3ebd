"""``surest doctor``: what is installed, whether kernels are compiled, where can be written."""

import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from surest import __version__
from surest.cli.settings import json_option
from surest.cli.streams import print_json, say
from surest.masking import masked

NEEDED = ("numpy", "click", "jinja2", "rich", "msgspec")
OPTIONAL = {
    "matplotlib": "pictures (surest[plot])",
    "pandas": "data frames (surest[pandas])",
    "polars": "data frames (surest[polars])",
    "starlette": "studies over HTTP (surest[serve])",
    "psycopg": "studies on PostgreSQL (surest[postgresql])",
    "distributed": "Dask clusters (surest[dask])",
    "loky": "processes that are replaced when they die (surest[loky])",
    "optuna": "a pruner of trials (surest[optuna])",
    "scikit-learn": "a search over a grid (surest[sklearn])",
    "zipfile-zstd": "logs of inspect_ai (surest[inspect])",
}


PLAIN = (
    "plain Python, which is slow in long searches. To compile them, install a C compiler and Python's headers "
    "(apt-get install gcc python3-dev), then run pip install --force-reinstall --no-deps . in the folder of the project; "
    "SUREST_PURE_PYTHON must not be set"
)


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Show what is installed, whether kernels are compiled, and which folders are writable.

    Exit status 1 if something that surest needs is missing.
    """
    found = diagnosis()
    print_json(found) if as_json else say("\n".join(_lines(found)))
    return 1 if None in found["needed"].values() else 0


def diagnosis() -> dict[str, Any]:
    """All that is known, as plain data."""
    from surest import kernels

    return {
        "surest": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "needed": {name: _version(name) for name in NEEDED},
        "optional": {name: _version(name) for name in OPTIONAL},
        "compiled": kernels.COMPILED,
        "not_compiled": kernels.MISSING,
        "writable": {"this folder": _writable(Path()), "temporary files": _writable(Path(tempfile.gettempdir()))},
        "storage": masked(os.environ["SUREST_STORAGE"]) if "SUREST_STORAGE" in os.environ else None,
        "encoding": sys.stdout.encoding,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _writable(folder: Path) -> bool:
    """Whether a file can be made there: permissions alone do not tell on a read-only disk."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _lines(found: dict[str, Any]) -> list[str]:
    system = f"{found['system']}, {found['processors']} processors"
    return [
        f"surest {found['surest']}, Python {found['python']}, {system}",
        "",
        *(f"{name:12} {there or f'MISSING: pip install {name}'}" for name, there in found["needed"].items()),
        *(f"{name:12} {there or f'not installed; for {OPTIONAL[name]}'}" for name, there in found["optional"].items()),
        "",
        f"kernels: {'compiled' if found['compiled'] else PLAIN}",
        *([f"not compiled: {', '.join(found['not_compiled'])}"] if found["not_compiled"] else []),
        *(f"{where}: {'can be written' if ok else 'cannot be written'}" for where, ok in found["writable"].items()),
        f"storage: {found['storage'] or 'SUREST_STORAGE is not set'}",
    ]
