"""The changes that may pay for a script, from its survey and the doctor's verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...diagnosis.verdict.verdict import Verdict
from ..inject.request import Change

LEAST_GAIN = 1.03  # predicted speedup of a loader change that is tried
LOWER_PRECISION = ("bf16", "tf32")
LOADER_CHANGES = ("accelerate", "workers", "pin_memory")
OTHER_RANDOM_NUMBERS = ("compile",)  # compiled dropout draws other masks
TITLES = {
    "accelerate": "data: Tundish's engine",
    "workers": "data: more worker processes",
    "pin_memory": "data: pinned memory",
    "tf32": "TF32",
    "cudnn_benchmark": "cudnn.benchmark",
    "channels_last": "channels_last",
    "bf16": "bf16 autocast",
    "fused": "fused optimizer",
    "compile": "torch.compile",
}


@dataclass(frozen=True)
class LeftOut:
    """A change that is not tried, and why. `place`: FILE:LINE of the script, or ""."""

    name: str
    reason: str
    place: str = ""


@dataclass(frozen=True)
class Candidates:
    loader: list[tuple[Change, ...]]  # alternatives, best first
    model: list[tuple[Change, ...]]  # tried one after the other, on top of those that paid
    left_out: list[LeftOut]


def title_of(changes: tuple[Change, ...]) -> str:
    return " + ".join(_title(change) for change in changes)


def _title(change: Change) -> str:
    if change.name == "workers":
        return f"data: {change.value} worker process{'' if change.value == '1' else 'es'}"
    if change.name == "compile" and change.value:
        return f"torch.compile, {change.value}"
    return TITLES[change.name]


def lowers_precision(changes: tuple[Change, ...]) -> bool:
    return any(change.name in LOWER_PRECISION for change in changes)


def is_loader_change(changes: tuple[Change, ...]) -> bool:
    return changes[0].name in LOADER_CHANGES


def draws_other_random_numbers(changes: tuple[Change, ...]) -> bool:
    return any(change.name in OTHER_RANDOM_NUMBERS for change in changes)


def candidates(survey: dict[str, Any], verdict: Verdict, pack: str) -> Candidates:
    """`pack`: value of --pack."""
    left_out: list[LeftOut] = []
    return Candidates(
        loader=_loader_changes(survey, verdict, pack, left_out),
        model=_model_changes(survey, left_out),
        left_out=left_out,
    )


def _loader_changes(
    survey: dict[str, Any], verdict: Verdict, pack: str, left_out: list[LeftOut]
) -> list[tuple[Change, ...]]:
    figures, place = verdict.figures, _place(survey["loader_place"])
    if survey["loader"] is None:
        left_out.append(LeftOut("accelerate", "no DataLoader of torch feeds the training"))
        return []
    engine = verdict.facts.loader.engine if verdict.facts.loader else None
    if engine is not None and not engine.native:
        left_out.append(LeftOut("accelerate", engine.text, place))
    found: list[tuple[Change, ...]] = []
    for change in verdict.changes:
        name, _, value = change.apply.partition("=")
        if name not in ("accelerate", "workers") or figures is None or not change.predicted_s:
            continue
        if figures.step_s / change.predicted_s >= LEAST_GAIN:
            found.append((Change(name, pack if name == "accelerate" else value),))
    if not found and survey["device"] == "cuda" and not survey["pins_memory"]:
        found.append((Change("pin_memory"),))
    if not found and not left_out:
        left_out.append(LeftOut("accelerate", "the loader does not slow the step down", place))
    return found


def _model_changes(survey: dict[str, Any], left_out: list[LeftOut]) -> list[tuple[Change, ...]]:
    models, gpu = survey["models"], survey["device"] == "cuda"
    place = _place(models[0]["place"]) if models else ""
    choices = survey.get("choices", {})
    safe: list[Change] = []  # tried together: each is cheap, and they help each other
    for name, reason in _obstacles(survey, gpu).items():
        if not reason:
            safe.append(Change(name))
        elif reason != _NOT_HERE:
            chosen = _place(choices[name]) if name in choices else place
            left_out.append(LeftOut(name, reason, chosen))
    names = {change.name for change in safe}
    together = tuple(c for c in safe if c.name not in ("compile", "cudnn_benchmark"))
    found: list[tuple[Change, ...]] = []
    if gpu:
        found += [together] if together else []
    else:
        found += [(change,) for change in together]
    if "compile" in names:
        found.append((Change("compile"),))
        if gpu and all(m["calls"] <= survey["steps"] for m in models):
            found.append((Change("compile", "reduce-overhead"),))
    if "cudnn_benchmark" in names:
        found.append((Change("cudnn_benchmark"),))
    return found


_NOT_HERE = "not for this device"


def _obstacles(survey: dict[str, Any], gpu: bool) -> dict[str, str]:
    """Returns why each change of the model is not tried, "" if it is, in the order of the trials."""
    models = survey["models"]
    mixed = any(m["autocast"] for m in models) or survey["scaler"]
    sixteen = any(t != "torch.float32" for m in models for t in m["types"])
    precision = "already done" if mixed else "the weights are not float32" if sixteen else ""
    out = {
        "tf32": _NOT_HERE if not gpu else "already done" if survey["matmul_tf32"] else precision,
        "bf16": precision or ("" if survey["bf16"] else _NOT_HERE),
        "channels_last": _first(m["channels_last"] for m in models),
        "fused": _first(o["fused"] for o in survey["optimizers"]),
        "compile": "",
        "cudnn_benchmark": _NOT_HERE,
    }
    if any(m["scripted"] for m in models):
        scripted = "the model is a torch.jit script"
        out |= {"compile": scripted, "channels_last": scripted, "bf16": scripted}
    elif any(m["compiled"] for m in models):
        out["compile"] = "already done"
    elif any(m["shapes"] > 2 for m in models):
        out["compile"] = "the shapes of the batches vary: each would be compiled"
    if gpu and not out["channels_last"]:
        out["cudnn_benchmark"] = "already done" if survey["cudnn_benchmark"] else ""
    for name, choice in survey.get("choices", {}).items():  # values given to a framework
        if out[name] != _NOT_HERE:
            out[name] = choice["reason"]
    if not models:
        out = dict.fromkeys(out, "the loop calls no module with parameters")
    return out


def _first(reasons: Any) -> str:
    """Returns the first obstacle: a change is made on all objects or on none."""
    return next((reason for reason in reasons if reason), "")


def _place(place: dict[str, Any]) -> str:
    return f"{place['file']}:{place['line']}" if place["file"] else ""
