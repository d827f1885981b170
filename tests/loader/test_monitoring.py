"""Monitoring of a loader: figures, a trace, warnings about hanging threads."""

import gzip
import itertools
import json
import os
import re
import warnings

import pytest
import tundish
from PIL import Image
from tundish._c.library import lib

from tests.helpers.loaders import RANDOM, opened
from tests.helpers.program import ROOT

DESCRIBED = {field["name"] for field in json.loads(lib.tundish_reference())["stats"]["fields"]}
OF_PYTHON = {"gpu_wait_s", "gpu_wait_share", "gpu_decoded", "batch_transform_s"}  # counted there


def test_stats_are_flat_and_ready_for_a_logger(photos):
    loader = opened(photos.pack, transforms=RANDOM)
    assert set(loader.stats()) == {f"data/{key}" for key in DESCRIBED | OF_PYTHON}
    assert not any(loader.stats().values())  # all figures start at 0
    list(loader)
    stats = loader.stats()
    assert all(isinstance(value, (int, float)) for value in stats.values())
    for key in ("read", "decode", "augment"):
        assert stats[f"data/{key}_s"] > 0
        assert 0 < stats[f"data/{key}_busy"] <= 1
    assert stats["data/read_busy"] + stats["data/decode_busy"] + stats["data/augment_busy"] <= 1.01
    assert 0 < stats["data/wait_share"] <= 1
    assert 0 < stats["data/wait_p50_s"] <= stats["data/wait_p99_s"]
    assert stats["data/wait_p99_s"] <= 1.2 * stats["data/wait_s"]
    assert stats["data/wait_s"] <= stats["data/elapsed_s"]
    json.dumps(stats)


def test_a_reset_restarts_shares_and_quantiles_and_keeps_the_sums(photos):
    loader = opened(photos.pack)
    list(loader)
    first = loader.stats(reset=True)
    second = loader.stats()
    assert second["data/wait_p99_s"] == second["data/wait_share"] == 0
    for key in ("samples", "batches", "wait_s"):
        assert second[f"data/{key}"] == first[f"data/{key}"]
    list(loader)
    third = loader.stats()
    assert third["data/samples"] == 2 * photos.count
    assert third["data/wait_p99_s"] > 0


def test_the_keys_that_the_page_lists_exist_and_the_reference_has_all(photos, tmp_path):
    page = (ROOT / "docs" / "loader-performance.md").read_text()
    listed = {word for line in page.splitlines() if line.startswith("| `data/") for word in line.split("`") if word.startswith("data/")}  # fmt: skip
    assert len(listed) > 20
    assert listed <= set(opened(photos.pack, cache_dir=tmp_path / "cache").stats())
    reference = (ROOT / "docs" / "reference.md").read_text()
    assert not [key for key in DESCRIBED if f"| `data/{key}` |" not in reference]


# --- the trace ----------------------------------------------------------------------------------


