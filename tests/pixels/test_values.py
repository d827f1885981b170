"""Values do not depend on the number of threads or on the source."""

import os
import subprocess

import numpy as np
import pytest
from PIL import Image
from tundish import transforms as T

from tests.helpers.loaders import RANDOM, opened
from tests.helpers.program import UNIT_TESTS


def test_batches_are_bit_identical_for_any_number_of_threads(photos, digest):
    def two_epochs(threads):
        loader = opened(
            photos.pack,
            threads=threads,
            shuffle=True,
            seed=3,
            transforms=RANDOM,
            return_index=True,
        )
        return digest([list(loader), list(loader)])

    assert len({two_epochs(threads) for threads in (1, 2, 3, 8)}) == 1


@pytest.mark.parametrize("level", ["scalar", "sse", "avx2", "avx512"])
def test_tundish_cpu_lowers_the_instruction_set(level):
    """Guards tests that compare instruction sets: they must not compare one set with itself."""
    case = "the instruction set is the best, or what TUNDISH_CPU lowers it to"
    done = subprocess.run(
        [UNIT_TESTS, f"--test-case={case.replace(',', chr(92) + ',')}"],
        env={**os.environ, "TUNDISH_CPU": level},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "assertions: 1 | 1 passed" in done.stdout


def test_batches_are_bit_identical_for_every_instruction_set(photos, run_python):
    code = """
import hashlib, sys, tundish
from tundish import transforms as T
h = hashlib.sha256()
for size in (17, 64):
    for filter in ("nearest", "bilinear", "bicubic"):
        for last in ([], [T.Normalize(), T.ToDtype("float16")]):
            for layout in ("channels_last", "contiguous"):
                loader = tundish.Loader(
                    sys.argv[1], 4, shuffle=True, seed=1, backend="numpy", threads=1,
                    memory_format=layout, transforms=[
                        T.RandomResizedCrop(size, interpolation=filter),
                        T.RandomHorizontalFlip(), *last])
                for images, labels in loader:
                    h.update(images.tobytes() + labels.tobytes())
print(h.hexdigest())
"""
    levels = ["scalar", "sse", "avx2", "avx512"]
    digests = {run_python(code, photos.pack, env={"TUNDISH_CPU": x}).stdout for x in levels}
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64


def test_pack_folder_tar_and_list_of_the_same_images_give_the_same_batches(photos, digest):
    paths = [photos.pack, photos.folder, photos.tar, photos.csv]
    options = {"shuffle": True, "seed": 5, "transforms": RANDOM, "return_index": True}
    assert len({digest(list(opened(path, **options))) for path in paths}) == 1
    for path in paths:
        loader = opened(path)
        assert loader.classes == ["bird", "cat", "dog"]
        assert [int(x) for _, labels in loader for x in labels] == photos.labels


def test_prefetch_and_memory_format_do_not_change_a_value(photos, digest):
    ways = [(1, "channels_last"), (9, "channels_last"), (4, "contiguous")]
    digests = {
        digest(
            list(
                opened(
                    photos.pack,
                    transforms=RANDOM,
                    shuffle=True,
                    prefetch=prefetch,
                    memory_format=layout,
                )
            )
        )
        for prefetch, layout in ways
    }
    assert len(digests) == 1


def test_pixels_equal_pillows(photos):
    loader = opened(photos.pack, 1, transforms=[T.Resize((30, 40))])
    for name, (images, _) in zip(photos.names, loader, strict=True):
        with Image.open(photos.folder / name) as image:
            expected = image.convert("RGB").resize((40, 30), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(images[0].permute(1, 2, 0).numpy(), np.asarray(expected))


def test_the_shuffled_order_is_a_function_of_seed_and_epoch(photos):
    def order(seed, epochs=1):
        loader = opened(photos.pack, shuffle=True, seed=seed, return_index=True)
        for _ in range(epochs - 1):
            list(loader)
        return [int(i) for *_, index in loader for i in index]

    whole = list(range(photos.count))
    assert sorted(order(0)) == sorted(order(1)) == sorted(order(0, epochs=2)) == whole
    assert order(0) == order(0)
    assert len({tuple(order(0)), tuple(order(1)), tuple(order(0, epochs=2)), tuple(whole)}) == 4


def test_another_epoch_draws_other_crops_of_an_unshuffled_set(photos, digest):
    loader = opened(photos.pack, transforms=[T.RandomResizedCrop(16)])
    assert digest(list(loader)) != digest(list(loader))


def test_negative_and_large_seeds_are_accepted(photos, digest):
    digests = [
        digest(list(opened(photos.pack, shuffle=True, seed=seed, return_index=True)))
        for seed in (-1, 2**64 - 1, 2**63, 0, np.int64(0))
    ]
    assert digests[0] == digests[1]
    assert digests[3] == digests[4]
    assert len(set(digests)) == 3
