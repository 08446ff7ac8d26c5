"""The report in Chromium: quiet, offline, drawn, usable, readable, harmless.

`TRACEQL_SCREENSHOTS` names a folder to keep the pictures in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .devtools import Page, opened

pytestmark = pytest.mark.browser

SIZES = {"phone": 390, "desktop": 1280}
SCHEMES = ("light", "dark")

# Contrast of two colours of report.css, by the rule of WCAG 2.
CONTRAST = """
(() => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const probe = document.createElement('i');
    probe.style.color = style.getPropertyValue(name);
    document.body.append(probe);
    const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3);
    probe.remove();
    const [r, g, b] = parts.map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
})()
"""
WORDS = ("--text", "--muted", "--link", "--alert", "--warn")
ACTIVITIES = (
    *("--compute", "--communication", "--graph", "--copy_h2d", "--copy_d2h"),
    *("--copy_d2d", "--copy_p2p", "--copy_other", "--memset", "--step"),
)


@pytest.fixture
def quiet() -> Any:
    """Checks that a page said nothing and asked for nothing but itself."""

    def check(page: Page) -> None:
        assert page.said() == []
        others = [url for url in page.requests() if not url.startswith("file:")]
        assert others == []
        assert len(page.requests()) <= 1

    return check


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_drawn_fits_and_is_quiet(
    chrome: str, pages: dict[str, Path], quiet: Any, size: str, scheme: str
) -> None:
    for name in ("training", "no-gpu", "both"):
        path = pages[name]
        with opened(chrome, path, width=SIZES[size], scheme=scheme) as page:
            drawn = page.run("document.querySelectorAll('.chart svg').length")
            charts = page.run("document.querySelectorAll('.chart').length")
            assert drawn == charts
            assert charts >= (7 if name != "no-gpu" else 1)
            # A page is as wide as its window, whatever stands in it.
            wide = page.run("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0
            if keep := os.environ.get("TRACEQL_SCREENSHOTS"):
                page.screenshot(Path(keep) / f"{name}-{size}-{scheme}.png")
            quiet(page)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_can_be_told_from_their_background(
    chrome: str, pages: dict[str, Path], scheme: str
) -> None:
    with opened(chrome, pages["no-gpu"], scheme=scheme) as page:
        for background in ("--page", "--panel"):
            for name in WORDS:
                assert page.run(f"{CONTRAST}('{name}', '{background}')") >= 4.5, name
            for name in ACTIVITIES:
                assert page.run(f"{CONTRAST}('{name}', '{background}')") >= 3, name
        assert page.run(f"{CONTRAST}('--text', '--alert-panel')") >= 4.5


def test_the_schemes_differ(chrome: str, pages: dict[str, Path]) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    with opened(chrome, pages["no-gpu"], scheme="light") as page:
        light = page.run(colour)
    with opened(chrome, pages["no-gpu"], scheme="dark") as page:
        assert page.run(colour) != light


def test_charts_take_the_colours_of_the_scheme(
    chrome: str, pages: dict[str, Path]
) -> None:
    fills = """[...document.querySelectorAll('#kernel-totals .mark-rect path')]
        .map((path) => path.getAttribute('fill'))"""
    blue = "getComputedStyle(document.documentElement).getPropertyValue('--compute')"
    for scheme in SCHEMES:
        with opened(chrome, pages["training"], scheme=scheme) as page:
            assert page.run(blue).strip() in page.run(fills)


def test_without_scripts_all_figures_are_there(
    chrome: str, pages: dict[str, Path]
) -> None:
    with opened(chrome, pages["training"], scripts=False) as page:
        text = page.run("document.body.innerText")
        assert "What limits this run" in text
        assert page.run("document.querySelectorAll('.chart svg').length") == 0
        assert page.run("document.querySelector('.timeline').offsetHeight") == 0
        # Each chart has its table in the same figure, and so has the timeline.
        lonely = page.run(
            "[...document.querySelectorAll('.figure')].filter("
            "f => f.querySelector('.chart') && !f.querySelector('tbody tr')).length"
        )
        assert lonely == 0
        assert page.run("document.querySelectorAll('#timeline tbody tr').length") > 5
        assert "ampere_sgemm" in text


def test_hostile_names_do_nothing(
    chrome: str, pages: dict[str, Path], quiet: Any
) -> None:
    with opened(chrome, pages["hostile"]) as page:
        assert page.run("typeof window.owned") == "undefined"
        assert page.run("document.querySelectorAll('img, main b').length") == 0
        # Nor where a chart's tooltip shows one.
        box = page.run(
            "(() => { const bar = document.querySelector('#kernel-totals .mark-rect '"
            "+ 'path'); bar.scrollIntoView({block: 'center'});"
            "const b = bar.getBoundingClientRect();"
            "return [b.x + 5, b.y + b.height / 2]; })()"
        )
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        page.wait("document.querySelector('#vg-tooltip-element.visible') !== null")
        tip = page.run("document.querySelector('#vg-tooltip-element').textContent")
        assert "window.owned=1" in tip
        assert page.run("typeof window.owned") == "undefined"
        assert page.run("document.querySelectorAll('img').length") == 0
        quiet(page)


def _view(page: Page) -> tuple[int, int]:
    start, end = page.run("document.querySelector('.timeline').dataset.view").split()
    return int(start), int(end)


def test_the_timeline_obeys_the_keyboard(
    chrome: str, pages: dict[str, Path], quiet: Any
) -> None:
    with opened(chrome, pages["training"]) as page:
        page.run("document.querySelector('.timeline canvas').focus()")
        start, end = _view(page)
        assert start == 0
        page.key("+")
        near = _view(page)
        assert near[1] - near[0] == pytest.approx((end - start) / 2, abs=2)
        page.key("ArrowRight")
        later = _view(page)
        assert later[0] > near[0]
        assert later[1] - later[0] == pytest.approx(near[1] - near[0], abs=2)
        page.key("ArrowLeft")
        assert _view(page) == pytest.approx(near, abs=2)
        page.key("-")
        assert _view(page) == (start, end)
        for _ in range(40):
            page.key("+")
        assert _view(page)[1] - _view(page)[0] == 1000
        page.key("0")
        assert _view(page) == (start, end)
        said = page.run("document.querySelector('.timeline [aria-live]').textContent")
        assert said.startswith("0 ns to ")
        quiet(page)


def test_the_timeline_obeys_the_pointer(chrome: str, pages: dict[str, Path]) -> None:
    with opened(chrome, pages["training"]) as page:
        left, top, width = page.run(
            "(() => { const c = document.querySelector('.timeline canvas');"
            "c.scrollIntoView({block: 'center'}); const b = c.getBoundingClientRect();"
            "return [b.x, b.y, b.width]; })()"
        )
        mouse: dict[str, Any] = {"x": left + width / 2, "y": top + 50}
        before = page.run("scrollY")
        page.call(
            "Input.dispatchMouseEvent",
            **mouse,
            type="mouseWheel",
            deltaX=0,
            deltaY=-400,
            modifiers=2,
        )
        page.wait("document.querySelector('.timeline').dataset.view[0] !== '0'")
        assert page.run("scrollY") == before
        near = _view(page)
        page.call(
            "Input.dispatchMouseEvent", **mouse, type="mousePressed", button="left"
        )
        mouse["x"] -= 100
        page.call("Input.dispatchMouseEvent", **mouse, type="mouseMoved", button="left")
        page.call(
            "Input.dispatchMouseEvent", **mouse, type="mouseReleased", button="left"
        )
        assert _view(page)[0] > near[0]
        page.run("document.querySelector('[data-do=all]').click()")
        assert _view(page)[0] == 0
        # A slow iteration names itself under the pointer.
        page.call(
            "Input.dispatchMouseEvent",
            type="mouseMoved",
            x=left + width * 0.7,
            y=top + 28,
        )
        page.wait("document.querySelector('.tip.visible') !== null")
        assert "slow" in page.run("document.querySelector('.tip').textContent")


def test_tables_sort_by_their_exact_values(chrome: str, pages: dict[str, Path]) -> None:
    with opened(chrome, pages["training"]) as page:
        column = "#kernel-totals td:nth-child(6)"
        head = "#kernel-totals th:nth-child(6)"
        read = (
            f"[...document.querySelectorAll('{column}')]"
            ".map(cell => parseFloat(cell.title))"
        )
        press = f"document.querySelector('{head} button').click()"
        page.run(press)
        falling = page.run(read)
        assert falling == sorted(falling, reverse=True)
        page.run(press)
        assert page.run(read) == sorted(falling)


def test_the_skip_link_leads_to_the_findings(
    chrome: str, pages: dict[str, Path]
) -> None:
    with opened(chrome, pages["training"]) as page:
        page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab")
        assert page.run("document.activeElement.className") == "skip"
        assert page.run("document.activeElement.getBoundingClientRect().x") >= 0
        page.run("document.activeElement.click()")
        assert page.run("location.hash") == "#main"
