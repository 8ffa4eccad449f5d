"""The explorer: its orders, its terminal, and a server that answers only the one who has the address."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_specs
from playwright.sync_api import Browser, Page
from test_browser import browser as browser  # the fixture
from test_browser import until
from test_walk import RECORDS, control, run_tests

from kafka_spec import MODELS, Walk
from kafka_spec.command import run as kafka_spec
from kafka_spec.diagrams.explore.server import LARGEST, Explorer
from kafka_spec.diagrams.explore.session import ExploreSession
from kafka_spec.diagrams.explore.terminal import Terminal
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.path_to_state import path_to_state
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.trace import from_json


def session(*columns: str) -> ExploreSession:
    """Return a session on zookeeper/fixed with some faults."""
    return ExploreSession(control(**RECORDS), "zookeeper/fixed", columns)


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    """Start a server, and stop it."""
    yield from serving(session("isr = s.zookeeper.partitions[0].state.isr"))


def serving(session: ExploreSession) -> Iterator[Explorer]:
    """Start a server for a session, and stop it."""
    started = Explorer(session)
    thread = threading.Thread(target=started.serve, daemon=True)
    thread.start()
    yield started
    started.close()
    thread.join(10)
    assert not thread.is_alive()


def asked(explorer: Explorer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    """Send a request with exactly these headers, and return code and content."""
    connection = http.client.HTTPConnection("127.0.0.1", explorer.server.server_address[1], timeout=10)
    content = json.dumps(body).encode() if body is not None else b""
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    sent = {"Host": explorer.hosts[0], "Content_Length": str(len(content)), **headers}
    for name, value in sent.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(content)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_orders_move_and_wrong_ones_change_nothing() -> None:
    """Steps, places, links and columns do what they say; an order that is refused leaves the walk as it was."""
    here = session()
    view = here.perform({"do": "look"})
    first = view["choices"][0]
    view = here.perform({"do": "take", "number": first["number"]})
    assert (view["place"], view["now"]["summary"]) == (1, first["summary"])
    view = here.perform({"do": "take", "number": view["choices"][0]["number"]})
    numbers = view["numbers"]
    view = here.perform({"do": "go", "place": 0})
    assert (view["place"], len(view["steps"])) == (0, 3)
    view = here.perform({"do": "show", "text": "up = [b.life for b in s.brokers]"})
    assert view["columns"] == ["up"] and view["steps"][0]["shows"] == ["[0, 0]"]
    assert here.perform({"do": "hide", "name": "up"})["columns"] == []
    before = here.view()
    for wrong in (
        {"do": "take", "number": 10**9},
        {"do": "take", "number": "1"},
        {"do": "take"},
        {"do": "go", "place": -1},
        {"do": "restart", "start": 7},
        {"do": "follow", "start": 0, "numbers": [numbers[0], 10**8]},
        {"do": "follow", "start": 0, "numbers": "1"},
        {"do": "nearest", "text": "s.nothing"},
        {"do": "show", "text": "open(1)"},
        {"do": "stop", "name": "NoSuchProperty"},
        {"do": "wander", "steps": "5", "seed": 1},
        {"do": "nearest", "text": "not " * 5000 + "1"},
        {"do": ["take"]},
        {"do": "fly"},
        [],
        None,
    ):
        with pytest.raises(SpecError):
            here.perform(wrong)
        assert here.view() == before, wrong
    assert here.perform({"do": "follow", "start": 0, "numbers": numbers})["place"] == 2


def test_what_is_saved_can_be_read_and_run() -> None:
    """The saved trace reads back and leads to the same state; the written test passes."""
    here = session()
    here.perform({"do": "wander", "steps": 15, "seed": 5})
    trace = from_json(here.trace_json())
    assert Walk.along(trace, MODELS["zookeeper/fixed"]).fingerprint() == here.walk.fingerprint()
    run_tests(here.test())


def test_the_terminal_leads_through_a_model(tmp_path: Path) -> None:
    """Commands move, explain and save; mistakes are told and do not end it."""
    said: list[str] = []
    file = tmp_path / "way.json"
    commands = [
        "1",
        "9",
        "w Crash",
        "?s.value == 3",
        "= next = s.value + 1",
        "b",
        "g 1",
        "f",
        "g",
        "p",
        "s",
        "s zz",
        "h",
        "r",
        "x Arrives",
        "p",
        "g 1",
        "r 4",
        "x Arrives",
        "x Leaves",
        "r \N{SUPERSCRIPT TWO}",
        "\N{SUPERSCRIPT TWO}",
        "r",
        "help",
    ]
    here = ExploreSession(Walk(sample_specs.COUNTER, sample_specs.bounds_of(sample_specs.COUNTER)), "sample_specs:COUNTER")
    Terminal(here, said.append).run([*commands, f"save {file}", "save", "save /", "", "q", "1"])
    text = "\n".join(said)
    for expected in (
        "state 2 of 2", "there are 1 steps here; there is no number 9", "everything can happen here",
        "stop where Arrives changes", "Arrives (reachable): reached, stops here", "no longer stop", "4 steps were taken",
        "property 'Leaves' is unknown", "r takes a number", "s.value == 3: 2 steps",
        "next is 4", "state 3 of 4", "state 1 of 4", "g names the number", "Within (invariant): holds", "value = 1",
        "no field has zz", "*   2", "nothing can happen after", "nothing can happen here; w says why", "random steps",
        f"written to {file}", "name the file", "/: Is a directory; name a file",
    ):  # fmt: skip
        assert expected in text, expected
    assert here.walk.place == 5 and from_json(file.read_text(encoding="utf-8")).states == 6


def test_the_command_reads_commands_and_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explore --terminal` takes models, named checks and traces; mistakes end with exit code 2 and a cure."""
    file = tmp_path / "way.json"
    assert kafka_spec(["trace", "replication/kip_279", "--bounds", "three_replicas", "-q", "--output", f"json:{file}"]) == 0
    capsys.readouterr()

    def explored(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", iter(["q\n"]))
        code = kafka_spec(["explore", *arguments])
        out = capsys.readouterr()
        return code, out.out + out.err

    code, text = explored("replication/kip_279", "--trace", str(file), "--terminal")
    assert code == 0 and "state 12 of 12" in text and "StrongIsr is violated" in text
    assert explored("replication/kip_279-three-replicas", "--terminal")[0] == 0
    for wrong, cure in (
        (["nothing"], "is unknown"),
        (["replication/kip_279", "--trace", str(tmp_path)], "--trace"),
        (["replication/kip_279", "--trace", str(file), "--bounds", "three_replicas"], "leave out"),
        (["zookeeper/fixed", "--trace", str(file), "--terminal"], "name that model"),
        (["replication/kip_279", "--port", "99999", "--no-browser"], "--port"),
        (["replication/kip_279", "--show", "open(1)", "--terminal"], "a call of open"),
    ):
        code, text = explored(*wrong)
        assert code == 2 and cure in text, text


def test_a_walk_begins_at_any_state_of_a_search(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """--to begins at what shows a property and at a fingerprint, by a shortest way; a state that is not there is told."""

    def explored(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", iter(["q\n"]))
        code = kafka_spec(["explore", *arguments, "--terminal"])
        out = capsys.readouterr()
        return code, out.out + out.err

    code, text = explored("replication/kip_279-three-replicas", "--to", "StrongIsr")
    assert code == 0 and "state 12 of 12" in text and "StrongIsr is violated" in text

    spec, bounds = sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS)
    result = oracle.explore(spec, bounds, everything=True)
    walk, deepest = Walk(spec, bounds), result.depth - 1
    levels = {walk.fingerprint(): 0}
    frontier: list[list[int]] = [[]]
    for level in range(1, result.depth):
        following = []
        for way in frontier:
            for choice in Walk.by(spec, bounds, 0, way).choices():
                there = Walk.by(spec, bounds, 0, [*way, choice.number])
                if there.fingerprint() not in levels:
                    levels[there.fingerprint()] = level
                    following.append([*way, choice.number])
        frontier = following
    assert len(levels) == result.distinct
    for level, mark in {level: mark for mark, level in levels.items()}.items():
        found = path_to_state(spec, bounds, int(mark, 16), Budget())
        assert len(found.actions) == level and Walk.by(spec, bounds, found.start, found.actions).fingerprint() == mark
    mark = next(mark for mark, level in levels.items() if level == deepest)
    code, text = explored("sample_specs:DOORS", "--to", mark)
    assert code == 0 and f"state {deepest + 1} of {deepest + 1}" in text

    for wrong, cure in (
        (["sample_specs:DOORS", "--to", "0" * 16], "no state of doors within these bounds"),
        (["sample_specs:DOORS", "--to", "Nobody"], "no property of doors"),
        (["sample_specs:COUNTER", "--to", "Within"], "no state within these bounds shows it (holds)"),
        (["zookeeper/fixed", "--to", "1", "--seconds", "0"], "was not met among"),
        (["sample_specs:DOORS", "--state-dir", "nowhere"], "needs --to"),
        (["sample_specs:DOORS", "--to", mark, "--trace", "way.json"], "take one of them"),
    ):
        code, text = explored(*wrong)
        assert code == 2 and cure in text, text


def test_only_the_one_with_the_address_is_answered(explorer: Explorer) -> None:
    """A wrong token, host or origin is refused, whatever is asked; what is no order changes nothing."""
    own = f"/{explorer.token}/"
    look = {"do": "look"}
    assert asked(explorer, "GET", own)[0] == 200
    assert asked(explorer, "POST", f"{own}do", look)[0] == 200
    assert asked(explorer, "POST", f"{own}do", look, Origin=f"http://{explorer.hosts[1]}")[0] == 200
    for path, headers in (
        ("/", {}),
        ("/wrong/", {}),
        (f"/{explorer.token[:-1]}/", {}),
        (own, {"Host": "evil.example"}),
        (own, {"Host": f"evil.example:{explorer.server.server_address[1]}"}),
        (own, {"Origin": "http://evil.example"}),
        (own, {"Origin": "null"}),
    ):
        for method in ("GET", "POST"):
            code, content = asked(explorer, method, path + ("do" if method == "POST" else ""), look, **headers)
            assert code == 403 and b"refused" in content, (method, path, headers)
    assert asked(explorer, "GET", f"{own}nothing")[0] == 404
    assert asked(explorer, "POST", f"{own}do", look, Content_Length=str(LARGEST + 1))[0] == 400
    assert asked(explorer, "POST", f"{own}other", look)[0] == 400
    code, content = asked(explorer, "POST", f"{own}do", {"do": "take", "number": -1})
    assert code == 200 and "error" in json.loads(content)
    assert explorer.session.walk.place == 0
    assert explorer.server.server_address[0] == "127.0.0.1"


def place(page: Page) -> str:
    """Return where the page is."""
    return page.text_content("#where") or ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 500])
