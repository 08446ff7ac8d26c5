"""Operations in NVTX ranges, against what PyProf itself made of the same captures."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import traceql

_ABOVE = """
WITH RECURSIVE host AS (
    SELECT op_id AS id, parent_id FROM op
    UNION ALL SELECT annotation_id, parent_id FROM annotation
),
above AS (
    SELECT kernel_id, op_id AS id FROM kernel WHERE op_id IS NOT NULL
    UNION ALL
    SELECT a.kernel_id, h.parent_id
    FROM above AS a
    JOIN host AS h USING (id)
    WHERE h.parent_id IS NOT NULL
)
SELECT k.kernel_id, k.ts_ns, k.dur_ns, o.name, o.sequence_number, o.module,
    o.extra->>'mod' AS mod, o.is_backward
FROM kernel AS k
LEFT JOIN above AS a USING (kernel_id)
LEFT JOIN op AS o ON o.op_id = a.id
ORDER BY k.ts_ns
"""


@pytest.mark.parametrize(
    ("capture", "made"),
    [
        ("nsys_profile.sqlite", "pyprof_root.dict"),
        ("w_Relu/nsys_profile.sqlite", "pyprof_wrelu.dict"),
    ],
)
def test_each_kernel_has_the_operations_that_pyprof_found(
    corpus: Path, store: traceql.Store, capture: str, made: str
) -> None:
    """Functions of torch and numbered operations round the launch, kernel by kernel."""
    (outcome,) = store.ingest(corpus / "dlprof" / "MohanadOdema_DLProf" / capture)
    assert outcome.run is not None, outcome.error
    mine: dict[int, tuple[int, set[str], set[int]]] = {}
    for row in store.session().sql(_ABOVE).rows():
        found = mine.setdefault(row["kernel_id"], (row["dur_ns"], set(), set()))
        # PyProf leaves out operations without a number.
        numbered = row["sequence_number"] is not None
        if row["mod"] is not None or numbered:
            found[1].add(row["name"])
            assert row["is_backward"] is False
        if numbered:
            found[2].add(row["sequence_number"])
    theirs = []
    for line in (corpus / "dlprof" / "derived_pyprof" / made).read_text().splitlines():
        value = ast.literal_eval(line)
        names = {ast.literal_eval(m)["op"] for m in value["marker"]}
        names |= {m.partition(", seq")[0] for m in value["seqMarker"]}
        numbers = {*value["seqId"], *value["altSeqId"]}  # of the innermost, of others
        theirs.append((value["kDuration"], names, numbers))

    def counted(
        kernels: list[tuple[int, set[str], set[int]]],
    ) -> Counter[tuple[int, frozenset[str], frozenset[int]]]:
        # PyProf holds a number 0 that is not the innermost's for none, and drops the
        # one range of these captures that holds the launch and is called so.
        return Counter(
            (d, frozenset(n - {"aten::max_pool2d_with_indices"}), frozenset(s - {0}))
            for d, n, s in kernels
        )

    assert counted(list(mine.values())) == counted(theirs)
