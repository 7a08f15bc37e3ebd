"""No password of a storage URL is shown to anybody."""

import subprocess
import sys

import pytest

from surest.errors import SurestError
from surest.masking import hidden_in, masked
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
    assert SECRET not in masked(url)
    assert ENCODED not in masked(url)
    with pytest.raises(SurestError) as caught:
        list_studies(url)
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
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
    done = subprocess.run([sys.executable, "-c", code, *URLS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count("surest: ") >= 2 * len(URLS)
    assert SECRET not in done.stdout + done.stderr
    assert ENCODED not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "url", ["sqlite:///studies.db", "sqlite:////home/a:b@c/x.db", "postgresql://bob@db:5432/x?host=/tmp", "memory:"]
)
def test_what_is_no_password_is_shown(url: str) -> None:
    assert masked(url) == url


def test_a_message_loses_its_secrets() -> None:
    url = "postgresql://bob:s3%20cret@h/x"
    assert hidden_in(f"cannot reach {url}: 's3 cret' is wrong", url) == (
        "cannot reach postgresql://bob:***@h/x: '***' is wrong"
    )
