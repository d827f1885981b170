"""Reports of failed ranks, and the splitting of output into lines."""

import os
import signal

from tundish.launch.failure import (
    TRACEBACK,
    Ending,
    count_oom_kills,
    failure_text,
    first_failure,
    last_lines,
    still_running_text,
)
from tundish.launch.output import LineSplitter, Terminal
from tundish.launch.processes import group_members


def ended(rank, status, failed_s, **more):
    return Ending(rank, status, seconds=failed_s + 1, failed_s=failed_s, **more)


def test_without_a_failure_there_is_no_report():
    assert failure_text([ended(0, 0, 1), ended(1, 0, 2)]) == ""
    assert failure_text([ended(0, -15, 1, by_launcher=True)]) == ""


def test_failures_are_reported_in_order_of_occurrence():
    endings = [ended(0, 1, 5.0), ended(1, -11, 3.0), ended(2, 1, 3.01), ended(3, 0, 1.0)]
    endings.append(ended(4, -15, 6.0, by_launcher=True))
    assert first_failure(endings) is endings[1]
    lines = failure_text(endings).splitlines()
    assert lines[0] == "rank 1 failed first: killed by SIGSEGV after 4.0 s"
    assert lines[1] == "  rank 2 failed at the same time: exit code 1"
    assert lines[2] == "  rank 0 failed 2.0 s later: exit code 1"
    assert lines[3] == "  rank 4: ended by the launcher"
    assert first_failure(endings).exit_code == 139


def test_the_lines_before_a_crash_are_shown_only_after_an_exception():
    lines = [*"abc", TRACEBACK, "  where", "ValueError: why", "Fatal Python error: Aborted", "more"]
    assert last_lines(lines, raised=True) == lines[:6]
    assert last_lines(lines, raised=False) == lines
    lines.insert(6, "terminate called without an active exception")
    assert last_lines(lines, raised=True) == lines[:6]
    assert last_lines(lines[:6], raised=True) == lines[:6]
    assert last_lines(["x"] * 50, raised=False) == ["x"] * 20


def test_every_silent_exit_suggests_a_remedy():
    def text(number, **more):
        return failure_text([ended(0, -number, 1.0)], **more)

    assert "usually the kernel, which ran out of memory" in text(signal.SIGKILL)
    assert "the job reached its memory limit" in text(signal.SIGKILL, oom_kills=1)
    assert "--shm-size" in text(signal.SIGBUS)
    assert "CUDA_LAUNCH_BLOCKING=1" in text(signal.SIGABRT)
    assert "time limit" in text(signal.SIGTERM)
    assert "fix:" not in failure_text([ended(0, 1, 1.0)])


def test_oom_kills_are_counted_in_the_processs_cgroup(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/x\n0::/job/step\n")
    assert count_oom_kills(tmp_path) == 0
    folder = tmp_path / "sys/fs/cgroup/job/step"
    folder.mkdir(parents=True)
    (folder / "memory.events").write_text("low 0\nmax 7\noom 2\noom_kill 3\n")
    assert count_oom_kills(tmp_path) == 3
    (folder / "memory.events").write_text("something else entirely\n")
    assert count_oom_kills(tmp_path) == 0


def test_ranks_that_still_run_are_named():
    text = still_running_text([1, 3], 30)
    assert text.startswith("ranks 1, 3 still run 30 s after another rank exited with code 0")
    assert still_running_text([2], 30).startswith("rank 2 still runs")
    assert "fix:" in text


def test_overwritten_lines_show_their_last_state():
    lines = LineSplitter()
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"o\r\n 1 %\r 2 %\r") == [b"two"]
    assert lines.feed(b" 3 %\n") == [b" 3 %"]
    assert lines.end() == []
    assert lines.feed(b"no end") == []
    assert lines.end() == [b"no end"]


def test_an_unfinished_line_is_forwarded():
    lines = LineSplitter()
    assert sum(len(line) for _ in range(10) for line in lines.feed(b"x" * 60000)) > 400_000


def test_a_line_never_lands_in_a_progress_bar(monkeypatch):
    put = []
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    monkeypatch.setattr(os, "write", lambda fd, data: put.append((fd, data)) or len(data))
    terminal = Terminal()
    terminal.write(1, b"to a file, not ended")
    terminal.write_line(b"[rank 1] a")
    terminal.write(2, b" 3 %")
    terminal.write_line(b"[rank 1] b")
    terminal.write_line(b"[rank 1] c")
    shown = b"".join(data for fd, data in put if fd == 2)
    assert shown == b"[rank 1] a\n 3 %\n[rank 1] b\n[rank 1] c\n"


def test_members_of_a_process_group_are_found_whatever_they_are_called(tmp_path):
    stats = {"10": "10 (a) b (c) S 1 77 77 0", "11": "11 (x) Z 1 77 77 0", "12": "12 (y) R 1 5 5 0"}
    for pid, text in stats.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(text)
    (tmp_path / "meminfo").write_text("")
    (tmp_path / "13").mkdir()  # the process has just ended
    assert group_members(77, tmp_path) == [10]
