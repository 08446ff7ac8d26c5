"""The chart runtime: Vega, Vega-Lite and Vega-Embed as one script.

It comes out of vl-convert-python, is made once and kept in the user's cache folder.

Invariant: nothing is downloaded; where the runtime cannot be made, reports have tables
and no charts.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
import tempfile
from pathlib import Path

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
# A script element ends at this text, wherever it stands.
_END, _ESCAPED = "</script", "<\\/script"


def script() -> str | None:
    """The script's text, or None where it cannot be made."""
    try:
        version = importlib.metadata.version("vl-convert-python")
    except importlib.metadata.PackageNotFoundError:
        return None
    cached = _cache() / f"vega-{version}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return cached.read_text(encoding="utf-8")
    text = _make()
    if text is not None:
        with contextlib.suppress(OSError):
            _keep(cached, text)
    return text


def _make() -> str | None:
    try:
        import vl_convert
    except ImportError:
        return None
    bundle: str = vl_convert.javascript_bundle(_SNIPPET)
    # In a function of its own: the bundle's short names are not the page's.
    text = f"(() => {{{bundle}\n}})();"
    return text.replace(_END, _ESCAPED).replace("<!--", "<\\!--")


def _cache() -> Path:
    """The user's cache folder for TraceQL, by the rules of the system."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "traceql"


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(".tmp", path.name, path.parent)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(draft).replace(path)
