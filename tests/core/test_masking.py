"""No password of a storage URL is shown to anybody."""

import pytest

from calling import ran
from surest.errors import SurestError
from surest.masking import masked
from surest.study.study import list_studies

SECRET = "s3cretW0rd"
ENCODED = "s3%63retW0rd"
URLS = [
    f"mysql://bob:{SECRET}@db/x",
    f"postgresql:/bob:{SECRET}@db/x",
    f"postgresql:bob:{SECRET}@db/x",
    f"bob:{SECRET}@db/x",
    f"postgresql://bob:{SECRET}@db:port/x",
    f"postgresql://bob:pa:{SECRET}@db/x",
    f"postgresql://bob:p@{SECRET}@127.0.0.1:1/x",
    f"postgresql://bob:p/{SECRET}@127.0.0.1:1/x",
    f"postgresql://127.0.0.1:1/x?user=u&password={SECRET}",
    f"postgresql://127.0.0.1:1/x?user=u&PassWord={SECRET}",
    f"postgresql://127.0.0.1:1/x?user=u&pass%77ord={SECRET}",
    f"postgresql://127.0.0.1:1/x?sslpassword={SECRET}&user=a@b",
    f"postgresql://bob:{ENCODED}@127.0.0.1:1/x",
    f"postgresql://bob:{SECRET}@127.0.0.1:1/x",
    f"postgres+psycopg://bob:{SECRET}@127.0.0.1:1/x",
    f"POSTGRESQL://bob:{SECRET}@127.0.0.1:99999999/x",
    f"postgresql://bob:{SECRET}@[::1/x",
    f"sqlite://bob:{SECRET}@host/x.db",
    f"sqlite:///no/where/x.db?password={SECRET}",
    f"host=127.0.0.1 port=1 user=u password={SECRET}",
    f"://bob:{SECRET}@h",
]


@pytest.mark.parametrize("url", URLS)
def test_a_masked_url_and_the_error_about_it_show_no_password(url: str) -> None:
    with pytest.raises(SurestError) as caught:
        list_studies(url)
    for shown in (masked(url), f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"):
        assert SECRET not in shown
        assert ENCODED not in shown


def test_the_command_line_shows_no_password_either() -> None:
    code = (
        "import sys; from surest.cli import main\n"
        "for url in sys.argv[1:]:\n"
        "  for more in ([], ['--debug']):\n"
        "    try: main(['study', 'ask', 's', '--storage', url, *more])\n"
        "    except SystemExit as left: assert left.code in (1, 2), (url, left.code)\n"
    )
    done = ran("-c", code, *URLS)
    assert done.status == 0, done.err[-2000:]
    assert done.err.count("surest: ") >= 2 * len(URLS)
    assert SECRET not in done.words
    assert ENCODED not in done.words
