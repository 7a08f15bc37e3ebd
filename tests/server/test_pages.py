"""The pages as HTTP has them: what they show, what their forms do, who may send them, and that text stays text."""

import json
import math
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

import surest
import surest_verify
from asking import answered
from surest.server.pages.forms import settings_of
from surest.server.tokens import Tokens
from surest.study.log import Event
from surest.study.study import Study
from transcripts import in_shell
from visiting import Visitor, call, serving

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


def test_the_list_shows_every_study_and_can_be_searched(storage: str, visitor: Visitor) -> None:
    told(made(storage, "list one", ["red", "green"], note="about colours"), 4)
    made(storage, "list two", ["north", "south"])
    while not (study := made(storage, "list three")).finished:
        told(study, 8)
    page = visitor.get("/")
    for words in ("list one", "about colours", "list two", "list three", "Best arm", "Running", "Decided"):
        assert words in page.words
    assert page.words.index("list three") < page.words.index("list one") < page.words.index("list two")  # last activity
    by_note, by_arm = visitor.get("/?q=COLOURS").words, visitor.get("/?q=north").words
    assert "list one" in by_note
    assert "list two" not in by_note
    assert "list two" in by_arm
    assert "list one" not in by_arm
    decided = visitor.get("/?q=list&state=decided").words
    assert "list three" in decided
    assert "list one" not in decided
    assert "No study fits" in visitor.get("/?q=nothing+has+this").words


def test_a_study_says_its_verdict_first(storage: str, visitor: Visitor) -> None:
    study = told(made(storage, "verdict", ["a", "b"], note="why it is done"), 6)
    held = study.ask(1, "slow hand")[0]
    page = visitor.get(path("verdict"))
    order = "Not decided: running|Evaluate by hand|rewards told|Intervals by arm|Evidence over time|Allocation|Arms|Workers|"
    order += "Tickets out|Health|Log|Join as a worker|Do it again|All of it (JSON)|Settings|Delete this study"
    places = [page.words.index(words) for words in order.split("|")]
    assert places == sorted(places)
    assert "still running" not in page.words  # its state is said once
    assert "why it is done" in page.words
    assert f"{path('verdict')}/tickets/{held.id}/fail" in page.text
    assert "slow hand" in page.words
    assert f"surest study work --storage http://{visitor.host} verdict -- ./evaluate '{{arm}}'" in page.words
    assert page.text.count("<svg") == 3


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


def test_what_is_long_leaves_room_for_the_rest(storage: str, visitor: Visitor) -> None:
    told(made(storage, "long words", ["a", 480 * "x"], note=300 * "n "), 40)
    page = visitor.get("/?q=long+words").words
    assert 480 * "x" not in page
    assert "xxx…xxx" in page
    assert "n n…" in page
    assert 480 * "x" in visitor.get(path("long words")).words


