"""Random IDX files like MNIST's, read by torchvision."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
from pathlib import Path

from torchvision.datasets.mnist import read_sn3_pascalvincent_tensor

from tests.siege.originals.case import Case
from tests.siege.originals.values import expected, labels, values


def make(draw: random.Random, folder: Path) -> Case:
    count, height, width = draw.choice((1, 3, 9)), draw.choice((2, 5, 28)), draw.choice((6, 28))
    images, numbers = values(draw, "u1", (count, height, width)), labels(draw, count, "u1")
    start = draw.choice(("train", "t10k"))
    end, pack = draw.choice((("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)))
    image_data = struct.pack(">4I", 0x803, count, height, width) + images.tobytes()
    label_data = struct.pack(">2I", 0x801, count) + numbers.tobytes()
    for name, data in (("images-idx3", image_data), ("labels-idx1", label_data)):
        (folder / f"{start}-{name}-ubyte{end}").write_bytes(pack(data))
        (folder / "plain").write_bytes(data)
        read = read_sn3_pascalvincent_tensor(str(folder / "plain"), strict=False).numpy()
        images, numbers = (read, numbers) if name == "images-idx3" else (images, read)
    (folder / "plain").unlink()
    path = folder / f"{start}-images-idx3-ubyte{end}"
    about = f"{images.shape} {start}{end}"
    return Case(path, expected({"image": images, "label": numbers}), about=about)
