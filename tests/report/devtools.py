"""A headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from websockets.sync.client import ClientConnection, connect

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--remote-debugging-port=0"),
)


@dataclass
class Page:
    """One open page and what it said since it was opened."""

    socket: ClientConnection
    events: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.calls += 1
        self.socket.send(
            json.dumps({"id": self.calls, "method": method, "params": params})
        )
        while True:
            message: dict[str, Any] = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == self.calls:
                assert "error" not in message, (method, message)
                answer: dict[str, Any] = message["result"]
                return answer
            self.events.append(message)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Waits until a JavaScript expression is true."""
        until = time.monotonic() + 30
        while not self.run(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.1)

    def key(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def said(self) -> list[str]:
        """Console messages, uncaught errors and the browser's own complaints."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [
            json.dumps(event["params"])[:500]
            for event in self.events
            if event["method"] in (*kinds, "Log.entryAdded")
        ]

    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


def chromium() -> str:
    """The browser; its absence skips a test, and fails it in CI."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        message = "no chromium on PATH"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@contextmanager
def browser() -> Iterator[str]:
    """A running browser; gives the address of its DevTools."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [chromium(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if match := re.search(r"DevTools listening on ws://([^/]+)/", line):
                    yield match[1]
                    break
            else:
                pytest.fail("chromium did not start")
        finally:
            process.terminate()
            process.wait(timeout=30)


@contextmanager
def opened(
    address: str,
    path: Path,
    *,
    width: int = 1280,
    scheme: str = "light",
    scripts: bool = True,
) -> Iterator[Page]:
    """The page of a file, loaded, with its charts drawn."""
    with urlopen(f"http://{address}/json") as answer:
        tab = next(t for t in json.load(answer) if t["type"] == "page")
    with connect(tab["webSocketDebuggerUrl"], max_size=None) as socket:
        page = Page(socket)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.call("Emulation.setEmulatedMedia", features=[feature])
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        page.events.clear()
        page.call("Page.navigate", url=path.as_uri())
        page.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        if scripts:
            page.wait(
                "[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn)"
            )
        yield page
        page.call("Page.navigate", url="about:blank")
