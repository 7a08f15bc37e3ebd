"""A command as a terminal shows it, as a moving picture: an SVG that needs no script and fetches nothing."""

import fcntl
import os
import pty
import re
import struct
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH = 80
REDRAWN = re.compile(r"\r\x1b\[(?:2K|1A)(?:\x1b\[1A|\x1b\[2K)*")
"""How a live view takes back what it has shown."""
CHARACTER, LINE = 12.2, 24.4
"""The size of a character in rich's drawings."""
MARGIN, BAR = 18, 40

PART = '<style>{styles}</style><defs>{lines}</defs><g class="{unique_id}-matrix">{backgrounds}{matrix}</g>'
PAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">
<title>{title}</title>
<style>
text {{ font: 20px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }}
{animation}
@media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none !important; }} }}
</style>
<rect width="100%" height="100%" rx="9" fill="#22252b"/>
<g transform="translate(22 20)"><circle r="6" fill="#ff5f57"/><circle cx="20" r="6" fill="#febc2e"/>
<circle cx="40" r="6" fill="#28c840"/></g>
{frames}
</svg>
"""


def recorded(command: str, folder: Path, variables: dict[str, str]) -> str:
    """All that a shell command writes to a terminal of 80 columns."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        os.execvpe("bash", ["bash", "-c", command], {**variables, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)})
    written = b""
    while True:
        try:
            written += os.read(terminal, 65536)
        except OSError:  # on Linux this is how a terminal ends
            break
    if os.waitpid(process, 0)[1]:
        raise SystemExit(written.decode())
    return written.decode()


def frames_of(written: str, most: int) -> list[str]:
    """What could be seen, one after the other: at most this many views of the search, and what is left at the end."""
    *views, end = REDRAWN.split(re.sub(r"\x1b\[\?25[lh]", "", written).replace("\r\n", "\n"))
    views = list(dict.fromkeys(view.strip() for view in views if view.strip()))
    step = max(1, -(-len(views) // most))
    return [*views[step - 1 :: step], end]


def moving_picture(
    command: str, frames: list[str], title: str, seconds: float = 0.9, rest: float = 6.0, color: str = "#8ae234"
) -> str:
    """An SVG that shows the frames below the command, again and again; it rests at the last one."""
    shown = [Text.assemble(("$ ", color), command, "\n\n", Text.from_ansi(frame.rstrip())) for frame in frames]
    lines = max(len(Console(width=WIDTH).render_lines(text)) for text in shown)
    whole = seconds * (len(frames) - 1) + rest
    drawn, rules = [], []
    for k, text in enumerate(shown):
        last = k == len(frames) - 1
        begin, end = 100 * k * seconds / whole, 100 * (k + 1) * seconds / whole
        steps = [(0.0, 0), (begin, 1), *([] if last else [(end, 0)])]
        rules.append(f"@keyframes f{k} {{ {' '.join(f'{at:.3f}% {{ opacity: {seen} }}' for at, seen in steps)} }}")
        style = f"animation: f{k} {whole:.1f}s step-end infinite; opacity: {int(last)}"
        drawn.append(f'<g class="frame" transform="translate({MARGIN} {BAR})" style="{style}">{_drawn(text, k)}</g>')
    return PAGE.format(
        width=WIDTH * CHARACTER + 2 * MARGIN,
        height=lines * LINE + BAR + MARGIN,
        title=title,
        animation="\n".join(rules),
        frames="\n".join(drawn),
    )


def _drawn(text: Text, number: int) -> str:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(text)
        return console.export_svg(title="", theme=MONOKAI, code_format=PART, unique_id=f"t{number}")
