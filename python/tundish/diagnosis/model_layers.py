"""`tundish.layers(model, batch)`: time, FLOPs and bytes of every layer, without a training loop."""

from __future__ import annotations

import html
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .._c.errors import ArgumentError
from ..tuning.preserved_state import unchanged
from .doctor_json import FindingJson, LayerJson, LayersJson, LayersReportJson, RoofJson
from .layers.layer_json import layers_json
from .layers.layer_text import LONG, layers_text
from .phrases import count_text
from .probe.layers.autograd_nodes import tensors_in
from .probe.layers.profile import measure_layers
from .rules.layers import check_layers

Loss = Callable[[Any], Any]


@dataclass(repr=False)
class Layers:
    """The result of `tundish.layers`; `print(layers)` shows a table of all layers, and the findings.

    `rows` contains one dict per layer, slowest first, with the keys of the doctor's JSON.
    """

    values: LayersJson
    findings: list[FindingJson] = field(default_factory=list)

    @property
    def rows(self) -> list[LayerJson]:
        return list(self.values["rows"])

    @property
    def roof(self) -> RoofJson:
        return self.values["roof"].copy()

    def as_json(self) -> LayersReportJson:
        return {**self.values, "findings": self.findings}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an HTML page (.html) with the roofline chart, or JSON (.json)."""
        from .report.layer_page import layers_file

        text = layers_file(os.fspath(path), self.as_json())
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)

    def __repr__(self) -> str:
        return f"<Layers: {count_text(len(self.values['rows']), 'layer')}, {self.values['device']}>"

    def _repr_html_(self) -> str:
        """Shows the table in notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        lines = layers_text(self.values, LONG)
        for finding in self.findings:
            cost = f" ({finding['seconds'] * 1e3:.2f} ms)" if finding["seconds"] else ""
            lines += ["", f"{finding['check']}: {finding['text']}{cost}", f"  {finding['fix']}"]
        return "\n".join(lines) + "\n"


def layers(
    model: torch.nn.Module, batch: Any, *, loss_fn: Loss | None = None, steps: int = 5
) -> Layers:
    """Measures the forward and backward time of every layer, and how close it is to the machine's limit.

        print(tundish.layers(model, images))

    The limit of a layer is the shortest time that this machine could need for its FLOPs and bytes.

    model    the model, measured on its current device and in its current mode. Gradients, buffers and
             random states are restored
    batch    a tensor, a tuple or list of positional arguments, or a dict of keyword arguments
    loss_fn  function of the model's output; default: the sum of all floating-point output tensors
    steps    number of timed steps, after one warm-up step and one step that counts operations

    To measure under autocast, call it inside `with torch.autocast("cuda", torch.bfloat16):`.
    """
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"layers() needs a torch.nn.Module, not {type(model).__name__}")
    if steps < 1:
        raise ArgumentError(f"steps={steps}: at least one step is needed")

    def step() -> None:
        torch.clear_autocast_cache()  # a training loop also enters autocast again in every step
        _scalar((loss_fn or _sum)(_call(model, batch))).backward()
        for parameter in model.parameters():
            parameter.grad = None

    with unchanged(model), torch.enable_grad():
        step()
        begin = time.perf_counter()
        step()
        host_s = time.perf_counter() - begin
        profile = measure_layers(model, step, threading.get_ident(), steps, host_s)
    values = layers_json(profile.result)
    if values is None:
        raise ArgumentError(f"the layers cannot be measured: {profile.missing_reason}")
    return Layers(values, check_layers(profile.result))


def _call(model: torch.nn.Module, batch: Any) -> Any:
    if isinstance(batch, dict):
        return model(**batch)
    if isinstance(batch, list | tuple):
        return model(*batch)
    return model(batch)


def _sum(output: Any) -> Any:
    parts = [tensor.float().sum() for tensor in tensors_in(output) if tensor.requires_grad]
    if not parts:
        raise ArgumentError(
            "no output of the model requires a gradient\n  fix: layers(model, batch, loss_fn=...)"
        )
    return torch.stack(parts).sum()


def _scalar(value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        raise ArgumentError("loss_fn= must return a scalar tensor")
    return value
