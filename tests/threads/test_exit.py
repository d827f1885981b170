"""A process exits promptly and with the right status, whatever its loader is doing.

Every run has a time limit that only a hang reaches.
"""

import re
import signal
import subprocess
import sys

import pytest

from tests.helpers.small_set import SHIM

LIMIT_S = 120

HEAD = """
import os, sys, tundish
from tundish import transforms as T
def loader(**more):
    return tundish.Loader(sys.argv[1], 4, threads=3, shuffle=True, backend="numpy", prefetch=3,
                          transforms=[T.RandomResizedCrop(64)], **more)
def epochs(loader):
    while True:
        yield from loader
def threads():
    return len(os.listdir("/proc/self/task"))
"""


def run(run_python, body, *arguments, **options):
    return run_python(HEAD + body, *arguments, check=False, timeout=LIMIT_S, **options)


@pytest.mark.parametrize("moment", ["before the first batch", "in the loop", "waiting"])
def test_ctrl_c_ends_a_loop(photos, moment):
    body = {
        "before the first batch": """
print("ready", flush=True)
for batch in epochs(loader()):
    pass
""",
        "in the loop": """
for batch in epochs(loader()):
    print("ready", flush=True)
""",
        "waiting": """
slow = tundish.Loader(
    sys.argv[1], 20, threads=1, backend="numpy", transforms=[T.Resize((900, 900))])
print("ready", flush=True)
for batch in epochs(slow):
    pass
""",
    }[moment]
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + body, str(photos.pack)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT, err
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_inside_next_can_be_caught_and_no_batch_is_lost(photos, run_python):
    result = run(
        run_python,
        """
import signal
interrupted = 0
def press(number, frame):
    global interrupted
    calls = []
    while frame and "tundish" in frame.f_code.co_filename:
        calls.append(frame.f_code.co_name)
        frame = frame.f_back
    if "next" in calls and "__del__" not in calls:  # Python drops what is raised in a __del__
        interrupted += 1
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, press)
l = tundish.Loader(sys.argv[1], 4, threads=1, backend="numpy", prefetch=1, return_index=True,
                   transforms=[T.Resize((300, 300))])
while interrupted < 20:
    seen, it, epoch = [], iter(l), l.epoch
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    while l.epoch == epoch:
        try:
            seen += next(it)[2].tolist()
        except (KeyboardInterrupt, StopIteration):
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen == list(range(23)), seen
print("fine")
""",
        photos.pack,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_an_exception_in_the_loop_ends_the_process_with_status_1(photos, run_python):
    result = run(
        run_python,
        """
for batch in loader():
    raise ArithmeticError("planted")
""",
        photos.pack,
    )
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith("ArithmeticError: planted")


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(7)",
        "os._exit(7)",
        "l.close(); sys.exit(7)",
        "it = iter(l); sys.exit(7)",
        "del l; sys.exit(7)",
        "l.self = l; del l; sys.exit(7)",
        "sys.modules.clear(); raise SystemExit(7)",
    ],
)
def test_leaving_in_the_middle_keeps_the_exit_status(photos, run_python, ending):
    result = run(
        run_python,
        f"""
l = loader()
it = iter(l)
batch = next(it)
{ending}
""",
        photos.pack,
    )
    assert result.returncode == 7, result.stderr
    assert result.stderr == ""


