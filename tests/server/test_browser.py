"""The pages in a real browser: a study is made, solved by two workers and by hand, and watched without a reload."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import surest
from browsing import SIZES, Browser, needs_browser
from surest.server.tokens import Tokens
from surest.study.study import Study
from visiting import serving, work

pytestmark = needs_browser
REWARDS = {"old": [0, 1, 0, 0], "large button": [1, 1, 0, 1], "two buttons": [0, 1]}
"""What workers find: the same rewards again and again, so that every run is the same."""


@pytest.fixture(params=[("desk", "light"), ("phone", "dark")], ids="-".join)
def seen(chromium: Any, request: pytest.FixtureRequest) -> Browser:
    return Browser(chromium, *request.param)


@contextmanager
def workers(site: str, study: str, count: int = 2) -> Iterator[None]:
    """So many workers at a study, over HTTP."""
    start, stop = threading.Barrier(count), threading.Event()
    with ThreadPoolExecutor(count) as pool:
        working = [pool.submit(work, site, study, f"worker {k}", REWARDS, start, stop) for k in range(count)]
        try:
            yield
        finally:
            stop.set()
        for worker in working:
            worker.result()


def is_connected(seen: Browser) -> bool:
    """Whether the page is told of changes."""
    return bool(seen.script("return document.querySelector('[data-connected=yes]') !== null"))


def check_page(seen: Browser) -> None:
    """Nothing is wider than the screen, nothing is forbidden or faulty, and nobody is kept out."""
    assert not seen.is_too_wide
    assert (seen.barriers(), seen.complaints()) == ([], [])


def test_a_study_from_its_making_to_its_verdict(site: str, seen: Browser) -> None:
    """Made by a form, one reward told by hand, the rest by two workers; the verdict appears without a reload."""
    name = f"landing pages, {seen.size}"
    seen.open(site)
    check_page(seen)
    seen.press("New study")
    fields = "[...document.querySelectorAll('[data-with]')]"
    shown = f"return {fields}.filter(one => !one.hidden).map(one => one.dataset.with)"
    assert seen.script(shown) == []  # fields of other questions
    seen.find("#question option[value=top]").click()
    assert seen.script(shown) == ["top"]
    seen.find("#question option[value=best]").click()
    check_page(seen)
    seen.fill(name=name, arms="\n".join(REWARDS), note="Which page is clicked most?")
    seen.press("Make the study")
    assert "The study is made" in seen.text()
    check_page(seen)

    seen.press("Evaluate by hand")
    seen.press("Show me the first")
    assert "evaluate arm old" in seen.text()
    check_page(seen)
    seen.press("0 (worst)")
    assert "Told: ticket 0." in seen.text()
    seen.press("Stop here")
    assert "somebody else gets it" in seen.text()
    seen.script("window.notReloaded = true")
    assert "Not decided" in seen.text("#part-verdict")
    seen.wait(lambda: is_connected(seen), "connected")

    with workers(site, name):
        seen.wait(lambda: "worker 1" in seen.text("#part-work"), "the second worker is seen")
        seen.wait(lambda: "is the best" in seen.text("#part-verdict"), "the verdict")
    assert "Arm large button is the best: wrong with probability at most 0.05." in seen.text("#part-verdict")
    assert "Decided" in seen.script("return document.title")
    assert "Decided" in seen.script("return document.getElementById('announce').textContent")
    assert seen.was_not_reloaded
    assert seen.text("#part-pictures").count("needed to decide") == 1
    check_page(seen)


def made_on_items(storage: str, name: str) -> Study:
    items = [(f"q{i}", f"What is {i} times 7?") for i in range(40)]
    study = surest.open_study(storage, name, ["terse", "step by step"], 0.05, items=items, seed=1)
    for k in range(30):
        for ticket in study.ask(1, "judge"):
            study.tell(ticket.id, float(ticket.arm == 1 or k % 3 == 0))
    return study


def test_a_list_of_items_and_all_other_pages(site: str, storage: str, seen: Browser) -> None:
    name = f"items {seen.size}"
    study = made_on_items(storage, name)
    held = study.ask(1, "slow worker")
    base = f"{site}/studies/items%20{seen.size}"
    pages = ["", "/log", "/log?show=events", "/cells", "/arms", "/delete", "/evaluate"]
    pages += [f"/tickets/{ticket.id}/fail" for ticket in held]
    for page in pages:
        seen.open(base + page)
        check_page(seen)
    seen.open(f"{site}/studies/there%20is%20none")
    assert "there is none" in seen.text()
    assert seen.barriers() == []
    assert len(seen.complaints()) == 1  # the status itself


def test_by_keyboard_alone(site: str, storage: str, seen: Browser) -> None:
    """The first stop leads to the content; a reward is told by keys; the focus survives an update."""
    from selenium.webdriver.common.keys import Keys

    name = f"keys {seen.size}"
    study = surest.open_study(storage, name, ["a", "b"], 0.05, seed=1)
    seen.open(f"{site}/studies/keys%20{seen.size}/evaluate")
    seen.find("body").send_keys(Keys.TAB)
    assert seen.script("return document.activeElement.textContent") == "Skip to content"
    seen.find("form[action$=ask] button").send_keys(Keys.ENTER)
    seen.wait(lambda: "Ticket 0" in seen.text(), "a ticket is shown")
    seen.find("#reward").send_keys("0.25", Keys.ENTER)
    seen.wait(lambda: "Told: ticket 0." in seen.text(), "the reward is told")
    assert study.status().told == 1
    seen.open(f"{site}/studies/keys%20{seen.size}")
    seen.wait(lambda: is_connected(seen), "connected")
    seen.script("document.getElementById('all-log').focus()")
    (ticket,) = study.ask(1, "another worker")
    study.tell(ticket.id, 0.5)
    seen.wait(lambda: "another worker" in seen.text("#part-work"), "the update")
    assert seen.script("return document.activeElement.id") == "all-log"
    assert seen.was_not_reloaded


def test_buttons_follow_what_others_do(site: str, storage: str, seen: Browser) -> None:
    """Somebody else pauses the study, and later it ends: the page offers what can be done now, without a reload."""
    study = surest.open_study(storage, f"others {seen.size}", ["a", "b"], 0.4, seed=1, budget=20)
    seen.open(f"{site}/studies/others%20{seen.size}")
    assert offered(seen) == ["Evaluate by hand", "Pause handing out tickets"]
    study.pause()
    seen.wait(lambda: offered(seen) == ["Evaluate by hand", "Hand out tickets again"], "paused")
    study.resume()
    seen.wait(lambda: "Pause handing out tickets" in offered(seen), "resumed")
    assert "Join as a worker" in seen.text()
    while tickets := study.ask(1):
        study.tell(tickets[0].id, 0.5)
    next_steps = ["Download the report", "Download the rewards", "Start the next study"]
    seen.wait(lambda: offered(seen) == next_steps, "ended")
    assert "Join as a worker" not in seen.text()
    assert seen.was_not_reloaded


def offered(seen: Browser) -> list[str]:
    """The buttons of a study that can be seen."""
    return seen.text("main .actions").split("\n")


def test_colours_follow_the_scheme_and_barriers_are_seen(site: str, seen: Browser) -> None:
    seen.open(site)
    colours = {"desk": ("rgb(255, 255, 255)", "rgb(28, 28, 28)"), "phone": ("rgb(22, 24, 27)", "rgb(232, 230, 227)")}
    style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    assert tuple(seen.script(style)) == colours[seen.size]
    assert seen.script("return innerWidth") == SIZES[seen.size][0]
    seen.script("document.querySelector('main').append(document.createElement('input'))")
    assert [found.split()[0] for found in seen.barriers()] == ["label"]


EVIL = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


def test_hostile_text_runs_nowhere(site: str, storage: str, seen: Browser) -> None:
    """In a page as it is loaded, and in parts that are put in later."""
    name = f"hostile {seen.size}"
    study = surest.open_study(storage, name, [EVIL, "b"], 0.05, note=EVIL, seed=1)
    seen.open(f"{site}/studies/hostile%20{seen.size}")
    for worker in (EVIL, f"later {EVIL}"):
        (ticket, other) = study.ask(2, worker)
        study.fail(ticket.id, EVIL, worker=worker)
        study.tell(other.id, 1.0)
        seen.wait(lambda said=worker: said in seen.text("#part-work"), "the worker is seen")  # type: ignore[misc]
    assert EVIL in seen.text("#part-arms")
    assert seen.script("return document.querySelectorAll('main img, main script').length") == 0
    assert "broken" not in seen.script("return document.title")
    assert seen.complaints() == []


def test_a_lost_connection_is_told_and_mended(storage: str, seen: Browser) -> None:
    """The page says that it may be out of date, and is up to date again when the service is."""
    study = surest.open_study(storage, f"lost {seen.size}", ["a", "b"], 0.05, seed=1)
    with serving(storage) as first:
        port = int(first.rpartition(":")[2])
        seen.open(f"{first}/studies/lost%20{seen.size}")
        seen.wait(lambda: is_connected(seen), "a connection")
        assert seen.text("#connection") == ""
    seen.wait(lambda: "connection to the service is lost" in seen.text("#connection"), "the loss is told")
    (ticket,) = study.ask(1, "meanwhile")
    study.tell(ticket.id, 1.0)
    with serving(storage, port=port):
        seen.wait(lambda: "meanwhile" in seen.text("#part-work"), "the page is up to date again")
        assert seen.text("#connection") == ""
        assert seen.was_not_reloaded
        surest.delete_study(storage, study.name)
        seen.wait(lambda: "deleted" in seen.text("#connection"), "the end is told")
    seen.complaints()  # of the connection


def test_logging_in(storage: str, tmp_path: Path, seen: Browser) -> None:
    """A page that needs a token is the login, and then itself; scripts cannot read the token."""
    secret = Tokens(tmp_path / "tokens.json").add("ann", "work")
    surest.open_study(storage, f"closed {seen.size}", ["a", "b"], 0.05, seed=1)
    with serving(storage, tmp_path / "tokens.json") as site:
        seen.open(f"{site}/studies/closed%20{seen.size}")
        seen.complaints()  # of the status
        assert "This service requires a token" in seen.text()
        check_page(seen)
        seen.fill(token=secret)
        seen.find("main form button").click()
        seen.wait(lambda: f"closed {seen.size}" in seen.text("h1"), "the study")
        check_page(seen)
        assert "Delete" not in seen.text()
        bar = seen.script("return document.querySelector('.top').offsetHeight")
        assert bar < 120, "its words are not broken"
        assert seen.script("return document.cookie") == ""
        seen.wait(lambda: is_connected(seen), "the stream takes the cookie")
        seen.press("Log out")
        assert "Log in" in seen.text("h1")
        seen.driver.delete_all_cookies()


def test_without_a_script_everything_works(site: str, storage: str, chromium: Any) -> None:
    """Pages, the search and forms need no JavaScript; a page then shows times as they are."""
    surest.open_study(storage, "plain one", ["a", "b"], 0.05)
    plain = Browser(chromium)
    plain.command("Emulation.setScriptExecutionDisabled", {"value": True})
    plain.driver.get(site)
    plain.find("#q").send_keys("plain one")
    plain.find("form[role=search] button").click()
    plain.wait(lambda: "q=plain+one" in plain.driver.current_url, "the search is sent")
    plain.driver.find_element("link text", "plain one").click()
    plain.wait(lambda: plain.driver.title.startswith("plain one"), "the study")
    plain.driver.find_element("xpath", "//button[.='Pause handing out tickets']").click()
    plain.wait(lambda: "done=paused" in plain.driver.current_url, "the form is sent")
    printed = plain.command("Page.printToPDF", {})
    assert surest.open_study(storage, "plain one").paused
    assert printed["data"].startswith("JVBERi")  # %PDF
