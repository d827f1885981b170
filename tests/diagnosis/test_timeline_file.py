"""The timeline file: one clock, limited size, atomic writes, arbitrary bytes from processes."""

import gzip
import json
import random
import struct
import time

import pytest
import torch
from tundish.diagnosis.probe.clocks.timeline_clocks import (
    ClockPair,
    error_ns,
    read_clocks,
    to_monotonic_ns,
)
from tundish.diagnosis.probe.loaders.worker_spans import RECORDS, WorkerRing, read_ring
from tundish.diagnosis.probe.profiles.timeline_part import RecordedSpan, RecordedStep, TimelinePart
from tundish.diagnosis.timeline.chrome_file import ChromeFile
from tundish.diagnosis.timeline.loader_trace import read_loader_trace
from tundish.diagnosis.timeline.merge import make_timeline, write_timeline
from tundish.diagnosis.timeline.torch_trace import read_torch_trace

FAR = 50_000_000  # ns: far more than the clocks differ, even on a busy machine
S = 10**9


def test_both_clocks_map_to_the_same_time_in_the_file(tmp_path):
    """Compares torch profiler spans with readings of CLOCK_MONOTONIC inside and around them."""
    kinds = torch.profiler.ProfilerActivity
    begin = read_clocks()
    with torch.profiler.profile(activities=[kinds.CPU]) as profiler:
        before = time.monotonic_ns()
        with torch.profiler.record_function("between"):
            inside = time.monotonic_ns()
        after = time.monotonic_ns()
    end = read_clocks()
    profiler.export_chrome_trace(str(tmp_path / "torch"))
    events = read_torch_trace(str(tmp_path / "torch"), begin, end)
    (found,) = [one for one in events if one.get("name") == "between"]
    first, last = found["ts"], found["ts"] + found["dur"]
    assert before - FAR < first < inside + FAR
    assert inside - FAR < last < after + FAR
    assert first < last


def test_clock_corrections_by_a_time_server_are_followed():
    begin, end = ClockPair(100 * S, 1000 * S, 10), ClockPair(110 * S, 1001 * S, 30)
    for monotonic in (100 * S, 105 * S, 110 * S):
        unix = monotonic + 1000 * S + (monotonic - 100 * S) // 10
        # The line is estimated, so it is not exact.
        assert abs(to_monotonic_ns(unix, begin, end) - monotonic) < S // 9
    assert to_monotonic_ns(1090 * S, begin, begin) == 90 * S
    assert error_ns(begin, end) == S + 30


def test_a_file_of_torch_without_a_base_is_in_unix_time(tmp_path):
    now = ClockPair(0, 500 * S, 1)
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 501e6, "dur": 2}
    for base, ts in ((None, 501e6), (400 * S, 101e6)):
        values = {"traceEvents": [{**event, "ts": ts}]}
        values |= {} if base is None else {"baseTimeNanoseconds": base}
        (tmp_path / "torch").write_text(json.dumps(values))
        (found,) = read_torch_trace(str(tmp_path / "torch"), now, now)
        assert (found["ts"], found["dur"]) == (S, 2000)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "null", "{", '{"traceEvents": 3}'),
        '{"traceEvents": [], "baseTimeNanoseconds": "x"}',
    ],
)
def test_a_file_that_is_not_torchs_is_refused(tmp_path, text):
    (tmp_path / "torch").write_text(text)
    now = ClockPair(0, 0, 0)
    with pytest.raises(ValueError, match=r"."):
        read_torch_trace(str(tmp_path / "torch"), now, now)


def test_invalid_events_are_omitted(tmp_path):
    good = {"ph": "X", "name": "a", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1.5, "dur": 1}
    bad = [None, 3, {}, {**good, "pid": "Spans"}, {**good, "ts": None}, {**good, "ts": 1e300}]
    bad += [{**good, "dur": "x"}, {**good, "ph": 1}, {**good, "tid": True}]
    (tmp_path / "torch").write_text(json.dumps({"traceEvents": [*bad, good]}))
    now = ClockPair(0, 0, 0)
    assert [one["ts"] for one in read_torch_trace(str(tmp_path / "torch"), now, now)] == [1500]


