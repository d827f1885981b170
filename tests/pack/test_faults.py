"""Every Nth failing system call or allocation gives a clean error; no file is lost or half visible.

tests/faults/fail_nth.c is preloaded; N increases until the program makes fewer than N calls.
"""

import bisect
import errno
import itertools
import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.helpers.program import PROGRAM, tundish
from tests.helpers.small_set import SHIM, count_sound, left_over, make_folder, make_tar_gz

pytestmark = pytest.mark.skipif(
    not (PROGRAM.exists() and SHIM.exists()), reason="./dev build makes the program"
)

SAMPLES = 3
ERRORS = {  # failing call: its error
    "open": errno.EIO,
    "stat": errno.EIO,
    "opendir": errno.EIO,
    "readdir": errno.EIO,
    "read": errno.EIO,
    "pread": errno.EIO,
    "write": errno.EIO,
    "pwrite": errno.ENOSPC,
    "fsync": errno.EIO,
    "fallocate": errno.ENOSPC,
    "ftruncate": errno.EIO,
    "rename": errno.EIO,
    "thread": errno.EAGAIN,
    "malloc": errno.ENOMEM,
}
FLOWS = ["pack", "replace", "tar", "info", "verify"]
BATCH = 16


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    make_folder(folder / "source", SAMPLES)
    make_tar_gz(folder / "source.tar.gz", SAMPLES)
    make_folder(folder / "other", 1)
    for source, target in (("other", "old"), ("source", "new"), ("source.tar.gz", "tar")):
        result = tundish("pack", folder / source, "-o", folder / f"{target}.tnd")
        assert result.returncode == 0, result.stderr
    return folder


class Run:
    """One run of the program with the Nth call failing."""

    def __init__(self, place, flow, call, number, nth, keep=False, threads=1):
        self.folder = place / f"{flow}-{call}-{number}-{nth}"
        self.folder.mkdir()
        self.target = self.folder / "t.tnd"
        self.old = None
        if flow in ("info", "verify"):
            self.old = (place / "new.tnd").read_bytes()
            words = [flow, self.target]
        else:
            source = place / {"tar": "source.tar.gz", "missing": "missing"}.get(flow, "source")
            words = ["pack", source, "-o", self.target, "-j", threads]
            if flow == "replace":
                self.old = (place / "old.tnd").read_bytes()
                words.append("--force")
        if self.old is not None:
            self.target.write_bytes(self.old)
        self.words = [PROGRAM, *map(str, words)]
        reader, writer = os.pipe()
        faults = {"FAIL_CALL": call, "FAIL_NTH": nth, "FAIL_ERRNO": number, "FAIL_FD": writer}
        if keep:
            faults["FAIL_KEEP"] = 1
        try:
            result = subprocess.run(
                self.words,
                env=os.environ | {"LD_PRELOAD": SHIM} | {k: str(v) for k, v in faults.items()},
                pass_fds=[writer],
                capture_output=True,
                timeout=120,
            )
        finally:
            os.close(writer)
        self.reached = bool(os.read(reader, 1))
        os.close(reader)
        self.code = result.returncode
        self.out, self.err = result.stdout.decode(), result.stderr.decode()

    @property
    def state(self):
        return self.target.read_bytes() if self.target.exists() else None

    def __repr__(self):
        return f"{self.folder.name}: exit {self.code}\n{self.out}\n{self.err}"


def judge(run, place, flow):
    """Checks the program's behavior; see the module's docstring."""
    assert run.code in (0, 1, 3), run
    if run.code != 0:
        # verify prints faults of the pack as its result; everything else is a message.
        assert re.search(
            r"TND-\d\d\d", run.out if flow == "verify" and run.code == 3 else run.err
        ), run
        assert "unexpected" not in run.err, run
    before = run.state
    if left_over(run.folder):  # packed samples are kept, and the same command resumes
        assert flow not in ("info", "verify"), run
        assert run.code == 1, run
        check_that_it_goes_on(run, place, flow)
    if flow in ("info", "verify"):
        assert run.state == run.old, run
        assert "TND-109" not in run.out, run  # a failed read must not be reported as a wrong digest
        return
    good = good_bytes(place, flow)
    if run.code == 0:
        assert before == good, run
    elif run.code == 3:  # an unreadable sample is named, and the others are packed
        assert count_sound(run.target) < SAMPLES, run
        assert "refused" in run.err, run
    elif "fsync of its folder" in run.err or str(run.target) not in run.err:
        # The pack is complete; a later operation failed, such as printing the summary.
        assert before in (run.old, good), run
    else:
        assert before == run.old, run


def good_bytes(place, flow):
    return (place / ("tar.tnd" if flow == "tar" else "new.tnd")).read_bytes()


