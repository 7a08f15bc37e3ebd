"""What the service answers: each file of `exchanges` has requests, and all that came back of each.

A line `> METHOD PATH BODY` is a request, after lines `> Header: value` of its own. `> PAGE PATH` shows what a reader sees there,
`> FORM PAGE PATH field=value&…` fills in a form of a page and shows what follows, `> NEW` is somebody else's browser, and
`> WORKER STUDY N` tells N rewards: the last arm wins. LOOK, WORK and ADMINISTER stand for tokens of these roles; a file that
names one is about a service that has tokens.
"""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from calling import steady
from surest.server import api
from surest.server.openapi import document
from surest.server.tokens import ROLES, Tokens
from visiting import Answer, Visitor, call, serving

FILES = sorted((Path(__file__).parent / "exchanges").glob("*.txt"))
SHOWN = ("www-authenticate", "content-disposition", "retry-after", "set-cookie", "access-control-allow-origin")
DOCUMENT = document(api.ENDPOINTS)["paths"]
MARKUP: dict[str, str | Callable[[re.Match[str]], str]] = {
    r".*<main[^>]*>|</main>.*": "",
    r"<svg.*?</svg>": "[picture]",
    r'<p class="(?:error|notice)"[^>]*>': "\n! ",
    r'<input type="hidden" name="csrf"[^>]*>': "",
    r'<(?:input|button)[^>]*? name="(\w+)"(?:[^>]*? value="([^"]*)")?[^>]*?( checked)?>': r" [\1: \2\3] ",
    r'<textarea[^>]*? name="(\w+)"[^>]*>(.*?)</textarea>': lambda field: (
        f" [{field[1]}: {' / '.join(field[2].split())}] "
    ),
    r"<option[^>]*?( selected)?>": r" [option\1] ",
    r"</?(?:p|h1|h2|tr|div|dl|dd|summary|li|section|fieldset|legend|form|pre|a|button)\b[^>]*>": "\n",
    r"<[^>]*>": " ",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ": "…",
    r"by hand \([0-9a-f]{6}\)": "by hand (…)",
    r"(\d+ to \d+), \d.*? to [^<\n]*": r"\1, …",
}
"""What of a page is not shown, or as what."""


def documented(method: str, path: str, status: int) -> bool:
    """Whether the document names this status of an address that it has."""
    for address, ways in DOCUMENT.items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(address)), path.partition("?")[0]):
            return method.lower() not in ways or str(status) in ways[method.lower()]["responses"]
    return True


def told(answer: Answer) -> str:
    shown = "".join(f"{name}: {answer.headers[name]}\n" for name in SHOWN if name in answer.headers)
    text = re.sub(r'"settings":\{.*\},"lease', '"settings":{…},"lease', answer.text)
    shown = re.sub("surest_(visit|token)=[^;]+", r"surest_\1=…", shown)
    return f"{answer.status} {text if len(text) < 500 else '…'}".rstrip() + f"\n{shown}"


def seen(answer: Answer) -> str:
    """A page as a reader sees it, its fields with what is in them."""
    text = answer.text
    assert 'type="number"' not in text, "some browsers leave out a comma: 0,5 would be 5"
    for pattern, stands in MARKUP.items():
        text = re.sub(pattern, stands, text, flags=re.DOTALL)
    lines = [" ".join(line.split()) for line in unescape(text).splitlines()]
    return f"{answer.status}\n" + "".join(f"| {line}\n" for line in lines if line)


def follows(answer: Answer) -> str:
    """What a page says after a form was sent, and the fields that it has then."""
    first, *lines = seen(answer).splitlines(keepends=True)
    return first + "".join(line for line in lines if re.search(r"^\| !|\[(?!option)\w+: [^]]|\[option selected", line))


def work(site: str, study: str, rewards: int) -> None:
    at = f"/api/studies/{study}"
    arms = len(call(site, "GET", at)["arms"])
    for k in range(rewards):
        for ticket in call(site, "POST", f"{at}/ask", worker="w")["tickets"]:
            reward = float(ticket["index"] == arms - 1 or k % 3 == 0)
            call(site, "POST", f"{at}/tell", ticket=ticket["ticket"], reward=reward)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_answered(file: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kept, shown, headers = file.read_text(encoding="utf-8"), "", {}
    book = Tokens(tmp_path / "tokens.json")
    tokens = {role.upper(): book.add(role, role) for role in ROLES} if "LOOK" in kept else {}
    with serving(f"sqlite:///{tmp_path}/s.db", tmp_path / "tokens.json" if tokens else None) as site:
        visitor = Visitor(site)
        for line in re.findall(r"^(?:[>#] .*|)$\n?", kept, re.MULTILINE):
            shown += line
            meant = {**tokens, "HOST": visitor.host}
            line = re.sub(rf"\b({'|'.join(meant)})\b", lambda name, meant=meant: meant[name[0]], line)  # type: ignore[misc]
            words = line.split()[1:]
            if header := re.match(r"> ([A-Z][\w-]+): (.*)\n", line):
                headers[header[1]] = header[2]
                continue
            if words[:1] == ["NEW"]:
                visitor = Visitor(site)
            elif words[:1] == ["WORKER"]:
                work(site, words[1], int(words[2]))
            elif words[:1] == ["PAGE"]:
                said = seen(visitor.get(words[1]))
            elif words[:1] == ["FORM"]:
                fields = dict(parse_qsl(" ".join(words[3:]), keep_blank_values=True))
                said = follows(visitor.send(words[2], words[1], **fields))
            elif asked := re.match(r"> ([A-Z]+) (\S+) ?(.*)\n", line):
                kind = {"Content-Type": "application/json"} if asked[3] else {}
                answer = visitor.request(asked[1], asked[2], asked[3].encode(), {"Accept": "*/*", **kind, **headers})
                none = answer.status in (400, 421)  # of addresses and hosts that are none
                assert none or documented(asked[1], asked[2], answer.status), (line, answer.status)
                said = told(answer)
            if line.startswith("> ") and words[0] not in ("NEW", "WORKER"):
                assert not any(token in said for token in tokens.values()), "no token is told"
                shown, headers = shown + steady(said.replace(visitor.host, "HOST")), {}
    if request.config.option.update_snapshots:
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")
