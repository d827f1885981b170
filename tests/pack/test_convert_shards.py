"""Interrupted `tundish convert`; shards appear completely or not at all."""

import json
import os
import shutil
import signal
import subprocess

import pytest
import tundish

from tests.helpers.files import jpeg, tree, write
from tests.helpers.program import PROGRAM, error_of, needs_program
from tests.helpers.program import tundish as program
from tests.helpers.small_set import SHIM
from tests.helpers.sources import rows

pytestmark = needs_program


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Enough files for a signal to arrive while the program works."""
    folder = tmp_path_factory.mktemp("many") / "in"
    write(folder / "c/0.jpg", jpeg())
    for i in range(1, 3000):
        os.link(folder / "c/0.jpg", folder / f"c/{i}.jpg")
    return folder


@pytest.mark.parametrize(
    "words", ["tar", "tfrecord", "tfrecord --shards=500", "lmdb", "hdf5", "npy"]
)
def test_an_interrupted_conversion_leaves_nothing(many, tmp_path, words):
    command = [PROGRAM, "convert", many, "-o", tmp_path / "out", "--progress=json", "--force"]
    for _ in range(20):  # the signal may arrive too late
        process = subprocess.Popen(
            [*command, "--to", *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        messages = process.communicate(timeout=60)[1]
        assert json.loads(first)["progress"]["samples_total"] == 3000
        if process.returncode != 0:
            break
        for name in os.listdir(tmp_path):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).unlink(missing_ok=True)
    assert process.returncode == 130, messages
    assert f"TND-507 {tmp_path}/out: was interrupted".encode() in messages
    assert b"starts over if none are" in messages
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", ["tar", "tfrecord"])
def test_shards_appear_together_and_old_ones_stay_until_then(many, tmp_path, words):
    command = [PROGRAM, "convert", many, "-o", tmp_path / "t.tar", "--to", words, "--shards=40"]
    subprocess.run([*command, "-q"], check=True)
    old = tree(tmp_path)
    assert len(old) == 40
    process = subprocess.Popen([*command, "--force", "--progress=json"], stderr=subprocess.PIPE)
    while json.loads(process.stderr.readline())["progress"]["samples"] < 1000:
        pass
    process.kill()
    process.communicate()
    found = tree(tmp_path)
    assert {name: data for name, data in found.items() if name[:1] != b"."} == old
    assert len(rows(tmp_path)) == 3000
    subprocess.run([*command, "--force", "-q"], check=True)  # removes the files of the killed run
    assert not [name for name in tree(tmp_path) if b".tmp." in name]


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes the program")
@pytest.mark.parametrize("nth", [1, 2])
def test_npy_files_appear_together(nth, tmp_path):
    """The disk fails while one of the files is synced: new images must not meet old labels."""
    for label, name in enumerate(("old", "new")):
        color = (200 * label, 0, 0)
        tundish.pack([(jpeg(color), label), (jpeg(), label)], tmp_path / f"{name}.tnd")
    words = [PROGRAM, "convert", tmp_path / "old.tnd", "-o", tmp_path / "n", "--to", "npy"]
    assert subprocess.run(words, timeout=60, capture_output=True).returncode == 0
    before = tree(tmp_path / "n")
    words[2] = tmp_path / "new.tnd"
    fault = {"LD_PRELOAD": str(SHIM), "FAIL_CALL": "fsync", "FAIL_NTH": str(nth)}
    failed = subprocess.run(
        [*words, "--force"], timeout=60, capture_output=True, env=os.environ | fault
    )
    assert failed.returncode == 1
    assert tree(tmp_path / "n") == before


def test_a_shard_of_an_older_and_larger_set_is_refused(many, tmp_path):
    words = ["convert", many, "-o", tmp_path / "t.tar", "--to", "tar"]
    program(*words, "--shards=3")
    error = error_of(*words, "--shards=2", "--force", exit_code=2)
    assert error["file"].endswith("t-000002.tar")
    assert "taken for a shard of the new set" in error["reason"]
    assert len(os.listdir(tmp_path)) == 3
