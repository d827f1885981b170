"""Scripts under the write guard: they see what they wrote, and the user's files stay as they are."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from tundish.boosting.inject.request import Request
from tundish.boosting.trials.surroundings import trial_environment
from tundish.boosting.trials.trial import TrialPlan, TrialRunner
from tundish.boosting.trials.write_guard import guard_library

from tests.helpers.guarded import Guarded, recorded


@pytest.fixture
def trial(tmp_path):
    """A trial on a folder with files. Afterwards the folder must be as before."""
    guarded = Guarded(tmp_path)
    users = guarded.users
    (users / "runs" / "old").mkdir(parents=True)
    torch.save({"weight": torch.arange(4.0)}, users / "model.pt")
    np.save(users / "data.npy", np.arange(1000))
    (users / "runs" / "log.txt").write_text("first\n")
    (users / "runs" / "old" / "step-1.pt").write_bytes(b"old" * 1000)
    (users / "notes.txt").write_text("one\ntwo\n")
    (users / "latest").symlink_to("runs")
    os.chmod(users / "notes.txt", 0o640)
    before = recorded(users)
    yield guarded
    assert recorded(users) == before


WRITES = {
    "overwrite": """
        open("notes.txt", "w").write("new")
        assert open("notes.txt").read() == "new" and os.path.getsize("notes.txt") == 3
        assert os.stat("notes.txt").st_mode & 0o777 == 0o640
    """,
    "append": """
        for n in range(3):
            with open("runs/log.txt", "a") as log:
                log.write(f"{n}\\n")
        assert open("latest/log.txt").read() == "first\\n0\\n1\\n2\\n"
    """,
    "change in place": """
        with open("notes.txt", "r+b") as file:
            file.seek(4)
            file.write(b"TWO")
        assert open("notes.txt").read() == "one\\nTWO\\n"
    """,
    "torch.save": """
        import torch
        torch.save({"weight": torch.zeros(9)}, "model.pt")
        assert torch.load("model.pt")["weight"].shape == (9,)
        os.makedirs("new/deep/folder")
        torch.save([1], "new/deep/folder/a.pt")
        torch.save([2], pathlib.Path("new/deep/folder/b.pt"))
        assert sorted(os.listdir("new/deep/folder")) == ["a.pt", "b.pt"]
        assert torch.load("new/deep/folder/a.pt") == [1]
    """,
    "numpy": """
        import numpy as np
        array = np.load("data.npy", mmap_mode="r+")
        array[:] = 7
        array.flush()
        assert (np.load("data.npy") == 7).all()
        np.save("data.npy", np.zeros(3))
        assert np.load("data.npy", mmap_mode="r").shape == (3,)
    """,
    "atomic checkpoint": """
        for n in range(3):
            with open("model.pt.tmp", "wb") as file:
                file.write(b"%d" % n)
                os.fsync(file.fileno())
            os.replace("model.pt.tmp", "model.pt")
        assert open("model.pt").read() == "2" and not os.path.exists("model.pt.tmp")
    """,
    "new folder in place of the old": """
        shutil.rmtree("runs")
        assert not os.path.exists("runs/old/step-1.pt") and os.listdir() == sorted(os.listdir(), key=os.listdir().index)
        os.makedirs("runs/old")
        assert os.listdir("runs") == ["old"] and os.listdir("latest/old") == []
        open("latest/old/x", "w").close()
        assert glob.glob("runs/*/*") == ["runs/old/x"]
    """,
    "keep the last checkpoints": """
        for n in range(2, 6):
            with open(f"runs/old/step-{n}.pt", "w") as file:
                file.write(str(n))
            for old in sorted(glob.glob("runs/old/step-*.pt"))[:-2]:
                os.remove(old)
        assert sorted(os.listdir("runs/old")) == ["step-4.pt", "step-5.pt"]
    """,
    "move the old run away": """
        os.rename("runs", "runs.before")
        os.mkdir("runs")
        assert os.listdir("runs") == [] and os.path.getsize("runs.before/old/step-1.pt") == 3000
        shutil.move("runs.before", "archive")
        assert sorted(os.listdir("archive")) == ["log.txt", "old"]
    """,
    "pathlib": """
        path = pathlib.Path("notes.txt")
        path.unlink()
        assert not path.exists()
        path.touch()
        assert path.read_text() == "" and path.stat().st_mode & 0o777 == 0o644
        pathlib.Path("model.pt").touch()
        pathlib.Path("data.npy").chmod(0o600)
        os.utime("data.npy", (5, 6))
        assert os.stat("data.npy").st_mtime == 6 and os.stat("data.npy").st_mode & 0o777 == 0o600
    """,
    "sqlite": """
        import sqlite3
        for n in range(2):
            with sqlite3.connect("results.db") as base:
                base.execute("create table if not exists t (a)")
                base.execute("insert into t values (?)", (n,))
            base.close()
        assert sqlite3.connect("results.db").execute("select a from t").fetchall() == [(0,), (1,)]
    """,
    "C": """
        import ctypes
        c = ctypes.CDLL(None, use_errno=True)
        c.fopen.restype = c.fopen64.restype = ctypes.c_void_p
        for call, name in ((c.fopen, b"model.pt"), (c.fopen64, b"runs/log.txt")):
            file = call(name, b"r+b")
            assert file and c.fputs(b"changed", ctypes.c_void_p(file)) >= 0
            c.fclose(ctypes.c_void_p(file))
            assert open(name, "rb").read(7) == b"changed"
        assert not c.fopen(b"missing/file", b"w") and ctypes.get_errno() == errno.ENOENT
        assert c.creat64(b"notes.txt", 0o600) >= 0 and os.path.getsize("notes.txt") == 0
        assert c.truncate(b"data.npy", 10) == 0 and os.path.getsize("data.npy") == 10
        assert c.truncate(b"missing", 10) == -1 and ctypes.get_errno() == errno.ENOENT
        name = ctypes.create_string_buffer(os.path.abspath("tmp-XXXXXX").encode())
        assert c.mkstemp(name) >= 0 and os.path.exists(name.value)
        assert os.path.dirname(name.value) == os.getcwd().encode()
        c.realpath.restype = ctypes.c_char_p
        assert c.realpath(b"latest", None) == os.path.abspath("runs").encode()
    """,
    "shell": """
        run = lambda text: subprocess.run(["sh", "-ec", text], check=True, capture_output=True, text=True).stdout
        assert run("echo x > notes.txt; cat notes.txt") == "x\\n"
        assert run("cp -a runs copy; ls copy; mv model.pt moved.pt; rm -r runs; ls") == (
            "log.txt\\nold\\ncopy\\ndata.npy\\nlatest\\nmoved.pt\\nnotes.txt\\n")
        assert subprocess.run(["cat", "copy/log.txt"], capture_output=True, env={}).stdout == b"first\\n"
        subprocess.run(["sh", "-c", "echo y > data.npy"], env={}, check=True)
        assert open("data.npy").read() == "y\\n"
        os.system("echo z > data.npy")
        assert os.popen("cat data.npy").read() == "z\\n"
        with open("tool.sh", "w") as file:
            file.write("#!/bin/sh\\necho from the trial\\n")
        os.chmod("tool.sh", 0o755)
        assert subprocess.run(["./tool.sh"], capture_output=True).stdout == b"from the trial\\n"
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo spawned"], {}, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, "notes.txt", os.O_WRONLY | os.O_TRUNC, 0)])
        os.waitpid(pid, 0)
        assert open("notes.txt").read() == "spawned\\n"
    """,
    "links": """
        os.remove("latest")
        os.symlink("runs/old", "latest")
        assert os.readlink("latest") == "runs/old" and os.listdir("latest") == ["step-1.pt"]
        open("latest/step-1.pt", "a").write("more")
        assert os.path.getsize("runs/old/step-1.pt") == 3004
        os.link("notes.txt", "hard.txt")
        open("hard.txt", "a").write("three")
        assert open("notes.txt").read() == "one\\ntwo\\nthree" and os.stat("notes.txt").st_nlink == 2
        assert os.path.realpath("latest") == os.path.join(os.getcwd(), "runs/old")
    """,
    "current folder": """
        start = os.getcwd()
        os.mkdir("new")
        os.chdir("new")
        assert os.getcwd() == os.path.join(start, "new")
        open("here", "w").write("1")
        open("../notes.txt", "w").write("2")
        os.chdir("../runs")
        open("log.txt", "a").write("3")
        os.chdir("..")
        assert os.getcwd() == start and open("new/here").read() == "1"
        assert (open("notes.txt").read(), open("runs/log.txt").read()) == ("2", "first\\n3")
    """,
    "open folders": """
        folder = os.open("runs", os.O_RDONLY)
        with open(os.open("log.txt", os.O_WRONLY | os.O_TRUNC, dir_fd=folder), "w") as file:
            file.write("new")
        os.mkdir("made", dir_fd=folder)
        os.rename("log.txt", "log-2.txt", src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink("step-1.pt", dir_fd=os.open("runs/old", os.O_RDONLY))
        assert os.stat("log-2.txt", dir_fd=folder).st_size == 3
        assert sorted(os.listdir("runs")) == ["log-2.txt", "made", "old"] and os.listdir("runs/old") == []
        os.rmdir("old", dir_fd=folder)
        assert not os.path.exists("runs/old")
    """,
    "open files": """
        file = os.open("notes.txt", os.O_RDONLY)
        os.fchmod(file, 0o600)
        os.utime(file, (1, 1))
        assert os.stat("notes.txt").st_mode & 0o777 == 0o600 and os.stat("notes.txt").st_mtime == 1
        copy = shutil.copy2("notes.txt", "runs")
        shutil.copystat("model.pt", copy)
    """,
    "temporary files": """
        import tempfile
        for folder in (".", None):
            with tempfile.NamedTemporaryFile(dir=folder) as file, tempfile.TemporaryDirectory(dir=folder):
                file.write(b"x")
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"x")
        assert sorted(os.listdir()) == ["data.npy", "latest", "model.pt", "notes.txt", "runs"]
    """,
    "names": """
        deep = "/".join(["folder with spaces"] * 20)
        os.makedirs(deep)
        for name in (b"two words", b"\\xff\\xfe", "h\\u00e9".encode(), b"new\\nline", b"n" * 250):
            path = os.path.join(deep.encode(), name)
            open(path, "wb").write(name)
            assert open(path, "rb").read() == name and name in os.listdir(deep.encode())
            os.rename(path, path[:-1])
        try:
            open("n" * 256, "w")
        except OSError as error:
            assert error.errno == errno.ENAMETOOLONG
    """,
    "children": """
        import multiprocessing
        open("notes.txt", "w").write("parent")
        def read_and_write(name):
            open(name, "a").write(open("notes.txt").read())
        for kind in ("fork", "spawn"):
            code = "import sys; open(sys.argv[1], 'a').write(open('notes.txt').read())"
            subprocess.run([sys.executable, "-c", code, kind], check=True)
            child = multiprocessing.get_context("fork").Process(target=read_and_write, args=(kind,))
            child.start()
            child.join()
            assert open(kind).read() == "parentparent"
    """,
    "threads": """
        import threading
        def work(n):
            for i in range(50):
                open(f"runs/{n}-{i}", "w").write("x")
                open("runs/log.txt", "a").write("y")
                os.rename(f"runs/{n}-{i}", f"runs/{n}")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(os.listdir("runs")) == 10 and os.path.getsize("runs/log.txt") == 6 + 400
    """,
    "errors": """
        def error_of(call, *arguments):
            try:
                call(*arguments)
            except OSError as error:
                return error.errno
        assert error_of(open, "notes.txt", "x") == errno.EEXIST
        assert error_of(open, "missing/x", "w") == errno.ENOENT
        assert error_of(open, "notes.txt/x", "w") == errno.ENOTDIR
        assert error_of(open, "runs", "w") == errno.EISDIR
        assert error_of(os.mkdir, "runs") == errno.EEXIST
        assert error_of(os.rmdir, "runs") == errno.ENOTEMPTY
        assert error_of(os.unlink, "runs") == errno.EISDIR
        assert error_of(os.rename, "missing", "x") == errno.ENOENT
        os.unlink("notes.txt")
        for call in (os.unlink, os.stat, open, os.listdir, os.readlink):
            assert error_of(call, "notes.txt") == errno.ENOENT
    """,
    "devices": """
        open("/dev/null", "w").write("x")
        print("to stdout", file=open("/dev/stderr", "w"))
        assert open("/proc/self/comm").read()
        os.mkfifo("pipe")
        assert os.path.exists("pipe")
    """,
}

HEADER = "import errno, glob, os, pathlib, shutil, subprocess, sys\nos.umask(0o022)\n"


@pytest.mark.parametrize("what", WRITES)
def test_a_script_sees_what_it_wrote_and_the_users_files_stay(trial, what):
    lines = [line[8:] for line in WRITES[what].splitlines()]
    assert trial.python(HEADER + "\n".join(lines)) == ""
    assert (trial.trial / "written" / "files").is_dir()


def test_loader_workers_and_torch_sockets_work(trial):
    script = trial.trial / "train.py"
    script.write_text("""
