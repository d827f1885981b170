"""Loader(cache_dir=...): samples on a local disk, shared by processes and runs; same batches."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tundish
from tundish import transforms as T

from tests.helpers.small_set import make_folder

COUNT = 60
OPTIONS = {
    "transforms": [T.CenterCrop(8)],
    "seed": 3,
    "backend": "numpy",
    "threads": 1,
}  # exact counts need one thread
LIMIT = 2 << 20

# Runs two epochs and prints the digest of their batches; `stop` is the batch that kills the
# process.
CHILD = """
import hashlib, os, signal, sys
import tundish
from tundish import transforms as T
path, cache, limit, stop = sys.argv[1:]
loader = tundish.Loader(path, 4, transforms=[T.CenterCrop(8)], seed=3, backend="numpy", threads=2,
                        shuffle=True, cache_dir=cache, cache_dir_limit=int(limit))
digest = hashlib.sha256()
for epoch in range(2):
    for number, batch in enumerate(loader):
        if epoch and number == int(stop):
            os.kill(os.getpid(), signal.SIGKILL)
        for array in batch:
            digest.update(array.tobytes())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("disk_cache") / "photos", COUNT, size=100)


def bytes_in(cache):
    return sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())


def batches(path, **options):
    with tundish.Loader(path, 4, **{**OPTIONS, **options}) as loader:
        out = [[array.tobytes() for array in batch] for _ in range(2) for batch in loader]
        return out, loader.stats()


def start(folder, cache, stop=-1, limit=64 << 20):
    line = [sys.executable, "-c", CHILD, folder, cache, str(limit), str(stop)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)


def test_the_second_run_reads_from_the_disk(folder, tmp_path):
    expected, without = batches(folder, shuffle=True)
    assert "data/disk_hits" not in without
    cache = tmp_path / "made" / "cache"
    first, stats = batches(folder, shuffle=True, cache_dir=cache)
    assert first == expected
    assert stats["data/disk_misses"] == COUNT
    assert stats["data/disk_hits"] >= COUNT, "the second epoch, and what was made ahead"
    second, stats = batches(folder, shuffle=True, cache_dir=str(cache))
    assert second == expected
    assert stats["data/disk_misses"] == 0
    assert stats["data/disk_hits"] >= 2 * COUNT
    assert stats["data/disk_bytes"] > 0


def test_a_killed_run_leaves_what_it_read(folder, tmp_path):
    killed = start(folder, tmp_path / "cache", stop=1)
    assert killed.wait(120) == -signal.SIGKILL
    killed.stdout.close()
    expected, _ = batches(folder)
    again, stats = batches(folder, cache_dir=tmp_path / "cache")
    assert again == expected
    assert stats["data/disk_misses"] == 0, "all samples of the first epoch"


def test_two_processes_share_the_folder_and_the_limit(folder, tmp_path):
    cache = tmp_path / "cache"
    running = [start(folder, cache, limit=LIMIT) for _ in range(2)]
    while any(one.poll() is None for one in running):
        time.sleep(0.02)
        try:
            assert bytes_in(cache) <= LIMIT
        except FileNotFoundError:  # a file was renamed while it was read
            continue
    digests = {one.communicate()[0] for one in running}
    assert [one.returncode for one in running] == [0, 0]
    assert len(digests) == 1
    assert 0 < bytes_in(cache) <= LIMIT
    alone = start(folder, tmp_path / "other")
    assert digests == {alone.communicate()[0]}


def test_damaged_files_are_read_again(folder, tmp_path):
    cache = tmp_path / "cache"
    expected, _ = batches(folder, cache_dir=cache)
    for path in cache.rglob("*.records"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    again, stats = batches(folder, cache_dir=cache)
    assert again == expected
    assert stats["data/disk_damaged"] == 1
    assert stats["data/disk_misses"] == 1


def test_a_rewritten_file_is_read_again(tmp_path):
    photos = make_folder(tmp_path / "photos", 8, size=20)
    batches(photos, cache_dir=tmp_path / "cache")
    one, other = sorted(photos.rglob("*.png"))[:2]
    first, second = one.read_bytes(), other.read_bytes()
    size = max(len(first), len(second))
    one.write_bytes(second.ljust(size, b"\0"))
    os.utime(one, ns=(1, 1))
    expected, _ = batches(photos)
    assert batches(photos, cache_dir=tmp_path / "cache")[0] == expected


def test_accelerate_takes_a_cache_dir(tmp_path):
    import torch
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    photos = make_folder(tmp_path / "photos", 9, size=20)
    steps = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    theirs = DataLoader(ImageFolder(photos, steps), 4)
    for misses in (9, 0):
        loader = tundish.accelerate(theirs, cache_dir=tmp_path / "cache", threads=1)
        assert loader.report.native, str(loader.report)
        for mine, torchs in zip(loader, theirs, strict=True):
            assert torch.allclose(mine[0], torchs[0], rtol=0, atol=1e-5)
        assert loader.stats()["data/disk_misses"] == misses, (
            "though the list of files is another one"
        )
        del loader


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cache_dir": "/proc/no/such"}, "/proc/no/such"),
        ({"cache_dir": ""}, "must be a path"),
        ({"cache_dir": "x", "cache_dir_limit": "2 miles"}, "cache_dir_limit must be like"),
        ({"cache_dir_limit": "2GiB"}, "needs cache_dir"),
    ],
)
def test_a_cache_dir_that_cannot_be_used_is_an_error(folder, options, why):
    with pytest.raises((tundish.Error, ValueError), match=why):
        tundish.Loader(folder, 4, **OPTIONS, **options)


def test_a_cache_dir_that_every_user_may_write_is_refused(folder, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    options = {**OPTIONS, "cache_dir": cache}
    with pytest.raises(tundish.Error, match=r"mode 0777[\s\S]*such as[\s\S]*chmod o-w"):
        tundish.Loader(folder, 4, **options)
    assert not list(cache.iterdir())
    cache.chmod(0o1777)  # like /tmp
    batches(folder, cache_dir=cache)
    (own,) = [path for path in cache.iterdir() if path.is_dir()]
    own.chmod(0o777)
    with pytest.raises(tundish.Error, match=r"mode 0777[\s\S]*remove this one"):
        tundish.Loader(folder, 4, **options)
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(tundish.Error, match="it is not a folder"):
        tundish.Loader(folder, 4, **options)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_samples_of_another_user_are_refused(folder, tmp_path):
    cache = tmp_path / "cache"
    batches(folder, cache_dir=cache)
    (own,) = [path for path in cache.iterdir() if path.is_dir()]
    os.chown(own, 12345, -1)
    with pytest.raises(tundish.Error, match="it belongs to user 12345"):
        tundish.Loader(folder, 4, **OPTIONS, cache_dir=cache)
    os.chown(cache, 12345, -1)  # a folder of one user, which root may trust
    batches(folder, cache_dir=cache)


def test_a_new_cache_dir_is_for_this_user_alone(folder, tmp_path):
    before = os.umask(0)
    try:
        batches(folder, cache_dir=f"{tmp_path}/made/cache/")
    finally:
        os.umask(before)
    assert (tmp_path / "made" / "cache").stat().st_mode & 0o777 == 0o700
