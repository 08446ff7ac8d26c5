"""The DuckDB CLI as TraceQL's shell.

Invariant: the CLI downloads nothing, the user's own `.duckdbrc` still counts, and
no file is left behind.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Nothing here needs an extension that is not built in; offline a download only hangs.
_OFFLINE = """\
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
"""


def run_cli(program: str, script: str, settings: Mapping[str, object]) -> int:
    """Runs the DuckDB CLI with `script` loaded; returns its exit code."""
    limits = "".join(
        f"SET {name} = '{str(value).replace(chr(39), chr(39) * 2)}';\n"
        for name, value in settings.items()
    )
    own = Path.home() / ".duckdbrc"
    # -init takes the place of .duckdbrc, so that has to be read by hand.
    rc = f".read '{own}'\n" if own.is_file() else ""
    with tempfile.TemporaryDirectory(prefix="traceql-") as folder:
        init = Path(folder) / "init.sql"
        init.write_text(rc + _OFFLINE + limits + script, encoding="utf-8")
        # Ctrl-C is for the CLI. A handler, unlike SIG_IGN, is not inherited by it.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.run([program, "-init", str(init)], check=False).returncode
        finally:
            signal.signal(signal.SIGINT, before)
