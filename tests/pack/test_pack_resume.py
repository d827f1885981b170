"""Interrupted packs resume and produce the same bytes; shards; manifests."""

import errno
import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import time

import pytest
import tundish

from tests.helpers.interrupted_packs import Job
from tests.helpers.photos import write_photos
from tests.helpers.program import PROGRAM, error_of, needs_program, result_json
from tests.helpers.program import tundish as run
from tests.helpers.small_set import SHIM, count_sound, make_folder, make_tar_gz

pytestmark = needs_program

OFTEN = ["--checkpoint", "0"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("sources") / "photos", 120, size=30)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return make_tar_gz(tmp_path_factory.mktemp("sources") / "a.tar.gz", 120, size=30)


@pytest.mark.parametrize("options", [OFTEN, [*OFTEN, "--shard-size", "40KB"], ["--shard", "1/2"]])
def test_a_pack_interrupted_at_random_moments_resumes_to_the_same_bytes(source, tmp_path, options):
    choose = random.Random(len(options))
    job = Job(tmp_path, "job", source, options)
    for _ in range(7):
        if not job.interrupt(choose):  # the signal arrived too late
            job.finish()
    assert job.complete() == job.files


def test_a_sequentially_read_archive_resumes(archive, tmp_path):
    choose = random.Random(4)
    job = Job(tmp_path, "job", archive, [*OFTEN, "--shard-size", "60KB"])
    for _ in range(5):
        if not job.interrupt(choose):  # the signal arrived too late
            job.finish()
    assert job.complete() == job.files


def interrupted(source, target, journal_bytes=0):
    """Interrupts a pack by Ctrl-C after it has packed samples; returns its messages.

    `journal_bytes`: journal size in bytes, beyond the first block, at which the signal is sent.
    """
    journal = target.parent / f".{target.name}.journal"
    words = [PROGRAM, "pack", source, "-o", target, "-j", "1", *OFTEN]
    for _ in range(20):  # the signal may arrive too late
        process = subprocess.Popen(words, stderr=subprocess.PIPE)
        first = 0
        while process.poll() is None:
            size = journal.stat().st_size if journal.exists() else 0
            first = first or size
            if size > first + journal_bytes:  # a block of rows follows the first block
                break
        process.send_signal(signal.SIGINT)
        text = process.communicate()[1].decode()
        if process.returncode == 130:
            return text
        target.unlink()
    pytest.fail("no signal hit the work")


def rows(pack):
    found = [json.loads(line) for line in run("info", "--list", pack, "--json").stdout.splitlines()]
    return [{name: row[name] for name in row if name != "record"} for row in found]


def test_salvage_recovers_the_records_of_an_interrupted_pack(tmp_path):
    """The JPEGs are re-coded with tables that only the journal contains."""
    source = write_photos(tmp_path / "photos", range(24), quality=95)
    result_json("pack", source, "-o", tmp_path / "whole.tnd")
    whole = rows(tmp_path / "whole.tnd")
    interrupted(source, tmp_path / "a.tnd", 1000)
    partial, journal = tmp_path / ".a.tnd.partial", tmp_path / ".a.tnd.journal"
    for torn in (tmp_path / "a.tnd", partial):
        report = result_json("verify", torn, "--salvage", tmp_path / "rest.tnd", "--force")
        count = report["samples"]
        assert (report["method"], report["names_lost"], report["labels_lost"]) == ("journal", 0, 0)
        assert 0 < count == report["copied"] < len(whole)
        assert rows(tmp_path / "rest.tnd") == whole[:count]
    with journal.open("rb") as held:  # locked, as by a running pack
        fcntl.flock(held, fcntl.LOCK_EX)
        error = error_of("verify", partial, "--salvage", tmp_path / "busy.tnd", exit_code=1)
        assert error["code"] == "TND-510"
    data, blocks = bytearray(partial.read_bytes()), journal.read_bytes()
    torn = tmp_path / ".b.tnd.partial"
    data[100] ^= 1
    torn.write_bytes(data)
    (tmp_path / ".b.tnd.journal").write_bytes(blocks)
    words = ["verify", tmp_path / "b.tnd", "--salvage", tmp_path / "rest.tnd", "--force"]
    report = result_json(*words, exit_code=3)
    assert [lost["first"] for lost in report["lost_records"]] == [0]
    assert rows(tmp_path / "rest.tnd") == whole[1:count]
    # A kill before the last blocks: checksums identify their records, without names.
    torn.write_bytes(partial.read_bytes() + bytes(1 << 20))  # reserved space is zero
    first = 12 + int.from_bytes(blocks[4:8], "little")
    rest = 12 + int.from_bytes(blocks[first + 4 : first + 8], "little")
    (tmp_path / ".b.tnd.journal").write_bytes(blocks[: first + rest])
    report = result_json(*words, exit_code=3)
    assert (report["samples"], 0 < report["names_lost"] < count) == (count, True)
    found = rows(tmp_path / "rest.tnd")
    same = [name for name in whole[0] if name not in ("key", "label", "class")]
    assert [[row[name] for name in same] for row in found] == [
        [row[name] for name in same] for row in whole[:count]
    ]
    again = run("pack", source, "-o", tmp_path / "a.tnd")  # the files are unchanged
    assert again.returncode == 0
    assert (tmp_path / "a.tnd").read_bytes() == (tmp_path / "whole.tnd").read_bytes()