def check_that_it_goes_on(run, place, flow):
    words = run.words if run.state is None else [*run.words, "--force"]
    again = subprocess.run(words, capture_output=True)
    assert again.returncode == 0, (run, again)
    assert run.state == good_bytes(place, flow), run
    assert not left_over(run.folder), run


def until_it_succeeds(place, flow, call, number, check, begin=1):
    """Runs N = begin, begin + 1, ..., several at once, to the last call; returns the count."""
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        for first in itertools.count(begin, BATCH):
            runs = list(
                pool.map(
                    lambda nth: Run(place, flow, call, number, nth), range(first, first + BATCH)
                )
            )
            for run in runs:
                if not run.reached:
                    assert run.code == 0, run
                    assert not run.err or "warning" not in run.err, run
                check(run)
                shutil.rmtree(run.folder)
            reached = sum(run.reached for run in runs)
            if reached < BATCH:
                return first - 1 + reached


@pytest.fixture(scope="module")
def command_line(place):
    """Counts allocations before the source is opened, by runs with a missing source."""

    def is_reached(nth):
        run = Run(place, "missing", "malloc", errno.ENOMEM, nth)
        shutil.rmtree(run.folder)
        return run.reached

    assert is_reached(1)
    all_calls = bisect.bisect_left(range(1, 10_000), True, key=lambda nth: not is_reached(nth))
    return int(0.9 * all_calls)


@pytest.mark.parametrize("call", ERRORS)
@pytest.mark.parametrize("flow", FLOWS)
def test_every_failing_call_gives_a_clean_error(place, flow, call, command_line):
    # Four of five allocations read the command line; "pack" alone tests failures of these
    # allocations.
    begin = command_line if call == "malloc" and flow in ("replace", "tar") else 1
    calls = until_it_succeeds(
        place, flow, call, ERRORS[call], lambda run: judge(run, place, flow), begin
    )
    assert calls > begin or begin == 1
    print(f"{flow}: {calls} calls of {call}")
    must_be_met = {
        "pack": ["open", "pwrite", "fsync", "fallocate", "ftruncate", "rename", "thread", "malloc"],
        "replace": ["open", "pwrite", "fsync", "fallocate", "ftruncate", "rename", "malloc"],
        "tar": ["open", "pwrite", "fsync", "ftruncate", "rename", "malloc"],
        "info": ["open", "pread", "malloc"],
        "verify": ["open", "pread", "malloc"],
    }
    assert calls > 0 or call not in must_be_met[flow]


@pytest.mark.parametrize("call", [call for call in ERRORS if call not in ("malloc", "thread")])
def test_a_kill_before_any_call_leaves_the_old_state_or_a_complete_file(place, call):
    def check(run):
        good = (place / "new.tnd").read_bytes()
        assert run.code in (0, -signal.SIGKILL), run
        assert run.state in (run.old, good), run
        again = tundish("pack", place / "source", "-o", run.target, "--force")
        assert again.returncode == 0, again
        assert run.state == good, run
        assert not left_over(run.folder), run

    calls = until_it_succeeds(place, "replace", call, 0, check)
    must_be_met = ("open", "pread", "pwrite", "fsync", "fallocate", "ftruncate", "rename")
    assert calls > 0 or call not in must_be_met


@pytest.mark.parametrize("call", ["open", "pread", "write", "pwrite", "fsync", "rename"])
def test_a_disk_that_stays_broken_is_reported_once(place, call):
    for nth in (1, 2, 3):
        run = Run(place, "replace", call, errno.EIO, nth, keep=True)
        assert run.reached or nth > 1, run
        assert run.code in (0, 1, 3), run
        assert run.state in (run.old, (place / "new.tnd").read_bytes()) or run.code == 3, run
        if left_over(run.folder):
            check_that_it_goes_on(run, place, "replace")
        shutil.rmtree(run.folder)


@pytest.mark.parametrize(
    ("flow", "call", "number", "nth"),
    [
        ("pack", "fallocate", errno.EOPNOTSUPP, 1),  # space cannot be reserved
        ("pack", "rename", errno.EINVAL, 1),  # no rename without replacement, so a link is used
        ("pack", "fsync", errno.EINVAL, 2),  # a folder cannot be synced
        ("pack", "thread", errno.EAGAIN, 2),
    ],
)
def test_missing_features_of_a_file_system_are_worked_around(place, flow, call, number, nth):
    run = Run(place, flow, call, number, nth, threads=3)  # the second thread is one of three
    assert run.reached, run
    assert run.code == 0, run
    assert run.state == (place / "new.tnd").read_bytes(), run
    assert not left_over(run.folder), run
    shutil.rmtree(run.folder)
