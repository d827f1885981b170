"""Hand-written reports of tuning runs. Together they contain every verdict."""

from tundish.tuning.fingerprint import Fingerprint
from tundish.tuning.plan import Plan
from tundish.tuning.report.results import (
    COMPARED,
    FASTER,
    IMPOSSIBLE,
    KEPT,
    NO_GAIN,
    REJECTED,
    SLOWER,
    Row,
    TuneReport,
)
from tundish.tuning.tricks import trick_from_json

GB = 1_000_000_000
OVERFLOW = (
    "fp16 overflow: the gradient of layer4.2.conv3.weight was infinite in 14 of 30 steps, "
    "the scale fell to 2"
)
NO_CAPTURE = "train.py:31: if loss.item() > 9: operation not permitted when stream is capturing"


def _row(label, phase, tricks, verdict, ms, gain=None, more=None, peak_bytes=None, **values):
    low, high = (None, None) if gain is None else (gain * 0.99, gain * 1.01)
    return Row(
        label,
        phase,
        [trick_from_json({"name": name}).as_json() for name in tricks],
        verdict,
        step_ms=ms,
        gain=gain,
        low=low,
        high=high,
        compared_with=more or "baseline",
        turns=5,
        peak_bytes=None if peak_bytes is None else round(peak_bytes),
        **values,
    )


def image_model():
    """Returns the report of a complete run on a GPU."""
    cells, fine = "precision and layout", "loss band ok (30 steps)"
    fused, bf16 = ["fused_optimizer"], ["fused_optimizer", "bf16"]
    layout = ["channels_last", *bf16]
    best = [*layout, "compile"]
    noise = "within fp32 noise (worst: fc.weight, 1.0 x)"
    rows = [
        _row("baseline", "reference", [], COMPARED, 152.1, peak_bytes=31.2 * GB),
        _row("CUDA graph of the step", "ground", ["cuda_graph"], IMPOSSIBLE, None,
             numerics=NO_CAPTURE),
        _row("fused", cells, fused, NO_GAIN, 151.0, 1.01, peak_bytes=31.2 * GB, numerics=noise),
        _row("channels_last", cells, ["channels_last", *fused], FASTER, 149.0, 1.02,
             peak_bytes=31.3 * GB, numerics=noise),
        _row("TF32", cells, ["tf32", *fused], FASTER, 98.4, 1.55, peak_bytes=31.2 * GB,
             numerics=fine),
        _row("fp16", cells, [*fused, "fp16"], REJECTED, 66.0, 2.3, numerics=OVERFLOW),
        _row("bf16", cells, bf16, FASTER, 70.2, 2.17, peak_bytes=19.3 * GB, numerics=fine),
        _row("both", cells, layout, FASTER, 41.3, 3.68, peak_bytes=19.3 * GB, numerics=fine),
        _row("compile", "compile", best, FASTER, 33.0, 4.61, peak_bytes=17.0 * GB, one_off_s=41.2,
             break_even_steps=346, host_bound=True, numerics=fine),
        _row("both", "compile", layout, FASTER, 41.4, 3.67, peak_bytes=19.3 * GB, numerics=fine),
        _row("in-place", "flags", ["inplace", *best], SLOWER, 36.0, 4.23, peak_bytes=16.1 * GB),
        _row("no fused", "removal", ["channels_last", "bf16", "compile"], FASTER, 34.0, 4.47),
        _row("compile", "removal", best, FASTER, 33.0, 4.61),
        _row("baseline", "confirm", [], COMPARED, 152.3, 1.0, peak_bytes=31.2 * GB),
        _row("human recipe", "confirm", best, COMPARED, 35.0, 4.35),
        _row("compile", "confirm", best, KEPT, 33.1, 4.60, peak_bytes=17.0 * GB, one_off_s=41.2,
             break_even_steps=346),
    ]  # fmt: skip
    gains = {
        "human recipe": {"gain": 1.06, "low": 1.05, "high": 1.07},
        "baseline": {"gain": 4.60, "low": 4.554, "high": 4.646},
        "torch defaults": {"gain": 4.60, "low": 4.55, "high": 4.66},
        "strict fp32": {"gain": 11.21, "low": 11.1, "high": 11.3},
    }
    return TuneReport(
        job="train.py:build",
        model="ResNet, 25.6 M parameters",
        optimizer="SGD",
        batch="(128, 3, 224, 224) float32, (128,) int64",
        samples=128,
        device="NVIDIA H200",
        baseline="your flags: TF32 in convolutions, eager, foreach",
        rows=rows,
        gains=gains,
        twin={"spread": 0.004, "threshold": 0.012},
        seconds=231.0,
        notes=["bf16 was stacked on a step that was gated in fp32 first"],
        machine={"cpu": "a CPU", "cores": 16, "memory_gb": 128.0, "system": "Linux", "busy": 0.0},
        versions={"torch": "2.11.0", "python": "3.12.3"},
    )


def nothing_pays():
    report = image_model()
    report.rows = [row for row in report.rows if row.verdict not in (KEPT, FASTER)]
    report.gains = {}
    return report


def interrupted():
    """Returns the report of a run that Ctrl-C ended before the confirming run."""
    report = image_model()
    report.rows = report.rows[: next(i for i, r in enumerate(report.rows) if r.phase == "compile")]
    report.gains = {}
    report.finished = False
    return report


def plan_of(report):
    names = ("bf16", "channels_last", "fused_optimizer", "compile")
    tricks = [{"name": name} for name in names]
    made_for = Fingerprint("ResNet", "0" * 16, 25_600_000, "SGD", ["(128,)"], "cpu", "2.11", "")
    return Plan([trick_from_json(one) for one in tricks], made_for, report)
