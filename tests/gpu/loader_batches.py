"""The batches of a loader on a GPU equal the batches of a loader on the CPU."""

from __future__ import annotations

from pathlib import Path

import torch
import tundish
from tundish import transforms as T

from tests.gpu.loaders import CROP, compare, loader, on_gpu, same


def types_and_layouts(pack: Path, mode: str) -> str:
    count = 0
    for dtype in (None, "float32", "float16", "bfloat16"):
        values = [] if dtype is None else [T.ToDtype(dtype, scale=True)]
        for crop in (CROP, [T.Resize(70), T.CenterCrop(63)]):
            for layout in ("channels_last", "contiguous"):
                more = {"transforms": [*crop, *values], "memory_format": layout, "threads": 2}
                with on_gpu(pack, mode, 13, **more) as gpu_loader:
                    count += compare(gpu_loader, loader(pack, 13, **more), epochs=1)
    return f"{count} batches equal"


def grays(pack: Path, mode: str) -> str:
    """Checks mode="L", also with mixed images: the CPU decodes, the GPU stores one channel."""
    if mode not in ("cpu", "auto"):
        return "not offered"
    count = 0
    labels = torch.arange(len(tundish.Dataset(pack))) % 9
    values = [T.ToDtype("float16", scale=True), T.Normalize(0.4, 0.3), T.RandomErasing(p=0.5)]
    moved = [T.ElasticTransform(90.0, 2.0, fill=9), T.ColorJitter(0.4, 0.4), *values]
    for more in ([], moved, [*values, T.MixUp(num_classes=9)]):
        for crop in (CROP, [T.Resize(70), T.CenterCrop(63), T.RandomHorizontalFlip()]):
            for layout in ("channels_last", "contiguous"):
                options = {"transforms": [*crop, *more], "memory_format": layout, "mode": "L"}
                options["labels"] = labels
                with on_gpu(pack, mode, 13, **options) as gpu_loader:
                    count += compare(gpu_loader, loader(pack, 13, **options), epochs=1)
    return f"{count} batches equal"


def elastic_and_aug_mix(pack: Path, mode: str) -> str:
    """Checks both alone, in sequence, for some images of a batch, and mixed.

    The GPU has more memory for these operations.
    """
    count = 0
    labels = torch.arange(len(tundish.Dataset(pack))) % 9
    elastic = T.ElasticTransform(120.0, (3.0, 2.0), fill=(1, 2, 3))
    both = [T.AugMix(fill=200), T.ElasticTransform(60.0, 7.0, "nearest")]
    values = [T.ToDtype("float16", scale=True), T.Normalize()]
    lists = [[elastic], [T.AugMix()], both, [T.RandomApply(both, p=0.5), T.JPEG((1, 100))]]
    for number, more in enumerate(lists):
        for size in (64, [61, 67]):
            ends = [[], values, [*values, T.MixUp(num_classes=9)]][number % 3]
            options = {"transforms": [T.RandomResizedCrop(size), *more, *ends], "labels": labels}
            options["memory_format"] = ("channels_last", "contiguous")[size == 64]
            with on_gpu(pack, mode, 13, **options) as gpu_loader:
                count += compare(gpu_loader, loader(pack, 13, **options), epochs=1)
    return f"{count} batches equal"


def label_vectors(pack: Path, mode: str) -> str:
    """Checks two-dimensional labels, mixed or not."""
    count = 0
    numbers = torch.rand(len(tundish.Dataset(pack)), 7, generator=torch.Generator().manual_seed(1))
    for more in ([], [T.MixUp()], [T.CutMix()]):
        options = {"transforms": [*CROP, T.Normalize(), *more], "labels": numbers}
        with on_gpu(pack, mode, 13, **options) as gpu_loader:
            count += compare(gpu_loader, loader(pack, 13, **options), epochs=1)
    return f"{count} batches equal"


def other_codecs(mixed: Path, mode: str) -> str:
    with on_gpu(mixed, mode, 8) as gpu_loader:
        return f"{compare(gpu_loader, loader(mixed, 8))} batches equal"


