"""Storage URLs with passwords masked, whether they are well formed or not."""

import re
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
_HEAD = re.compile(r"[A-Za-z][\w.+-]*:/+")
_SECRET_KEYS = ("password", "passwd", "passphrase", "pwd", "secret", "token", "key")
_PAIR = re.compile(r"([^?&;=\s]+)=([^&;\s]*)")


def masked(url: str) -> str:
    """A storage URL with ``***`` in place of each password, even if it is malformed.

    >>> masked("postgresql://bob:s3cret@db/x"), masked("mysql:/bob:s3cret@db")
    ('postgresql://bob:***@db/x', 'mysql:/bob:***@db')
    >>> masked("http://:t0ken@host:8080"), masked("https://t0ken@host")
    ('http://:***@host:8080', 'https://***@host')
    >>> masked("postgresql://db/x?user=u&password=SECRET"), masked("sqlite:///studies.db")
    ('postgresql://db/x?user=u&password=***', 'sqlite:///studies.db')
    """
    shown = url
    for start, end in reversed(_places(url)):
        shown = shown[:start] + HIDDEN + shown[end:]
    return shown


def hidden_in(text: str, url: str) -> str:
    """A message about a URL, with everything hidden that `masked` hides, percent-encoded or not."""
    text = text.replace(url, masked(url))
    secrets = {url[start:end] for start, end in _places(url)}
    # A driver that splits the URL elsewhere shows a part of a password.
    secrets |= {part for secret in secrets for part in re.split(r"[@/:?#&]", secret)}
    secrets |= {unquote(secret) for secret in secrets} | {unquote_plus(secret) for secret in secrets}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > 2:
            text = text.replace(secret, HIDDEN)
    return text


def _places(url: str) -> list[tuple[int, int]]:
    """The places of the secrets in a URL, in order and without overlap."""
    found: list[tuple[int, int]] = []
    head = _HEAD.match(url)
    start = head.end() if head is not None else 0
    is_file = head is not None and head.group().startswith("sqlite") and head.group().endswith("///")
    at = -1 if is_file else url.rfind("@")  # a password may hold an @ itself
    colon = url.find(":", start, max(at, start))
    if colon >= 0:
        found.append((colon + 1, at))
    elif at > start and head is not None and head.group().lower().startswith("http"):
        found.append((start, at))  # a token of a service, without its colon
    for pair in _PAIR.finditer(url, max(at, start)):
        if any(key in unquote(pair.group(1)).lower() for key in _SECRET_KEYS):
            found.append(pair.span(2))
    return found
