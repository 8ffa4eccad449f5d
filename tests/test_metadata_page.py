"""The page of a metadata log in Chromium: from file://, light and dark, wide and narrow, offline."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from kafka_spec.command import run as kafka_spec
from kafka_spec.conformance.metadata.timelines import Lane, Span

LOGS = Path(__file__).parent / "logs" / "kraft"


def test_times_and_fail_overs_of_a_lane() -> None:
    """Times count while the partition exists; another leader is a fail-over, and so is the return to the first."""
    lane = Lane("t-0", [
        Span(0, 0, "", 1, (1, 2), 0, False), Span(10, 1, "", -1, (), 1, True), Span(30, 2, "", 2, (2,), 2, True),
        Span(60, 3, "", 1, (1, 2), 3, False), Span(100, 4, "", -1, (), 0, False, False),
    ])  # fmt: skip
    assert lane.times(1000) == (20, 50)
    assert lane.fail_overs == 2


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 420)])
def test_the_page_of_a_metadata_log(tmp_path: Path, scheme: str, width: int) -> None:
    """Each partition has a lane, each bug that acts its page; nothing is fetched, and nothing is wider than the window."""
    file = tmp_path / "page.html"
    log = LOGS / "s440-static-jbod.tar.gz"
    assert kafka_spec(["validate", str(log), "-q", "--format", "html", "--output", str(file)]) == 1
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "Chromium is missing; run `make system`, or on Debian: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        page, asked, complaints = context.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(file.as_uri())
        assert asked == [file.as_uri()] and complaints == []
        assert page.locator(".partition").count() > 5 and page.locator(".partition .lane .nobody").count() > 0
        assert "offline" in (page.locator(".partition span").first.text_content() or "")
        assert "docs/findings/elr-outside-replicas.md" in "".join(page.locator(".bug").all_text_contents())
        assert page.locator('.bug a[href="https://issues.apache.org/jira/browse/KAFKA-19975"]').count() == 1
        assert page.locator("#fences tr").count() > 1
        page.locator(".partition summary").first.click()
        assert page.locator(".partition table").first.is_visible()
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (scheme == "light")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=str(tmp_path / "page.png"))
        browser.close()