def test_the_end_of_the_program_is_quiet_with_everything_alive(photos, run_python):
    result = run(
        run_python,
        """
kept = []
l = loader()
kept.extend(l)
other = iter(loader())
kept.append(next(other))
from tundish._c.library import lib
from tundish._c.tensor import Tensor
data = tundish.Dataset(sys.argv[1])
kept.append(data[0])
unused = Tensor(lib.tundish_source_image(data._source.handle, 0, 0, b"RGB"))
capsules = [
    Tensor(
        lib.tundish_source_image(data._source.handle, 0, 0, b"RGB")
    ).__dlpack__(max_version=version)
    for version in (None, (1, 0))
]
""",
        photos.pack,
        options=["-X", "dev", "-W", "error"],
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_thread_of_the_program_may_still_wait_for_a_batch_when_it_ends(photos, run_python):
    result = run(
        run_python,
        """
import threading
begun = threading.Event()
def train():
    try:
        while True:
            for batch in l:
                begun.set()
    except tundish.Error as error:
        assert error.code == "TND-606", error
l = tundish.Loader(sys.argv[1], 20, threads=1, backend="numpy",
                   transforms=[T.Resize((500, 500))])
threading.Thread(target=train, daemon=True).start()
begun.wait()
""",
        photos.pack,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ending", ["l.close()", "del l, it", "l.__exit__()"])
def test_no_thread_is_left_behind(photos, run_python, ending):
    result = run(
        run_python,
        f"""
import gc, numpy, time
gc.disable()
before = threads()
for _ in range(5):
    l = loader()
    assert threads() == before, "a loader that was not iterated has no threads"
    it = iter(l)
    next(it)
    assert threads() == before + 3
    {ending}
    while threads() != before:  # a thread that has ended is listed for a moment longer
        time.sleep(0.01)
print("fine")
""",
        photos.pack,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes it")
def test_a_thread_that_is_left_behind_is_reported(photos, run_python):
    result = run(
        run_python,
        """
import ctypes, time, warnings
faults = ctypes.CDLL(None)
l = loader()
faults.never_comes_back(b"pread", ctypes.c_long(9))
next(iter(l))
while ctypes.c_int.in_dll(faults, "stuck").value == 0:
    time.sleep(0.01)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    l.close()
print(*(one.message for one in caught))
""",
        photos.pack,
        env={"LD_PRELOAD": str(SHIM)},
    )
    assert (result.returncode, result.stderr) == (0, "")
    text = rf"TND-508 {re.escape(str(photos.pack))}: .*\n  why: .*reading record \d+"
    assert re.search(text, result.stdout), result.stdout


@pytest.mark.parametrize("ending", [[], ["del"]])
def test_after_a_fork_the_loader_raises_in_the_child_and_works_in_the_parent(
    photos, run_python, tmp_path, ending
):
    result = run(
        run_python,
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: fork with threads
l = loader(trace=sys.argv[2])
it = iter(l)
batch = next(it)
state = l.state_dict()
child = os.fork()
if child == 0:
    for use in (lambda: next(it), lambda: iter(l), lambda: list(l), lambda: len(l), l.stats,
                l.bad_samples, l.report):
        try:
            use()
        except tundish.Error as error:
            assert error.code == "TND-604", error
            assert "create the loader in the child process" in str(error)
        else:
            os._exit(9)
    assert batch[0].sum() > 0
    assert l.state_dict() == state, "what needs no thread still works"
    other = loader()
    other.load_state_dict(state)
    assert len(list(other)) == 5, "a loader made in the child works"
    del it, batch
    if len(sys.argv) > 3:
        del l
    else:
        l.close()
    assert not os.path.exists(sys.argv[2]), "the trace is the parent's"
    sys.exit(5)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 5, status
assert len(list(it)) == 5
print("fine")
""",
        photos.pack,
        tmp_path / "trace.json",
        *ending,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_many_loaders_may_be_created_and_freed(photos, run_python):
    result = run(
        run_python,
        """
import time, numpy
def open_files():
    return len(os.listdir("/proc/self/fd"))
before = open_files()
for _ in range(100):
    next(iter(loader()))
while open_files() != before:  # the last thread lets go of the file a moment after the loader
    time.sleep(0.01)
print("fine")
""",
        photos.pack,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


def test_sigterm_ends_a_process_at_once(photos):
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HEAD + "for batch in epochs(loader()): print('ready', flush=True)",
            str(photos.pack),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGTERM
