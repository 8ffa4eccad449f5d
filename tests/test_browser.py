"""Pictures and pages as a person meets them: in Chromium, from file://, with clicks and keys, in light and dark, offline."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_specs
from conftest import ROOT
from playwright.sync_api import Browser, Page, sync_playwright
from test_charts import doors, kip_279

from kafka_spec import MODELS, check, trace_of
from kafka_spec.command import run as kafka_spec
from kafka_spec.diagrams.dot import machine_dot, render
from kafka_spec.diagrams.page import page_html
from kafka_spec.diagrams.reference import reference_html
from kafka_spec.spec.catalogue.machines import MACHINES


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium; its absence is a failure and no reason to skip."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "Chromium is missing; run `make system`, or on Debian: apt-get install chromium"
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page, with its errors and its network requests."""

    def __init__(self, browser: Browser, file: Path, scheme: Any = "light", fragment: str = "") -> None:
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=scheme)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri() + fragment)

    def close(self) -> None:
        """Close the page; it must have no errors, and must have requested only itself."""
        self.context.close()
        assert self.complaints == []
        assert len(self.asked) == 1 and self.asked[0].startswith("file://")


def text(page: Page, selector: str) -> str:
    """Return the text of the first element."""
    return (page.locator(selector).first.text_content() or "").strip()


def until(page: Page, condition: str, seconds: float = 30) -> None:
    """Wait for a condition in the page; asked from here, since the page's own policy refuses code that is made of text."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"after {seconds} s it is still not true that {condition}"
        page.wait_for_timeout(20)


@pytest.fixture
def counterexample(tmp_path: Path) -> Path:
    """Write the page of kip_279's counterexample."""
    file = tmp_path / "kip_279.html"
    file.write_text(page_html(*kip_279()), encoding="utf-8")
    return file


def test_the_page_tells_what_is_violated(browser: Browser, counterexample: Path) -> None:
    """The page opens on the first state, with the property, its sentence, and the part of it that fails."""
    opened = Opened(browser, counterexample)
    page = opened.page

    assert text(page, "h1") == "StrongIsr is violated"
    assert "records that a consumer may have read survive" in text(page, ".subtitle")
    assert "leader = 0, isr = {0, 1, 2}, end = 1, member = 2" in text(page, ".reasons")
    assert "end > len(other)" in text(page, ".reasons")
    assert text(page, "#where") == "state 1 of 12"
    assert page.locator(".story li").count() == 12
    opened.close()


def test_keys_and_buttons(browser: Browser, counterexample: Path) -> None:
    """Arrow keys, Home and End, buttons, the slider, the story and the chart all lead through the trace, and stop at its ends."""
    opened = Opened(browser, counterexample)
    page = opened.page

    def at() -> int:
        # a link changes the address first, and the page follows
        until(page, "['', '#step=' + /state (\\d+)/.exec(document.querySelector('#where').textContent)[1]].includes(location.hash)")
        shown = re.search(r"state (\d+) of 12", text(page, "#where"))
        assert shown is not None
        number = int(shown[1])
        assert text(page, ".story [aria-current] .number") == str(number)
        assert text(page, ".now h2").startswith(f"{number}. ")
        return number

    def pressed(key: str) -> int:
        page.keyboard.press(key)
        return at()

    def clicked(selector: str) -> int:
        page.click(selector)
        return at()

    assert [pressed(key) for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home")] == [
        1, 2, 3, 2, 12, 12, 1,
    ]  # fmt: skip
    assert [clicked(button) for button in ("#next", "#next", "#previous", "#last", "#first")] == [2, 3, 2, 12, 1]
    assert page.locator("#previous").is_disabled() and not page.locator("#next").is_disabled()
    assert clicked(".story li:nth-child(8) a") == 8
    assert "quorum.leader_epoch" in text(page, ".changes")
    assert text(page, ".messages code") == "LeaderAndIsr(leader_epoch 1, leader broker 1, isr {0, 1})"
    page.locator("#slider").fill("7")
    assert at() == 7
    page.locator("#step-5").click(position={"x": 4, "y": 4})
    assert at() == 5
    assert page.locator(".band.lit").get_attribute("id") == "step-5"
    page.focus("#slider")
    assert pressed("ArrowRight") == 6
    opened.close()


