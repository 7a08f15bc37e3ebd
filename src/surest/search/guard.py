"""Ends commands whose starter was killed: SIGKILL leaves a program no time to tidy up after itself.

A small process of its own reads the numbers of the process groups that run from a pipe. When the pipe closes, which the system
does whatever the writer died of, it ends those that are left. (Linux's death signal reaches a command, not what it started.)
"""

import contextlib
import os
import sys
import weakref

LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter may need of the environment."""
WATCHMAN = """
import os, signal, sys
live = set()
for line in sys.stdin:
    (live.add if line[0] == "+" else live.discard)(int(line[1:]))
for group in live:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Guard:
    """Knows which process groups to end when this process ends. Where the system has no such things, it does nothing."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self.pid: int | None = None
        """The process that keeps watch."""

    def start(self) -> None:
        """Begin to keep watch, unless it has begun."""
        if self.pid is not None or not hasattr(os, "posix_spawn") or not sys.executable:
            return
        outlet, self._pipe = os.pipe()
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", WATCHMAN],
                {name: os.environ[name] for name in LIBRARIES if name in os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, outlet, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,  # out of reach of a terminal's Ctrl-C
            )
        except (OSError, NotImplementedError):
            os.close(self._pipe)
            self._pipe = None
        else:
            weakref.finalize(self, _end, self._pipe, self.pid)
        finally:
            os.close(outlet)

    def began(self, group: int) -> None:
        """A process group runs."""
        self._say(f"+{group}\n")

    def ended(self, group: int) -> None:
        """A process group is no more our concern."""
        self._say(f"-{group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # it was killed: then nobody keeps watch
                os.write(
                    self._pipe, line.encode()
                )  # whole lines, from any thread: shorter than what a pipe takes at once


def _end(pipe: int, pid: int) -> None:
    os.close(pipe)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
