"""Random CIFAR files: the binary version, and pickles of protocol 2 and newer."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.values import expected, values


def make(draw: random.Random, folder: Path) -> Case:
    count, many = draw.choice((1, 2, 5)), draw.random() < 0.5
    data = values(draw, "u1", (count, 3072))
    fine = [draw.randrange(100 if many else 10) for _ in range(count)]
    coarse = [draw.randrange(20) for _ in range(count)]
    if draw.random() < 0.5:
        path = folder / ("train.bin" if many else f"data_batch_{draw.randint(1, 5)}.bin")
        heads = [bytes([b, a] if many else [a]) for a, b in zip(fine, coarse, strict=True)]
        path.write_bytes(b"".join(h + one.tobytes() for h, one in zip(heads, data, strict=True)))
    else:
        path = folder / (
            draw.choice(("train", "test")) if many else f"data_batch_{draw.randint(1, 5)}"
        )
        value: dict = {"data": data, ("fine_labels" if many else "labels"): fine}
        value |= {"coarse_labels": coarse} if many else {}
        value |= {"filenames": [f"{n}.png" for n in range(count)], "batch_label": "batch"}
        if draw.random() < 0.5:
            value = {name.encode(): one for name, one in value.items()}
        path.write_bytes(pickle.dumps(value, draw.choice((2, 2, 3, 4, 5))))
    fields = expected({"image": data.reshape(count, 3, 32, 32), "label": np.array(fine)})
    if many:
        fields["coarse_label"] = np.array(coarse, np.float64)
    return Case(path, fields, about=f"{path.name} {count}")
