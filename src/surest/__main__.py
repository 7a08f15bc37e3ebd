"""``python -m surest``."""

from surest.cli import main

main()
