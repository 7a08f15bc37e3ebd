"""What the log calls a worker, and whether a worker of this machine is still there.

A process's number says nothing by itself: containers may share a host name, a file and even process numbers. So a name also
holds which machine and space of process numbers it was given in, and when the process began.
"""

import os
import socket
import zlib
from functools import lru_cache
from pathlib import Path

UNKNOWN = "unknown"


def own_name() -> str:
    """What the log calls this process: host, process number, when it began, and where that number counts."""
    return _name(os.getpid())


def shell_name() -> str:
    """What the log calls the shell, or other program, that runs commands of surest one after the other."""
    parent = os.getppid()
    return f"{socket.gethostname()}:shell-{parent}:{_began(parent)}.{_space()}"


@lru_cache(maxsize=4)  # a fork has another number
def _name(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{_began(pid)}.{_space()}"


def gone(worker: str) -> bool:
    """Whether a worker surely is no more: a process of this machine, as its name says, that has ended.

    >>> gone(own_name()), gone("somebody else"), gone("host:17")
    (False, False, False)
    """
    host, _, rest = worker.rpartition(":")
    host, _, pid = host.rpartition(":")
    began, _, space = rest.partition(".")
    if host != socket.gethostname() or space != _space() or space == UNKNOWN or not pid.isdigit():
        return False
    now = _began(int(pid))
    if now != UNKNOWN:
        return now != began
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OverflowError, PermissionError):
        pass
    return False


def _began(pid: int) -> str:
    """When a process began, in ticks since the machine did."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return UNKNOWN
    return "ended" if fields[0] in "ZX" else fields[19]  # what has ended may still wait to be taken note of


def _space() -> str:
    """This boot of the machine, and the space in which process numbers are given."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return UNKNOWN
    return f"{zlib.crc32(f'{boot} {numbers}'.encode()):08x}"
