"""Packs archives of all kinds: tar formats, compression, WebDataset, damage."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile

import pytest
import zstandard

from tests.helpers.files import tree
from tests.helpers.program import needs_program
from tests.helpers.sources import NAMES, error_of, image, keys, packed, rows, tundish, write_all

pytestmark = needs_program


def add(archive, name, data):
    member = tarfile.TarInfo(os.fsdecode(name))
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def members_of(path):
    """Returns the members according to Python's tarfile, an independent implementation."""
    with tarfile.open(path, encoding="utf-8", errors="surrogateescape") as archive:
        return {
            os.path.normpath(os.fsencode(member.name)): archive.extractfile(member).read()
            for member in archive
            if member.isreg()
        }


def check_archive(path, expected):
    """Checks that an archive and its pack have the expected images in order and restore them."""
    assert keys(path) == list(expected)
    pack = packed(path)
    assert keys(pack) == list(expected)
    again = path.parent / "again"
    shutil.rmtree(again, ignore_errors=True)
    tundish("unpack", pack, "-o", again, "--quiet")
    found = tree(again)
    assert {name: found.get(name) for name in expected} == expected


# A name that begins with a dot has no sample; the other names have distinct stems.
TAR_NAMES = [name for name in NAMES if name != b"a/.jpg"]


@pytest.mark.parametrize("form", ["USTAR", "GNU", "PAX"])
def test_archives_of_pythons_tarfile_are_read(form, files, tmp_path):
    members = {name: files[name] for name in TAR_NAMES}
    members[b"d" * 80 + b"/" + b"n" * 90 + b".jpg"] = image(100)
    if form != "USTAR":
        members[b"e" * 150 + b"/" + b"n" * 200 + b".jpg"] = image(101)
    path = tmp_path / "a.tar"
    form = getattr(tarfile, form + "_FORMAT")
    with tarfile.open(
        path, "w", format=form, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for name, data in members.items():
            add(archive, name, data)
    check_archive(path, members)


@pytest.mark.parametrize("form", ["v7", "oldgnu", "gnu", "ustar", "posix"])
def test_archives_of_gnu_tar_are_read(form, folder, files, tmp_path):
    version = subprocess.run(["tar", "--version"], capture_output=True, text=True)
    if "GNU tar" not in version.stdout:
        pytest.skip("another tar program")
    os.remove(folder / "a" / ".jpg")
    if form != "v7":
        write_all(folder, {b"d" * 80 + b"/" + b"n" * 90 + b".jpg": image(100)})
    os.link(folder / "Zebra" / "1.jpg", folder / "Zebra" / "2.jpg")
    path = tmp_path / "a.tar"
    line = [
        "tar",
        "--create",
        f"--format={form}",
        "--sort=name",
        f"--file={path}",
        "-C",
        folder,
        ".",
    ]
    subprocess.run(line, check=True)
    expected = members_of(path)
    assert len(expected) == len(TAR_NAMES) + (form != "v7")  # the second link has no data
    check_archive(path, expected)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_a_compressed_archive_gives_the_same_pack(kind, files, tmp_path):
    plain = tmp_path / "plain.tar"
    with tarfile.open(plain, "w") as archive:
        for number in range(300):
            add(archive, b"%d/%d.jpg" % (number % 3, number), image(number))
    data = plain.read_bytes()
    half = len(data) // 2
    if kind == "zst":
        compress = zstandard.ZstdCompressor(write_checksum=True).compress
    else:
        compress = {"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress
    path = tmp_path / "named.anyhow"
    path.write_bytes(compress(data[:half]) + compress(data[half:]))
    assert rows(path) == rows(plain)
    assert packed(path).read_bytes() == packed(plain).read_bytes()

    path.write_bytes(path.read_bytes()[:-20])
    code, message = error_of("pack", path, "-o", tmp_path / "b.tnd", exit_code=3)
    assert code == "TND-312"
    assert "named.anyhow" in message
    assert not (tmp_path / "b.tnd").exists()


def test_samples_of_a_webdataset_keep_their_fields(tmp_path):
    path = tmp_path / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(5):
            stem = b"s/%04d" % number
            add(archive, stem + b".png", image(number))
            add(archive, stem + b".cls", b"%d\n" % (number * 10))
            add(archive, stem + b".txt", b"caption %d" % number)
            add(archive, stem + b".seg.png", image(1000 + number))
    pack = packed(path)
    found = rows(pack)
    assert [row["label"] for row in found] == [0, 10, 20, 30, 40]
    info = json.loads(tundish("info", pack, "--json").stdout)
    assert [(field["name"], field["type"]) for field in info["fields"]] == [
        ("image", "image"),
        ("label", "label"),
        ("txt", "text"),
        ("seg.png", "bytes"),
    ]
    tundish("unpack", pack, "-o", tmp_path / "again", "--quiet")
    again = tree(tmp_path / "again")
    assert again[b"s/0003.seg.png"] == image(1003)
    assert again[b"s/0003.txt"] == b"caption 3"
    listed = list(csv.DictReader(io.StringIO(again[b"list.csv"].decode())))
    assert listed[3] == {"path": "s/0003.png", "label": "30"}


def test_names_pointing_outside_an_archive_stay_inside(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for number, name in enumerate([b"../../up.jpg", b"/root/abs.jpg", b"c/../../x.jpg"]):
            add(archive, name, image(number))
    assert keys(packed(path)) == [b"up.jpg", b"root/abs.jpg", b"x.jpg"]
    tundish("unpack", packed(path), "-o", tmp_path / "deep" / "er", "--quiet")
    assert not (tmp_path / "up.jpg").exists()
    assert (tmp_path / "deep" / "er" / "up.jpg").exists()


def test_a_damaged_archive_is_refused_with_its_place(files, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in TAR_NAMES:
            add(archive, name, files[name])
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    code, message = error_of("pack", path, "-o", tmp_path / "b.tnd", exit_code=3)
    assert code == "TND-306"
    assert "at byte" in message
    path.write_bytes(whole[:3] + b"?" + whole[4:])
    assert error_of("info", "--list", path, exit_code=3)[0] == "TND-306"
    with tarfile.open(path, "w") as archive:
        for name in [b"a.jpg", b"b.jpg", b"a.jpg"]:
            add(archive, name, image(1))
    assert error_of("info", "--list", path, exit_code=3)[0] == "TND-307"
