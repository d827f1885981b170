"""DALI on the CPU: a pipeline with one operation, one thread, and batches of repeated pictures.

DALI works on batches. The result is the CPU time of all threads of the process, divided by the number
of images in a batch. The time of a pipeline without an operation is reported too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from nvidia import dali
from nvidia.dali import fn, types
from nvidia.dali.pipeline import Pipeline

from .turns import LEAST_PASSES, Work, read_pictures, serve

# Copies of each picture in a batch. More copies reduce the fixed cost per image. But larger batches
# exceed the cache, and a turn has fewer batches of which the fastest counts.
REPEATS = 2
WARM_SECONDS = 0.06  # the first batches of a pipeline are a fifth slower than later ones
FILTERS = {"nearest": types.INTERP_NN, "bilinear": types.INTERP_LINEAR}


def rotate(images: Any, angle: float, filter: str, matrix: Any) -> Any:
    how = FILTERS[filter]
    return fn.rotate(images, angle=angle, keep_size=True, fill_value=0, interp_type=how)


def affine(images: Any, matrix: list[float], filter: str, **_: Any) -> Any:
    """Applies a matrix in Pillow's convention, which maps result coordinates to image coordinates."""
    how = FILTERS[filter]
    return fn.warp_affine(images, matrix=matrix, inverse_map=True, fill_value=0, interp_type=how)


def erase(images: Any, window: list[int]) -> Any:
    x, y, width, height = window
    anchor, shape = [float(y), float(x)], [float(height), float(width)]
    return fn.erase(images, anchor=anchor, shape=shape, axis_names="HW", fill_value=0)


def blur(images: Any, radius: float) -> Any:
    return fn.gaussian_blur(images, sigma=float(radius))


OPERATIONS: dict[str, Work] = {
    "nothing": lambda images: images,
    "brightness": lambda images, factor: fn.brightness(images, brightness=factor),
    "contrast": lambda images, factor: fn.contrast(images, contrast=factor),
    "saturation": lambda images, factor: fn.color_twist(images, saturation=factor),
    "hue": lambda images, factor: fn.color_twist(images, hue=360 * factor),
    "rotate nearest": rotate,
    "rotate bilinear": rotate,
    "affine nearest": affine,
    "affine bilinear": affine,
    "translate nearest": affine,
    "translate bilinear": affine,
    "GaussianBlur 23": lambda images, kernel, sigma: fn.gaussian_blur(
        images, window_size=kernel, sigma=sigma
    ),
    "PillowGaussianBlur 1": blur,
    "PillowGaussianBlur 2": blur,
    "noise": lambda images, sigma: fn.noise.gaussian(images, stddev=255 * sigma),
    "erase": erase,
    "JPEG 75": lambda images, quality: fn.jpeg_compression_distortion(images, quality=quality),
}


class Pipelines:
    """One pipeline per operation, created on first use."""

    def __init__(self, pictures: list[np.ndarray]) -> None:
        self.count = len(pictures)
        self._batch = pictures * REPEATS
        self._made: dict[str, Pipeline] = {}

    def of(self, work: Work, arguments: dict[str, Any]) -> Pipeline:
        key = repr((id(work), arguments))
        if key not in self._made:
            batch = len(self._batch)
            pipe = Pipeline(batch, num_threads=1, device_id=None, prefetch_queue_depth=1)
            with pipe:
                images = fn.external_source(
                    lambda: self._batch, batch=True, no_copy=True, layout="HWC"
                )
                pipe.set_outputs(work(images, **arguments))
            pipe.build()
            end = time.perf_counter() + WARM_SECONDS
            pipe.run()
            while time.perf_counter() < end:
                pipe.run()
            self._made[key] = pipe
        return self._made[key]

    def results(self, work: Work, arguments: dict[str, Any]) -> np.ndarray:
        (out,) = self.of(work, arguments).run()
        return np.ascontiguousarray(out.as_array()[: self.count])

    def us(self, work: Work, arguments: dict[str, Any], milliseconds: float) -> float:
        """Returns the time per image of the fastest batch, the one that was disturbed least."""
        pipe = self.of(work, arguments)
        best = float("inf")
        end = time.perf_counter() + milliseconds / 1000
        passes = 0
        while passes < LEAST_PASSES or time.perf_counter() < end:
            begin = time.process_time()
            pipe.run()
            best = min(best, time.process_time() - begin)
            passes += 1
        return 1e6 * best / len(self._batch)


if __name__ == "__main__":
    pipelines = Pipelines(read_pictures())
    serve(OPERATIONS, pipelines.results, pipelines.us, {"dali": dali.__version__})