def test_a_study_that_is_idle_tells_no_speed(storage: str, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    told(made(storage, "idle"), 6)
    assert "rewards per second" in visitor.get(path("idle")).words
    monkeypatch.setattr("surest.server.events.IDLE_SECONDS", -1.0)
    assert "rewards per second" not in visitor.get(path("idle")).words


def test_a_link_to_a_check_leads_to_one(storage: str, visitor: Visitor) -> None:
    made(storage, "checked", ["a", "b"], items=9)
    made(storage, "not checked", ["a", "b"], items=9, reserve=0.1)
    assert "Check this yourself" in visitor.get(path("checked")).words
    assert visitor.get(f"{path('checked')}/check").status == 200
    assert "Check this yourself" not in visitor.get(path("not checked")).words


def test_other_questions_and_lists_have_pages(storage: str, visitor: Visitor) -> None:
    told(made(storage, "questions top", ["a", "b", "c"], top=2), 6)
    told(made(storage, "questions bar", ["a", "b", "c"], above=0.5), 6)
    told(made(storage, "questions control", ["a", "b", "c"], control="a"), 6)
    told(made(storage, "questions items", ["a", "b"], items=[f"q{i}" for i in range(30)]), 6)
    made(storage, "questions one", ["only"])
    made(storage, "questions none", 3)
    words = {name: visitor.get(path(f"questions {name}")) for name in ("top", "bar", "control", "items", "one", "none")}
    assert all(page.status == 200 for page in words.values())
    assert "The 2 best" in words["top"].words
    assert "Above 0.5" in words["bar"].words
    assert "Better than a" in words["control"].words
    assert "Cells seen so far" in words["items"].words
    assert "30 in all" in words["items"].words
    assert "Cells seen so far" not in words["none"].words
    assert "the only arm" in words["one"].words
    assert re.search(r"Arms with a verdict: \d of 3", words["bar"].words)
    assert "Nothing has been counted yet" in words["none"].words
    assert visitor.get(f"{path('questions items')}/cells").status == 200
    assert visitor.get(f"{path('questions none')}/cells").status == 200


def test_a_list_of_which_all_is_known_says_what_holds_for_further_items(storage: str, visitor: Visitor) -> None:
    study = surest.open_study(storage, "whole", ["a", "b"], items=[f"q{k}" for k in range(30)], seed=1)
    answered(study, lambda ticket: float(int(str(ticket.item).lstrip("q")) % 3 == 0), 5)
    page = visitor.get("/studies/whole")
    assert "have the same mean on these 30 items, up to rounding, and it is the best: this is exact" in page.words
    assert "Both arms may still be the best on further items like these." in page.words
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


def test_a_study_is_made_by_a_form(storage: str, visitor: Visitor) -> None:
    page = visitor.send(
        "/new", "/new", name="by form", arms="one\n\n two \n", question="top", top="1", delta="0.2", bounds="0, 5", minimise="yes"
    )  # fmt: skip
    assert "The study is made" in page.words
    problem = surest.open_study(storage, "by form").settings.problem
    assert (problem.delta, problem.bounds, problem.minimise, problem.top) == (0.2, (0.0, 5.0), True, 1)
    assert surest.open_study(storage, "by form").labels == ("one", "two")


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "wrong", "arms": ""}, "there are no arms"),
        ({"name": "wrong", "arms": "a\na"}, "two arms are called 'a'"),
        ({"name": "", "arms": "a\nb"}, "a study's name"),
        ({"name": "wrong", "arms": "a\nb", "delta": "2"}, "delta is 2.0"),
        ({"name": "wrong", "arms": "a\nb", "delta": "0,1"}, "delta is '0,1'; give a number"),
        ({"name": "wrong", "arms": "a\nb", "bounds": "5"}, "the range is '5'"),
        ({"name": "wrong", "arms": "a\nb", "seed": "1.5"}, "seed is '1.5'; give a whole number"),
        ({"name": "wrong", "arms": "a\nb", "question": "top"}, "needs 'how many'"),
        ({"name": "wrong", "arms": "a\nb", "question": "what"}, "the question is 'what'"),
        ({"name": "wrong", "arms": "a\nb", "algorithm": "/etc/x.py:f"}, "by their names only"),
        ({"name": "wrong", "arms": "a\nb", "algorithm": "nosuch"}, "nosuch"),
    ],
)
def test_a_mistake_is_told_beside_what_was_written(visitor: Visitor, fields: dict[str, str], said: str) -> None:
    page = visitor.send("/new", "/new", **{"note": "kept as it was", **fields})
    assert page.status == 400
    assert said in page.words
    assert 'value="kept as it was"' in page.text
    assert "wrong" not in visitor.get("/").words


def test_a_name_is_taken_once(storage: str, visitor: Visitor) -> None:
    made(storage, "taken")
    page = visitor.send("/new", "/new", name="taken", arms="x\ny")
    assert page.status == 409
    assert "there is already a study" in page.words
    assert "x\ny</textarea>" in page.text, "what was written is not lost"


def test_arms_are_added_and_asking_is_paused(storage: str, site: str, visitor: Visitor) -> None:
    visitor.send("/new", "/new", name="changing", arms="a\nb", reserve="0.1")
    assert "Add arms" in visitor.get(path("changing")).words
    made(storage, "not changing", ["a", "b"])
    assert "Add arms" not in visitor.get(path("not changing")).words, "nothing of delta was kept for them"
    page = visitor.send(f"{path('changing')}/arms", f"{path('changing')}/arms", arms="c\nd")
    assert "The arms are added" in page.words
    assert surest.open_study(storage, "changing").labels == ("a", "b", "c", "d")
    refused = visitor.send(f"{path('changing')}/arms", f"{path('changing')}/arms", arms="a")
    assert refused.status == 400
    assert "two arms are called 'a'" in refused.words
    assert "Paused" in visitor.send(f"{path('changing')}/pause", path("changing")).words
    answer = call(site, "POST", f"/api{path('changing')}/ask")
    assert (answer["tickets"], answer["paused"]) == ([], True)
    assert "The study is paused" in visitor.send(f"{path('changing')}/ask", f"{path('changing')}/evaluate").words
    assert "handed out again" in visitor.send(f"{path('changing')}/resume", path("changing")).words
    assert call(site, "POST", f"/api{path('changing')}/ask")["tickets"]