# --- the file -----------------------------------------------------------------------------------


def spans(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        values = json.load(file)
    return values, [one for one in values["traceEvents"] if one["ph"] == "X"]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_full_file_counts_what_it_dropped_and_stays_json(tmp_path, name):
    with ChromeFile(str(tmp_path / name), 2000) as file:
        for number in range(100):
            file.add({"ph": "X", "name": "span", "ts": number})
        file.add({"ph": "M", "name": "x" * 3000}, always=True)
        assert not file.add({"ph": "X", "ts": float("nan")})
        file.finish({"otherData": {"dropped": file.dropped}})
    values, found = spans(tmp_path / name)
    assert [one["ts"] for one in found] == list(range(len(found)))
    assert 30 < len(found) < 100
    assert values["otherData"]["dropped"] == file.dropped == 100 - len(found) + 1
    assert file.events == len(found) + 1
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_an_error_keeps_the_old_file(tmp_path):
    (tmp_path / "a.json").write_text("before")

    def write():
        with ChromeFile(str(tmp_path / "a.json")) as file:
            file.add({"ph": "X"})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert (tmp_path / "a.json").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


# --- the parts of a process ---------------------------------------------------------------------


def leave_parts(folder, pid, rank=0, world=1, loaders=()):
    clock = ClockPair(10 * S, 1000 * S, 100)
    part = TimelinePart(
        pid=pid,
        rank=rank,
        world=world,
        clocks=[clock, clock],
        steps=[RecordedStep(7, 10.0, 11.0), RecordedStep(8, 11.0, 12.0)],
        spans=[
            RecordedSpan("own", 9.0, 10.25),
            RecordedSpan("data", 10.25, 10.5),
            RecordedSpan("own", 9.0, 9.5),
        ],
        dropped=1,
        loaders=[str(loader) for loader in loaders],
    )
    (folder / f"{pid}.timeline").write_text(json.dumps(part, default=vars))
    gpu = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1011e6, "dur": 5}
    flow = {"ph": "s", "cat": "ac2g", "name": "ac2g", "pid": pid, "tid": pid, "ts": 1011e6, "id": 9}
    head = {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "GPU 0"}}
    host = {**gpu, "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": pid, "ts": 1010.5e6}
    (folder / f"{pid}.torch").write_text(json.dumps({"traceEvents": [host, gpu, flow, head]}))


def leave_worker(folder, parent, pid, times):
    ring = WorkerRing(str(folder / f"{parent}-{pid}.worker"), 3)
    for begin, end in times:
        ring.add(round(begin * S), round(end * S))


def loader_trace(path, dropped=0):
    head = {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "worker 0"}}
    span = {"ph": "X", "name": "decode.jpeg", "pid": 0, "tid": 1, "dur": 1e5, "args": {"number": 5}}
    events = [head, {**span, "ts": 9e6}, {**span, "ts": 10.95e6}, {**span, "ts": 12.1e6}, None]
    other = {"dropped_spans": dropped}
    path.write_text(json.dumps({"traceEvents": events, "otherData": other}))
    return path


def test_all_sources_are_in_one_window_on_one_clock(tmp_path):
    leave_parts(tmp_path, 100, loaders=[loader_trace(tmp_path / "l.trace")])
    leave_worker(tmp_path, 100, 101, [(5, 6), (9.5, 10.5), (11.5, 12.5), (13, 14)])
    found = make_timeline(str(tmp_path), str(tmp_path / "t.json"))
    values, all_spans = spans(tmp_path / "t.json")
    named = {}
    for one in all_spans:
        named.setdefault(one["name"], []).append((one["ts"] / 1e6, one["dur"] / 1e6))
    assert named["step 7"] == [(10.0, 1.0)]
    assert named["own"] == [(10.0, 0.25)]  # work of the doctor before the first step is cut off
    assert named["data"] == [(10.25, 0.25)]
    assert named["worker.fetch"] == [(9.5, 1.0), (11.5, 1.0)]
    assert named["worker.wait"] == [(10.5, 1.0)]
    assert named["decode.jpeg"] == [(10.95, 0.1)]
    assert named["gemm"] == [(11.0, 5e-6)]
    assert named["aten::mm"] == [(10.5, 5e-6)]
    assert values["baseTimeNanoseconds"] == 1000 * S
    sources = {"loop": 4, "loader": 1, "workers": 3, "torch": 3, "kernels": 1, "copies": 0}
    assert found["sources"] == sources
    assert (found["steps"], found["dropped"], found["notes"]) == (2, 1, [])
    labels = [one["args"]["name"] for one in values["traceEvents"] if one["name"] == "thread_name"]
    assert "steps (profiled, excluded from the figures)" in labels


