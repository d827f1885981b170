"""Ctrl-C, kill and schedulers: all ranks end, and no process is left."""

import signal
import time

import pytest

from tests.helpers.launched import is_alive, kill_all, pids, start, wait_until

WAIT = "note(f'ready{RANK}'); wait_for_signal()"
# A script with a child process, like a loader's worker.
WITH_CHILD = (
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
    "note(f'pid{RANK}.child', child.pid)\n" + WAIT
)


@pytest.fixture
def started(tmp_path):
    """Starts a script and waits until both ranks are ready."""
    runs = []

    def start_and_wait(script, *options):
        runs.append(start(tmp_path, script, options=options))
        wait_until(lambda: all((tmp_path / f"ready{rank}").exists() for rank in (0, 1)))
        return runs[-1]

    yield start_and_wait
    for run in runs:
        kill_all(tmp_path, run)


def none_left(folder):
    wait_until(lambda: not [pid for pid in pids(folder) if is_alive(pid)])
    return True


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_all_ranks(started, tmp_path, number, code):
    run = started(WITH_CHILD)
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert run.returncode == code
    assert len(pids(tmp_path)) == 4
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]
    assert f"tundish: {number.name}: all ranks have ended" in err
    assert "failed first" not in err


MORE_THAN_A_PIPE = "print('x' * (1 << 20), flush=True)\n"


@pytest.mark.parametrize("printer", [0, 1])
def test_a_signal_ends_a_run_whose_reader_takes_nothing(tmp_path, printer):
    """As `tundish run train.py | less` that shows its first page."""
    script = (
        "try:\n"
        f"    note(f'ready{{RANK}}')\n    if RANK == {printer}: {MORE_THAN_A_PIPE}"
        "    wait_for_signal()\n"
        "finally:\n"
        f"    {MORE_THAN_A_PIPE}    note(f'saved{{RANK}}')\n"
    )
    run = start(tmp_path, script)
    try:
        wait_until(lambda: all((tmp_path / f"ready{rank}").exists() for rank in (0, 1)))
        time.sleep(1)  # until the pipe is full
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
    finally:
        kill_all(tmp_path, run)
    assert run.returncode == 130
    assert [(tmp_path / f"saved{rank}").exists() for rank in (0, 1)] == [True, True]


def test_a_slow_reader_gets_every_line(tmp_path):
    script = "for n in range(9000): print(n, 'x' * 90)\nif RANK: sys.exit(0)\n"
    run = start(tmp_path, script)
    time.sleep(1)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert [line.split()[0] for line in out.splitlines()] == [str(n) for n in range(9000)]
    assert [line.split()[2] for line in err.splitlines()] == [str(n) for n in range(9000)]


def test_ranks_can_save_before_they_end(started, tmp_path):
    script = (
        "try:\n"
        "    note(f'ready{RANK}'); wait_for_signal()\n"
        "except KeyboardInterrupt:\n"
        "    note(f'saved{RANK}')\n"
    )
    run = started(script)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert (tmp_path / "saved0").exists()
    assert (tmp_path / "saved1").exists()


DEAF = "signal.signal(signal.SIGINT, lambda *_: note(f'deaf{RANK}'))\n" + WAIT


def test_ranks_that_ignore_ctrl_c_are_killed(started, tmp_path):
    run = started(DEAF, "--grace", "0.2")
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "killed because they did not end in time: 0, 1" in err
    assert none_left(tmp_path)


def test_a_second_ctrl_c_does_not_wait(started, tmp_path):
    run = started(DEAF, "--grace", "100000")
    run.send_signal(signal.SIGINT)
    wait_until(lambda: (tmp_path / "deaf0").exists() and (tmp_path / "deaf1").exists())
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert none_left(tmp_path)


def test_killing_the_launcher_ends_all_ranks(started, tmp_path):
    run = started(WAIT)
    assert all(is_alive(pid) for pid in pids(tmp_path))
    run.kill()
    run.communicate(timeout=60)
    assert none_left(tmp_path)


def test_the_schedulers_own_signals_reach_every_rank(started, tmp_path):
    script = (
        "signal.signal(signal.SIGUSR1, lambda *_: (note(f'saved{RANK}'), os._exit(0)))\n" + WAIT
    )
    run = started(script)
    run.send_signal(signal.SIGUSR1)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert (tmp_path / "saved0").exists()
    assert (tmp_path / "saved1").exists()
