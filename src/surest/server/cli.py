"""``surest serve``: pages to watch studies, and an API for workers in any language."""

import ipaddress
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import click

from surest.cli.settings import option
from surest.cli.study import say, stored_in
from surest.errors import UsageError

TOKENS = "SUREST_TOKENS"


def tokens_file() -> Path:
    """Where tokens are kept by default."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "surest" / "tokens.json"


tokens_option = option(
    "--tokens FILE",
    "Where tokens are kept, as digests. [default: ~/.config/surest/tokens.json]",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=TOKENS,
    show_envvar=True,
)


def network(text: str) -> str:
    """A validated address or network; 10.0.0.5/8 becomes 10.0.0.0/8, which the server needs.

    >>> network("10.0.0.5/8"), network("::1")
    ('10.0.0.0/8', '::1/128')
    """
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise UsageError(f"--proxy {text}: {error}; give an address, such as 127.0.0.1, or a network") from None


def in_thread(function: Callable[[], None]) -> None:
    """Call a function in a daemon thread: while SQLite waits for a lock, the main thread would heed no signal."""
    done = Future[None]()

    def called() -> None:
        try:
            function()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=called, daemon=True).start()
    done.result()


@click.group(invoke_without_command=True)
@stored_in("sqlite:///FILE or postgresql://USER@HOST/NAME.")
@option("--host", "The address to listen on.", default="127.0.0.1", show_default=True)
@option("--port", "0 takes a free one.", default=8080, show_default=True, type=click.IntRange(0, 65535))
@tokens_option
@option(
    "--proxy proxies ADDRESS...",
    "A proxy in front, such as 127.0.0.1 or 10.0.0.0/8: its X-Forwarded-For and -Proto are believed. May be repeated.",
)
@option("--quiet", "Log warnings and errors only.")
@click.pass_context
def serve(
    ctx: click.Context, storage: str, host: str, port: int, tokens: Path | None, proxies: tuple[str, ...], quiet: bool
) -> int | None:
    """Serve the studies of a database over HTTP: pages for people, JSON for workers in any language.

    Without tokens only this machine is served. 'surest serve token' makes one:

    \b
      surest serve --storage sqlite:///studies.db
      surest serve token ann --role work
    """
    if ctx.invoked_subcommand is not None:
        return None
    try:
        from surest.server import server
        from surest.server.app import make_app
    except ImportError as error:
        raise UsageError(
            f"the service needs packages that are not installed ({error}); pip install 'surest[serve]'"
        ) from None
    from surest.server.auth import is_local
    from surest.server.limits import Limits
    from surest.server.tokens import Tokens

    networks = [network(proxy) for proxy in proxies]
    known = Tokens(tokens or tokens_file())
    known.all()  # refuses a file that cannot be used: a service that lets nobody in would be hard to understand
    if not known and not is_local(host):
        raise UsageError(
            f"nobody has a token yet, and {host} can be reached by others; make one first ('surest serve token NAME'), or listen "
            "on 127.0.0.1"
        )
    limits = Limits()
    app = make_app(storage, tokens=known, limits=limits)
    in_thread(lambda: app.studies.store.prepare(create=True))  # what is wrong is said here, not in the server's log
    listening = server.bound(host, port)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"surest serves http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C ends it)")
    server.run(app, listening, limits, quiet=quiet, proxies=networks)
    return 0


@serve.command(short_help="Make, list or revoke tokens.")
@click.argument("name", required=False)
@option(
    "--role",
    "What its holder may do. Each role may do what those before it may.",
    type=click.Choice(["look", "work", "administer"]),
    default="work",
    show_default=True,
)
@option("--revoke", "Revoke the token instead.")
@tokens_option
@option("--json as_json", "Print JSON.")
def token(name: str | None, role: Any, revoke: bool, tokens: Path | None, as_json: bool) -> int:
    """Make a token called NAME; without a name, list all tokens.

    The token is printed once. Only its digest is kept.
    """
    from surest.server.tokens import Tokens

    known = Tokens(tokens or tokens_file())
    if name is None:
        rows = [{"name": kept.name, "role": kept.role, "made": kept.made} for kept in known.all()]
        say(as_json, rows, "\n".join(f"{row['name']}\t{row['role']}" for row in rows) or "no tokens")
        return 0
    if revoke:
        known.revoke(name)
        say(as_json, {"revoked": name}, f"token {name} revoked")
        return 0
    made = known.add(name, role)
    say(as_json, {"name": name, "role": role, "token": made}, made)
    return 0
