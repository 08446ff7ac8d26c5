"""Mending of JSON texts that are nearly JSON: one event, or a header.

Invariant: a text that is JSON comes back as it was. Numbers are never parsed, so no
digit is lost. Each kind of damage that was mended is named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

DECODER = json.JSONDecoder(strict=False)

_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# A backslash at the text's end may be the first half of an escape.
_BACKSLASH = re.compile(
    r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(?=.)(?!u[0-9a-fA-F]{0,3}\Z))', re.DOTALL
)
_CONTROL = re.compile(r"[\x00-\x1f]")
_CONTROL_ANYWHERE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HEX_OR_WORD = re.compile(
    r"(?<![\w.])(?:0[xX][0-9a-fA-F]+(?![\w.])"
    r"|-?[Ii]nf(?:inity)?\b|-?nan\b|(?!true\b|false\b|null\b)[A-Za-z_][\w./]*)"
)
_NO_VALUE = frozenset({"n/a", "na", "none", "undefined", "nil"})
_NOT_FINITE = re.compile(r"[-+]?\b(?:nan|inf|infinity)\b", re.IGNORECASE)
_PUNCTUATION = (
    (re.compile(r",(?:\s*,)+"), ",", "extra_comma"),
    (re.compile(r",(\s*[}\]])"), r"\1", "extra_comma"),
    (re.compile(r"([}\]])(\s*)(?=[{\[])"), r"\1,\2", "missing_comma"),
    (re.compile(r"([^\s:,{\[])(\s*)(?=\0)"), r"\1,\2", "missing_comma"),
)


def load(text: str) -> Any:
    """The value of a text, control characters in strings allowed.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It nests too deep.
    """
    return json.loads(text, strict=False)


def is_json(text: str) -> bool:
    """Whether a text is JSON as the strict parser takes it, or nearly so."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def mend_escapes(text: str, kinds: Counter[str]) -> str:
    """Mends what no place in a JSON text allows: it needs no tokens, and is fast."""

    def backslash(match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        kinds["lone_backslash"] += 1
        return "\\\\"

    def surrogate(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        kinds["lone_surrogate"] += 1
        return "\\ufffd"

    def control(match: re.Match[str]) -> str:
        kinds["control_character"] += 1
        return f"\\u{ord(match[0]):04x}"

    if "\\" in text:
        text = _BACKSLASH.sub(backslash, text)
        text = _SURROGATE.sub(surrogate, text)
    return _CONTROL_ANYWHERE.sub(control, text)


def without_not_finite(text: str | None) -> str | None:
    """The text with NaN and infinities, which are no JSON, as null."""
    if text is None:
        return None
    return _outside_strings(text, lambda part: _NOT_FINITE.sub("null", part))


def _outside_strings(text: str, change: Any) -> str:
    parts, at = [], 0
    for match in _STRING.finditer(text):
        parts += [change(text[at : match.start()]), match[0]]
        at = match.end()
    parts.append(change(text[at:]))
    return "".join(parts)


def mend(text: str, kinds: Counter[str]) -> str:
    """Mends a text as far as that is possible; the result need not be JSON.

    Args:
        text: One JSON value.
        kinds: Takes how often each kind of damage was mended.
    """
    pieces = _STRINGS.split(mend_escapes(text, kinds))
    # A string is one character, which no text holds any more, while what stands
    # between strings is mended: each pattern runs once.
    between = _mend_between("\0".join(pieces[::2]), kinds).split("\0")
    strings = pieces[1::2]
    if any("\n" in s or "\t" in s or "\r" in s for s in strings):
        strings = [_control_free(s, kinds) for s in strings]
    pieces[::2], pieces[1::2] = between, strings
    return "".join(pieces)


def _control_free(string: str, kinds: Counter[str]) -> str:
    found = len(_CONTROL.findall(string))
    kinds["control_character"] += found
    return _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", string) if found else string


def _mend_between(text: str, kinds: Counter[str]) -> str:
    """Mends what stands between strings: numbers, words, punctuation."""

    def word(match: re.Match[str]) -> str:
        found = match[0]
        if _NOT_FINITE.fullmatch(found):
            kinds["not_finite"] += 1
            return "null"
        kinds["bareword"] += 1
        return "null" if found.lower() in _NO_VALUE else f'"{found}"'

    def hexadecimal(match: re.Match[str]) -> str:
        kinds["hex_number"] += 1
        return f'"{match[0]}"'

    text = _HEX_OR_WORD.sub(
        lambda m: hexadecimal(m) if m[0][0] == "0" else word(m), text
    )
    for pattern, by, kind in _PUNCTUATION:
        text, count = pattern.subn(by, text)
        if count:
            kinds[kind] += count
    return text


def without_duplicates(text: str) -> str:
    """An object's text with each key once: the last one's value, as JSON has it.

    Raises:
        ValueError: It is no JSON object.
    """
    values: dict[str, str] = {}
    at = text.index("{") + 1
    while True:
        at = _skip(text, at, " \t\r\n,")
        if text[at] == "}":
            break
        key, at = DECODER.raw_decode(text, at)
        at = _skip(text, at, " \t\r\n:")
        _, end = DECODER.raw_decode(text, at)
        values[str(key)] = text[at:end]
        at = end
    return "{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in values.items()) + "}"


def _skip(text: str, at: int, what: str) -> int:
    while at < len(text) and text[at] in what:
        at += 1
    if at == len(text):
        raise ValueError("the object does not end")
    return at
