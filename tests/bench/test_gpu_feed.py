"""`bench gpu_feed` without a GPU: runs every contestant and counts the waits in a trace."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.common.result_files import read_rows
from bench.gpu_feed import syncs

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "tundish"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="./dev build makes the program")


def test_a_dry_run_gives_rows_of_every_contestant_and_a_chart(tmp_path):
    make_samples = ROOT / "build" / "release" / "make_samples"
    subprocess.run([make_samples, tmp_path / "photos", "12", "3"], check=True)
    pack, out = tmp_path / "photos.tnd", tmp_path / "gpu_feed.json"
    subprocess.run([PROGRAM, "pack", "--output", pack, tmp_path / "photos"], check=True)
    words = ["--device", "cpu", "--model", "tiny", "--rounds", "2", "--batch", "4"]
    line = [sys.executable, "-m", "bench.gpu_feed.run", *words, "--pack", pack, "--out", out]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

    rows = read_rows(out)
    reasons = {row["contestant"]: row["reason"] for row in rows if "reason" in row}
    assert not reasons
    runs = {row["contestant"]: row["runs"] for row in rows if row["metric"] == "step"}
    modes = ("CPU decodes", "GPU decodes", "auto", "resident pack")
    assert runs == {"resident batch": 4, "torch DataLoader": 1, "nvJPEG loop": 1} | {
        f"tundish, {mode}": 2 for mode in modes
    }
    ratio = next(row for row in rows if row["metric"] == "step over the resident batch's")
    assert ratio["low"] <= ratio["value"] <= ratio["high"]
    assert {"machine", "versions", "commit", "command", "data_digest"} <= set(ratio)
    assert {row["value"] for row in rows if row["metric"].startswith("waits ")} == {0}
    assert out.with_suffix(".svg").read_text().startswith("<svg")


def test_waits_in_a_trace_are_counted_by_thread_and_place():
    def mark(name, begin, end, cat="user_annotation"):
        return {"name": name, "cat": cat, "tid": 1, "ts": begin, "dur": end - begin}

    def call(name, begin, thread=1):
        return {"name": name, "cat": "cuda_runtime", "tid": thread, "ts": begin, "dur": 1}

    events = [
        {"name": "process_name", "ph": "M"},
        call("cudaDeviceSynchronize", 5),  # before the first step
        mark("feed.next", 10, 20),
        call("cudaEventSynchronize", 12),
        call("cudaStreamWaitEvent", 13),  # the GPU waits, not the host
        mark("feed.step", 20, 30),
        call("cudaStreamSynchronize", 25),
        call("cudaEventSynchronize", 26, thread=2),
        call("cudaDeviceSynchronize", 40),  # after the last step
    ]
    inside, trainer, others = syncs.read_trace(events)
    assert inside == ["cudaEventSynchronize"]
    assert trainer == ["cudaEventSynchronize", "cudaStreamSynchronize"]
    assert others == ["cudaEventSynchronize"]
