"""What nvidia-smi -q says, as XML or as text: named values, GPU by GPU.

Names are paths of elements or of indented labels, in small letters with underscores:
`fb_memory_usage.used`. A MIG device and a process is a line of its own, `mig.` or
`processes.` before its names. A log may hold one answer after the other (-l).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import cast
from xml.etree import ElementTree

Line = dict[str, str]

_ROOT = "nvidia_smi_log"
# Long lists that are no state of the GPU.
_LISTS = frozenset(
    {"supported_clocks", "supported_gpu_target_temp", "accounted_processes"}
)
_PARTS = {"mig_devices": "mig", "processes": "processes"}
_HEAD = ("timestamp", "driver_version")
_LABEL = re.compile(r"(?P<indent> *)(?P<label>\S.*?) *(?: : (?P<value>.*))?")
_GPU = re.compile(r"GPU ([0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.[0-9A-Fa-f]+)")


def of_xml(rows: Iterable[str]) -> Iterator[Line]:
    """Lines of XML answers.

    Args:
        rows: The text's rows.

    Raises:
        ElementTree.ParseError: An answer is cut or no XML; what came before it, GPU by
            GPU, has been given.
    """
    parser: ElementTree.XMLPullParser[ElementTree.Element] | None = None
    head: Line = {}
    for text, begins in _pieces(rows):
        if begins and parser is not None:
            parser.close()  # the answer before is cut: says so
        if parser is None:
            if not text.strip():
                continue
            parser, head = ElementTree.XMLPullParser(["end"]), {}
        parser.feed(text)
        for event in parser.read_events():
            _, element = cast("tuple[str, ElementTree.Element]", event)
            if element.tag in _HEAD and element.tag not in head:
                head[element.tag] = (element.text or "").strip()
            elif element.tag == "gpu" and "id" in element.attrib:
                yield from _of_gpu(head | {"bus_id": element.attrib["id"]}, element)
                element.clear()
            elif element.tag == _ROOT:
                parser = None
    if parser is not None:
        parser.close()


def _pieces(rows: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Parts of the text, and whether one begins an answer; declarations are left out.

    The declaration may name an encoding that the text no longer has.
    """
    for row in rows:
        before, mark, after = row.partition("<?xml")
        if before.strip():
            yield before, False
        if mark:
            yield after.partition("?>")[2], True


def _of_gpu(head: Line, gpu: ElementTree.Element) -> Iterator[Line]:
    own: Line = dict(head)
    parts: list[Line] = []
    for child in gpu:
        prefix = _PARTS.get(child.tag)
        if prefix is None:
            _flatten(child, child.tag, own)
            continue
        for item in child:
            part: Line = dict(head)
            for leaf in item:
                _flatten(leaf, f"{prefix}.{leaf.tag}", part)
            parts.append(part)
    yield own
    yield from parts


def _flatten(element: ElementTree.Element, path: str, into: Line) -> None:
    if element.tag in _LISTS:
        return
    for child in element:
        _flatten(child, f"{path}.{child.tag}", into)
    if len(element) == 0:
        into.setdefault(path, (element.text or "").strip())


def of_text(rows: Iterable[str]) -> Iterator[Line]:
    """Lines of answers as text.

    Args:
        rows: The text's rows.
    """
    head: Line = {}
    answer: _Answer | None = None
    for path, label, value in _labels(rows):
        if len(path) > 1:
            if answer is not None:
                answer.add(path[1:], value)
            continue
        if answer is not None:
            yield from answer.lines()
        gpu = _GPU.fullmatch(label)
        answer = _Answer(head | {"bus_id": gpu[1]}) if gpu else None
        if path[0] in _HEAD:
            kept = {} if path[0] == "timestamp" else head
            head = kept | {path[0]: value or ""}
    if answer is not None:
        yield from answer.lines()


def _labels(rows: Iterable[str]) -> Iterator[tuple[list[str], str, str | None]]:
    """Names from the outermost to a row's own, its label, and its value."""
    stack: list[tuple[int, str]] = []  # indents and names of what encloses a row
    for row in rows:
        match = _LABEL.fullmatch(row.rstrip())
        if match is None or row.startswith("==="):
            continue
        indent = len(match["indent"])
        while stack and stack[-1][0] >= indent:
            stack.pop()
        name = re.sub(r"[^a-z0-9]+", "_", match["label"].lower()).strip("_")
        stack.append((indent, name))
        value = match["value"]
        yield [n for _, n in stack], match["label"], value and value.strip()


class _Answer:
    """One GPU's part of an answer in text, as lines."""

    def __init__(self, head: Line) -> None:
        self._head = head
        self._own = dict(head)
        self._parts: list[Line] = []

    def lines(self) -> Iterator[Line]:
        """The GPU's line, and those of its MIG devices and processes."""
        yield self._own
        yield from self._parts

    def add(self, path: list[str], value: str | None) -> None:
        """Takes a row: names within the GPU, and the value where it has one."""
        if path[0] in _LISTS:
            return
        if path == ["mig_device"]:
            self._parts.append(dict(self._head))
        elif value is None or path == ["processes"]:  # a title, or: Processes : None
            return
        elif path[0] == "mig_device":
            self._parts[-1].setdefault(f"mig.{'.'.join(path[1:])}", value)
        elif path[0] == "processes":
            name = f"processes.{path[-1]}"
            # A name again, or the first at all, begins a process.
            last = self._parts[-1] if self._parts else {}
            if name in last or not any(n.startswith("processes.") for n in last):
                self._parts.append(dict(self._head))
            self._parts[-1][name] = value
        else:
            self._own.setdefault(".".join(path), value)
