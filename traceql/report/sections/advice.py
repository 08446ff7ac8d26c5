"""Advice: what the tool that made the profile said itself."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="advice",
    title="Advice of the profiler",
    order=88,
    # Most tools give none, whatever is recorded.
    optional=True,
    how=(
        "What the tool that made the profile found and advised, in its own words: "
        "DLProf's expert system. Its figures and limits are its own and may differ "
        "from those of the findings above, which this report made of the events."
    ),
    figures=(
        Figure(
            id="tool-advice",
            title="What the profiler advised",
            ask=Ask("tool_advice"),
            columns={
                "problem": "Found",
                "recommendation": "Advised",
                "detector": "Rule",
                "advice_count": "Said",
            },
            prose=True,
        ),
    ),
)
