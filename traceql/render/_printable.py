"""Text that is safe to show: control characters become visible escapes.

Kernel names, labels and file names are foreign text; an escape sequence in one
must not move the cursor, recolour the screen or retitle the window.
"""

from __future__ import annotations

import re

# C0, DEL, C1 (0x9b starts a sequence on some terminals), line separators, and the
# marks that reverse the order in which text is shown.
CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def printable(text: str) -> str:
    r"""`text` on one line, with control characters written as `\x1b`, `\n`, ..."""
    return CONTROLS.sub(_escape, text)
