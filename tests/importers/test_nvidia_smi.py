"""nvidia-smi's logs: what is a value, what a reason, and what a link."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.errors import UsageError
from traceql.session import Session

_GPU = "linux-x86_64__{}__590.48.01__{}.txt"
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?: ?[A-Za-z%/]+)?")


@pytest.fixture(scope="module")
def smi(corpus: Path) -> Path:
    """Logs of many drivers and GPUs."""
    return corpus / "smi"


@pytest.fixture(scope="module")
def split(smi: Path) -> Path:
    """What one program had nvidia-smi say of several GPUs, idle and under load."""
    return smi / "nvidia_gpu_exporter_split"


def _import(store: traceql.Store, path: Path, importer: str) -> Session:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.importer["name"] == f"nvidia-smi-{importer}"
    return store.session([outcome.run.run_id])


def _log(
    store: traceql.Store, tmp_path: Path, text: str | bytes, importer: str = "csv"
) -> Session:
    path = tmp_path / "log.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return _import(store, path, importer)


def _values(session: Session, where: str = "true") -> list[tuple[Any, ...]]:
    rows = session.sql(
        "SELECT ts_ns, device_id, name, value, null_reason FROM counter "
        f"WHERE {where} ORDER BY ts_ns, device_id, name"
    ).rows()
    return [tuple(row.values()) for row in rows]


def _codes(session: Session) -> dict[str, int]:
    rows = session.sql("SELECT code, count FROM diagnostic").rows()
    return {r["code"]: r["count"] for r in rows}


def test_every_log_is_taken_or_passed_over(smi: Path, store: traceql.Store) -> None:
    """None fails; what is another program's, or a table for people, is no log."""
    outcomes = store.ingest(smi)
    assert [o.error for o in outcomes if o.error] == []
    taken = {Path(o.source).name for o in outcomes}
    left = {p.name for p in smi.rglob("*") if p.is_file()} - taken
    assert left == {
        "SOURCES.txt",
        "help-query-gpu.txt",
        "mmarturini_lstopo_NOT_nvidia-smi.txt",
        *(p.name for p in smi.rglob("*-nvidia-smi.txt") if "__" in p.name),
        *(p.name for p in smi.rglob("*nvlink-s.txt")),
    }
    session = store.session("all")
    row = session.sql(
        "SELECT "
        "count(*) FILTER (value IS NULL AND null_reason IS NULL) AS unexplained, "
        "count(*) FILTER (value IS NOT NULL AND null_reason IS NOT NULL) AS both "
        "FROM counter"
    ).rows()[0]
    assert dict(row) == {"unexplained": 0, "both": 0}


@pytest.mark.parametrize("gpu", ["h200", "h200-mig", "h100-mig", "h100-80gb-hbm3"])
def test_query_csv_cell_by_cell(split: Path, store: traceql.Store, gpu: str) -> None:
    """A value is the number of its cell; a missing one is NULL with its reason."""
    path = split / _GPU.format(gpu, "load-query-gpu")
    session = _import(store, path, "csv")
    with path.open(newline="") as file:
        header, cells = list(csv.reader(file, skipinitialspace=True))[:2]
    printed = {
        re.sub(r" \[.*\]$", "", name): cell.strip()
        for name, cell in zip(header, cells, strict=True)
    }
    stored = {name: (value, why) for _, _, name, value, why in _values(session)}
    seen = 0
    for name, cell in printed.items():
        if not re.match(r"utilization|memory\.|temperature|power|fan|enforced", name):
            continue
        value, why = stored[name]
        match = _NUMBER.fullmatch(cell)
        seen += 1
        if match:
            assert (value, why) == (float(match[1]), None), name
        elif name != "power.management":
            wanted = "deprecated" if "deprecated" in cell else "not_available"
            assert (value, why) == (None, wanted), (name, cell)
    assert seen > 20