def test_the_page_of_a_model_is_as_wide_as_the_screen(browser: Browser, tmp_path: Path) -> None:
    """Long names break, and no table is wider than three screens, at 500 pixels."""
    file = tmp_path / "model.html"
    file.write_text(reference_html([MODELS["zookeeper/fixed"]]), encoding="utf-8")
    page = browser.new_page(viewport={"width": 500, "height": 900})
    page.goto(file.as_uri())

    assert page.evaluate("document.documentElement.scrollWidth") <= 500
    assert page.evaluate("Math.max(...[...document.querySelectorAll('table')].map((one) => one.scrollWidth))") < 1500
    page.close()


def test_links_to_a_step(browser: Browser, counterexample: Path) -> None:
    """A link with #step=N opens that state; a wrong one opens the first state, or the last if N is too large."""
    for fragment, shown in (("#step=9", 9), ("#step=99", 12), ("#step=x", 1), ("#step=0", 1), ("", 1)):
        opened = Opened(browser, counterexample, fragment=fragment)
        assert text(opened.page, "#where") == f"state {shown} of 12"
        assert opened.page.locator("#link").get_attribute("href") == f"#step={shown}"
        opened.page.evaluate("location.hash = '#step=4'")
        until(opened.page, "document.getElementById('where').textContent.startsWith('state 4 ')")
        opened.close()


@pytest.mark.parametrize("width", [1400, 500])
def test_the_controls_are_in_sight(browser: Browser, counterexample: Path, width: int) -> None:
    """Wide and narrow, the key hint and the link are in sight, nothing is wider than the page, and the link can be copied."""
    opened = Opened(browser, counterexample, fragment="#step=9")
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])

    for selector in (".keys", "#link"):
        box = page.locator(selector).bounding_box()
        assert box is not None and box["width"] > 40 and box["x"] >= 0 and box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#next")
    page.click("#link")
    until(page, "document.getElementById('link').textContent === 'copied'")
    assert page.evaluate("navigator.clipboard.readText()").endswith("kip_279.html#step=10")
    page.click("#previous")
    assert text(page, "#link") == "copy link"
    opened.close()


def test_a_link_that_cannot_be_copied_is_the_address(browser: Browser, counterexample: Path) -> None:
    """Where a browser refuses the clipboard, the link says where to find it: the address names the step."""
    opened = Opened(browser, counterexample, fragment="")
    page = opened.page
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")

    page.click("#link")
    until(page, "document.getElementById('link').textContent === 'the address is the link'")
    assert page.url.endswith("#step=1")
    opened.close()


def test_reasons_are_apart_from_docstrings(browser: Browser, counterexample: Path) -> None:
    """Each reason is a paragraph, and the docstring and the place of its function are another below it."""
    opened = Opened(browser, counterexample)
    lines = opened.page.locator(".reasons p").all()

    assert [line.get_attribute("class") or "" for line in lines] == ["", "place"] * 3
    assert (lines[4].text_content() or "") == "holds_same_prefix does not hold for end = 1, because of end > len(other)"
    assert (lines[5].text_content() or "").startswith("Whether both logs reach `end` and hold the same entries below it.")
    opened.close()


def test_the_whole_state_is_there(browser: Browser, counterexample: Path) -> None:
    """The table of the whole state has a line for each field, those that changed marked."""
    opened = Opened(browser, counterexample, fragment="#step=2")
    page = opened.page
    page.click(".whole summary")

    assert page.locator(".whole tr").count() == 20
    assert [line.text_content() for line in page.locator(".whole tr.changed").all()] == [
        "quorum.leader_epoch0", "quorum.leaderbroker 0", "requests[(leader_epoch 0, leader broker 0, isr {0, 1, 2})]",
    ]  # fmt: skip
    opened.close()


