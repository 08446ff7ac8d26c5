"""Mapping files: what their headers may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from traceql.mapping import read_mapping


def test_blocks_and_phases(tmp_path: Path) -> None:
    """Each header opens a block of its phase."""
    path = tmp_path / "m.sql"
    path.write_text(
        "-- @prepare\nCREATE TABLE a (b INT);\n\n"
        "-- @phase two\n-- @rows kernel FROM a\n-- Why.\nSELECT 1\n"
        "-- @diagnostic odd info What it means.\nSELECT 0, NULL\n"
    )
    first, second = read_mapping(path)
    assert [b.kind for b in first.once()] == ["prepare"]
    (rows,) = second.chunked()["a"]
    assert (rows.table, rows.sql) == ("kernel", "-- Why.\nSELECT 1")
    (odd,) = second.once()
    assert (odd.code, odd.severity, odd.message) == ("odd", "info", "What it means.")


@pytest.mark.parametrize("header", ["@row kernel", "@rows", "@stage a", "@findngs"])
def test_a_misspelt_header_is_no_comment(tmp_path: Path, header: str) -> None:
    """Else its rows would vanish in the block before."""
    path = tmp_path / "m.sql"
    path.write_text(f"-- @prepare\nSELECT 1\n-- {header}\nSELECT 2\n")
    with pytest.raises(ValueError, match=r"m\.sql:3"):
        read_mapping(path)