def test_header_in_every_second_line(smi: Path, store: traceql.Store) -> None:
    """nvidia-smi in a loop prints its header each time: 224 samples, five figures."""
    path = smi / "query_csv" / "AkshayRoyal_gpu_usage.csv"
    session = _import(store, path, "csv")
    used = _values(session, "name = 'memory.used'")
    assert len(used) == 224
    assert used[0] == (0, 0, "memory.used", 841.0, None)
    assert used[1][:1] + used[1][3:] == (1_022_000_000, 869.0, None)
    (run,) = session.sql("SELECT source_origin_ns, origin_unix_ns FROM run").rows()
    first = datetime.fromisoformat("2023-06-22T18:56:56.252+00:00")
    assert run["source_origin_ns"] == round(first.timestamp() * 1000) * 1_000_000
    assert run["origin_unix_ns"] is None  # no zone: nobody knows when that was


def test_no_header_and_words_for_what_lacks(smi: Path, store: traceql.Store) -> None:
    """Positions name the columns; [Not Supported] of one GPU is no 0 of the other."""
    path = smi / "excerpts" / "query_noheader_nounits_not_supported.csv"
    session = _import(store, path, "csv")
    rows = session.sql(
        "SELECT CAST(extra->>'line' AS INTEGER) AS line, name, value, null_reason "
        "FROM counter WHERE name IN ('column 2', 'column 4') ORDER BY ALL"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        (1, "column 2", 0.0, None),
        (1, "column 4", 4095.0, None),
        (2, "column 2", None, "not_supported"),
        (2, "column 4", 1023.0, None),
    ]
    assert _codes(session)["unnamed_columns"] == 8


def test_wrappers(smi: Path, store: traceql.Store) -> None:
    """Other names and times; a line feed within a value makes it no number."""
    folder = smi / "query_csv"
    session = _import(store, folder / "SII-HaoyuTang_wrapper_gpu_usage.csv", "csv")
    used = _values(session, "name = 'mem_used_mb'")
    assert (len(used), used[0][0], used[0][3]) == (135, 80_000_000, 472.0)
    assert {v[3:] for v in _values(session, "name = 'power_w'")} == {
        (None, "not_a_number")
    }
    session = _import(store, folder / "Adial314_wrapper_gpu_log.csv", "csv")
    assert _codes(session)["ambiguous_date"] == 45
    session = _import(store, folder / "beam11221_plato_gpu_log.csv", "csv")
    power = _values(session, "name = 'column 7'")
    assert (len(power), power[0][3], power[1][0]) == (1923, 11.64, 5_008_000_000)


def test_several_gpus_utf16_and_units(store: traceql.Store, tmp_path: Path) -> None:
    """PowerShell writes UTF-16; units stand in values, the header, or both."""
    text = (
        "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\r\n"
        "2024/01/02 03:04:05.000, 0, 12 %, 841 MiB, [Unknown Error]\r\n"
        "2024/01/02 03:04:05.000, 1, [N/A], 0 MiB, 33.09 W\r\n"
        "2024/01/02 03:04:06.500, 0, 13, 842, 30\r\n"
    )
    session = _log(store, tmp_path, text.encode("utf-16"))
    assert _values(session) == [
        (0, 0, "memory.used", 841.0, None),
        (0, 0, "power.draw", None, "unknown_error"),
        (0, 0, "utilization.gpu", 12.0, None),
        (0, 1, "memory.used", 0.0, None),
        (0, 1, "power.draw", 33.09, None),
        (0, 1, "utilization.gpu", None, "not_available"),
        (1_500_000_000, 0, "memory.used", 842.0, None),
        (1_500_000_000, 0, "power.draw", 30.0, None),
        (1_500_000_000, 0, "utilization.gpu", 13.0, None),
    ]
    units = session.sql("SELECT DISTINCT name, unit FROM counter ORDER BY 1").rows()
    assert [u["unit"] for u in units] == ["MiB", "W", "pct"]


def test_a_cut_value_is_none(store: traceql.Store, tmp_path: Path) -> None:
    """A line that ends amid a figure has no figure there: 84 may have been 841."""
    session = _log(
        store,
        tmp_path,
        "timestamp, index, memory.used [MiB]\n"
        "2024/01/02 03:04:05.000, 0, 841 MiB\n"
        "2024/01/02 03:04:06.000, 0, 84",
    )
    assert [v[3:] for v in _values(session)] == [(841.0, None), (None, "cut")]
    assert _codes(session)["cut_lines"] == 1