def test_machines_are_lit(browser: Browser, tmp_path: Path) -> None:
    """In each step the pictures of the machines highlight the current states and the arrow that was taken."""
    file = tmp_path / "doors.html"
    file.write_text(page_html(*doors()), encoding="utf-8")
    opened = Opened(browser, file)
    page = opened.page

    def lit() -> tuple[list[str | None], list[str]]:
        ids = [element.get_attribute("id") for element in page.locator("figure .lit").all()]
        return sorted(ids, key=str), [element.text_content() or "" for element in page.locator(".entity").all()]

    assert lit() == (["state-Door-SHUT"], ["door 0: SHUT", "door 1: SHUT"])
    page.keyboard.press("End")
    assert lit() == (["arrow-Door-3", "state-Door-LOCKED"], ["door 0: LOCKED", "door 1: LOCKED"])
    assert page.locator(".entity.moved").count() == 1
    page.keyboard.press("ArrowLeft")
    assert lit()[0] == ["arrow-Door-3", "state-Door-LOCKED", "state-Door-SHUT"]
    opened.close()


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    """A name or a sentence that looks like markup or ends a script is shown literally."""
    import dataclasses

    trace, spec = doors()
    evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    steps = tuple(dataclasses.replace(step, summary=evil, actor="b\u2028 <b>") for step in trace.steps)
    file = tmp_path / "evil.html"
    file.write_text(page_html(dataclasses.replace(trace, steps=steps), spec), encoding="utf-8")
    opened = Opened(browser, file, fragment="#step=2")

    assert text(opened.page, ".now h2") == f"2. {evil}"
    assert opened.page.title() == "BothLocked, doors"
    assert opened.page.locator("img").count() == 0
    opened.close()


def test_light_and_dark(browser: Browser, counterexample: Path) -> None:
    """The page follows the system: in the dark paper is dark and ink is light, in the chart too, and every text stays legible."""
    ratios = {}
    for scheme in ("light", "dark"):
        opened = Opened(browser, counterexample, scheme)
        ratios[scheme] = opened.page.evaluate(CONTRAST)
        opened.close()

    assert ratios["light"]["paper"] > 0.9 and ratios["dark"]["paper"] < 0.1
    for scheme, found in ratios.items():
        assert found["worst"] >= 4.5, (scheme, found)


