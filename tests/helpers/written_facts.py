"""Facts of a watched process, constructed by hand for tests of the doctor's verdicts."""

from tundish.diagnosis.probe.clocks.step_ledger import PARTS

COMPUTE = {"forward": 0.010, "backward": 0.020, "optimizer": 0.002, "zero_grad": 0.001}


def step(phase="measure", boundary=False, gpu=None, cpu_s=0.033, **seconds):
    values = {**dict.fromkeys(PARTS, 0.0), **COMPUTE, **seconds}
    return {
        "phase": phase,
        "boundary": boundary,
        "batches": 1,
        "optimizer_steps": 1,
        "seconds": values,
        "gpu_seconds": gpu or {},
        "cpu_s": cpu_s,
    }


def facts(steps, **more):
    return {
        "version": 1,
        "pid": 1,
        "rank": 0,
        "world": 1,
        "phase": "done",
        "torch": {"version": "2", "threads": 1, "gpu": None},
        "cpus": 8,
        "steps": steps,
        "lines": [],
        "loader": {"kind": "torch", "num_workers": 2, "batch_size": 10},
        "loader_failed": "",
        "overhead_s": 1e-5,
        "applied": None,
        **more,
    }


def sampled(rows, sample_s, blocked_s=0.0, workers=2):
    listed = [
        {"name": name, "kind": kind, "s": s, "blocked_s": blocked, "file": "/a/data.py", "line": 3}
        for name, kind, s, blocked in rows
    ]
    samples = {"sample_s": sample_s, "blocked_s": blocked_s, "rows": listed, "collate_s": 0.0}
    return {"kind": "torch", "num_workers": workers, "batch_size": 10, "samples": samples}


def line(part, share, in_other=True, name="f", at=9, samples=None):
    place = {"file": "/a/train.py", "line": at, "function": name, "column": 0, "end_column": 0}
    count = round(100 * share) if samples is None else samples
    return {"part": part, "share": share, "samples": count, "in_other": in_other, **place}
