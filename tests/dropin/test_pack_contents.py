"""accelerate(pack=...) uses a pack only if it has the files' bytes; names and times don't matter."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import tundish
from PIL import Image, ImageOps
from torch.utils.data import DataLoader
from tundish.dropin.changes import file_stamps
from tundish.dropin.packs import pack_contents, packs

from tests.helpers import torch_sets
from tests.helpers.torch_sets import accelerated, same_batches

LONG_AGO = (1.1e9, 1.1e9)


@pytest.fixture
def folder(tmp_path):
    return torch_sets.write_folder(tmp_path / "photos", 9)


def accelerate(folder, pack, **options):
    theirs = DataLoader(torch_sets.image_folder(folder), 4)
    return theirs, accelerated(theirs, pack=pack, **options)


def files_of(folder):
    return [path for path, _ in torch_sets.image_folder(folder).samples]


def invert(path):
    """Replaces an image by its inverse under the same name."""
    ImageOps.invert(Image.open(path).convert("RGB")).save(path)


def is_refused(folder, pack, reason, **options):
    theirs, loader = accelerate(folder, pack, **options)
    assert reason in str(loader.report)
    assert "batches come from" not in str(loader.report)
    return same_batches(loader, theirs)


def uses(folder, pack, **options):
    theirs, loader = accelerate(folder, pack, **options)
    assert f"batches come from {pack}, which has these files" in str(loader.report)
    return same_batches(loader, theirs)


def test_a_pack_of_another_folder_with_the_same_names_is_refused(folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for path in files_of(other):
        invert(path)
        os.utime(path, LONG_AGO)
    tundish.pack(folder, tmp_path / "mine.tnd", progress=False)
    reason = "has other bytes than its record"
    assert is_refused(other, tmp_path / "mine.tnd", reason, prove_batches=1)


@pytest.mark.parametrize(
    "change", [{"resize": "shortest=12"}, {"reencode": "png"}, {"center_crop": 8}], ids=str
)
def test_a_pack_of_changed_images_is_refused(folder, tmp_path, change):
    tundish.pack(folder, tmp_path / "small.tnd", progress=False, **change)
    reason = "holds images that were changed while they were packed"
    assert is_refused(folder, tmp_path / "small.tnd", reason)


@pytest.mark.parametrize("size", ["another size", "the same size"])
def test_a_file_that_was_replaced_by_an_older_one_is_noticed(folder, tmp_path, size):
    pack = tmp_path / "mine.tnd"
    for path in files_of(folder):
        os.utime(path, LONG_AGO)
    tundish.pack(folder, pack, progress=False)
    assert uses(folder, pack)
    path = files_of(folder)[4]
    if size == "the same size":
        with open(path, "r+b") as file:  # changes one byte of the pixels
            file.seek(-20, os.SEEK_END)
            byte = file.read(1)
            file.seek(-20, os.SEEK_END)
            file.write(bytes([byte[0] ^ 1]))
    else:
        shutil.copyfile(files_of(folder)[0], path)
    os.utime(path, LONG_AGO)
    _, loader = accelerate(folder, pack)
    assert f"{path} has other bytes than its record" in str(loader.report)
    assert "batches come from" not in str(loader.report)


def test_a_file_that_was_changed_while_it_was_packed_is_noticed(folder):
    theirs, loader = accelerate(folder, "auto")
    assert loader._pack._process.wait(60) == 0
    path = files_of(folder)[4]
    before = os.stat(path)
    invert(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert same_batches(loader, theirs)
    assert f"{path} has other bytes than its record" in str(loader.report)
    assert "batches come from" not in str(loader.report)


def test_a_folder_that_was_moved_and_written_again_is_compared_and_used(folder, tmp_path):
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    elsewhere = tmp_path / "elsewhere" / "photos"
    shutil.copytree(folder, elsewhere, copy_function=shutil.copyfile)
    assert uses(elsewhere, pack, prove_batches=1)


def test_files_that_were_compared_are_not_read_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(file_stamps, "_TICK_NS", -(10**9))  # no file counts as too new
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    _, loader = accelerate(folder, pack)
    assert "9 of 9 files were compared byte for byte" in str(loader.report)
    touched = files_of(folder)[2]
    os.utime(touched, LONG_AGO)
    _, loader = accelerate(folder, pack)
    assert "1 of 9 files were compared byte for byte" in str(loader.report)
    monkeypatch.setattr(pack_contents, "compare_bytes", None)  # must not be called
    _, loader = accelerate(folder, pack)
    assert "no file has changed since" in str(loader.report)


def test_a_file_as_new_as_its_stamp_is_compared(folder, tmp_path, monkeypatch):
    """The file could change again within one tick of the file system's clock."""
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    monkeypatch.setattr(file_stamps, "_TICK_NS", 10**15)
    accelerate(folder, pack)
    _, loader = accelerate(folder, pack)
    assert "9 of 9 files were compared byte for byte" in str(loader.report)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nothing", b"[" * 99_999], ids=len)
def test_damaged_stamps_are_ignored(folder, tmp_path, damage):
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    accelerate(folder, pack)
    (tmp_path / ".mine.tnd.stamps").write_bytes(damage)
    _, loader = accelerate(folder, pack)
    assert "9 of 9 files were compared byte for byte" in str(loader.report)


def test_stamps_of_unexpected_type_or_size_are_not_read(folder, tmp_path, monkeypatch):
    """Opening a pipe would block, and reading a planted huge file could exhaust the memory."""
    monkeypatch.setattr(file_stamps, "_TICK_NS", -(10**9))  # no file counts as too new
    pack, stamps = tmp_path / "mine.tnd", tmp_path / ".mine.tnd.stamps"
    tundish.pack(folder, pack, progress=False)
    accelerate(folder, pack)
    whole = stamps.read_bytes()

    def load(files=9):
        pack_id = json.loads(whole.splitlines()[0])["pack"]
        return file_stamps.load_stamps(str(pack), pack_id, os.geteuid(), files)

    assert load() is not None
    assert load(8) is None
    assert load(10) is None
    stamps.write_bytes(whole + b"\0" * 8)
    assert load() is None
    with stamps.open("r+b") as file:
        file.truncate(1 << 40)
    assert load() is None
    stamps.unlink()
    os.mkfifo(stamps)
    done = subprocess.run([sys.executable, "-c", OPEN_PIPE, str(pack)], timeout=60, check=False)
    assert done.returncode == 0
    _, loader = accelerate(folder, pack)
    assert "9 of 9 files were compared byte for byte" in str(loader.report)


# Runs in a separate process, which can be killed on a timeout.
OPEN_PIPE = """
import os, sys
from tundish.dropin.changes.file_stamps import load_stamps
assert load_stamps(sys.argv[1], "", os.geteuid(), 9) is None
"""


def test_stamps_writable_by_other_users_are_ignored(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(file_stamps, "_TICK_NS", -(10**9))  # no file counts as too new
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)

    def compared(change):
        accelerate(folder, pack)
        change(tmp_path / ".mine.tnd.stamps")
        _, loader = accelerate(folder, pack)
        return "9 of 9 files were compared byte for byte" in str(loader.report)

    assert not compared(lambda stamps: None)
    assert compared(lambda stamps: stamps.chmod(0o666))
    if os.geteuid() == 0:  # only root can change the owner of a file
        assert compared(lambda stamps: os.chown(stamps, 12345, -1))
        for path in files_of(folder):
            os.chown(path, 12345, -1)
        assert not compared(lambda stamps: os.chown(stamps, 12345, -1)), "the owner of the files"


def test_stamps_of_another_pack_are_ignored(folder, tmp_path):
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    accelerate(folder, pack)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    invert(files_of(other)[3])
    tundish.pack(other, pack, progress=False, force=True)
    assert is_refused(folder, pack, "has other bytes than its record")


@pytest.mark.parametrize("prove", [0, 1])
def test_the_proof_reads_the_pack(folder, tmp_path, monkeypatch, prove):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for path in files_of(other):
        invert(path)
    tundish.pack(other, tmp_path / "mine.tnd", progress=False)
    monkeypatch.setattr(packs, "check_pack", lambda *_: pack_contents.PackCheck(about="trusted"))
    assert is_refused(
        folder, tmp_path / "mine.tnd", "the pack is not used: sample", prove_batches=prove
    )


def test_one_process_per_machine_compares_the_files(folder, tmp_path, monkeypatch):
    pack = tmp_path / "mine.tnd"
    tundish.pack(folder, pack, progress=False)
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    theirs, loader = accelerate(folder, pack)
    assert same_batches(loader, theirs)
    assert "batches come from" not in str(loader.report)
    monkeypatch.setattr(file_stamps, "_TICK_NS", -(10**9))
    monkeypatch.setenv("RANK", "0")
    assert uses(folder, pack)
    monkeypatch.setenv("RANK", "1")
    assert same_batches(loader, theirs)
    assert "no file has changed since" in str(loader.report), "found in a later epoch"
