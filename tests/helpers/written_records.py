"""Hand-written recordings of the doctor: a GPU's allocation history, functions and a timeline."""

from dataclasses import replace

from tundish.diagnosis.memory.allocation_sites import AllocationSite
from tundish.diagnosis.memory.block_history import Mark, MemoryRecording
from tundish.diagnosis.memory.cuda_blocks import name_blocks, trace_blocks
from tundish.diagnosis.memory.explain import explain
from tundish.diagnosis.probe.profiles.recorded_facts import (
    FunctionRow,
    FunctionsFacts,
    PredictedMemory,
    RecordedFacts,
    TimelineFacts,
)


def alloc(address, size, line=0):
    frames = [{"filename": "/a/train.py", "line": line, "name": "f"}] if line else []
    return {"action": "alloc", "addr": address, "size": size, "frames": frames}


def free(address):
    return {"action": "free_requested", "addr": address, "size": 1}


def recorded_of_gpu():
    """Returns two steps with a batch, two activations and a gradient. Every step keeps a loss."""
    step = [alloc(1, 10_000, 5), alloc(2, 50_000, 6), alloc(3, 30_000, 7), alloc(4, 500, 8)]
    step += [alloc(5, 20_000), free(3), free(2), free(1)]
    trace = [*step, free(5), *step[:3], alloc(9, 500, 8), *step[4:]]
    blocks = trace_blocks(trace, {100: 20_480}, {})
    marks = []
    for begin in (1, 10):
        parts = (("copy", 0), ("forward", 1), ("backward", 4), ("optimizer", 5))
        marks += [
            Mark(begin + at, part, AllocationSite("/a/train.py", 20 + at)) for part, at in parts
        ]
    name_blocks(blocks, [(6, {100: "parameters", 5: "gradients"}), (15, {5: "gradients"})])
    flat = [one for same in blocks.values() for one in same]
    return MemoryRecording("cuda:0", flat, marks, [1, 10, 18], torch_peak=140_000)


def recorded():
    """Returns a value for Facts.recorded, as if all recording options were enabled."""
    predicted = PredictedMemory(1 << 20, "backward", {"batch": 5}, "fake tensors", "")
    row = FunctionRow("<f> & g", "/a/train.py", 3, 2.0, own_s=0.001, all_s=0.002)
    return RecordedFacts(
        asked=["memory", "functions", "timeline"],
        memory=replace(explain(recorded_of_gpu()), predicted=predicted),
        functions=FunctionsFacts(5, [row]),
        timeline=TimelineFacts(5),
    )


TIMELINE = {"file": "trace.json", "steps": 5, "events": 9, "dropped": 0, "bytes": 10}
TIMELINE |= {"clock_error_s": 1e-6, "sources": {"loop": 5, "torch": 4}, "notes": []}