def test_the_page_in_a_browser(browser: Browser, explorer: Explorer, width: int, scheme: Any) -> None:
    """Clicks and keys take steps, go back, ask, show a column, and follow a link, wide and narrow, light and dark."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(explorer.url) else None)

    def at(text: str) -> None:
        until(page, f"document.querySelector('#where').textContent === {json.dumps(text)}")

    page.goto(explorer.url)
    at("state 1 of 1")
    page.click(".choices li:first-child button")
    at("state 2 of 2")
    assert page.text_content("h1") == explorer.session.walk.step.summary
    page.keyboard.press("2")
    at("state 3 of 3")
    page.keyboard.press("ArrowLeft")
    at("state 2 of 3")
    page.keyboard.press("Home")
    at("state 1 of 3")
    page.click(".story tbody tr:nth-child(3)")
    at("state 3 of 3")
    address = page.url
    suggested = page.get_attribute("#text", "placeholder") or ""
    assert suggested.startswith("s.") and explorer.session.perform({"do": "show", "text": f"suggested = {suggested}"})
    explorer.session.perform({"do": "hide", "name": "suggested"})
    page.fill("#text", "up = sum(1 for b in s.brokers if b.life == 0)")
    page.click("#column")
    until(page, "document.querySelectorAll('.story th').length === 4")
    page.fill("#text", "s.zookeeper.controller_epoch == 2")
    page.click("#go")
    until(page, "document.querySelector('.note').textContent.includes('steps from where you were')")
    assert explorer.session.walk.state.zookeeper.controller_epoch == 2
    page.fill("#text", "open(1)")
    page.click("#go")
    until(page, "document.querySelector('.note').classList.contains('error')")
    page.click(".refused summary")
    page.fill("#rule", "Expire")
    assert all("Expire" in text for text in page.locator(".refused li code:first-child").all_text_contents())
    page.goto("about:blank")
    page.goto(address)
    at("state 3 of 3")
    page.locator(".properties label", has_text="OneWriter").click()
    until(page, "document.querySelector('.note').textContent.includes('stop where OneWriter changes')")
    assert explorer.session.stops == ["OneWriter"]
    page.keyboard.press("r")
    until(page, "/ after | were taken/.test(document.querySelector('.note').textContent)")
    assert explorer.session.walk.place > 2
    page.click("#link")
    assert page.url.endswith(f"steps={','.join(map(str, explorer.session.walk.numbers))}")
    assert page.text_content(".whole h2 code") == explorer.session.walk.fingerprint()
    with page.expect_download() as saved:
        page.click("#save")
    assert from_json(Path(saved.value.path()).read_text(encoding="utf-8")).states == explorer.session.walk.place + 1
    with page.expect_download() as saved:
        page.click("#test")
    compile(Path(saved.value.path()).read_text(encoding="utf-8"), "test_way.py", "exec")
    names = [choice["action"] for choice in explorer.session.view()["choices"]]
    assert page.locator(".choices .action").all_text_contents() == names
    assert page.text_content(".now .action") == explorer.session.view()["now"]["action"]
    assert page.evaluate("[...document.querySelectorAll('.changes')].every((one) => one.scrollWidth <= one.clientWidth + 1)")
    page.click("#first")
    at(f"state 1 of {len(explorer.session.walk.steps)}")
    for element in page.locator("button:visible, input:visible, a:visible").all():
        box = element.bounding_box()
        scrolls = element.evaluate("found => Boolean(found.closest('.scroll'))")
        assert scrolls or (box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width + 1)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert (page.text_content(".model") or "").endswith(", all others 0")
    assert page.evaluate("document.querySelector('.properties ul').clientHeight") < 400, "the way and the state are far below"
    assert page.locator(".machine .lit").count() > 0
    context.close()
    assert wrong == []


def test_what_is_violated_stands_first(browser: Browser) -> None:
    """On the page a violated property comes before those that hold, so that no scrolling hides it."""
    spec = sample_specs.BREAKS_AT_THREE
    walk = Walk(spec, sample_specs.bounds_of(spec))
    for _ in range(3):
        walk.act("CountUp")
    for explorer in serving(ExploreSession(walk, "sample_specs:BREAKS_AT_THREE")):
        page = browser.new_page()
        page.goto(explorer.url)
        until(page, "document.querySelectorAll('.properties li').length > 0")
        assert page.locator(".properties label").all_text_contents() == ["BelowThree", "Within"]
        page.close()
