"""Scripts on two ranks: their environment, their output, and reports of their failures."""

import json
import os
import re
import subprocess

from tundish.launch.rank_plan import free_port
from tundish.launch.run_options import ARGUMENTS

from tests.helpers.launched import environment, is_alive, launch, line_of, pids
from tests.helpers.program import PROGRAM, needs_program
from tests.helpers.terminal import on_terminal

MEET = """
import torch
from torch import distributed
distributed.init_process_group("gloo")
value = torch.tensor([10.0 ** distributed.get_rank()])
distributed.all_reduce(value)
"""


def test_ranks_meet_and_reduce(tmp_path):
    script = MEET + (
        "names = 'LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR'.split()\n"
        "note(f'out{RANK}', [value.item(), *(os.environ[name] for name in names)])\n"
        "distributed.destroy_process_group()\n"
    )
    done = launch(tmp_path, script)
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        text = (tmp_path / f"out{rank}").read_text()
        assert text == str([11.0, str(rank), "2", "2", "0", "127.0.0.1"])


def test_ranks_of_two_machines_meet(tmp_path):
    """Starts two launchers on one machine, each with one rank."""
    script = MEET + "note(f'out{RANK}', value.item()); distributed.destroy_process_group()"
    runs = []
    address = f"127.0.0.1:{free_port()}"
    for node in ("0", "1"):
        line = line_of(tmp_path, script)
        at = line.index("--ranks")
        words = ["--ranks", "1", "--nodes", "2", "--node-rank", node, "--address", address]
        line[at : at + 2] = words
        runs.append(subprocess.Popen(line, env=environment()))
    assert [run.wait(120) for run in runs] == [0, 0]
    assert [(tmp_path / f"out{rank}").read_text() for rank in (0, 1)] == ["11.0", "11.0"]


def test_each_rank_has_its_own_cpus_and_threads(tmp_path):
    script = "note(f'cpus{RANK}', sorted(os.sched_getaffinity(0)))\n"
    script += "note(f'threads{RANK}', os.environ['OMP_NUM_THREADS'])"
    assert launch(tmp_path, script).returncode == 0
    shares = [json.loads((tmp_path / f"cpus{rank}").read_text()) for rank in (0, 1)]
    usable = os.sched_getaffinity(0)
    assert {*shares[0], *shares[1]} == usable
    if len(usable) > 1 and shares[0] != sorted(usable):  # a core with two CPUs is not divided
        assert not set(shares[0]) & set(shares[1])
    assert int((tmp_path / "threads0").read_text()) >= 1
    assert launch(tmp_path, script, options=["--no-affinity"]).returncode == 0
    assert json.loads((tmp_path / "cpus1").read_text()) == sorted(usable)


def test_the_first_rank_prints_as_if_alone_and_the_others_with_a_prefix(tmp_path):
    script = "print('out', RANK, *sys.argv[1:]); print('err', RANK, file=sys.stderr)"
    done = launch(tmp_path, script, "a b", "--json")
    assert done.returncode == 0
    assert done.stdout == "out 0 a b --json\n"
    assert sorted(done.stderr.splitlines()) == [
        "[rank 1] err 1",
        "[rank 1] out 1 a b --json",
        "err 0",
    ]


def test_with_logs_other_ranks_print_only_to_their_log(tmp_path):
    script = "print('out', RANK); print('err', RANK, file=sys.stderr)"
    done = launch(tmp_path, script, options=["--logs", tmp_path / "new" / "logs"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "out 0\n", "err 0\n")
    for rank in (0, 1):
        log = (tmp_path / "new" / "logs" / f"rank{rank}.log").read_text()
        assert sorted(log.splitlines()) == [f"err {rank}", f"out {rank}"]


def test_the_rank_that_failed_first_is_named_with_its_last_lines(tmp_path):
    script = MEET + (
        "if RANK == 1:\n"
        "    for i in range(50): print('line', i, file=sys.stderr)\n"
        "    raise ValueError('the reason')\n"
        "distributed.all_reduce(value)\n"
    )
    done = launch(tmp_path, script)
    # Gloo's threads sometimes abort a process that ends without destroy_process_group.
    assert done.returncode in (1, 134)
    report = done.stderr.split("\ntundish: ")[1]
    assert report.startswith("rank 1 failed first: ")
    shown = re.findall(r"^  \| (.*)$", report, re.M)
    assert len(shown) == 20
    assert shown[-1] == "ValueError: the reason"
    assert "Traceback (most recent call last):" in shown
    assert "line 49" in shown
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]


