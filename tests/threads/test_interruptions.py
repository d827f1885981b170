"""Loaders interrupted at random moments, in many ways, leave nothing behind.

Each way runs in a separate process, which interrupts one loader after the other and then checks for
threads, open files and memory segments. `./dev siege exits` makes 500 interruptions and limits
every ending to a second; here only a hang fails.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.files import endless_tar, has_open
from tests.helpers.small_set import make_folder

TIMES = int(os.environ.get("TUNDISH_EXITS", "50"))  # interruptions, all ways together
LIMIT_S = 1 if "TUNDISH_EXITS" in os.environ else 60  # from the interruption until nothing is left

HEAD = """
import ctypes, json, numpy, os, random, signal, sys, threading, time, tundish
from tundish import transforms as T

def loader():
    return tundish.Loader(sys.argv[1], 4, threads=3, shuffle=True, backend="numpy",
                          transforms=[T.RandomResizedCrop(96)])

def batches(loader):
    while True:
        yield from loader

def left():
    return (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")),
            sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else [])
"""

ROUNDS = """
def wait_until(moment):
    while time.monotonic() < moment:
        pass

# Python drops an exception that comes while it runs a __del__, with a message: one presses again, and
# the time counts from there.
def say_others(dropped):
    if dropped.exc_type not in (KeyboardInterrupt, SystemExit):
        sys.__unraisablehook__(dropped)

sys.unraisablehook = say_others

def by_ctrl_c(moment):
    over = threading.Event()
    pressed = []
    def press():
        wait_until(moment)
        while not over.is_set():
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            over.wait(2)
    thread = threading.Thread(target=press)
    try:
        thread.start()
        for batch in batches(loader()):
            pass
    except KeyboardInterrupt:
        over.set()
    thread.join()
    return pressed[-1]

def by_exception(moment):
    try:
        for batch in batches(loader()):
            if time.monotonic() > moment:
                raise ArithmeticError
    except ArithmeticError:
        pass
    return moment

def by_del(moment):
    one = loader()
    iterator = batches(one)
    while time.monotonic() < moment:
        batch = next(iterator)
    del one, iterator
    return moment

def by_end_of_thread(moment):
    def consume():
        try:
            for batch in batches(loader()):
                pass
        except SystemExit:
            pass
    thread = threading.Thread(target=consume)
    thread.start()
    wait_until(moment)
    number = ctypes.c_ulong(thread.ident)
    while thread.is_alive():
        moment = time.monotonic()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(SystemExit))
        thread.join(2)
    return moment

chosen, times, limit = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
choose = random.Random(chosen)
before, slowest = left(), 0  # NumPy has threads too
for _ in range(times):
    moment = time.monotonic() + choose.uniform(0, 0.05)
    moment = globals()["by_" + chosen](moment)
    while left() != before:
        assert time.monotonic() < moment + limit, (chosen, before, left())
        time.sleep(0.001)
    slowest = max(slowest, time.monotonic() - moment)
print(json.dumps({"times": times, "slowest": slowest}))
"""


@pytest.fixture(scope="module")
def pack(make, tmp_path_factory):
    root = tmp_path_factory.mktemp("interrupted")
    return make.pack(make_folder(root / "folder", 40, size=120), root / "set.tnd")


@pytest.mark.parametrize("way", ["ctrl_c", "exception", "del", "end_of_thread"])
def test_an_interrupted_loader_leaves_nothing_behind(pack, run_python, way):
    times = -(-TIMES // 5)
    result = run_python(HEAD + ROUNDS, pack, way, times, LIMIT_S, timeout=60 + 2 * times)
    answer = json.loads(result.stdout)
    assert answer["times"] == times
    assert result.stderr == ""
    print(f"{times} by {way}, the slowest ended after {answer['slowest']:.3f} s")


ENDINGS = {  # the program's last lines, the signal it gets, and its exit status
    "exit": ("sys.exit(7)", None, 7),
    "end": ("sys.modules['__main__'].alive = iterator; sys.exit()", None, 0),
    "SIGINT": ("", signal.SIGINT, -signal.SIGINT),
    "SIGTERM": ("", signal.SIGTERM, -signal.SIGTERM),
}


def test_a_program_that_ends_with_a_live_iterator_ends(pack):
    choose = random.Random(1)
    segments = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    slowest = 0.0
    for _ in range(-(-TIMES // 5)):
        ending, number, status = choose.choice(list(ENDINGS.values()))
        body = f"""
iterator = batches(loader())
next(iterator)
print("ready", flush=True)
moment = time.monotonic() + {choose.uniform(0, 0.05)}
while {number is not None} or time.monotonic() < moment:
    next(iterator)
{ending}
"""
        process = subprocess.Popen(
            [sys.executable, "-c", HEAD + body, pack], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(choose.uniform(0, 0.05))
            begin = time.monotonic()
            if number is not None:
                process.send_signal(number)
            _, error = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
        slowest = max(slowest, time.monotonic() - begin)
        assert process.returncode == status, error
        assert error == "" or error.rstrip().endswith("KeyboardInterrupt")
    assert (os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []) == segments
    print(f"the slowest program ended after {slowest:.3f} s")


# The engine's thread must also exit and close the archive, which may take a while.
OPENING = """
import os, sys, threading, time, tundish
def is_open():
    return any(os.path.realpath(f"/proc/self/fd/{fd}") == sys.argv[1] for fd in os.listdir("/proc/self/fd"))
try:
    getattr(tundish, sys.argv[2])(sys.argv[1])
except KeyboardInterrupt:
    while is_open():
        time.sleep(0.01)
    print("stopped", threading.active_count())
"""


@pytest.mark.parametrize("what", ["Loader", "Dataset"])
def test_ctrl_c_ends_the_opening_of_a_large_archive(tmp_path, what):
    source = endless_tar(tmp_path / "a.tar.bz2")
    words = [sys.executable, "-c", OPENING, os.path.realpath(source), what]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            while not has_open(process, source):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            stdout, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, stdout) == (0, b"stopped 1\n")
