"""Names of studies in addresses: any text, percent-encoded, slashes too."""

from urllib.parse import quote, unquote

from starlette.convertors import Convertor

from surest.errors import UsageError


class NameConvertor(Convertor[str]):
    """A part of a path that is one name. Paths are matched as they were sent, so ``%2F`` is no border."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name."""
        try:
            name = unquote(value, errors="strict")
        except UnicodeDecodeError:
            raise UsageError(f"{value[:60]!r} in the address is not percent-encoded UTF-8") from None
        if "\x00" in name:  # PostgreSQL cannot even look for it
            raise UsageError(f"{value[:60]!r} in the address contains a NUL, which no name may")
        return name

    def to_string(self, value: str) -> str:
        """The name in an address."""
        return quoted(value)


def check_name(name: str) -> None:
    """Refuse names that no address can have: browsers and curl take ``.`` and ``..``, percent-encoded too, for folders."""
    if name in (".", ".."):
        raise UsageError(f"a study of a service cannot be called {name!r}: no URL leads to it; choose another name")


def quoted(name: str) -> str:
    """A name as a part of an address.

    >>> quoted("a/b ü")
    'a%2Fb%20%C3%BC'
    """
    return quote(name, safe="")
