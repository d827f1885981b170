"""Loader(copy_to=...): a hidden copy of the pack that does not outlive the loader or the process."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import tundish
from tundish import transforms as T

OPTIONS = {"transforms": [T.RandomResizedCrop(16)], "shuffle": True, "backend": "numpy"}


def batches(path, **options):
    with tundish.Loader(path, 4, **OPTIONS, **options) as loader:
        return [images.tobytes() for images, _ in loader]


def test_the_batches_equal_the_batches_of_the_pack(photos, tmp_path):
    assert batches(photos.pack, copy_to=tmp_path) == batches(photos.pack)


def test_the_copy_is_invisible_and_replaces_the_original(photos, tmp_path):
    pack = tmp_path / "copy.tnd"
    pack.write_bytes(photos.pack.read_bytes())
    folder = tmp_path / "stage"
    folder.mkdir()
    with tundish.Loader(pack, 4, copy_to=folder, **OPTIONS) as loader:
        assert os.listdir(folder) == []
        pack.unlink()
        assert sum(len(images) for images, _ in loader) == len(photos.names)


def test_closing_the_loader_frees_the_disk_space(photos, tmp_path):
    def open_files():
        names = (f"/proc/self/fd/{f}" for f in os.listdir("/proc/self/fd"))
        return sum(str(folder) in os.readlink(name) for name in names if os.path.islink(name))

    folder = tmp_path / "stage"
    folder.mkdir()
    loader = tundish.Loader(photos.pack, 4, copy_to=folder, **OPTIONS)
    assert open_files() == 1
    loader.close()
    del loader
    assert open_files() == 0


def test_a_killed_process_leaves_nothing(photos, tmp_path):
    code = (
        "import os, signal, sys, tundish\n"
        "loader = tundish.Loader(sys.argv[1], 4, copy_to=sys.argv[2], backend='numpy')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path / "stage"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", code, photos.pack, folder], timeout=60)
    assert done.returncode == -9
    assert os.listdir(folder) == []


def test_too_little_space_is_an_error_before_anything_is_copied(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=1024))
    with pytest.raises(OSError, match=r"copy_to: .* has 1 KiB"):
        tundish.Loader(photos.pack, 4, copy_to=tmp_path, **OPTIONS)


def test_a_folder_of_images_is_refused(photos, tmp_path):
    with pytest.raises(ValueError, match="copy_to copies a pack"):
        tundish.Loader(photos.folder, 4, copy_to=tmp_path, **OPTIONS)


def test_messages_name_the_pack_and_not_the_copy(photos, tmp_path):
    data = bytearray(photos.pack.read_bytes())
    data[-5] ^= 0xFF
    bad = tmp_path / "bad.tnd"
    bad.write_bytes(data)
    with pytest.raises(tundish.Error, match=r"bad\.tnd"):
        tundish.Loader(bad, 4, copy_to=tmp_path, **OPTIONS)
