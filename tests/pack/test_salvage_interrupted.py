"""`tundish verify --salvage` after interrupted packs: single files and shards, early and late."""

import itertools
import json
import shutil
import signal
import subprocess

import numpy
import pytest

from tests.helpers.photos import write_photos
from tests.helpers.program import PROGRAM, err, error_of, needs_program, out, result_json
from tests.helpers.program import tundish as run

pytestmark = needs_program

START, ROWS, END = 1, 2, 3  # kinds of journal blocks
SHARD_BYTES = 120_000  # about 6 photos
SHARDS = ["--shard-size", str(SHARD_BYTES)]
OFTEN = ["--checkpoint", "0"]  # writes a block after each record


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """JPEGs re-coded with tables that only the journal contains."""
    return write_photos(tmp_path_factory.mktemp("interrupted") / "photos", range(40), quality=95)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    """A folder with `w.tnd` and the shards of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    result_json("pack", source, "-o", folder / "w.tnd")
    files = result_json("pack", source, "-o", folder / "w.tnds", *SHARDS)["files"]
    assert len(files) > 4
    return folder


def blocks(journal):
    """Returns (kind, end offset in the file) of each block."""
    data, at, found = journal.read_bytes() if journal.exists() else b"", 0, []
    while len(data) >= at + 9:
        end = at + 12 + int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((data[at + 8], end))
        at = end
    return found


def state(journal):
    """Returns the number of finished shards, and of row blocks since."""
    kinds = [kind for kind, _ in blocks(journal)]
    return kinds.count(END), len(list(itertools.takewhile(ROWS.__eq__, reversed(kinds))))


def interrupt(source, folder, sent, options, is_time):
    """Packs to folder/w.tnd until is_time(journal); repeats if the signal arrived too late."""
    words = [PROGRAM, "pack", source, "-o", folder / "w.tnd", "-j", "1", "--quiet", *options]
    journal = folder / (".w.tnds.journal" if "--shard-size" in options else ".w.tnd.journal")
    for _ in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        process = subprocess.Popen(words, stderr=subprocess.PIPE)
        while process.poll() is None and not is_time(journal):
            pass
        process.send_signal(sent)
        process.communicate()
        if process.returncode in (-sent, 130) and is_time(journal):
            return journal
    pytest.fail("no signal hit the work")


def rows(pack, names=None):
    found = [json.loads(line) for line in run("info", "--list", pack, "--json").stdout.splitlines()]
    names = names or [name for name in found[0] if name != "record"]
    return [[row[name] for name in names] for row in found]


def salvage(torn, rest, exit_codes=(0,)):
    result = run("verify", torn, "--salvage", rest, "--force", "--json")
    assert result.returncode in exit_codes, err(result)
    report = json.loads(result.stdout)
    assert result.returncode == (3 if report["names_lost"] else 0)
    return report


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("shard", [None, 0, 1, 3])
def test_the_records_of_an_interrupted_pack_are_recovered(source, whole, tmp_path, sent, shard):
    options = OFTEN if shard is None else [*OFTEN, *SHARDS]

    def is_time(journal):
        finished, packed = state(journal)
        return finished == (shard or 0) and packed >= 2

    journal = interrupt(source, tmp_path / "i", sent, options, is_time)
    pack = whole / ("w.tnd" if shard is None else f"w-{shard:05}.tnd")
    hidden = journal.with_suffix(".partial")
    target = tmp_path / "i" / hidden.name[1 : -len(".partial")]
    for torn in {tmp_path / "i/w.tnd", target, hidden}:
        report = salvage(torn, tmp_path / "rest.tnd", (0, 3))
        named = report["samples"] - report["names_lost"]
        assert (report["method"], report["lost_records"]) == ("journal", [])
        assert report["finished_shards"] == (shard or 0)
        assert named >= 2
        assert sent == signal.SIGKILL or report["names_lost"] == 0
        assert rows(tmp_path / "rest.tnd")[:named] == rows(pack)[:named]
        same = ["width", "height", "bytes"]
        assert rows(tmp_path / "rest.tnd", same) == rows(pack, same)[: report["samples"]]
        assert run("verify", tmp_path / "rest.tnd", "--pixels").returncode == 0
    again = run("pack", source, "-o", tmp_path / "i/w.tnd", *options)  # the files are unchanged
    assert again.returncode == 0
    made = pack.name if shard is None else "w-00003.tnd"
    assert (tmp_path / "i" / made).read_bytes() == (whole / made).read_bytes()


@pytest.fixture(scope="module")
def in_shard_2(source, tmp_path_factory):
    """The folder of a pack interrupted in its third shard."""
    folder = tmp_path_factory.mktemp("third") / "i"

    def is_time(journal):
        finished, packed = state(journal)
        return finished == 2 and packed >= 3

    interrupt(source, folder, signal.SIGINT, [*OFTEN, *SHARDS], is_time)
    return folder


@pytest.fixture
def torn(in_shard_2, tmp_path):
    """A copy whose journal ends with the second shard, like after a kill before the next block."""
    shutil.copytree(in_shard_2, tmp_path / "i")
    journal = tmp_path / "i/.w.tnds.journal"
    end = [end for kind, end in blocks(journal) if kind == END][-1]
    journal.write_bytes(journal.read_bytes()[:end])
    return tmp_path / "i"


def test_records_of_a_later_shard_without_a_block_are_found_by_their_checksums(
    torn, whole, tmp_path
):
    with (torn / ".w.tnds.partial").open("ab") as file:
        file.write(bytes(SHARD_BYTES))  # reserved space
    report = salvage(torn / "w.tnd", tmp_path / "rest.tnd", (3,))
    count = report["samples"]
    assert count == report["names_lost"] == report["labels_lost"] >= 3
    same = ["width", "height", "bytes"]
    assert rows(tmp_path / "rest.tnd", same) == rows(whole / "w-00002.tnd", same)[:count]


def test_a_finished_shard_without_its_name_is_read_by_its_index(torn, whole, tmp_path):
    shutil.copy(whole / "w-00001.tnd", torn / ".w.tnds.partial")
    (torn / "w-00001.tnd").unlink()
    report = salvage(torn / "w.tnds", tmp_path / "rest.tnd")
    assert report["method"] == "index"
    assert rows(tmp_path / "rest.tnd") == rows(whole / "w-00001.tnd")


def test_between_two_shards_the_error_reports_the_finished_shards(torn, tmp_path):
    partial = torn / ".w.tnds.partial"
    words = ["verify", torn / "w.tnd", "--salvage", tmp_path / "rest.tnd"]
    partial.write_bytes(bytes(SHARD_BYTES))
    first = error_of(*words, exit_code=3)
    partial.unlink()
    second = error_of(*words, exit_code=3)
    assert first == second
    assert first["code"] == "TND-112"
    assert "first 2 shards are finished" in first["reason"]
    assert not (tmp_path / "rest.tnd").exists()


def test_the_result_names_the_finished_shards(in_shard_2, tmp_path):
    result = run("verify", in_shard_2 / "w.tnd", "--salvage", tmp_path / "rest.tnd")
    assert result.returncode == 0
    assert "records; 0 lost" in out(result)
    assert "2 before this one are finished: packs of their own" in out(result)


def test_a_kill_before_the_first_record_is_reported(source, tmp_path):
    """With the default checkpoints, a pack this small writes its first block at the end."""
    for is_time in (lambda journal: journal.exists(), lambda journal: len(blocks(journal)) == 1):
        interrupt(source, tmp_path / "i", signal.SIGKILL, [], is_time)
        error = error_of(
            "verify", tmp_path / "i/w.tnd", "--salvage", tmp_path / "rest.tnd", exit_code=3
        )
        assert error["code"] == "TND-112"
        assert error["reason"] == "the pack was interrupted before a record was written"


def test_records_of_arrays_are_recovered(tmp_path):
    images = numpy.random.default_rng(1).integers(0, 255, (3000, 32, 32, 3), numpy.uint8)
    numpy.savez(tmp_path / "a.npz", images=images, labels=numpy.arange(3000) % 7)
    result_json("pack", tmp_path / "a.npz", "-o", tmp_path / "whole.tnd")
    interrupt(
        tmp_path / "a.npz", tmp_path / "i", signal.SIGKILL, OFTEN, lambda path: state(path)[1] >= 9
    )
    report = salvage(tmp_path / "i/w.tnd", tmp_path / "rest.tnd", (0, 3))
    named = report["samples"] - report["names_lost"]
    assert named >= 9
    assert rows(tmp_path / "rest.tnd")[:named] == rows(tmp_path / "whole.tnd")[:named]


def test_salvage_reports_paths_without_double_slashes(in_shard_2, tmp_path):
    shutil.copytree(in_shard_2, tmp_path / "i")
    partial = tmp_path / "i/.w.tnds.partial"
    data = bytearray(partial.read_bytes())
    data[100] ^= 1
    partial.write_bytes(data)
    for folder, torn in ((tmp_path, "i/w.tnd"), (tmp_path / "i", "w.tnd")):
        result = run("verify", torn, "--salvage", "rest.tnd", "--json", cwd=folder)
        assert result.returncode == 3
        (lost,) = json.loads(result.stdout)["lost_records"]
        assert lost["reason"].startswith(f"TND-203 {torn[:-5]}.w.tnds.partial: ")
