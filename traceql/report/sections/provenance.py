"""Provenance: from which bytes, by which program, these figures come."""

from traceql.report.sections import Section

SECTION = Section(
    id="provenance",
    title="Provenance",
    order=100,
    how=(
        "The same source, importer and TraceQL give the same figures. SQL stands under "
        "each table: run it with traceql sql."
    ),
    template="provenance.html.j2",
)
