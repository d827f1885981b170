"""Hand-written facts of watched processes, for tests of the doctor's verdicts."""

from dataclasses import replace

from tundish.diagnosis.probe.clocks.step_ledger import PARTS
from tundish.diagnosis.probe.facts import (
    AppliedFacts,
    Facts,
    LineFacts,
    LoaderFacts,
    SampleFacts,
    SampleRow,
    StepFacts,
    TorchFacts,
)

COMPUTE = {"forward": 0.010, "backward": 0.020, "optimizer": 0.002, "zero_grad": 0.001}
ON_CPU = TorchFacts("2", 1, None)
ON_GPU = TorchFacts("2", 1, "a GPU")


def step(phase="measure", boundary=False, gpu=None, cpu_s=0.033, counts=None, **seconds):
    return StepFacts(
        phase=phase,
        boundary=boundary,
        batches=1,
        optimizer_steps=1,
        seconds={**dict.fromkeys(PARTS, 0.0), **COMPUTE, **seconds},
        gpu_seconds=gpu or {},
        cpu_s=cpu_s,
        counts=counts or {},
    )


def loader(**more):
    return LoaderFacts(**{"kind": "torch", "class_name": "DataLoader", "num_workers": 2, **more})


def facts(steps, **more):
    values = {"phase": "done", "torch": ON_CPU, "cpus": 8, "overhead_s": 1e-5}
    values |= {"loader": loader(batch_size=10), "optimizer_steps": len(steps), **more}
    return Facts(**{"pid": 1, "rank": 0, "world": 1, "steps": steps, **values})


def sampled(rows, sample_s, blocked_s=0.0, workers=2, **more):
    listed = [
        SampleRow(name, kind, "/a/data.py", 3, s=s, blocked_s=blocked)
        for name, kind, s, blocked in rows
    ]
    samples = SampleFacts(1, sample_s, blocked_s, listed, collate_s=0.0)
    return loader(num_workers=workers, batch_size=10, samples=samples, **more)


def line(part, share, in_other=True, name="f", at=9, samples=None):
    return LineFacts(
        part=part,
        in_other=in_other,
        file="/a/train.py",
        line=at,
        function=name,
        share=share,
        samples=round(100 * share) if samples is None else samples,
        column=0,
        end_column=0,
    )


def with_applied(found, done, text):
    return replace(found, applied=AppliedFacts(done, text))