def test_compute_apps(split: Path, store: traceql.Store) -> None:
    """Memory belongs to the process; its name stays out."""
    session = _import(
        store, split / _GPU.format("h200", "load-query-compute-apps"), "csv"
    )
    rows = session.sql(
        "SELECT pid, value, unit FROM counter WHERE name = 'process.memory.used' "
        "ORDER BY pid"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        (10291, 2566.0, "MiB"),
        (10293, 1542.0, "MiB"),
        (10309, 28234.0, "MiB"),
    ]
    assert session.sql("SELECT * FROM thread").rows() == []


def test_comma_in_a_process_name(store: traceql.Store, tmp_path: Path) -> None:
    """Nothing quotes a name with a comma; WDDM does not know its memory."""
    session = _log(
        store,
        tmp_path,
        "pid, process_name, used_gpu_memory [MiB]\n"
        r"7, C:\Program Files\a, b.exe, [N/A]"
        "\n8, /usr/bin/c, 5 MiB\n",
    )
    rows = session.sql("SELECT pid, value, null_reason FROM counter ORDER BY 1").rows()
    assert [tuple(r.values()) for r in rows] == [
        (7, None, "not_available"),
        (8, 5.0, None),
    ]


def test_header_alone(split: Path, store: traceql.Store) -> None:
    """No process ran: a run without samples, and a warning."""
    session = _import(
        store, split / _GPU.format("h200", "idle-query-compute-apps"), "csv"
    )
    assert _values(session) == []
    assert "no_samples" in _codes(session)


def test_dmon_with_dates(smi: Path, store: traceql.Store) -> None:
    """Times come of two columns; a dash is a reason."""
    path = smi / "dmon" / "excerpt_dmon_oDT_pucet_driver4xx.txt"
    session = _import(store, path, "monitor")
    power = _values(session, "name = 'power.draw'")
    assert [(v[0], v[3]) for v in power] == [
        (0, 37.0),
        (2_000_000_000, 39.0),
        (4_000_000_000, 39.0),
    ]
    assert {v[3:] for v in _values(session, "name = 'temperature.memory'")} == {
        (None, "not_reported")
    }
    clocks = _values(session, "name = 'clocks.current.sm'")
    assert [v[3] for v in clocks] == [582.0, 1582.0, 1582.0]


def test_times_without_a_date(store: traceql.Store, tmp_path: Path) -> None:
    """-o T: ns since midnight; a fall of most of a day is the next one, no date."""
    session = _log(
        store,
        tmp_path,
        "#Time        gpu   pwr    sm\n#HH:MM:SS    Idx     W     %\n"
        " 23:59:58      0    40    50\n 23:59:59      0    41    51\n"
        " 00:00:01      0    42    52\n 9:00:00       0    43    53\n",
        "monitor",
    )
    power = [(v[0], v[3]) for v in _values(session, "name = 'power.draw'")]
    nine = (9 * 3600 + 2) * 10**9
    assert power == [(0, 40.0), (10**9, 41.0), (3 * 10**9, 42.0), (nine, 43.0)]
    (run,) = session.sql(
        "SELECT source_origin_ns, origin_unix_ns, clock FROM run"
    ).rows()
    assert run == {
        "source_origin_ns": (24 * 3600 - 2) * 10**9,
        "origin_unix_ns": None,
        "clock": "time_of_day",
    }
    codes = _codes(session)
    assert "no_date" in codes
    assert not {"time_goes_back", "unreadable_time", "no_time"} & set(codes)


@pytest.mark.parametrize("gpus", [1, 2])
def test_times_that_jitter_around_midnight(
    store: traceql.Store, tmp_path: Path, gpus: int
) -> None:
    """Back before midnight is no day ahead, and midnight comes once."""
    times = ("23:59:59", "00:00:00", "23:59:59", "00:00:01", "09:00:00")
    lines = [f" {t} {gpu} {n}" for n, t in enumerate(times) for gpu in range(gpus)]
    session = _log(
        store,
        tmp_path,
        "\n".join(["#Time        gpu   pwr", "#HH:MM:SS    Idx     W", *lines, ""]),
        "monitor",
    )
    power = [(v[3], v[0] / 10**9) for v in _values(session, "device_id = 0")]
    nine = 9 * 3600 + 1
    assert sorted(power) == [(0, 0), (1, 1), (2, 0), (3, 2), (4, nine)]
    assert _codes(session)["time_goes_back"] == 1


