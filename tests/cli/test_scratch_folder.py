"""A process removes the temporary folders that killed processes left."""

import os
import subprocess
import sys
import tempfile

import pytest
from tundish.scratch_folder import scratch_folder

CODE = """
import os, signal, sys
from tundish.scratch_folder import scratch_folder
with scratch_folder("a-") as folder:
    open(os.path.join(folder, "content"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def parent(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def kill_one(parent):
    environment = {**os.environ, "TMPDIR": str(parent)}
    subprocess.run([sys.executable, "-c", CODE], env=environment, check=False)


def test_the_folder_is_removed_after_the_block_even_on_an_error(parent):
    with scratch_folder("a-") as folder:
        assert os.path.dirname(folder) == str(parent)
        assert os.stat(folder).st_mode & 0o777 == 0o700
    assert list(parent.iterdir()) == []
    with pytest.raises(RuntimeError), scratch_folder("a-"):
        raise RuntimeError
    assert list(parent.iterdir()) == []


def test_abandoned_folders_are_removed_but_folders_in_use_are_not(parent):
    with scratch_folder("a-") as used:
        kill_one(parent)
        assert len(list(parent.iterdir())) == 2
        with scratch_folder("b-"):
            assert len(list(parent.iterdir())) == 3, "another prefix"
        with scratch_folder("a-") as other:
            assert {str(path) for path in parent.iterdir()} == {used, other}
        assert [str(path) for path in parent.iterdir()] == [used]


def test_unrelated_files_and_folders_are_kept(parent):
    (parent / "a-file").write_text("")
    (parent / "a-folder").mkdir()  # without a lock
    (parent / "a-link").symlink_to(parent / "a-folder")
    kill_one(parent)
    with scratch_folder("a-"):
        pass
    assert sorted(path.name for path in parent.iterdir()) == ["a-file", "a-folder", "a-link"]
