"""Selectors against a plain model of what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceql.errors import NoSuchRun, UsageError
from traceql.manifest import Manifest, Run
from traceql.selectors import check_names, newest_first, select


def run(
    run_id: str,
    at: int = 0,
    label: str | None = None,
    tags: dict[str, str] | None = None,
) -> Run:
    return Run(
        Manifest(
            run_id=run_id,
            nonce="n",
            importer={},
            source={},
            ingested_at=f"2026-01-01T00:00:00.{at:06}+00:00",
            files=(),
            columns={},
            label=label,
            tags=tags or {},
        )
    )


RUNS = newest_first(
    [
        run("rabc1", 1, "base", {"model": "a"}),
        run("rabc2", 2, "fused", {"model": "b"}),
        run("rdef1", 3, "base", {"model": "a", "eq": "x=y"}),
    ]
)


def ids(*selectors: str) -> list[str]:
    return [found.run_id for found in select(RUNS, selectors)]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (("all",), ["rdef1", "rabc2", "rabc1"]),
        (("@latest",), ["rdef1"]),
        (("@prev",), ["rabc2"]),
        (("@prev", "@latest"), ["rdef1", "rabc2"]),
        (("rdef",), ["rdef1"]),
        (("rabc1",), ["rabc1"]),
        (("base",), ["rdef1", "rabc1"]),
        (("tag:model=a",), ["rdef1", "rabc1"]),
        (("tag:eq=x=y",), ["rdef1"]),
        (("fused", "rabc2", "all"), ["rdef1", "rabc2", "rabc1"]),
        ((), []),
    ],
)
def test_what_each_form_names(selectors: tuple[str, ...], expected: list[str]) -> None:
    assert ids(*selectors) == expected


@pytest.mark.parametrize(
    ("selector", "error", "message", "hint"),
    [
        ("rabc", UsageError, "fits 2 runs: rabc2 (fused), rabc1 (base)", "more char"),
        ("rde", NoSuchRun, "no run 'rde'", "4 characters"),
        ("fusd", NoSuchRun, "no run 'fusd'", "Did you mean fused?"),
        ("Base", NoSuchRun, "no run 'Base'", "base"),
        ("", NoSuchRun, "no run ''", ""),
        ("zzzzzz", NoSuchRun, "no run", "traceql runs"),
        ("@first", UsageError, "@first", "@latest"),
        ("tag:model", UsageError, "no tag selector", "tag:key=value"),
        ("tag:=a", UsageError, "no tag selector", "tag:key=value"),
        ("tag:model=c", NoSuchRun, "tag:model=c", "tag:model="),
    ],
)
def test_what_names_nothing_says_so(
    selector: str, error: type[Exception], message: str, hint: str
) -> None:
    with pytest.raises(error) as caught:
        select(RUNS, ["all", selector])
    assert message in str(caught.value)
    assert hint in (getattr(caught.value, "hint", None) or "")


def test_prev_needs_two_runs() -> None:
    with pytest.raises(NoSuchRun, match="@prev: the store holds 1"):
        select(RUNS[:1], ["@prev"])
    with pytest.raises(NoSuchRun, match="@latest: the store holds none"):
        select([], ["@latest"])
    assert select([], ["all"]) == []


def test_a_label_wins_over_a_prefix_and_an_id_over_a_label() -> None:
    runs = newest_first([run("rabc1"), run("rabc2", 1, "rabc1"), run("r999", 2, "rab")])
    assert [r.run_id for r in select(runs, ["rabc1"])] == ["rabc1"]
    assert [r.run_id for r in select(runs, ["rab"])] == ["r999"]


@pytest.mark.parametrize("label", ["", " ", "all", "@latest", "tag:a=b"])
def test_labels_that_no_selector_could_name_are_refused(label: str) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        check_names(label, {})


@pytest.mark.parametrize("key", ["", " ", "a=b"])
def test_tag_keys_that_no_selector_could_name_are_refused(key: str) -> None:
    with pytest.raises(UsageError, match="cannot be the key"):
        check_names(None, {key: "x"})


def model(runs: list[Run], selector: str) -> set[str] | type[Exception]:
    """What a reader of the documentation expects of one selector."""
    oldest_first = sorted((r.ingested_at, r.run_id) for r in runs)
    every = {r.run_id for r in runs}
    by_label = {r.run_id for r in runs if r.label == selector}
    by_prefix = {i for i in every if i.startswith(selector) and len(selector) > 3}
    if selector in ("@latest", "@prev"):
        back = -1 if selector == "@latest" else -2
        return {oldest_first[back][1]} if len(runs) >= -back else NoSuchRun
    if selector.startswith("tag:"):
        key, value = selector[4:].split("=")
        return {r.run_id for r in runs if r.tags.get(key) == value} or NoSuchRun
    if selector == "all":
        return every
    named = {selector} & every or by_label
    if not named and len(by_prefix) > 1:
        return UsageError
    return named or by_prefix or NoSuchRun


run_ids = st.text("ab", min_size=3, max_size=5).map(lambda text: f"r{text}")
labels = st.sampled_from(["raaa", "rab", "night", "x"])
tags = st.dictionaries(st.sampled_from("kl"), st.sampled_from("vw"))
selector_texts = st.one_of(
    run_ids,
    labels,
    st.text("rab", max_size=5),
    st.sampled_from(["all", "@latest", "@prev", "tag:k=v", "tag:k=w", "tag:l=v"]),
)


@given(
    st.lists(
        st.builds(run, run_ids, st.integers(0, 3), st.none() | labels, tags),
        max_size=6,
        unique_by=lambda r: r.run_id,
    ),
    st.lists(selector_texts, max_size=4),
)
def test_selectors_do_what_the_model_says(runs: list[Run], wanted: list[str]) -> None:
    expected = [model(runs, selector) for selector in wanted]
    first_error = next((e for e in expected if isinstance(e, type)), None)
    ordered = newest_first(runs)
    if first_error is not None:
        with pytest.raises(first_error):
            select(ordered, wanted)
        return
    found = select(ordered, wanted)
    union = {i for part in expected if isinstance(part, set) for i in part}
    assert [r.run_id for r in found] == [
        run_id
        for _, run_id in sorted(((r.ingested_at, r.run_id) for r in runs), reverse=True)
        if run_id in union
    ]
