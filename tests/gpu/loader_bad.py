"""Damaged and undecodable records: a loader on a GPU reports the same as one on the CPU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import tundish

from tests.gpu.loaders import compare, loader, on_gpu


def damaged(pack: Path, mode: str) -> str:
    """Overwrites bytes inside some records: both loaders skip or replace the same samples."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "damaged.tnd"
        content = bytearray(pack.read_bytes())
        for at in range(300_000, len(content) - 300_000, 900_000):
            content[at : at + 20] = bytes(20)
        copy.write_bytes(content)
        count = bad = 0
        for policy in ("skip", "substitute"):
            cpu_loader = loader(copy, 16, on_error=policy)
            with on_gpu(copy, mode, 16, on_error=policy) as gpu_loader:
                count += compare(gpu_loader, cpu_loader)
                assert gpu_loader.bad_samples() == cpu_loader.bad_samples()
                bad += len(cpu_loader.bad_samples())
        assert bad > 0
    return f"{count} batches equal, {bad} bad samples reported equally"


def undecodable(packs: tuple[Path, Path], mode: str) -> str:
    """Checks records with valid checksums that cannot be decoded: zeros, reported as on the CPU."""
    pack, hostile = packs
    cpu_loader = loader(hostile, 16, on_error="skip")
    sum(1 for _ in cpu_loader)
    expected = {one["sample"]: {**one, "delivered": "zeros"} for one in cpu_loader.bad_samples()}
    assert expected
    count, order = 0, []
    with on_gpu(hostile, mode, 16, on_error="skip") as gpu_loader:
        for (images, labels, index), sound in zip(gpu_loader, loader(pack, 16), strict=True):
            bad = torch.tensor([number in expected for number in index.tolist()])
            wanted = sound[0].clone()
            wanted[bad] = 0
            assert torch.equal(images.cpu(), wanted)
            assert torch.equal(labels.cpu(), sound[1])
            count += len(index)
            order += index.tolist()
        listed = gpu_loader.bad_samples()
        assert {one["sample"]: one for one in listed} == expected
        assert all(order[one["position"]] == one["sample"] for one in listed)
        report = gpu_loader.report()
        assert report["bad"] == report["zeros"] == len(expected)
        assert report["delivered"] == count
        assert report["replaced"] == report["skipped"] == 0
        for _ in gpu_loader:  # leaves the epoch while refusals are pending
            break
        sum(1 for _ in gpu_loader)
        assert gpu_loader.report()["zeros"] >= 2 * len(expected)
    return f"{len(expected)} of {count} images are zeros and reported as on the CPU"


def undecodable_raised(packs: tuple[Path, Path], mode: str) -> str:
    """Checks that on_error="fail" raises each, and that max_bad raises too; no batch is lost."""
    _, hostile = packs
    texts, delivered = [], 0
    cpu_loader = loader(hostile, 16, on_error="skip")
    steps = sum(1 for _ in cpu_loader)
    with on_gpu(hostile, mode, 16, on_error="fail") as gpu_loader:
        batches = iter(gpu_loader)
        while True:
            try:
                delivered += bool(next(batches))
            except tundish.SampleError as error:
                texts.append(str(error))
            except StopIteration:
                break
    assert delivered == steps
    assert sorted(texts) == sorted(one["text"] for one in cpu_loader.bad_samples())
    with on_gpu(hostile, mode, 16, on_error="skip", max_bad=0.01) as gpu_loader:
        codes = []
        batches = iter(gpu_loader)
        while True:
            try:
                next(batches)
            except tundish.Error as error:
                codes.append(error.code)
            except StopIteration:
                break
        assert codes, "max_bad was not reported"
        assert set(codes) == {"TND-605"}
    return f"{len(texts)} raised, {len(codes)} by max_bad"
