"""Events out of a damaged piece of a trace file: what is whole, and what can be mended.

Invariant: every event that is whole is kept as it stands; what is lost is counted as
regions and bytes. A text that ends inside an event yields nothing of that event.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from traceql.importers._trace_event import mending

# Where one event may end and the next begin; arrays of objects look the same.
_SEAM = re.compile(r"\}\s*,?\s*(?=\{\s*[\"}])")
_OBJECT = re.compile(r"\{(?=\s*[\"}])")
_BETWEEN = re.compile(r"(?:\s|,|null\b)*")
_NEW_DOCUMENT = re.compile(r"\s*,?\s*\[(?=\s*\{)")
_NEW_OBJECT = re.compile(r'"traceEvents"\s*:\s*\[\s*')
_CLOSED = re.compile(r"\s*,?\s*\]")
# What a value may look like that the end of the text cut.
_CUT_VALUE = re.compile(
    r"\s*(?:-?[\d.eE+-]*|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|N(?:a)?"
    r"|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?|\\?u?[0-9a-fA-F]{0,4})\s*"
)
_REACH = 8  # seams that a damaged event may hold
_AHEAD = 1 << 20
_WINDOW = 1 << 14


@dataclass
class Damage:
    """What was wrong with a file's events.

    Attributes:
        mended: How often each kind of damage was mended.
        regions: Places at which events were lost.
        lost_bytes: Bytes in them.
        example: The beginning of the first such place.
        cut_bytes: Bytes of the event that the end of the file cut; None: not cut.
        unclosed: Whether the array's `]` is missing.
        joined: Documents that follow the first one in the same file.
        after_end: What follows the document's end and is no document.
    """

    mended: Counter[str] = field(default_factory=Counter)
    regions: int = 0
    lost_bytes: int = 0
    example: str | None = None
    cut_bytes: int | None = None
    unclosed: bool = False
    joined: int = 0
    after_end: str = ""

    def lose(self, text: str) -> None:
        """Counts a place at which events were lost."""
        self.regions += 1
        self.lost_bytes += len(text.encode("utf-8", "replace"))
        self.example = self.example or text[:200]


@dataclass
class Scan:
    """One pass over a text of events.

    Attributes:
        text: Events, separated by commas mostly; it begins at or before an event.
        last: Whether the file ends with it.
        valid: Tells of each of several texts whether the strict parser takes it.
        damage: Takes what was wrong.
        rest: What follows the array's end, once that is found.
        cut_at: Where an event begins that a text which is not the last cuts.
    """

    text: str
    last: bool
    valid: Callable[[Sequence[str]], list[bool]]
    damage: Damage
    rest: str | None = None
    cut_at: int | None = None
    _events: list[str] = field(default_factory=list)

    def events(self) -> list[str]:
        """The texts of the events, in order."""
        self.text = mending.mend_escapes(self.text, self.damage.mended)
        at = self._between(0, first=True)
        while at < len(self.text):
            end = self._take(at)
            if end is None:
                break
            at = self._between(end)
        return self._checked()

    def _take(self, at: int) -> int | None:
        """Takes the event at an offset, whole or mended, or skips to the next one.

        Returns:
            Where it ends; None where the text ends first.
        """
        try:
            value, end = _decoded(self.text, at)
        except ValueError as error:
            if _is_cut(error, len(self.text)):
                self._cut(at)
                return None
        except RecursionError:
            pass
        else:
            if isinstance(value, dict):
                self._events.append(self.text[at:end])
                return end
        return self._mended(at) or self._skip(at)

    def _cut(self, at: int) -> None:
        """The end of the text cuts the event at an offset."""
        if self.last:
            self.damage.cut_bytes = len(self.text[at:].encode("utf-8", "replace"))
        else:
            self.cut_at = at

    def settle(self) -> None:
        """Gives up an event that the text holds only the start of."""
        if self.cut_at is not None:
            self.damage.lose(self.text[self.cut_at :])

    def _mended(self, at: int) -> int | None:
        """Takes the event at an offset after mending its text; None: it cannot be."""
        ends = [m.start() + 1 for m, _ in zip(
            _SEAM.finditer(self.text, at), range(_REACH), strict=False
        )]  # fmt: skip
        if len(ends) < _REACH:
            ends += self._last_ends(at, ends[-1] if ends else at)
        for end in ends:
            kinds: Counter[str] = Counter()
            text = mending.mend(self.text[at:end], kinds)
            if kinds and mending.is_json(text):
                self.damage.mended += kinds
                self._events.append(text)
                return end
            if text.count("{") <= text.count("}"):
                return None  # the event ends here, and is beyond mending
        return None

    def _last_ends(self, at: int, after: int) -> list[int]:
        """Where the text's last event may end: braces before a bracket or the end."""
        found = []
        for match in re.finditer(r"\}(?=\s*,?\s*(?:\]|$))", self.text[after:]):
            found.append(after + match.end())
            if len(found) == _REACH:
                break
        return [end for end in found if end > at]

    def _skip(self, at: int) -> int:
        """Loses what stands from an offset to the next event; where that begins."""
        for match in _OBJECT.finditer(self.text, at + 1):
            try:
                value, _ = _decoded(self.text, match.start())
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and isinstance(value.get("ph"), str):
                self._lose(at, match.start())
                return match.start()
        closing = self.text.rfind("]", at) if self.last else -1
        end = closing if closing > at else len(self.text)
        self._lose(at, end)
        return end

    def _lose(self, low: int, high: int) -> None:
        lost = self.text[low:high]
        if lost.strip(" \t\r\n,"):
            self.damage.lose(lost)

    def _between(self, at: int, *, first: bool = False) -> int:
        """Steps over what stands between events, up to the next one's brace."""
        gap = _BETWEEN.match(self.text, at)
        after = gap.end() if gap else at
        if after == len(self.text):
            self.damage.unclosed |= self.last
            return after
        if self.text[after] == "{":
            lone = not first and self.text[at - 1] == "}"
            if lone and "," not in self.text[at:after]:
                self.damage.mended["missing_comma"] += 1
            return after
        if self.text[after] == "]":
            return self._close(after)
        return self._skip(after)

    def _close(self, at: int) -> int:
        """Steps over the array's end: to a further document's events, or to the end."""
        again = _NEW_DOCUMENT.match(self.text, at + 1)
        if again is None:
            again = _NEW_OBJECT.search(self.text, at + 1, at + _AHEAD)
        if again is None:
            self.rest = self.text[at + 1 :]
            return len(self.text)
        self.damage.joined += 1
        return self._between(again.end(), first=True)

    def _checked(self) -> list[str]:
        """The events as the strict parser takes them; what it refuses is mended."""
        checked = []
        good = self.valid(self._events)
        bad = [n for n, is_good in enumerate(good) if not is_good]
        mended: dict[int, str] = {}
        kinds: Counter[str] = Counter()
        for number in bad:
            mended[number] = mending.mend(self._events[number], kinds)
        self.damage.mended += kinds
        saved = dict(zip(bad, self.valid(list(mended.values())), strict=True))
        for number, text in enumerate(self._events):
            if saved.get(number, True):
                checked.append(mended.get(number, text))
            else:
                self.damage.lose(text)
        return checked


def _decoded(text: str, at: int) -> tuple[object, int]:
    """The value at an offset and its end.

    Python's error looks at all text before its place: so a short window comes first.

    Raises:
        ValueError: There is none.
        RecursionError: It nests too deep.
    """
    window = text[at : at + _WINDOW]
    try:
        value, end = mending.DECODER.raw_decode(window)
    except ValueError as error:
        if len(window) < _WINDOW or not _is_cut(error, len(window)):
            if isinstance(error, json.JSONDecodeError):
                error.pos += at
            raise
        return mending.DECODER.raw_decode(text, at)
    return value, at + end


def _is_cut(error: ValueError, length: int) -> bool:
    """Whether decoding a text of some length failed only because it ends."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    left = length - error.pos
    return left < 12 and bool(_CUT_VALUE.fullmatch(error.doc[len(error.doc) - left :]))