def other_fields(mixed: Path, mode: str) -> str:
    """Checks that captions match their images, whichever device decodes."""
    count = 0
    with on_gpu(mixed, mode, 8, as_dict=True) as gpu_loader:
        for one, other in zip(gpu_loader, loader(mixed, 8, as_dict=True), strict=True):
            assert one.keys() == other.keys()
            assert one["caption"] == other["caption"]
            same([one["image"], one["label"]], [other["image"], other["label"]])
            count += len(one["caption"])
    return f"{count} captions"


def decoded_images_are_counted(mixed: Path, mode: str) -> str:
    """Counts exactly the GPU-decodable images, whose captions name the decoder (mixed_set.py)."""
    expected = handed_out = 0
    with on_gpu(mixed, mode, 8, as_dict=True, exif_orientation=True) as gpu_loader:
        for batch in gpu_loader:
            handed_out += len(batch["caption"])
            expected += sum(caption.endswith("GPU") for caption in batch["caption"])
        decoded = gpu_loader.stats()["data/gpu_decoded"]
    assert 0 < expected < handed_out, (expected, handed_out)
    if mode == "auto":
        assert 0 <= decoded <= expected, (decoded, expected)
    else:
        assert decoded == (0 if mode == "cpu" else expected), (decoded, expected)
    return f"{decoded} of {handed_out} images decoded on the GPU"


def resumed(pack: Path, mode: str) -> str:
    batches = list(loader(pack))
    for step in range(len(batches)):
        with on_gpu(pack, mode) as first:
            for number, _ in enumerate(first):
                if number == step:
                    break
            state = first.state_dict()
        with on_gpu(pack, mode) as second:
            second.load_state_dict(state)
            rest = [tuple(t.cpu() for t in batch) for batch in second]
        assert len(rest) == len(batches) - step - 1, (len(rest), step)
        for one, other in zip(rest, batches[step + 1 :], strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    return f"{len(batches)} places"


def kept_and_dropped(pack: Path, mode: str) -> str:
    """Checks kept batches, and batches that are dropped before the GPU has read them."""
    with on_gpu(pack, mode, 8) as gpu_loader:
        kept = [batch for _ in range(4) for batch in gpu_loader]
        torch.cuda.synchronize()
        plain = loader(pack, 8)
        for one, other in zip(kept, (b for _ in range(4) for b in plain), strict=True):
            same(one, other)
    with on_gpu(pack, mode, 8) as gpu_loader:
        big = torch.randn(4096, 4096, device="cuda")
        sums = []
        for images, *_ in gpu_loader:
            for _ in range(20):  # the GPU is far behind when the batch is dropped
                big = big @ big * 1e-4
            sums.append(images.float().sum() + 0 * big[0, 0].nan_to_num())
            del images
        expected = [images.cuda().float().sum() for images, *_ in loader(pack, 8)]
        torch.testing.assert_close(torch.stack(sums), torch.stack(expected))
    return f"{len(kept)} kept, {len(sums)} dropped"


def left_early(pack: Path, mode: str) -> str:
    for leave in range(6):
        gpu_loader = on_gpu(pack, mode, 8)
        for number, _ in enumerate(gpu_loader):
            if number == leave:
                break
        if leave % 2:
            gpu_loader.close()
        else:
            del gpu_loader
    with on_gpu(pack, mode, 8) as gpu_loader:
        try:
            for _ in gpu_loader:
                raise KeyError
        except KeyError:
            pass
        batches, state = iter(gpu_loader), gpu_loader.state_dict()
        same(next(batches), loader(pack, 8).replay(state).batch)
    return "6 times"


def two_at_once(pack: Path, mode: str) -> str:
    one, two = on_gpu(pack, mode, 8, seed=1), on_gpu(pack, "cpu", 8, seed=2)
    pairs = zip(one, loader(pack, 8, seed=1), two, loader(pack, 8, seed=2), strict=True)
    for a, b, c, d in pairs:
        same(a, b)
        same(c, d)
    one.close()
    two.close()
    return "equal"