def test_each_rank_has_its_own_processes_and_arrows(tmp_path):
    for rank in (0, 1):
        leave_parts(tmp_path, 100 + rank, rank, world=2)
    make_timeline(str(tmp_path), str(tmp_path / "t.json"))
    values, all_spans = spans(tmp_path / "t.json")
    events = values["traceEvents"]
    assert len({one["pid"] for one in all_spans if one["name"] == "gemm"}) == 2
    assert len({one["id"] for one in events if one["ph"] == "s"}) == 2
    names = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert {"rank 0: GPU 0", "rank 1: GPU 0", "rank 1: training loop"} <= set(names)


def test_parts_that_cannot_be_read_are_notes(tmp_path):
    (tmp_path / "l.trace").write_text("{")
    leave_parts(tmp_path, 100, loaders=[tmp_path / "l.trace", tmp_path / "missing"])
    (tmp_path / "100.torch").write_text("[")
    (tmp_path / "100-1.worker").write_bytes(b"no ring")
    found = make_timeline(str(tmp_path), str(tmp_path / "t.json"))
    assert len(found["notes"]) == 3
    assert found["sources"]["loop"] == 4
    found = write_timeline(str(tmp_path), "/no/such/folder/t.json")
    assert "could not be written: FileNotFoundError" in found["notes"][0]
    (tmp_path / "100.timeline").write_text("{}")
    found = write_timeline(str(tmp_path), str(tmp_path / "t.json"))
    assert "could not be written" in found["notes"][0]


def test_without_a_step_there_is_no_file(tmp_path):
    assert make_timeline(str(tmp_path), str(tmp_path / "t.json")) is None
    assert not (tmp_path / "t.json").exists()


# --- worker processes ---------------------------------------------------------------------------


def test_a_ring_keeps_the_newest_spans(tmp_path):
    path = tmp_path / "ring"
    ring = WorkerRing(str(path), 5)
    for number in range(RECORDS + 10):
        ring.add(number + 1, number + 2)
    worker, found = read_ring(str(path))
    assert worker == 5
    assert found == [(n, n + 1, n + 2) for n in range(10, RECORDS + 10)]
    assert path.stat().st_size < 200_000


def test_a_ring_of_any_bytes_gives_spans_or_none(tmp_path):
    numbers = random.Random(0)
    path = tmp_path / "ring"
    for length in (0, 7, 8, 24, 100, 5000):
        for head in (b"", b"tndwork1"):
            path.write_bytes(head + numbers.randbytes(length))
            _, found = read_ring(str(path))
            assert all(0 < begin <= end for _, begin, end in found)
    path.write_bytes(struct.pack("<8sqq", b"tndwork1", 0, 9) + bytes(24))
    assert read_ring(str(path)) == (0, [])


def test_a_loaders_trace_is_read_plain_and_compressed(tmp_path):
    plain = loader_trace(tmp_path / "a", dropped=4)
    (tmp_path / "b").write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, tmp_path / "b"):
        trace = read_loader_trace(str(path))
        assert (trace.threads, trace.dropped) == ({1: "worker 0"}, 4)
        assert trace.spans[1][1] == ("decode.jpeg", 10_950_000_000, 11_050_000_000, 5)