def test_a_rank_that_ends_slowly_after_its_traceback_is_still_the_first(tmp_path):
    """The other rank notices the failure and exits first."""
    script = (
        "if RANK == 1:\n"
        "    import atexit\n"
        "    atexit.register(lambda: (note('failed'), wait_for('gone'), time.sleep(1)))\n"
        "    raise ValueError('the reason')\n"
        "wait_for('failed')\n"
        "note('gone')\n"
        "raise ConnectionError('closed by peer')\n"
    )
    done = launch(tmp_path, script)
    report = done.stderr.split("\ntundish: ")[1]
    assert report.startswith("rank 1 failed first: exit code 1")
    assert "ValueError: the reason" in report
    assert "rank 0 failed " in report
    assert "ConnectionError" not in report


def test_a_rank_that_crashes_after_its_traceback_failed_because_of_the_exception(tmp_path):
    script = (
        "if RANK == 1:\n"
        "    import atexit\n"
        "    atexit.register(lambda: (note('failed'), wait_for('gone'), os.abort()))\n"
        "    raise ValueError('the reason')\n"
        "wait_for('failed')\n"
        "import atexit\n"
        "atexit.register(note, 'gone')\n"
        "raise ConnectionError('closed by peer')\n"
    )
    done = launch(tmp_path, script)
    assert done.returncode == 134
    report = done.stderr.split("\ntundish: ")[1]
    assert report.startswith("rank 1 failed first: killed by SIGABRT")
    assert re.findall(r"^  \| (.*)$", report, re.M)[-1] == "ValueError: the reason"
    assert "fix:" not in report


def test_the_exit_code_is_that_of_the_first_failure(tmp_path):
    script = "sys.exit(7) if RANK else time.sleep(1000)"
    done = launch(tmp_path, script)
    assert done.returncode == 7
    assert "rank 1 failed first: exit code 7" in done.stderr
    assert "rank 0: ended by the launcher" in done.stderr
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]


def test_a_rank_killed_by_sigkill_is_reported_as_out_of_memory(tmp_path):
    script = "os.kill(os.getpid(), signal.SIGKILL) if RANK else time.sleep(1000)"
    done = launch(tmp_path, script)
    assert done.returncode == 137
    assert "rank 1 failed first: killed by SIGKILL" in done.stderr
    assert "ran out of memory" in done.stderr
    assert "fewer workers or a smaller batch" in done.stderr


def test_a_crash_is_reported_with_the_python_line(tmp_path):
    script = "import ctypes\nctypes.string_at(0) if RANK else time.sleep(1000)"
    done = launch(tmp_path, script)
    assert done.returncode == 139
    report = done.stderr.split("\ntundish: ")[1]
    assert "killed by SIGSEGV" in report
    assert 'train.py"' in report
    assert "CUDA_LAUNCH_BLOCKING=1" in report


def test_a_rank_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path):
    script = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "note(f'ready{RANK}'); wait_for('ready0')\n"
        "sys.exit(3) if RANK else time.sleep(1000)\n"
    )
    done = launch(tmp_path, script, options=["--grace", "0.2"])
    assert done.returncode == 3
    assert "rank 0: killed by the launcher" in done.stderr
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]


