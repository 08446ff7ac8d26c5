"""Diagnostics: what the import and the profiler had to say, the worst first."""

from traceql.report.sections import Section

SECTION = Section(
    id="diagnostics",
    title="Diagnostics",
    order=90,
    how=(
        "What the profiler and the import had to remark on. Data loss and errors mean "
        "that counts and sums may be too small."
    ),
    template="diagnostics.html.j2",
)