def test_a_person_evaluates(storage: str, visitor: Visitor) -> None:
    study = made(storage, "by hand", ["a", "b"], items=[("q1", "How much is 2 + 2?"), ("q2", {"text": "3?"})])
    here = f"{path('by hand')}/evaluate"
    assert "Show me the first" in visitor.get(here).words
    page = visitor.send(f"{path('by hand')}/ask", here)
    number = int(re.findall(r'name="ticket" value="(\d+)"', page.text)[0])
    ticket = study.store.reading()
    with ticket as log:
        (held,) = log.read_tickets(study.id, open_by=math.inf)
    assert held.number == number
    assert f"evaluate arm {study.labels[held.arm]} on item" in re.sub(r"\s+", " ", page.words)
    assert ("How much is 2 + 2?" if held.item == 0 else "text 3?") in page.words
    assert 'type="number"' not in page.text, "some browsers leave out a comma: 0,5 would be 5"
    assert f'name="ticket" value="{number}"' in visitor.get(here).text  # a reload shows the same one
    mistakes = {"7": "from 0 to 1", "x": "the reward is 'x'", "0,5": "the reward is '0,5'", "nan": "nan"}
    for wrong, said in mistakes.items():
        refused = visitor.send(f"{path('by hand')}/tell", here, ticket=str(number), reward=wrong)
        assert refused.status in (400, 422)
        assert said in refused.words
    following = visitor.send(f"{path('by hand')}/tell", here, ticket=str(number), reward="1.0")
    assert f"Told: ticket {number}." in following.words
    assert study.status().told == 1
    second = int(re.findall(r'name="ticket" value="(\d+)"', following.text)[0])
    assert second != number
    visitor.send(f"{path('by hand')}/tickets/{second}/fail", here, reason="cannot tell", back="evaluate")
    assert sum(of["failed"] for of in study.health().values()) == 1
    third = re.findall(r'name="ticket" value="(\d+)"', visitor.get(here).text)[0]
    assert "gave your ticket back" in visitor.send(f"{path('by hand')}/leave", here, ticket=third).words
    assert "Show me the first" in visitor.get(here).words
    while "nothing left" not in (page := visitor.get(here)).words:
        found = re.findall(r'name="ticket" value="(\d+)"', page.text)
        fields = {"ticket": found[0], "reward": "1"} if found else {}
        visitor.send(f"{path('by hand')}/{'tell' if found else 'ask'}", here, **fields)
    assert study.finished


def test_a_ticket_of_somebody_else_is_failed(storage: str, visitor: Visitor) -> None:
    study = made(storage, "failing", 2)
    (ticket,) = study.ask(1, "lost worker")
    here = f"{path('failing')}/tickets/{ticket.id}/fail"
    assert "lost worker" in visitor.get(here).words
    page = visitor.send(here, here, reason="its machine is gone", worker="lost worker")
    assert "The ticket has failed" in page.words
    assert "its machine is gone" in page.words
    assert "to be handed out again" in page.words
    assert visitor.get(f"{path('failing')}/tickets/77/fail").status == 404
    refused = visitor.send(here, here, reason=10_001 * "r", worker="lost worker")
    assert (refused.status, "at most 10,000 are allowed" in refused.words) == (400, True)
    refused = visitor.send(here, here, reason="again", worker="somebody else")
    assert refused.status == 409


def test_deleting_is_asked_twice(storage: str, visitor: Visitor) -> None:
    told(made(storage, "to go"), 3)
    here = f"{path('to go')}/delete"
    assert "all that was told to it (3 rewards)" in visitor.get(here).words
    assert (visitor.send(here, here, again="to stay").status, visitor.get(path("to go")).status) == (400, 200)
    assert "to go" not in visitor.send(here, here, again="to go").words
    assert visitor.get(path("to go")).status == 404


def test_downloads(storage: str, visitor: Visitor) -> None:
    study = told(made(storage, "kept: ü/x", ["a, b", "c"]), 5)
    base = path("kept: ü/x")
    table = visitor.get(f"{base}/rewards.csv")
    assert table.text.splitlines()[0] == "arm,value,ticket,worker,told"
    assert len(table.text.splitlines()) == 1 + study.status().told
    assert json.loads(visitor.get(f"{base}/export.json").text)["name"] == "kept: ü/x"
    assert json.loads(visitor.get(f"{base}/report.json").text)["study"] == "kept: ü/x"
    assert visitor.get(f"{base}/report.md").text.startswith("# ")
    for file in ("rewards.csv", "export.json", "report.json", "report.md", "report.html"):
        answer = visitor.get(f"{base}/{file}")
        assert answer.status == 200
        assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''kept%3A%20%C3%BC%2Fx.")
    items = told(made(storage, "kept items", ["a", "b"], items=["q, 1", "q2"]), 2)
    assert visitor.get(f"{path('kept items')}/rewards.csv").text.splitlines()[0] == "arm,item,value,ticket,worker,told"
    assert items.items


