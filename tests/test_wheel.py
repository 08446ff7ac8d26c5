"""The wheel carries the schema, the queries, the mappings and the report."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_every_data_file_is_in_it(wheel: Path) -> None:
    """What the checkout has under schemas/, queries/ and traceql/ is in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, home in (
        ("schemas", "traceql/"),
        ("queries", "traceql/"),
        ("traceql", ""),
    ):
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert home + str(path.relative_to(CHECKOUT)) in names, path
    assert not any(name.startswith(("tests/", "fixtures/")) for name in names)


def test_it_answers_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, it imports a capture and finds schema and queries."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import sys, traceql, traceql.resources as r\n"
        "assert str(r.schemas_dir()).startswith(sys.argv[1]), r.schemas_dir()\n"
        "store = traceql.open_store('store', create=True)\n"
        "(outcome,) = store.ingest(sys.argv[2])\n"
        "assert outcome.error is None, outcome.error\n"
        "assert len(store.query('kernel_totals')) == 7\n"
        "assert store.report('report.html').stat().st_size > 10_000\n"
    )
    capture = CHECKOUT / "fixtures" / "nsight" / "nsight_2022_4.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", code, str(site), str(capture)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
