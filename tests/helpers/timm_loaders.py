"""Small loaders of timm, and the comparison of their batches."""

import timm
import torch
import tundish
from timm.data import create_loader

CPU = torch.device("cpu")
SIZE = (3, 16, 16)


def made(folder, **options):
    options = {"num_workers": 0, "use_prefetcher": False, "device": CPU, **options}
    return create_loader(timm.data.create_dataset("", folder), SIZE, 4, **options)


def same(ours, theirs):
    """Returns whether all batches are equal, in structure too."""
    one, other = list(ours), list(theirs)
    assert len(one) == len(other) > 0
    for batch, expected in zip(one, other, strict=True):
        assert type(batch) is type(expected)
        for mine, torchs in zip(batch, expected, strict=True):
            assert (mine.dtype, mine.shape) == (torchs.dtype, torchs.shape)
            assert mine.stride() == torchs.stride()
            assert torch.allclose(mine, torchs, rtol=0, atol=1e-5)
    return True


def kept(loader, what):
    """Fails unless torch keeps making the batches for this reason. Returns the loader."""
    out = tundish.accelerate(loader)
    assert not out.report.native
    assert what in str(out.report), str(out.report)
    return out