@pytest.mark.parametrize("items", [None, ["q1", "q2", "q3"]])
def test_a_verdict_can_be_checked(storage: str, visitor: Visitor, tmp_path: Path, items: list[str] | None) -> None:
    name = "listed and checked" if items else "checked: ü/x"
    study = told(made(storage, name, ["a", "<b>"], **({} if items is None else {"items": items})), 5)
    assert f"{path(name)}/check" in visitor.get(path(name)).text
    shown = visitor.get(f"{path(name)}/check").text
    file = tmp_path / "decision.jsonl.gz"
    file.write_bytes(visitor.get(f"{path(name)}/decision.jsonl.gz").raw)
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
    token = visitor.csrf("/new")
    foreign = {**headers, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert visitor.request("POST", f"{path('guarded')}/pause", f"csrf={token}".encode(), foreign).status == 403
    assert not surest.open_study(storage, "guarded").paused


def test_tokens_open_pages_by_their_role(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    secrets = {role: tokens.add(f"a {role} person", role) for role in ("look", "work", "administer")}
    storage = f"sqlite:///{tmp_path}/s.db"
    made(storage, "closed")
    with serving(storage, tmp_path / "tokens.json") as site:
        nobody = Visitor(site)
        for target in ("/", "/new", path("closed"), f"{path('closed')}/live", f"{path('closed')}/rewards.csv"):
            assert nobody.get(target).status == 401
        first = nobody.get("/new")  # the page to log in, which then leads to what was asked for
        assert 'name="token"' in first.text
        assert 'name="next" value="/new"' in first.text
        assert "closed" not in nobody.get("/").words
        plain = Visitor(site).request("GET", "/", headers={"Accept": "application/json"})
        assert (plain.status, "token" in json.loads(plain.text)["error"]["message"]) == (401, True)
        wrong = nobody.send("/login", "/login", token="surest-wrong", next="/")
        assert wrong.status == 401
        assert "surest-wrong" not in wrong.text
        allowed = {"look": ["/", path("closed")], "work": [f"{path('closed')}/evaluate"], "administer": ["/new"]}
        roles = list(allowed)
        for role, secret in secrets.items():
            visitor = Visitor(site)
            visitor.send("/login", "/login", token=secret, next="/")
            for need, targets in allowed.items():
                expected = 200 if roles.index(role) >= roles.index(need) else 403
                assert [visitor.get(target).status for target in targets] == [expected] * len(targets)
            page = visitor.get(path("closed"))
            assert ("Evaluate by hand" in page.words) == (role != "look")
            assert ("Delete" in page.words) == (role == "administer")
            assert secret not in page.text
            assert f"a {role} person" in page.words
            assert "SUREST_TOKEN" in page.words
        cookie = visitor.request("POST", "/login", b"", {})
        assert cookie.status in (403, 415)
        visitor.send("/logout", "/")
        assert visitor.get("/").status == 401
        revoked = Visitor(site)
        revoked.send("/login", "/login", token=secrets["work"], next="/")
        tokens.revoke("a work person")
        assert revoked.get("/").status == 401
        assert revoked.get("/login").status == 200  # the browser has forgotten it
        form = {"token": "surest-wrong", "next": "/"}
        answers = [nobody.send("/login", "/login", **form).status for _ in range(11)]
        assert (answers[0], answers[-1]) == (401, 429)


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


def test_the_cookie_of_a_token_is_out_of_reach_of_scripts(tmp_path: Path) -> None:
    secret = Tokens(tmp_path / "tokens.json").add("ann", "look")
    with serving(f"sqlite:///{tmp_path}/s.db", tmp_path / "tokens.json") as site:
        visitor = Visitor(site)
        body = f"csrf={visitor.csrf('/login')}&token={secret}&next=//evil.example/".encode()
        answer = visitor.request("POST", "/login", body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    (cookie,) = [line for line in answer.headers.get_all("set-cookie") if secret in line]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


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


def test_settings_of_a_form_follow_the_problem() -> None:
    """A setting that is added to the problem has a field by itself."""
    from surest.core.problem import SETTINGS
    from surest.server.pages.forms import FIRST, FURTHER, fields

    assert set(SETTINGS) <= set(fields())
    assert set(SETTINGS) <= {*FIRST, *FURTHER}
    assert settings_of({"budget": "1e4", "seed": "12345678901234567890"}) == {
        "budget": 10000,
        "seed": 12345678901234567890,
    }


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