def spans(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def read_trace(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)


def test_a_trace_has_every_sample_of_every_thread(photos, tmp_path):
    path = tmp_path / "trace.json.gz"
    with opened(photos.folder, trace=path, threads=3, uneven="exact") as loader:
        assert len(list(loader)) == 5
        assert not path.exists()
    trace = read_trace(path)
    names = {
        event["tid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert sorted(names.values()) == ["trainer", "worker 0", "worker 1", "worker 2"]
    by_name = {}
    for span in spans(trace):
        by_name.setdefault(span["name"], []).append(span)
        assert span["dur"] >= 0
    read = {span["args"]["number"] for span in by_name["source.read"]}
    assert read == set(range(photos.count))
    decoded = [span for name in by_name for span in by_name[name] if name.startswith("decode.")]
    assert {span["name"] for span in decoded} == {"decode.jpeg", "decode.png"}
    assert len(decoded) == len(by_name["augment.resample"]) == len(by_name["source.read"])
    assert len(by_name["engine.deliver"]) == 5
    assert trace["otherData"]["dropped_spans"] == 0
    for thread, name in names.items():  # a thread does one thing at a time
        mine = sorted((s["ts"], s["dur"]) for s in spans(trace) if s["tid"] == thread)
        for (begin, duration), (after, _) in itertools.pairwise(mine):
            assert begin + duration <= after + 0.01, name


def test_span_names_are_those_of_folders(photos, tmp_path):
    with opened(photos.pack, trace=tmp_path / "trace.json.gz") as loader:
        list(loader)
    for name in {span["name"] for span in spans(read_trace(tmp_path / "trace.json.gz"))}:
        assert any(path.is_dir() for path in (ROOT / "src").rglob(name.split(".")[0])), name


def test_a_trace_is_bounded_and_counts_what_it_dropped(tiny, tmp_path):
    with opened(tiny.pack, 71, trace=tmp_path / "trace.json.gz", threads=1) as loader:
        for _ in range(140):
            for _ in loader:
                pass
        samples = loader.stats()["data/samples"]
    trace = read_trace(tmp_path / "trace.json.gz")
    assert samples == 140 * tiny.count
    assert trace["otherData"]["dropped_spans"] > 0
    assert 100_000 < len(spans(trace)) <= (8 << 20) / 32
    newest = [s["args"]["number"] for s in spans(trace) if s["name"] == "engine.deliver"]
    assert len(newest) == 700


def test_each_rank_writes_its_own_trace(photos, tmp_path):
    for rank in range(2):
        name = tmp_path / "trace-{rank}.json.gz"
        with opened(photos.pack, trace=name, rank=rank, world_size=2) as loader:
            list(loader)
        assert {s["pid"] for s in spans(read_trace(tmp_path / f"trace-{rank}.json.gz"))} == {rank}


def test_a_trace_is_written_when_the_program_ends(photos, tmp_path, run_python):
    result = run_python(
        "import sys, tundish\n"
        "from tundish import transforms as T\n"
        "loader = tundish.Loader(sys.argv[1], 4, trace=sys.argv[2], backend='numpy',\n"
        "                        transforms=[T.Resize((8, 8))])\n"
        "next(iter(loader))\n",
        photos.pack,
        tmp_path / "trace.json",
    )
    assert result.stderr == ""
    assert spans(json.loads((tmp_path / "trace.json").read_text()))
    assert os.listdir(tmp_path) == ["trace.json"]


def test_a_trace_in_a_missing_folder_is_refused_at_once(photos, tmp_path):
    with pytest.raises(tundish.Error, match=r"TND-301 .*no/trace\.json"):
        opened(photos.pack, trace=tmp_path / "no" / "trace.json")


def test_a_trace_that_cannot_be_written_at_the_end_is_reported(photos, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    loader = opened(photos.pack, trace=folder / "trace.json")
    list(loader)
    folder.rmdir()
    with pytest.warns(RuntimeWarning, match=r"trace\.json"):
        loader.close()


# --- hanging threads ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow(make, tmp_path_factory):
    """A folder with one image whose decoding takes several polling intervals."""
    root = tmp_path_factory.mktemp("slow")
    data = make.encode(Image.new("L", (12000, 8000), 99), "PNG", compress_level=1)
    make.write(root / "x/large.png", data)
    return root


def hangs_named(loader):
    """Returns the warnings of one epoch about hanging threads."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(loader)) == 1
    return [one for one in caught if "the loader waits" in str(one.message)]


def test_a_hanging_thread_is_named_once(slow):
    """Repeats epochs, because a busy machine may stop the loop while the thread decodes.

    With one batch at a time, no thread decodes the next epoch's image meanwhile, which would cause
    another warning.
    """
    loader = opened(slow, 1, hang_warning=0.01, threads=1, prefetch=1)
    for _ in range(100):
        caught = hangs_named(loader)
        found = [
            re.search(r"the loader waits: (\w+) record 0 of .*for \d+ s", str(one.message))
            for one in caught
        ]
        named = [one[1] for one in found]
        # Reading may also take long enough; it has a separate warning.
        assert sorted(named) in ([], ["decoding"], ["reading"], ["decoding", "reading"])
        if "decoding" in named:
            break
    assert "decoding" in named
    for one in caught:
        assert one.category is RuntimeWarning
        assert "large.png" in str(one.message)
        assert "network file system" in str(one.message)
        assert one.filename == __file__


def test_nothing_is_reported_without_hang_warning(slow):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(opened(slow, 1, hang_warning=None))) == 1
        assert len(list(opened(slow, 1, hang_warning=3600))) == 1
    assert not [w for w in caught if "the loader waits" in str(w.message)]


@pytest.mark.parametrize(
    ("value", "why"), [(-1, "hang_warning"), ("x", "hang_warning"), (0, "hang_warning")]
)
def test_a_hang_warning_is_a_number_of_seconds(photos, value, why):
    with pytest.raises(ValueError, match=why):
        opened(photos.pack, hang_warning=value)
