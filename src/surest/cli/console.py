"""Where the verdict is printed."""

from rich.console import Console


class Output(Console):
    """Standard output. A reader that has seen enough, as ``head`` has, is no fault: rich would exit with status 1."""

    def on_broken_pipe(self) -> None:
        """Print no more."""
        raise BrokenPipeError