def test_ctrl_c_reports_that_the_same_command_resumes(source, tmp_path):
    text = interrupted(source, tmp_path / "a.tnd")
    assert "TND-507" in text
    assert "of 120 samples are packed and kept; the same command goes on from there" in text
    assert sorted(os.listdir(tmp_path)) == [".a.tnd.journal", ".a.tnd.partial"]
    again = run("pack", source, "-o", tmp_path / "a.tnd", "--json")
    assert again.returncode == 0
    assert "at record" in again.stderr.decode()
    assert json.loads(again.stdout)["resumed_at"] > 0
    assert os.listdir(tmp_path) == ["a.tnd"]


def test_other_options_start_over_with_the_reason(source, tmp_path):
    interrupted(source, tmp_path / "a.tnd")
    again = run("pack", source, "-o", tmp_path / "a.tnd", "--codec", "keep")
    assert again.returncode == 0
    assert "starts over: options have changed: codec=keep, was lanes\n" in again.stderr.decode()
    interrupted(source, tmp_path / "b.tnd")
    again = run("pack", source, "-o", tmp_path / "b.tnd", "--no-resume")
    assert b"starts over" not in again.stderr
    assert b"resumed" not in again.stderr
    assert sorted(os.listdir(tmp_path)) == ["a.tnd", "b.tnd"]


