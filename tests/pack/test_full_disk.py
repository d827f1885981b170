"""A really full disk, a limit on file sizes, and a folder without write permission."""

import errno
import os
import re
import resource
import subprocess
from contextlib import contextmanager

import pytest

from tests.helpers.program import needs_program, tundish
from tests.helpers.small_set import SHIM, count_sound, left_over, make_folder, make_tar_gz

pytestmark = needs_program


@contextmanager
def mounted(folder, *options):
    """A file system in memory, if mounting is permitted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder]
    try:
        result = subprocess.run(command, capture_output=True)
    except OSError as error:
        pytest.skip(f"cannot mount here: {error}")
    if result.returncode != 0:
        pytest.skip(f"cannot mount here: {result.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="module")
def folder_source(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("sources") / "folder", 40, size=100)


@pytest.fixture(scope="module")
def tar_source(tmp_path_factory):
    return make_tar_gz(tmp_path_factory.mktemp("sources") / "a.tar.gz", 40, size=100)


def assert_refused(result, code):
    assert result.returncode == 1, result
    assert f"TND-{code}" in result.stderr.decode(), result
    assert "Traceback" not in result.stderr.decode()


@pytest.mark.parametrize("source", ["folder_source", "tar_source"])
def test_a_full_disk_keeps_the_old_file_and_leaves_nothing(source, tmp_path, request):
    source = request.getfixturevalue(source)
    make_folder(tmp_path / "small", 2)
    with mounted(tmp_path / "disk", "size=256k") as disk:
        target = disk / "t.tnd"
        assert tundish("pack", tmp_path / "small", "-o", target).returncode == 0
        old = target.read_bytes()
        result = tundish("pack", source, "-o", target, "--force")
        assert_refused(result, 503)
        assert target.read_bytes() == old
        assert os.listdir(disk) == ["t.tnd"]


def test_a_pack_that_does_not_fit_fails_before_the_work(folder_source, tmp_path):
    with mounted(tmp_path / "disk", "size=256k") as disk:
        result = tundish("pack", folder_source, "-o", disk / "t.tnd")
        assert_refused(result, 503)
        assert re.search(r"reserve [\d,]+ bytes", result.stderr.decode()), result


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes it")
def test_a_disk_that_cannot_reserve_is_full_in_the_middle(folder_source, tmp_path):
    no_fallocate = {"LD_PRELOAD": str(SHIM), "FAIL_CALL": "fallocate", "FAIL_NTH": "1"}
    no_fallocate["FAIL_ERRNO"] = str(errno.EOPNOTSUPP)
    with mounted(tmp_path / "disk", "size=256k") as disk:
        result = tundish("pack", folder_source, "-o", disk / "t.tnd", env=os.environ | no_fallocate)
        assert_refused(result, 503)
        assert "write: No space left" in result.stderr.decode(), result
        assert os.listdir(disk) == []


@pytest.mark.parametrize("source", ["folder_source", "tar_source"])
@pytest.mark.parametrize("limit", [0, 100, 100_000])
def test_a_limit_on_file_sizes_is_a_full_disk(source, limit, tmp_path, request):
    source = request.getfixturevalue(source)
    result = tundish(
        "pack",
        source,
        "-o",
        tmp_path / "t.tnd",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert_refused(result, 503)
    assert "ulimit -f" in result.stderr.decode()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_may_not_be_written_to_is_named(tmp_path, folder_source):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    if os.geteuid() != 0:
        assert_refused(tundish("pack", folder_source, "-o", folder / "t.tnd"), 504)
        assert os.listdir(folder) == []
    with mounted(tmp_path / "disk", "ro") as disk:
        assert_refused(tundish("pack", folder_source, "-o", disk / "t.tnd"), 504)


def test_the_same_command_succeeds_after_space_was_freed(folder_source, tmp_path):
    with mounted(tmp_path / "disk", "size=4m") as disk:
        (disk / "ballast").write_bytes(bytes(3_900_000))
        assert_refused(tundish("pack", folder_source, "-o", disk / "t.tnd"), 503)
        (disk / "ballast").unlink()
        assert tundish("pack", folder_source, "-o", disk / "t.tnd").returncode == 0
        assert count_sound(disk / "t.tnd") == 40
        assert not left_over(disk)
