"""Random .safetensors files written by the package safetensors."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.siege.originals.case import Case
from tests.siege.originals.values import columns, expected, loader_options


def make(draw: random.Random, folder: Path) -> Case:
    arrays = columns(draw)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    count = len(next(iter(arrays.values())))
    if draw.random() < 0.3:
        tensors["half"] = torch.randn(count, 3, generator=_generator(draw)).bfloat16()
    if "image" in arrays and draw.random() < 0.2:
        tensors["eight"] = torch.ones(count, 2).to(torch.float8_e4m3fn)
        tensors["other"] = torch.ones(count + 2, 2)
        tensors["none"] = torch.ones(count, 0)
        tensors["scalar"] = torch.tensor(2.0)
    path = folder / draw.choice(("data.safetensors", "x y.safetensors"))
    metadata = {"format": "pt", "note": "ä" * draw.randrange(9)} if draw.random() < 0.5 else None
    save_file(tensors, path, metadata)
    with safe_open(path, "pt") as file:
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    fields = expected({name: found[name].numpy() for name in arrays})
    if "half" in found:
        fields["half"] = found["half"].view(torch.uint16).numpy()
    about = ", ".join(f"{name} {one.dtype} {tuple(one.shape)}" for name, one in tensors.items())
    return Case(path, fields, about=about, loader=loader_options(arrays))


def _generator(draw: random.Random) -> torch.Generator:
    return torch.Generator().manual_seed(draw.getrandbits(60))