def test_a_clock_that_was_set_back_is_no_midnight(
    store: traceql.Store, tmp_path: Path
) -> None:
    """An hour back is an hour back, and said."""
    session = _log(
        store,
        tmp_path,
        "#Time        gpu   pwr\n#HH:MM:SS    Idx     W\n"
        " 02:59:59      0    40\n 02:00:00      0    41\n",
        "monitor",
    )
    power = [(v[0], v[3]) for v in _values(session)]
    assert power == [(0, 41.0), (3599 * 10**9, 40.0)]
    assert _codes(session)["time_goes_back"] == 1


def test_date_and_time_in_either_order(store: traceql.Store, tmp_path: Path) -> None:
    """The header says which column is which."""
    session = _log(
        store,
        tmp_path,
        "#Time       Date         gpu   pwr\n#HH:MM:SS   YYYYMMDD     Idx     W\n"
        " 23:59:59   20231231      0    40\n 00:00:01   20240101      0    41\n",
        "monitor",
    )
    assert [v[0] for v in _values(session)] == [0, 2 * 10**9]
    (run,) = session.sql("SELECT source_origin_ns, clock FROM run").rows()
    first = datetime.fromisoformat("2023-12-31T23:59:59+00:00").timestamp()
    assert run == {"source_origin_ns": round(first) * 10**9, "clock": "local_time"}


def test_wrapped_lines_are_no_samples(store: traceql.Store, tmp_path: Path) -> None:
    """What a terminal wrapped: a figure at a line's start is no GPU."""
    header = "# gpu   pwr gtemp    sm\n# Idx     W     C     %\n"
    session = _log(
        store,
        tmp_path,
        f"{header}    0    40    30    50\n    0    41\n   31    51\n"
        "    1    42    32    52\n"
        # A log that was cut, and another after it.
        f"    0    43\n{header}    0    44    34    54\n"
        # Wrapped before a header, and where the file ends.
        f"    0    45\n   35    55\n{header}    1    46    36    56\n"
        "    0    47\n   37    57\n",
        "monitor",
    )
    power = _values(session, "name = 'power.draw'")
    assert [v[1] for v in power] == [0, 0, 0, 1, 1]
    assert {v[3] for v in power} == {40.0, 43.0, 44.0, 42.0, 46.0}
    devices = session.sql("SELECT device_id FROM device ORDER BY device_id").rows()
    assert [d["device_id"] for d in devices] == [0, 1]
    codes = _codes(session)
    assert (codes["ragged_lines"], codes["cut_lines"]) == (6, 1)


NOHEADER = (
    "2024/01/02 03:04:05.000, 1, 12 %, 841 MiB, GPU-5c6e5e0d\n"
    "2024/01/02 03:04:05.500, 0, [N/A], 10 MiB, GPU-5c6e5e0e\n"
)
NAMES = ("timestamp", "index", "utilization.gpu", "memory.used", "uuid")


def test_the_user_names_the_columns(store: traceql.Store, tmp_path: Path) -> None:
    """noheader with names is the same log with its header."""
    plain = tmp_path / "plain.csv"
    plain.write_text(NOHEADER)
    header = "timestamp, index, utilization.gpu [%], memory.used [MiB], uuid\n"
    headed = tmp_path / "headed.csv"
    headed.write_text(header + NOHEADER)
    (named,) = store.ingest(plain, columns=NAMES)
    (whole,) = store.ingest(headed)
    assert named.run is not None and whole.run is not None, named.error
    assert [f.code for f in named.findings] == [f.code for f in whole.findings]
    for table in ("counter", "device"):
        text = f"SELECT * EXCLUDE run_id FROM {table} ORDER BY ALL"
        rows = store.sql(text, run=named.run.run_id).rows()
        assert rows == store.sql(text, run=whole.run.run_id).rows()
    assert _values(store.session([named.run.run_id])) == [
        (0, 1, "memory.used", 841.0, None),
        (0, 1, "utilization.gpu", 12.0, None),
        (500_000_000, 0, "memory.used", 10.0, None),
        (500_000_000, 0, "utilization.gpu", None, "not_available"),
    ]