def test_a_full_disk_keeps_what_fitted(source, tmp_path):
    whole = tmp_path / "whole.tnd"
    assert run("pack", source, "-o", whole).returncode == 0
    no_space = {"LD_PRELOAD": str(SHIM), "FAIL_CALL": "fallocate", "FAIL_NTH": "1"}
    no_space["FAIL_ERRNO"] = str(errno.EOPNOTSUPP)
    limit = 200_000
    result = run(
        *["pack", source, "-o", tmp_path / "a.tnd", *OFTEN],
        env=os.environ | no_space,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert result.returncode == 1
    assert b"TND-503" in result.stderr
    assert b"samples are packed and kept" in result.stderr
    assert not (tmp_path / "a.tnd").exists()
    again = tundish.pack(source, tmp_path / "a.tnd")
    assert again["resumed_at"] > 30
    assert (tmp_path / "a.tnd").read_bytes() == whole.read_bytes()


def test_two_packs_of_one_target_do_not_mix(source, tmp_path):
    first = subprocess.Popen(
        [PROGRAM, "pack", source, "-o", tmp_path / "a.tnd", *OFTEN, "-j", "1"],
        stderr=subprocess.DEVNULL,
    )
    while not (tmp_path / ".a.tnd.journal").exists() and first.poll() is None:
        time.sleep(0.001)
    second = run("pack", source, "-o", tmp_path / "a.tnd")
    assert first.wait() == 0
    assert second.returncode == 1
    assert b"TND-510" in second.stderr or b"TND-506" in second.stderr
    assert count_sound(tmp_path / "a.tnd") == 120
    assert os.listdir(tmp_path) == ["a.tnd"]


def test_shards_open_as_one_data_set(source, tmp_path):
    result = tundish.pack(source, tmp_path / "a.tnd", shard_size="40KB")
    assert result["output"] == str(tmp_path / "a.tnds")
    assert result["id"] is None
    assert len(result["files"]) > 3
    assert all(os.path.getsize(file) <= 40_000 for file in result["files"])
    tundish.pack(source, tmp_path / "whole.tnd")
    shards = tundish.Dataset(str(tmp_path / "a.tnds"))
    whole = tundish.Dataset(str(tmp_path / "whole.tnd"))
    assert len(shards) == len(whole) == 120
    for i in (0, 57, 119):
        assert (shards[i][0] == whole[i][0]).all()
        assert shards[i][1] == whole[i][1]
    listed = [run("info", "--list", tmp_path / name).stdout for name in ("a.tnds", "whole.tnd")]
    assert [line.split()[-1] for line in listed[0].splitlines()] == [
        line.split()[-1] for line in listed[1].splitlines()
    ]
    assert run("verify", tmp_path / "a.tnds").returncode == 0
    assert b"shards" in run("info", tmp_path / "a.tnds").stdout
    again = tundish.pack(tmp_path / "a.tnds", tmp_path / "again.tnd")
    assert again["id"] == json.loads(run("info", tmp_path / "whole.tnd", "--json").stdout)["id"]


def test_a_missing_or_foreign_shard_is_named(source, tmp_path):
    tundish.pack(source, tmp_path / "a.tnd", shard_size="40KB")
    (tmp_path / "a-00001.tnd").write_bytes((tmp_path / "a-00000.tnd").read_bytes())
    result = run("info", tmp_path / "a.tnds")
    assert result.returncode == 3
    assert b"TND-111" in result.stderr
    assert b"a-00001.tnd" in result.stderr
    (tmp_path / "a-00001.tnd").unlink()
    result = run("verify", tmp_path / "a.tnds")
    assert result.returncode == 3
    assert b"TND-111" in result.stderr
    assert b"a-00001.tnd" in result.stderr
    assert f"the file does not exist; {tmp_path}/a.tnds lists it, with".encode() in result.stderr


def test_parts_packed_one_by_one_become_one_data_set(source, tmp_path):
    files = []
    for i in (2, 0, 1):  # in any order, on any machine
        files += tundish.pack(source, tmp_path / "a.tnd", shard=(i, 3))["files"]
    assert sorted(os.listdir(tmp_path)) == [f"a-0000{i}-of-00003.tnd" for i in range(3)]
    files.sort()
    with pytest.raises(tundish.ArgumentError, match="their names say 3"):
        tundish.write_manifest(tmp_path / "a.tnds", files[:2])
    with pytest.raises(tundish.ArgumentError, match="where shard 1 of 3 is expected"):
        tundish.write_manifest(tmp_path / "a.tnds", [files[0], files[2], files[1]])
    result = tundish.write_manifest(tmp_path / "a.tnds", files)
    assert result["records"] == 120
    assert len(result["shards"]) == 3
    assert len(tundish.Dataset(str(tmp_path / "a.tnds"))) == 120


@pytest.mark.parametrize("part", [{"shard_size": "90KB"}, {"shard": (0, 3)}])
def test_shards_do_not_replace_their_source_one_by_one(source, tmp_path, part):
    files = [
        file
        for i in range(3)
        for file in tundish.pack(source, tmp_path / "a.tnd", shard=(i, 3))["files"]
    ]
    if "shard_size" in part:
        tundish.pack(source, tmp_path / "a.tnd", shard_size="40KB")
    else:
        tundish.write_manifest(tmp_path / "a.tnds", files)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(tundish.ArgumentError, match="it is a file of the source"):
        tundish.pack(tmp_path / "a.tnds", tmp_path / "a.tnd", force=True, **part)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    tundish.pack(tmp_path / "a.tnds", tmp_path / "b.tnd", **part)  # another name
    tundish.pack(tmp_path / "a.tnds", tmp_path / "a.tnds.tnd", force=True)  # one file


@pytest.mark.parametrize(
    "words",
    [
        ["--shard", "3/3"],
        ["--shard", "x"],
        ["--shard-size", "0"],
        ["--shard-size", "1 mile"],
        ["--shard-size", "1MB", "--shard", "0/2"],
        ["--checkpoint", "-1"],
    ],
)
def test_invalid_arguments_are_refused(source, tmp_path, words):
    assert run("pack", source, "-o", tmp_path / "a.tnd", *words).returncode == 2
    assert os.listdir(tmp_path) == []