CONTRAST = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (color) => {
    const [r, g, b] = parse(color).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const ratio = (ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  const plain = [...document.querySelectorAll("h1, .subtitle, .model, .reasons code, .now h2, .reference, td, th, summary")];
  const drawn = [...document.querySelectorAll(".sequence .summary, .sequence .number, .sequence .title")];
  const inks = [...plain.map((e) => getComputedStyle(e).color), ...drawn.map((e) => getComputedStyle(e).fill)];
  return { paper, worst: Math.min(...inks.map(light).map(ratio)) };
}"""


# ---------------------------------------------------------------------------------------------------------------------
# SVG

OVERFLOW = """() => {
  const boxes = [...document.querySelectorAll("rect.box, rect.head, rect.ending")].map((rect) => rect.getBBox());
  const texts = [...document.querySelectorAll("text.rule, text.note, text.who")].map((text) => [text.textContent, text.getBBox()]);
  const within = (t, b) => t.x >= b.x && t.x + t.width <= b.x + b.width && t.y >= b.y - 1 && t.y + t.height <= b.y + b.height + 1;
  return texts.filter(([, t]) => !boxes.some((b) => within(t, b))).map(([content]) => content);
}"""
OUTSIDE = """() => {
  const whole = document.querySelector("svg").viewBox.baseVal;
  return [...document.querySelectorAll("svg text")].filter((text) => {
    const box = text.getBBox(), m = text.getCTM(), n = document.querySelector("svg").getCTM();
    const x = (m.a * box.x + m.e - n.e) / n.a, end = x + (m.a * box.width) / n.a;
    return x < whole.x - 1 || end > whole.x + whole.width + 1;
  }).map((text) => text.textContent);
}"""


def show(browser: Browser, svg: bytes) -> Page:
    """Open an SVG inside a page."""
    page = browser.new_page(viewport={"width": 1700, "height": 900})
    page.set_content(svg.decode())
    return page


def test_charts_hold_their_texts(browser: Browser) -> None:
    """In every chart of the gallery each text lies within its box, and none outside the picture."""
    charts = [file for file in sorted((ROOT / "diagrams" / "gallery").glob("*.svg")) if b'class="sequence"' in file.read_bytes()]
    assert len(charts) >= 7
    page = show(browser, charts[0].read_bytes())
    for file in charts:
        page.set_content(file.read_text(encoding="utf-8"))
        assert page.locator("svg.sequence text").count() > 3, file.name
        assert page.evaluate(OVERFLOW) == [], file.name
        assert page.evaluate(OUTSIDE) == [], file.name
    page.close()


@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_seen_whole(browser: Browser, name: str) -> None:
    """Every state of a machine's picture is on it, its name legible within its box, and no two boxes overlap."""
    machine = MACHINES[name]
    page = show(browser, render(machine_dot(machine), "svg"))
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("g.state, g.arrow")].map((g) => {
          const b = g.querySelector("path, polygon").getBoundingClientRect();
          return [g.id, b.left, b.top, b.right, b.bottom];
        })"""
    )

    assert {box[0] for box in boxes} >= {f"state-{machine.name}-{state.name}" for state in machine.states}
    for number, (one, left, top, right, bottom) in enumerate(boxes):
        for other, left2, top2, right2, bottom2 in boxes[:number]:
            assert right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top, (one, other)
    assert page.evaluate(OUTSIDE) == []
    page.close()


def test_the_pictures_are_not_empty(browser: Browser, counterexample: Path, tmp_path: Path) -> None:
    """A screenshot of the page and of a machine shows more than one colour: something was painted."""
    opened = Opened(browser, counterexample, fragment="#step=9")
    shot = opened.page.screenshot(full_page=True, path=tmp_path / "page.png")
    picture = show(browser, render(machine_dot(MACHINES["replica"]), "svg")).screenshot(path=tmp_path / "replica.png")

    assert len(set(shot)) > 100 and len(shot) > 50_000
    assert len(picture) > 20_000
    opened.close()


def test_a_trace_of_a_violation_in_the_initial_state(browser: Browser, tmp_path: Path) -> None:
    """A trace of one state is a page too: it has no further step, and its state is both the first and the last."""
    import dataclasses

    trace = trace_of(check(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS)), "BothLocked")
    assert trace is not None
    file = tmp_path / "one.html"
    file.write_text(page_html(dataclasses.replace(trace, steps=()), sample_specs.DOORS), encoding="utf-8")
    opened = Opened(browser, file)

    assert text(opened.page, "#where") == "state 1 of 1"
    assert all(opened.page.locator(button).is_disabled() for button in ("#first", "#previous", "#next", "#last"))
    opened.close()


def test_timelines_of_a_validation(browser: Browser, tmp_path: Path) -> None:
    """The page of a validation shows a lane for each partition, and its moments when one is opened."""
    file = tmp_path / "page.html"
    logs = Path(__file__).parent / "logs" / "2.8.2"
    assert kafka_spec(["validate", str(logs), "-q", "--format", "html", "--output", str(file)]) == 0
    opened = Opened(browser, file)
    page = opened.page

    assert page.locator("details .lane").count() == 9
    assert not page.locator("details table").first.is_visible()
    page.locator("details summary b").first.click()
    assert "ReplicaDeletion" not in text(page, "details table")
    assert page.locator("details table").first.locator("tr").count() > 5
    opened.close()
