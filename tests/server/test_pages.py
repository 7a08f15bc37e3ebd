"""The pages as HTTP has them: who may send their forms, and that text stays text. `exchanges` has what they show and do."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

import surest
import surest_verify
from asking import answered
from surest.server.tokens import Tokens
from surest.study.log import Event
from surest.study.study import Study
from transcripts import in_shell
from visiting import Visitor, serving

EVIL = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>{{7*7}}"
"""What must never become a part of a page."""


@pytest.fixture
def visitor(site: str) -> Visitor:
    return Visitor(site)


def made(storage: str, name: str, arms: list[str] | int = 2, **settings: object) -> Study:
    return surest.open_study(storage, name, arms, 0.1, seed=1, **settings)


def told(study: Study, rewards: int, worker: str = "w") -> Study:
    """A study with so many rewards: the last arm always wins."""
    for k in range(rewards):
        for ticket in study.ask(1, worker):
            study.tell(ticket.id, float(ticket.arm == len(study.labels) - 1 or k % 3 == 0))
    return study


def path(name: str) -> str:
    return f"/studies/{quote(name, safe='')}"


def test_a_kept_page_is_used_for_its_own_moment_only(storage: str, visitor: Visitor) -> None:
    """Another study of the same name, and a lease that ran out while nobody did anything, are seen at once."""
    first = made(storage, "kept", ["early", "bird"])
    assert "early" in visitor.get(path("kept")).words
    assert "No study fits" not in visitor.get("/?q=early").words
    surest.delete_study(storage, "kept")
    study = made(storage, "kept", ["late", "worm"])
    assert study.id != first.id
    assert "late" in (page := visitor.get(path("kept")).words)
    assert "early" not in page
    assert "No study fits" in visitor.get("/?q=early").words
    (ticket,) = study.ask(1, "slow")
    assert "with its worker" in visitor.get(path("kept")).words
    with study.store.writing() as log:
        log.lease_tickets(study.id, [ticket.id], 1.0)
    assert "with its worker" not in visitor.get(path("kept")).words


def test_a_study_that_is_idle_tells_no_speed(storage: str, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    told(made(storage, "idle"), 6)
    assert "rewards per second" in visitor.get(path("idle")).words
    for module in ("study.outcome", "server.studies"):
        monkeypatch.setattr(f"surest.{module}.IDLE_SECONDS", -1.0)
    assert "rewards per second" not in visitor.get(path("idle")).words


def test_a_list_of_which_all_is_known_says_what_holds_for_further_items(storage: str, visitor: Visitor) -> None:
    study = surest.open_study(storage, "whole", ["a", "b"], items=[f"q{k}" for k in range(30)], seed=1)
    answered(study, lambda ticket: float(int(str(ticket.item).lstrip("q")) % 3 == 0), 5)
    page = visitor.get("/studies/whole")
    assert "have the same mean on these 30 items, up to rounding, and it is the best: this is exact" in page.words
    assert "Both arms may still be the best on further items like these, and neither is more than" in page.words
    assert "evaluations; upwards the share of the evidence needed" in page.words
    drawn = page.text.partition("Lead of a over each other arm")[2].partition("</svg>")[0]
    assert "<path" in drawn, "a lead that is known exactly is a dot: a line has no length"
    told = study.result()
    assert told.population is not None
    assert "on further items like these" in str(told)
    assert json.loads(visitor.get("/studies/whole/report.json").text)["population"]["contenders"] == ["a", "b"]


def test_the_log_is_paged(storage: str, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made(storage, "paged", 2, algorithm="naive-best-arm")
    tickets = study.ask(150, "many")
    study.tell_all(tickets[:120], [0.5] * 120)
    study.fail(tickets[130].id, "out of memory", worker="many")
    first, second = visitor.get(f"{path('paged')}/log"), visitor.get(f"{path('paged')}/log?page=2")
    assert re.findall(r'<th scope="row">(\d+)', first.text) == [str(n) for n in range(149, 49, -1)]
    assert re.findall(r'<th scope="row">(\d+)', second.text) == [str(n) for n in range(49, -1, -1)]
    assert "Page 2 of 2" in second.words
    assert "out of memory" in visitor.get(f"{path('paged')}/log?show=events").words
    with study.store.writing() as log:
        for number in range(249):
            log.write_events(study.id, [Event(0, 0, "failed", f"reason {number}.", "w", 1.0)])
    rows: list[int] = []
    monkeypatch.setattr("surest.study.sql.Event", lambda *row: rows.append(row[0]) or Event(*row))
    last = visitor.get(f"{path('paged')}/log?show=events&page=3").words
    assert [words in last for words in ("reason 48.", "reason 49.", "out of memory", "Page 3 of 3")] == [1, 0, 1, 1]
    assert len(rows) == 50, "no more is read than is shown"
    for odd in ("0", "-1", "x", "999999999", "9" * 50, "²"):
        assert visitor.get(f"{path('paged')}/log?page={quote(odd)}").status == 200


def test_items_come_by_upload(storage: str, visitor: Visitor) -> None:
    lines = b'{"id": "q1", "text": "2 + 2?"}\n{"id": "q2", "text": "3 + 3?"}\n'
    visitor.upload("/new", "/new", ("items_file", "q.jsonl", lines), name="uploaded", arms="a\nb")
    items = surest.open_study(storage, "uploaded").items
    texts = {item.key: json.loads(item.payload or "null")["text"] for item in items}
    assert texts == {"q1": "2 + 2?", "q2": "3 + 3?"}
    refused = visitor.upload("/new", "/new", ("items_file", "q.jsonl", b"not JSON"), name="uploaded too", arms="a\nb")
    assert refused.status == 400
    assert "the file 'q.jsonl', line 1: not JSON" in refused.words
    assert "/tmp" not in refused.text
    for nothing in (b"", b"\n"):
        empty = visitor.upload("/new", "/new", ("items_file", "q.csv", nothing), name="uploaded empty", arms="a\nb")
        assert empty.status == 400, "a list that was meant is not left out"
    for unsaid in (b'{"id": "q", "x": NaN}', b'{"id": "q", "x": 1e999}'):
        odd = visitor.upload("/new", "/new", ("items_file", "q.jsonl", unsaid), name="uploaded odd", arms="a\nb")
        assert (odd.status, "JSON" in odd.words) == (400, True), "workers could not read it"


@pytest.mark.parametrize("items", [None, ["q1", "q2", "q3"]])
def test_a_verdict_can_be_checked(storage: str, visitor: Visitor, tmp_path: Path, items: list[str] | None) -> None:
    name = "listed and checked" if items else "checked: ü/x"
    study = told(made(storage, name, ["a", "<b>"], **({} if items is None else {"items": items})), 5)
    assert f"{path(name)}/check" in visitor.get(path(name)).text
    shown = visitor.get(f"{path(name)}/check").text
    file = tmp_path / "decision.jsonl.gz"
    file.write_bytes(visitor.get(f"{path(name)}/decision.jsonl.gz").body)
    known_by = re.search(r"--hash ([0-9a-f]{64})", shown)[1]
    assert surest_verify.verify(str(file), known_by)
    assert study.result(record=True).write_decision(tmp_path / "own.jsonl") == known_by


@pytest.mark.parametrize("name", ["it's mine", "-v"])
def test_the_commands_of_a_page_run(storage: str, visitor: Visitor, tmp_path: Path, name: str) -> None:
    """Copied into a shell, one works until the verdict, one prints it, and one makes the same study again."""
    visitor.send("/new", "/new", name=name, arms="0.2\n0.9", delta="0.1", seed="7")
    found = re.findall("<pre[^>]*>(.*?)</pre>", visitor.get(path(name)).text, re.DOTALL)
    work, _, _, result, again = map(unescape, found)
    (tmp_path / "evaluate").write_text("#!/bin/sh\necho $1\n")
    (tmp_path / "evaluate").chmod(0o755)
    assert in_shell(f"{work} && {result} && {again}", tmp_path).count("Arm 0.9 is the best") == 2
    assert surest.open_study(storage, f"{name}-again").labels == ("0.2", "0.9")


# Who may do what


def test_forms_need_the_token_of_their_page(storage: str, site: str, visitor: Visitor) -> None:
    made(storage, "guarded")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    verbs = ("pause", "resume", "arms", "delete", "ask", "tell", "leave", "tickets/0/fail")
    other = Visitor(site).csrf("/new")
    visitor.get("/new")
    for target in ["/new", *(f"{path('guarded')}/{verb}" for verb in verbs), "/login"]:
        for body in (b"", b"csrf=", f"csrf={other}".encode(), b"csrf=%00&csrf=x"):
            assert visitor.request("POST", target, body, headers).status == 403, target
        assert Visitor(site).request("POST", target, f"csrf={other}".encode(), headers).status == 403
    for kind in ("text/plain", "multipart/form-data", "multipart/form-data; boundary=a"):
        assert visitor.request("POST", "/new", b"x", {"Content-Type": kind}).status in (400, 415), kind
    assert visitor.request("POST", "/new", 101 * b"a=1&", headers).status == 400, "too many fields"
    token = visitor.csrf("/new")
    foreign = {**headers, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert visitor.request("POST", f"{path('guarded')}/pause", f"csrf={token}".encode(), foreign).status == 403
    study = surest.open_study(storage, "guarded")
    assert not study.paused
    study.ask(1, "w")
    here = f"{path('guarded')}/tickets/0/fail"
    refused = visitor.send(here, here, reason=10_001 * "r", worker="w")  # which nobody would read
    assert (refused.status, "at most 10,000 are allowed" in refused.words) == (400, True)


def test_tokens_of_browsers(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    secrets = [tokens.add(name, "work") for name in ("ann", "bob")]
    with serving(f"sqlite:///{tmp_path}/s.db", tmp_path / "tokens.json") as site:
        ann, nobody = Visitor(site), Visitor(site)
        assert "ann (may work)" in ann.send("/login", "/login", token=secrets[0], next="/").words
        tokens.revoke("ann")
        assert (ann.get("/").status, ann.get("/login").status) == (401, 200), "the browser has forgotten it"
        wrong = [nobody.send("/login", "/login", token="surest-wrong", next="/") for _ in range(11)]
        assert (wrong[0].status, wrong[-1].status) == (401, 429)
        assert "surest-wrong" not in wrong[0].text
        body = f"csrf={ann.csrf('/login')}&token={secrets[1]}&next=//evil.example/".encode()
        answer = ann.request("POST", "/login", body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    (cookie,) = [line for line in answer.headers.get_all("set-cookie") if secrets[1] in line]
    assert "HttpOnly; Max-Age=2592000; Path=/; SameSite=strict" in cookie  # out of reach of scripts and other sites


@pytest.mark.parametrize("stream", [f"{path('watched')}/live", f"/api{path('watched')}/events"])
def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path, stream: str) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    secret = tokens.add("ann", "look")
    tokens.add("bob", "look")  # else there would be none left, and this machine could do everything
    storage = f"sqlite:///{tmp_path}/s.db"
    study = made(storage, "watched", 2)
    with serving(storage, tmp_path / "tokens.json") as site:
        visitor = Visitor(site)
        visitor.send("/login", "/login", token=secret, next="/")
        lines = visitor.lines(stream)
        assert next(line for line in lines if line.startswith(b"event:")) in (b"event: parts\n", b"event: change\n")
        tokens.revoke("ann")
        told(study, 1)
        assert [line for line in lines if line.startswith(b"event:")] == []  # and it comes to its end
        assert visitor.get(stream).status == 401


# Text stays text


def test_nothing_that_users_write_becomes_a_part_of_a_page(storage: str, visitor: Visitor) -> None:
    """Names, notes, labels, items, payloads, workers, reasons, kinds of failure, and everything that a form sends back."""
    items = [(EVIL, {EVIL: EVIL}), *((f"{k}{EVIL}", EVIL) for k in range(9))]
    study = made(storage, EVIL, [EVIL, "b"], items=items, note=EVIL)
    told(study, 2, EVIL)
    (ticket,) = study.ask(1, EVIL)
    study.fail(ticket.id, EVIL, worker=EVIL, kind=EVIL)
    (held,) = study.ask(1, EVIL)
    visitor.send(f"{path(EVIL)}/ask", f"{path(EVIL)}/evaluate")
    base = path(EVIL)
    pages = ["/", f"/?q={quote(EVIL)}&state={quote(EVIL)}", base, f"{base}?done={quote(EVIL)}", f"{base}/log"]
    pages += [f"{base}/log?show=events", f"{base}/cells", f"{base}/arms", f"{base}/evaluate", f"{base}/delete"]
    pages += [f"{base}/tickets/{held.id}/fail", f"/login?next={quote(EVIL)}", path(f"no {EVIL}")]
    answers = [visitor.get(page) for page in pages]
    answers.append(
        visitor.send("/new", "/new", **dict.fromkeys(("name", "arms", "delta", "note", "bounds", "control"), EVIL))
    )
    answers.append(visitor.send(f"{base}/arms", f"{base}/arms", arms=EVIL))
    answers.append(visitor.send(f"{base}/delete", f"{base}/delete", again="x" + EVIL))
    answers.append(visitor.send(f"{base}/tell", f"{base}/evaluate", ticket=EVIL, reward=EVIL))
    data = next(line for line in visitor.lines(f"{base}/live") if line.startswith(b"data: {"))
    stream = "".join(json.loads(data[6:])["parts"].values())
    assert len(answers) == 17
    for text in [*(answer.text for answer in answers), stream]:
        check_markup(text)
    assert all(EVIL in answer.words for answer in answers[1:4])


class Markup(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def check_markup(text: str) -> None:
    """No picture, script, style or handler is in a page but our own files, and nothing comes from elsewhere."""
    for tag, attributes in Markup(text).found:
        assert tag not in ("img", "style", "iframe", "object", "embed", "base")
        assert not [name for name in attributes if name.startswith("on") or name == "style"], f"<{tag} {attributes}>"
        for name in ("src", "href", "action"):
            target = attributes.get(name) or "/"
            assert target.startswith(("/", "#")), f"<{tag} {name}={target!r}>"
            assert not target.startswith("//")
        if tag == "script":
            assert attributes == {"src": "/static/surest.js", "defer": None}


def test_a_study_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db"
    made(storage, "whole")
    broken = made(storage, "broken", 2, algorithm="naive-best-arm")
    with broken.store.writing() as log:
        log.write_events(broken.id, [Event(0, 0, "failed", "x", "w", 1.0)])
        log.execute("UPDATE surest_arms SET label = 'x' WHERE study = ? AND arm = 0", broken.id)  # type: ignore[attr-defined]
    with serving(storage) as site:
        page = Visitor(site).get("/")
    assert page.status == 200
    assert "whole" in page.words
    assert "Study broken cannot be read" in page.words
