"""FFCV, from its own file: images resized to at most 512 pixels and re-encoded at quality 90.

Uses FFCV's decoder and flip with given crops. FFCV has an advantage, because it does not have to draw
the crops.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder
from ffcv.fields.rgb_image import IMAGE_MODES, ResizedCropRGBImageDecoder
from ffcv.libffcv import imdecode, resize_crop
from ffcv.loader import Loader, OrderOption
from ffcv.pipeline.allocation_query import AllocationQuery
from ffcv.pipeline.compiler import Compiler
from ffcv.pipeline.operation import Operation
from ffcv.transforms import ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image

from ..common.process import Job, run

MOST_PIXELS = 512  # maximum side of an image
QUALITY = 90


class Files:
    def __init__(self, job: Job) -> None:
        self.files = job.files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int):
        with Image.open(self.files[index]) as image:
            return np.asarray(image.convert("RGB")), index


class GivenCrop(ResizedCropRGBImageDecoder):
    """FFCV's decoder of a resized crop. Takes the crops from a table instead of drawing them."""

    def __init__(self, draws: np.ndarray, sizes: np.ndarray) -> None:
        super().__init__((224, 224))
        self.draws, self.sizes = draws, sizes

    @property
    def get_crop_generator(self):
        return None  # FFCV's base class requires this method, but the crops are given

    def generate_code(self):
        jpg = IMAGE_MODES["jpg"]
        read, each = self.memory_read, Compiler.get_iterator()
        decode_jpeg, resize = Compiler.compile(imdecode), Compiler.compile(resize_crop)
        crops = stored_crops(self.draws, self.sizes, self.metadata)

        def decode(batch_indices, my_storage, metadata, storage_state):
            destination, temporary = my_storage
            for at in each(len(batch_indices)):
                source = batch_indices[at]
                field = metadata[source]
                data = read(field["data_ptr"], storage_state)
                height, width = np.uint32(field["height"]), np.uint32(field["width"])
                if field["mode"] == jpg:
                    whole = temporary[at]
                    decode_jpeg(data, whole, height, width, height, width, 0, 0, 1, 1, False, False)
                    pixels = whole.reshape(-1)[: 3 * height * width].reshape(height, width, 3)
                else:
                    pixels = data.reshape(height, width, 3)
                x, y, w, h = crops[source]
                resize(pixels, y, y + h, x, x + w, destination[at])
            return destination[: len(batch_indices)]

        decode.is_parallel = True
        return decode


class GivenFlip(Operation):
    """FFCV's RandomHorizontalFlip. Takes the flips from a table instead of drawing them."""

    def __init__(self, mirrored: np.ndarray) -> None:
        super().__init__()
        self.mirrored = mirrored

    def generate_code(self):
        each, mirrored = Compiler.get_iterator(), self.mirrored

        def flip(images, out, indices):
            for i in each(images.shape[0]):
                if mirrored[indices[i]]:
                    out[i] = images[i, :, ::-1]
                else:
                    out[i] = images[i]
            return out

        flip.is_parallel = True
        flip.with_indices = True
        return flip

    def declare_state_and_memory(self, previous_state):
        query = AllocationQuery(previous_state.shape, previous_state.dtype)
        return replace(previous_state, jit_mode=True), query


def stored_crops(draws: np.ndarray, sizes: np.ndarray, metadata: np.ndarray) -> np.ndarray:
    """Converts the crops to pixels of the stored images, which may be smaller than the originals."""
    stored = np.stack([metadata["width"], metadata["height"]], 1).astype(np.float64)
    begin = draws[:, 0:2] / sizes * stored
    end = (draws[:, 0:2] + draws[:, 2:4]) / sizes * stored
    begin, end = np.rint(begin).astype(np.int64), np.rint(end).astype(np.int64)
    return np.concatenate([begin, np.maximum(end - begin, 1)], 1)


def write(job: Job, mode: str) -> None:
    """Writes FFCV's file, and the sizes of the original images next to it."""
    sizes = [Image.open(file).size for file in job.files]
    np.save(job.own + ".sizes.npy", np.array(sizes))
    image = RGBImageField(write_mode=mode, max_resolution=MOST_PIXELS, jpeg_quality=QUALITY)
    fields = {"image": image, "index": IntField()}
    DatasetWriter(job.own, fields, num_workers=len(job.cpus)).from_indexed_dataset(Files(job))


def batches(job: Job, mode: str = "jpg"):
    if not Path(job.own).exists():
        write(job, mode)
    if job.epochs != 1:
        raise SystemExit("the crops of this contestant are those of one epoch")
    draws = np.load(job.draws)[: job.count]
    decode = GivenCrop(draws, np.load(job.own + ".sizes.npy"))
    yield from Loader(
        job.own,
        batch_size=job.batch,
        num_workers=job.threads,
        order=OrderOption.RANDOM,
        seed=job.seed,
        os_cache=True,
        drop_last=True,
        pipelines={
            "image": [decode, GivenFlip(draws[:, 4] != 0), ToTensor()],
            "index": [IntDecoder(), ToTensor()],
        },
    )


if __name__ == "__main__":
    run(lambda job: ((images, index[:, 0]) for images, index in batches(job)))
