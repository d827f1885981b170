"""Runs scripts with `tundish run`, tracks their processes, and creates fake machines."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import RANK_VARIABLES

# The first lines of each script. They set RANK, and write a pid file by which the test finds the process.
BEGIN = """
import os, pathlib, signal, subprocess, sys, time
RANK = int(os.environ["RANK"])
HERE = pathlib.Path(__file__).parent
def note(name, text=""):
    (HERE / (name + "~")).write_text(str(text))
    (HERE / (name + "~")).rename(HERE / name)
def wait_for(name):
    while not (HERE / name).exists():
        time.sleep(0.01)
def wait_for_signal():
    # In short sleeps: Python runs no handler during a sleep that begins just after the signal came.
    while True:
        time.sleep(0.01)
note(f"pid{RANK}", os.getpid())
"""


def line_of(folder, script, *words, options=()):
    """Writes the script to the folder. Returns the command that launches it on two ranks."""
    (folder / "train.py").write_text(BEGIN + script)
    launcher = [sys.executable, "-m", "tundish", "run", "--ranks", "2", *map(str, options)]
    return [*launcher, str(folder / "train.py"), *map(str, words)]


def environment(**more):
    left_out = {*RANK_VARIABLES, "OMP_NUM_THREADS"}
    plain = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**plain, "CUDA_VISIBLE_DEVICES": "", **more}


def launch(folder, script, *words, options=(), **more):
    """Runs the script to its end. Only a script that hangs reaches the time limit."""
    line = line_of(folder, script, *words, options=options)
    settings = {"capture_output": True, "text": True, "timeout": 120, **more}
    return subprocess.run(line, env=environment(), **settings)


def start(folder, script, *words, options=()):
    line = line_of(folder, script, *words, options=options)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        line, env=environment(), stdout=pipe, stderr=pipe, text=True, preexec_fn=_hear_hang_up
    )


def _hear_hang_up():
    """Restores the default for SIGHUP, which processes inherit as ignored if tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def kill_all(folder, run):
    """Kills the launcher and every process with a pid file. Cleans up after a failed test."""
    run.kill()
    run.communicate()
    for pid in pids(folder):
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def wait_until(true, seconds=60):
    """Waits until the function `true` returns true. Fails after the time limit."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def pids(folder, pattern="pid*"):
    return [int(file.read_text()) for file in folder.glob(pattern) if not file.name.endswith("~")]


def make_sys(root, nodes, threads=2, gpus=()):
    """Creates a fake /sys folder for a machine with these numbers of cores per NUMA node.

    Returns all CPUs. As on most machines, the numbers of the second hyper-threads follow the numbers of
    all cores. `gpus` has the NUMA node of each GPU.
    """
    cores = sum(nodes)
    first = 0
    for node, count in enumerate(nodes):
        own = [first + i + cores * t for t in range(threads) for i in range(count)]
        first += count
        text = ",".join(map(str, own))
        write(root / f"devices/system/node/node{node}/cpulist", text)
        for gpu, its_node in enumerate(gpus):
            if its_node == node:
                folder = root / f"bus/pci/devices/0000:{gpu:02x}:00.0"
                write(folder / "numa_node", node)
                write(folder / "local_cpulist", text)
    for cpu in range(cores * threads):
        together = ",".join(str(cpu % cores + cores * t) for t in range(threads))
        file = root / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        write(file, together)
    return set(range(cores * threads))


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")