import torch
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        with open(f"runs/worker-{torch.utils.data.get_worker_info().id}.txt", "a") as log:
            log.write("x")
        return torch.full((3,), float(i))


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_system")
    for context in ("fork", "spawn"):
        loader = DataLoader(Lines(), batch_size=4, num_workers=2, multiprocessing_context=context)
        assert sum(batch.sum() for batch in loader) == 3 * sum(range(32))
    assert sum(len(open(f"runs/worker-{n}.txt").read()) for n in (0, 1)) == 64
""")
    trial.run(sys.executable, script)
    assert not (trial.users / "runs" / "worker-0.txt").exists()


def test_a_large_file_is_not_changed_in_place(tmp_path):
    guarded = Guarded(tmp_path)
    code = """
import errno, os
try:
    file = open("large.bin", "r+b")
except OSError as error:
    assert error.errno == errno.EROFS  # the file system cannot share blocks
else:
    file.write(b"x")
open("large.bin", "wb").write(b"short")
assert open("large.bin", "rb").read() == b"short"
"""
    with (guarded.users / "large.bin").open("wb") as file:
        file.truncate((256 << 20) + 1)
    before = recorded(guarded.users)
    guarded.python(code)
    assert recorded(guarded.users) == before


TRAIN = """
import torch

model = torch.nn.Linear(20, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    for _ in range(100):
        optimizer.zero_grad()
        model(torch.randn(16, 20)).square().mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
    with open("runs/log.txt", "a") as log:
        log.write("epoch")
"""


def test_a_trial_of_a_training_script_is_measured_and_keeps_the_files(trial, monkeypatch):
    script = trial.trial / "train.py"
    script.write_text(TRAIN)
    monkeypatch.chdir(trial.users)
    runner = TrialRunner([sys.executable, str(script)], trial.trial)
    result = runner.run(TrialPlan(Request(), steps=5))
    assert result.failed == ""
    assert len(result.steps_s) == 5


def test_without_the_variables_everything_is_as_usual(tmp_path):
    environment = {**os.environ, "LD_PRELOAD": guard_library()}
    code = "import os; open('a', 'w').write('x'); os.rename('a', 'b'); os.mkdir('c'); os.stat('b')"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True)
    assert sorted(os.listdir(tmp_path)) == ["b", "c"]


def test_allowed_folders_are_written_as_usual(tmp_path):
    guarded = Guarded(tmp_path)
    allowed = tmp_path / "cache"
    allowed.mkdir()
    variables = trial_environment(guarded.trial, guarded.trial, [str(allowed)])
    code = "import os, sys; open('../cache/a', 'w').write('x'); open('b', 'w'); os.replace('b', '../cache/c')"
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, cwd=guarded.users, check=True
    )
    assert sorted(os.listdir(allowed)) == ["a", "c"]
    assert os.listdir(guarded.users) == []