def test_names_make_a_log_of_bare_figures(store: traceql.Store, tmp_path: Path) -> None:
    """Nothing else in it says that it is one."""
    path = tmp_path / "bare.csv"
    path.write_text("Tesla V100, 0, 12, 841\nTesla V100, 1, 13, 842\n")
    (unknown,) = store.ingest(path)
    assert unknown.error is not None
    (outcome,) = store.ingest(path, columns=("name", "index", "fan.speed", "pid"))
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.options["columns"] == "name,index,fan.speed,pid"


@pytest.mark.parametrize(
    ("columns", "text", "said"),
    [
        (NAMES[:4], NOHEADER, "names 4 columns, but the lines of the log have 5"),
        (NAMES, "timestamp, index, memory.used [MiB]\n", "the log has a header"),
    ],
)
def test_names_that_do_not_fit(
    store: traceql.Store,
    tmp_path: Path,
    columns: tuple[str, ...],
    text: str,
    said: str,
) -> None:
    """They are not stretched over other columns."""
    path = tmp_path / "log.csv"
    path.write_text(text)
    (outcome,) = store.ingest(path, columns=columns)
    assert isinstance(outcome.error, UsageError)
    assert said in str(outcome.error)


@pytest.mark.parametrize(
    "options",
    [
        {"columns": ("timestamp", "", "index")},
        {"columns": ("index", "index")},
        {"columns": NAMES, "format": "nvidia-smi-monitor"},
    ],
)
def test_names_that_are_none(
    store: traceql.Store, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Refused before anything is read."""
    with pytest.raises(UsageError, match="--columns"):
        store.ingest(tmp_path / "log.csv", **options)


def test_dmon_of_four_gpus_that_crashed(smi: Path, store: traceql.Store) -> None:
    """The last line ends in dashes: what follows was cut, not 0."""
    path = smi / "dmon" / "excerpt_dmon_pucet_4xK80_truncated_on_crash.txt"
    session = _import(store, path, "monitor")
    power = session.sql(
        "SELECT device_id, value FROM counter WHERE name = 'power.draw' "
        "AND CAST(extra->>'line' AS INTEGER) BETWEEN 7 AND 10 ORDER BY 1"
    ).rows()
    assert [tuple(r.values()) for r in power] == [
        (0, 73.0), (1, 84.0), (2, 128.0), (3, 87.0),
    ]  # fmt: skip
    assert len(_values(session, "null_reason = 'cut'")) == 11
    assert _codes(session)["cut_lines"] == 1


def test_dmon_layouts_and_noise(store: traceql.Store, tmp_path: Path) -> None:
    """Headers repeat and change; names say what a column is, and noise is counted."""
    session = _log(
        store,
        tmp_path,
        "# gpu   pwr gtemp    sm\n# Idx     W     C     %\n"
        "    0    40    30    50\n\n"
        "# gpu    sm   pwr    fb\n# Idx     %     W    MB\n"
        "    0    60    41   100\nUnable to determine the device handle\n",
        "monitor",
    )
    rows = session.sql(
        "SELECT CAST(extra->>'line' AS INTEGER) AS line, name, value, unit "
        "FROM counter ORDER BY ALL"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        (3, "power.draw", 40.0, "W"),
        (3, "temperature.gpu", 30.0, "C"),
        (3, "utilization.gpu", 50.0, "pct"),
        (7, "memory.used", 100.0, "MiB"),
        (7, "power.draw", 41.0, "W"),
        (7, "utilization.gpu", 60.0, "pct"),
    ]
    assert _codes(session)["ragged_lines"] == 1


@pytest.mark.parametrize("gpu", ["h200-mig", "h100-mig"])
def test_dashes_of_mig_are_reasons(split: Path, store: traceql.Store, gpu: str) -> None:
    """A GPU cut into parts has no utilisation of its own."""
    session = _import(store, split / _GPU.format(gpu, "load-dmon"), "monitor")
    rows = _values(session, "name LIKE 'utilization%'")
    assert len(rows) == 30
    assert {r[3:] for r in rows} == {(None, "not_reported")}
    power = [v[3] for v in _values(session, "name = 'power.draw'")]
    assert min(power) > 290


def test_pmon(smi: Path, split: Path, store: traceql.Store, tmp_path: Path) -> None:
    """Columns by name: an old driver lacks jpg and ofa; a command may hold blanks."""
    session = _import(store, smi / "excerpts" / "pmon_v545_no_jpg_ofa.txt", "monitor")
    busy = session.sql(
        "SELECT device_id, pid, value FROM counter "
        "WHERE name = 'process.utilization.sm' AND value IS NOT NULL ORDER BY 1"
    ).rows()
    assert [tuple(r.values()) for r in busy] == [
        (0, 1174916, 88.0), (1, 1174916, 92.0), (2, 1174916, 89.0),
    ]  # fmt: skip
    session = _import(store, split / _GPU.format("h200", "idle-pmon"), "monitor")
    assert {r[3:] for r in _values(session)} == {(None, "not_reported")}
    session = _log(
        store,
        tmp_path,
        "# gpu   pid  type   sm  command\n# Idx     #   C/G    %  name\n"
        "    0    11   C+G    7  NVIDIA Overlay.\n",
        "monitor",
    )
    rows = session.sql("SELECT pid, name, value FROM counter").rows()
    assert [tuple(r.values()) for r in rows] == [(11, "process.utilization.sm", 7.0)]
    assert "ragged_lines" not in _codes(session)


def test_topology_of_eight_gpus(smi: Path, store: traceql.Store) -> None:
    """8 GPUs and 10 network cards: each pair once, with the link of the matrix."""
    session = _import(
        store, smi / "topo" / "dw-flyingw_GLM-5.2-FP8_topo.txt", "topology"
    )
    rows = session.sql(
        "SELECT from_device, to_device, kind, extra FROM topology"
    ).rows()
    links = {frozenset((r["from_device"], r["to_device"])): r for r in rows}
    assert len(rows) == len(links) == 18 * 17 // 2
    devices = frozenset().union(*links)
    assert devices == {f"GPU{i}" for i in range(8)} | {f"NIC{i}" for i in range(10)}

    def kind(one: str, other: str) -> str:
        return str(links[frozenset((one, other))]["kind"])

    gpus = [f"GPU{i}" for i in range(8)]
    assert {kind(a, b) for a in gpus for b in gpus if a < b} == {"NV18"}
    # The card nearest to each GPU, as the matrix shows it.
    near = {
        a: sorted(d for d in devices if d[0] == "N" and kind(a, d) == "PIX")
        for a in gpus
    }
    assert near == {
        "GPU0": ["NIC3"], "GPU1": ["NIC5"], "GPU2": ["NIC4"],
        "GPU3": ["NIC0", "NIC1", "NIC2"], "GPU4": ["NIC7"], "GPU5": ["NIC9"],
        "GPU6": ["NIC8"], "GPU7": ["NIC6"],
    }  # fmt: skip
    assert kind("GPU0", "NIC9") == "SYS"
    assert kind("NIC6", "NIC7") == "NODE"
    extra = json.loads(links[frozenset(("GPU0", "NIC3"))]["extra"])
    assert extra == {"names": {"NIC3": "mlx5_3"}}
    gpu = session.sql("SELECT device_id, extra FROM device ORDER BY 1").rows()
    assert [g["device_id"] for g in gpu] == list(range(8))
    assert json.loads(gpu[7]["extra"]) == {
        "cpu_affinity": "64-127,192-255", "numa_affinity": "1",
    }  # fmt: skip


def test_links_that_differ_by_direction(store: traceql.Store, tmp_path: Path) -> None:
    """A to B is not B to A: both stand, and it is said; a wrapped row is short."""
    session = _log(
        store,
        tmp_path,
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tNV4\tSYS\t0-7\t0\n"
        "GPU1\tNV2\t X \tPIX\t0-7\t0\n"
        "GPU2\tSYS\n"
        "PIX\t X \t0-7\t0\n",
        "topology",
    )
    rows = session.sql(
        "SELECT from_device, to_device, kind FROM topology ORDER BY ALL"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        ("GPU0", "GPU1", "NV4"),
        ("GPU0", "GPU2", "SYS"),
        ("GPU1", "GPU0", "NV2"),
        ("GPU1", "GPU2", "PIX"),
    ]
    codes = _codes(session)
    assert (codes["one_way_links"], codes["cut_matrix"]) == (1, 1)


def test_cut_matrix(smi: Path, store: traceql.Store, tmp_path: Path) -> None:
    """Rows that are missing are counted; the links of the others are there."""
    whole = (smi / "topo" / "dw-flyingw_GLM-5.2-FP8_topo.txt").read_text()
    text = "".join(whole.splitlines(keepends=True)[:3])
    session = _log(store, tmp_path, text, "topology")
    assert _codes(session)["cut_matrix"] == 16
    (row,) = session.sql("SELECT count(*) AS n FROM topology").rows()
    assert row["n"] == 17 + 16


def test_xml(smi: Path, store: traceql.Store) -> None:
    """Figures bear the names that they have in a query; MIG devices theirs."""
    session = _import(store, smi / "netdata" / "a100-sxm4-mig.xml", "query")
    (device,) = session.sql("SELECT name, uuid, bus, memory_bytes FROM device").rows()
    assert dict(device) == {
        "name": "NVIDIA A100-SXM4-40GB",
        "uuid": "GPU-27b94a00-ed54-5c24-b1fd-1054085de32a",
        "bus": "0000:00:04.0",
        "memory_bytes": 40960 * 1048576,
    }
    stored = {v[2]: v[3:] for v in _values(session)}
    assert stored["power.draw"] == (66.92, None)
    assert stored["temperature.gpu"] == (36.0, None)
    assert stored["memory.used"] == (38.0, None)
    assert stored["pstate"] == (0.0, None)
    assert stored["utilization.gpu"] == (None, "not_available")
    assert stored["fan.speed"] == (None, "not_available")
    assert stored["ecc_errors.volatile.dram_correctable"] == (None, "not_available")
    assert stored["ecc_errors.aggregate.dram_correctable"] == (0.0, None)
    parts = session.sql(
        "SELECT extra->>'gpu_instance' AS part, value FROM counter "
        "WHERE name = 'mig.memory.used' ORDER BY 1"
    ).rows()
    assert [tuple(r.values()) for r in parts] == [("1", 19.0), ("2", 19.0)]
    (run,) = session.sql("SELECT tool, tool_version, clock FROM run").rows()
    assert tuple(run.values()) == ("nvidia-smi", "510.47.03", "local_time")


def test_text_equals_csv_of_the_same_moment(split: Path, store: traceql.Store) -> None:
    """-q in words and --query-gpu in cells, asked within a second, agree."""
    text = _import(store, split / _GPU.format("h200-mig", "idle-query"), "query")
    cells = _import(store, split / _GPU.format("h200-mig", "idle-query-gpu"), "csv")
    mine = {v[2]: v[3:] for v in _values(text)}
    theirs = {v[2]: v[3:] for v in _values(cells)}
    steady = [
        "memory.total", "memory.reserved", "power.limit", "enforced.power.limit",
        "power.max_limit", "power.min_limit", "power.default_limit", "utilization.gpu",
        "utilization.memory", "clocks.max.sm", "clocks.max.memory", "fan.speed",
        "mig.mode.current", "ecc.mode.current", "clocks_event_reasons.hw_slowdown",
        "clocks_event_reasons.hw_thermal_slowdown",
    ]  # fmt: skip
    both = [name for name in steady if name in mine and name in theirs]
    assert len(both) >= 14
    assert {n: mine[n] for n in both} == {n: theirs[n] for n in both}
    assert mine["memory.total"] == (143771.0, None)


def test_text_has_processes_and_parts(split: Path, store: traceql.Store) -> None:
    """Each process and each MIG device stands apart from its GPU."""
    session = _import(store, split / _GPU.format("h200-mig", "load-query"), "query")
    rows = session.sql(
        "SELECT pid, value, extra->>'gpu_instance' AS part FROM counter "
        "WHERE name = 'process.memory.used' ORDER BY 1"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        (12249, 2194.0, "2"), (12250, 1170.0, "2"), (12267, 13526.0, "2"),
    ]  # fmt: skip
    parts = session.sql(
        "SELECT value FROM counter WHERE name = 'mig.memory.used' "
        "ORDER BY CAST(extra->>'gpu_instance' AS INTEGER), "
        "CAST(extra->>'compute_instance' AS INTEGER)"
    ).rows()
    assert [p["value"] for p in parts] == [16925.0, 16925.0, 17.0, 9.0, 9.0]
    assert _values(session, "name = 'utilization.gpu'")[0][3:] == (
        None, "not_available",
    )  # fmt: skip
    assert _values(session, "name = 'clocks_event_reasons.gpu_idle'")[0][3] == 0.0
    text = session.sql("SELECT * FROM device").rows()
    assert "gpu_burn" not in str(text)


def test_answers_that_follow_one_another(
    smi: Path, store: traceql.Store, tmp_path: Path
) -> None:
    """-l appends answer to answer; the last may be cut, and the others stay."""
    one = (smi / "netdata" / "tesla-p100.xml").read_text()
    two = one.replace("<gpu_temp>", "<gpu_temp>1")
    session = _log(store, tmp_path, one + two + one[: len(one) // 2], "query")
    assert len(_values(session, "name = 'temperature.gpu'")) == 2
    assert _codes(session)["cut_document"] == 1


def test_text_that_follows_one_another(
    split: Path, store: traceql.Store, tmp_path: Path
) -> None:
    """In text each answer has its own time."""
    one = (split / _GPU.format("h200", "idle-query")).read_text()
    stamp = re.search(r"Timestamp +: (.*)", one)
    assert stamp is not None
    later = re.sub(r":(\d\d) 2026", lambda m: f":{(int(m[1]) + 1) % 60:02} 2026", one)
    session = _log(store, tmp_path, one + later, "query")
    power = _values(session, "name = 'power.draw.average'")
    assert [v[0] for v in power] == [0, 1_000_000_000]


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("2026-01-05T16:00:01+08:00", "2026-01-05T08:00:01+00:00"),
        ("2026-01-05T04:00:01.5-03:30", "2026-01-05T07:30:01.500+00:00"),
        ("2026-01-05T08:00:01Z", "2026-01-05T08:00:01+00:00"),
    ],
)
def test_zones(store: traceql.Store, tmp_path: Path, written: str, utc: str) -> None:
    """A time with a zone is a moment of the world's clock."""
    session = _log(
        store,
        tmp_path,
        f"timestamp,gpu_index,gpu_util_pct,mem_used_mb,power_w\n{written},0,1,2,3\n",
    )
    (run,) = session.sql("SELECT origin_unix_ns, clock FROM run").rows()
    moment = datetime.fromisoformat(utc).timestamp()
    assert run == {"origin_unix_ns": round(moment * 1e9), "clock": "unix_time"}


@pytest.mark.parametrize(
    ("what", "said", "instead"),
    [
        ("idle-nvidia-smi", "prints for people", "--query-gpu"),
        ("load-nvidia-smi", "prints for people", "--query-gpu"),
        ("capabilities-nvlink-s", "nvlink -s", "topo -m"),
    ],
)
def test_pages_for_people(
    split: Path, store: traceql.Store, what: str, said: str, instead: str
) -> None:
    """Named explicitly they are refused by name, with what to export instead."""
    paths = sorted(split.glob(f"*__{what}.txt"))
    assert len(paths) > 3
    for path in paths:
        (outcome,) = store.ingest(path)
        assert isinstance(outcome.error, traceql.UnrecognisedInput), path
        assert said in str(outcome.error), path
        assert instead in (outcome.error.hint or ""), path
