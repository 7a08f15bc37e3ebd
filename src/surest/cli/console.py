"""Standard output as rich sees it: text of users is shown as it is."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from surest.cli.streams import shown


class Output(Console):
    """Standard output for people, or standard error with ``stderr=True``.

    Square brackets and colons in a label are text, never markup or an emoji; control characters are shown as a mark. A
    reader that has seen enough, as ``head`` has, is not a fault: rich would exit with status 1.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, **settings})

    def on_broken_pipe(self) -> None:
        """Print no more."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Turn what is to be printed into pieces of text, all of them harmless."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else shown(text, self.encoding), style, control)
