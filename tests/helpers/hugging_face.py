"""Creates small Hugging Face datasets on disk."""

import io

import datasets
import numpy as np
from PIL import Image

from tests.helpers.torch_sets import FIXED  # noqa: F401

COUNT = 23
TURNED = 5  # number of the image that has an EXIF rotation


def encoded(number, kind="JPEG", mode="RGB"):
    rng = np.random.default_rng(number)
    image = Image.fromarray(rng.integers(0, 256, (26 + number, 45 - number, 3), np.uint8)).convert(
        mode
    )
    exif = Image.Exif()
    if number == TURNED:
        exif[0x0112] = 6
    file = io.BytesIO()
    image.save(file, kind, exif=exif)
    return file.getvalue()


def on_disk(folder, images=None, rows_per_file=9, **columns):
    """Saves a dataset in several Arrow files and loads it again."""
    images = [encoded(n) for n in range(COUNT)] if images is None else images
    count = len(images)
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b", "c"])}
    features |= {name: datasets.Value("int64") for name in columns}
    rows = {
        "image": [{"bytes": one, "path": None} for one in images],
        "label": [n % 3 for n in range(count)],
    }
    made = datasets.Dataset.from_dict(rows | columns, features=datasets.Features(features))
    made.save_to_disk(folder, num_shards=-(-count // rows_per_file))
    return datasets.load_from_disk(folder)