def test_a_rank_that_outlives_the_others_is_ended_on_request(tmp_path):
    script = "RANK and time.sleep(1000)"
    done = launch(tmp_path, script, options=["--exit-timeout", "0.2"])
    assert done.returncode == 1
    assert "rank 1 still ran long after another rank had exited with code 0" in done.stderr
    assert "fix: every rank needs the same number of steps" in done.stderr


def test_orphaned_children_of_a_rank_are_ended(tmp_path):
    """The child also holds the rank's stdout, but the launcher does not wait for the child."""
    script = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "note(f'pid{RANK}.child', child.pid)\n"
        "os._exit(0)\n"
    )
    done = launch(tmp_path, script)
    assert done.returncode == 0, done.stderr
    assert len(pids(tmp_path)) == 4
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]


def test_json_is_alone_on_stdout(tmp_path):
    script = "print('out', RANK)\nif RANK: raise SystemExit('the reason')"
    done = launch(tmp_path, script, options=["--json", "--logs", tmp_path / "logs"])
    values = json.loads(done.stdout)
    assert done.returncode == values["exit"] == 1
    assert values["failure"]["rank"] == 1
    assert values["failure"]["stderr"] == ["the reason"]
    assert values["failure"]["message"] in done.stderr
    assert [one["exit"] for one in values["ranks"]] == [0, 1]
    assert values["ranks"][1]["log"] == str(tmp_path / "logs" / "rank1.log")
    assert "out 0" in done.stderr
    documented = set(re.findall(r"[a-z_]+", ARGUMENTS.help().split("with --json:")[1]))
    assert {*values, *values["ranks"][0], *values["failure"]} <= documented


def test_many_lines_of_both_ranks_arrive_whole(tmp_path):
    script = "for i in range(20000): print(RANK, i, 'x' * (i % 90))"
    done = launch(tmp_path, script)
    assert done.returncode == 0
    first = done.stdout.splitlines()
    others = done.stderr.splitlines()
    assert first == [f"0 {i} {'x' * (i % 90)}" for i in range(20000)]
    assert others == [f"[rank 1] 1 {i} {'x' * (i % 90)}" for i in range(20000)]


def test_the_first_rank_sees_a_terminal_where_there_is_one(tmp_path):
    script = (
        "if RANK == 0:\n"
        "    wait_for('printed')\n"
        "    print(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(2)[0])\n"
        "    sys.stderr.write('a bar 1 %\\ra bar 2 %\\n')\n"
        "else:\n"
        "    print(sys.stderr.isatty()); note('printed')\n"
    )
    line = line_of(tmp_path, script, options=["--logs", tmp_path / "logs"])
    code, drawn = on_terminal(line, environment())
    assert code == 0
    assert drawn.splitlines()[-1:] == ["a bar 2 %"] or "a bar 1 %\ra bar 2 %" in drawn
    first, other = ((tmp_path / "logs" / f"rank{rank}.log").read_text() for rank in (0, 1))
    assert first.startswith("False True ")
    assert other == "False\n"


def test_a_reader_who_leaves_does_not_end_the_run(tmp_path):
    script = "for i in range(30000): print(RANK, i)\nnote(f'done{RANK}')"
    line = line_of(tmp_path, script)
    pipe = subprocess.PIPE
    with subprocess.Popen(line, env=environment(), stdout=pipe, stderr=subprocess.DEVNULL) as run:
        run.stdout.readline()
        run.stdout.close()
        assert run.wait(120) == 0
    assert (tmp_path / "done0").exists()
    assert (tmp_path / "done1").exists()


def test_the_first_rank_keeps_stdin(tmp_path):
    script = "print(sys.stdin.read())"
    done = launch(tmp_path, script, input="typed")
    assert done.stdout == "typed\n"
    assert done.stderr == "[rank 1] \n"


@needs_program
def test_the_program_starts_run_too(tmp_path):
    line = line_of(tmp_path, "sys.exit(5 * RANK)")
    at = line.index("run")
    done = subprocess.run([PROGRAM, *line[at:]], env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 5
    assert b"rank 1 failed first: exit code 5" in done.stderr
