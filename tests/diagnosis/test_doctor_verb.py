"""`tundish doctor -- COMMAND` preserves the script's output, exit code, signals and files."""

import contextlib
import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tundish.diagnosis.cli.doctor_options import ARGUMENTS
from tundish.diagnosis.cli.doctor_verb import main

from tests.helpers.warm_python import TORCHVISION, server

TRAIN = """
import os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)

class Photos(Dataset):
    def __len__(self):
        return 48
    def read(self, index):
        time.sleep(0.005)
        return torch.ones(4)
    def __getitem__(self, index):
        return self.read(index), index % 2

if __name__ == "__main__":
    print("words", sys.argv[1:], __name__, os.path.basename(__file__))
    os.chdir("/")
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    steps = 0
    for epoch in range(4):
        for x, y in DataLoader(Photos(), 4):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    print("steps", steps)
    sys.exit(7)
"""


# The startup code of an interpreter, for a forked process that has torch imported.
WATCHED = """
import os, runpy
runpy.run_path(os.environ["PYTHONPATH"].split(os.pathsep)[0] + "/sitecustomize.py")
"""
# Sends SIGINT to the doctor, which forwards it.
INTERRUPT = """steps += 1
            if steps == 20:
                os.kill(os.getppid(), 2)
                [time.sleep(0.05) for _ in range(1200)]
"""
SLOW_TEXT = """import torch
model = torch.nn.Linear(8, 8).cuda()
for x in loader:
    loss = model(x).mean()
    loss.backward()
    print(loss.item())
"""


@pytest.fixture
def doctor(capfd, monkeypatch):
    """Runs the verb in this process; the result includes the script's own output."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def doctor(*words):
        code = main([os.fspath(word) for word in words])
        out, error = capfd.readouterr()
        return SimpleNamespace(returncode=code, stdout=out, stderr=error)

    return doctor


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path / "train.py"


def test_a_script_keeps_its_steps_output_and_exit_code(doctor, script, tmp_path, monkeypatch):
    output = tmp_path / "doctor.json"
    words = ["--to-end", "--steps", "8", "-o", output, "--", sys.executable, script, "-x", "--json"]
    monkeypatch.chdir(tmp_path)
    result = doctor(*words)
    assert result.returncode == 7
    assert result.stdout == "words ['-x', '--json'] __main__ train.py\nsteps 48\n"
    assert "reading the samples (Photos.read)" in result.stderr
    values = json.loads(output.read_text())
    promised = re.search(r"with --json:\n\{(.*?)\}", ARGUMENTS.help(), re.S)[1]
    assert set(values) == set(re.findall(r"\w+", promised))
    assert values["cause"]["name"] == "storage"
    assert (values["exit"], values["processes"], values["phase"]) == (7, 1, "done")
    assert values["figures"]["ceiling_from"] == "cached"
    assert sorted(os.listdir(tmp_path)) == ["doctor.json", "train.py"]


def test_an_interrupted_script_gives_the_verdict_so_far(script):
    words = [sys.executable, "-m", "tundish", "doctor", "--steps", "100000", "--", sys.executable]
    script.write_text(TRAIN.replace("range(4)", "range(4000)").replace("steps += 1", INTERRUPT))
    result = subprocess.run([*words, script], capture_output=True, text=True, timeout=300)
    assert result.returncode == 130
    assert "KeyboardInterrupt" in result.stderr
    assert "reading the samples (Photos.read)" in result.stderr
    assert "signal 2 ended the script; the verdict covers the steps before" in result.stderr


def test_a_script_that_fails_before_its_second_step_has_no_covered_steps(doctor, script):
    script.write_text("import torch\nraise SystemExit(3)\n")
    result = doctor("--", sys.executable, script)
    assert "No verdict" in result.stderr
    assert "the script ended with exit code 3\n" in result.stderr
    assert "covers" not in result.stderr


def test_a_script_is_ended_when_all_is_measured(doctor, script):
    script.write_text(WATCHED + TRAIN)
    python = server(TORCHVISION) / "python"
    result = doctor("--steps", "5", "--json", "--", python, script)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["phase"] == "done"
    assert "words" in result.stderr  # --json redirects the script's output to stderr
    assert "steps" not in result.stderr


def test_timeline_table_and_memory_can_be_recorded_together(doctor, script, tmp_path):
    script.write_text(WATCHED + TRAIN.replace("range(4)", "range(40)"))
    python, trace = server(TORCHVISION) / "python", tmp_path / "trace.json.gz"
    words = ["--timeline", trace, "--table", "advanced", "--memory-lines"]
    words += ["--no-cached-batches", "--steps", "5"]
    result = doctor(*words, "-o", tmp_path / "a.json", "--", python, script)
    assert result.returncode == 0, result.stderr
    for text in ("Measured steps, by part", "Functions of the loop", "Lines that hold the memory"):
        assert text in result.stderr
    values = json.loads((tmp_path / "a.json").read_text())
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    assert len(events) == values["timeline"]["events"] > 100
    assert values["tables"]["advanced"]["steps"] >= 5
    assert values["memory"]["predicted"]["method"] == "fake tensors"
    assert {one["file"] for one in values["memory"]["rows"] if one["line"]} == {str(script)}
    assert sorted(os.listdir(tmp_path)) == ["a.json", "trace.json.gz", "train.py"]


@pytest.mark.parametrize(("own", "code"), [(0, 2), (3, 3)])
def test_a_change_that_cannot_be_tried_gives_2_where_the_script_gave_0(doctor, own, code):
    result = doctor("--apply", "9", "--", sys.executable, "-c", f"import sys; sys.exit({own})")
    assert result.returncode == code
    assert "Change 9 was not tried: the list has 0 changes" in result.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_a_script_without_pytorch_gets_no_verdict(doctor, tmp_path, code):
    (tmp_path / "a.py").write_text(f"print('hello'); import sys; sys.exit({code})")
    result = doctor("--", sys.executable, tmp_path / "a.py")
    assert (result.returncode, result.stdout) == (code, "hello\n")
    assert "No verdict: no Python process imported PyTorch." in result.stderr


def test_the_text_of_the_script_is_checked_too(doctor, tmp_path):
    (tmp_path / "a.py").write_text("import torch_of_nobody\n" + SLOW_TEXT)
    result = doctor("--", sys.executable, tmp_path / "a.py", "b")
    assert result.returncode == 1
    assert "a.py:7  .item() waits for the GPU in every step" in result.stderr
    assert "call print() only every 50 steps" in result.stderr


def test_a_crash_shows_only_the_scripts_traceback(doctor, tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    raise ValueError('mine')\nf()\n")
    result = doctor("-q", "--", sys.executable, tmp_path / "a.py")
    plain = subprocess.run([sys.executable, tmp_path / "a.py"], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (plain.returncode, plain.stderr)


def test_the_environments_own_sitecustomize_is_imported_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('the own one')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [
        sys.executable,
        "-m",
        "tundish",
        "doctor",
        "-q",
        "--",
        sys.executable,
        "-c",
        "print(1)",
    ]
    result = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=100)
    assert result.stdout.splitlines()[-2:] == ["the own one", "1"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_forwarded_to_the_script(tmp_path, number):
    (tmp_path / "a.py").write_text(
        f"import signal, sys, time\nsignal.signal({int(number)}, lambda *a: sys.exit(9))\n"
        # In short sleeps: Python runs no handler during a sleep that begins just after the signal came.
        "print('ready', flush=True)\nfor _ in range(1200):\n    time.sleep(0.05)\n"
    )
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, tmp_path / "a.py"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(60) == 9
        assert "No verdict" in process.stderr.read()


def test_ctrl_c_of_a_terminal_reaches_the_script_once(tmp_path):
    (tmp_path / "a.py").write_text(
        "import signal, sys, time\ncame = []\nsignal.signal(signal.SIGINT, lambda *a: came.append(1))\n"
        "print('ready', flush=True)\nend = time.time() + 30\n"
        "while not came and time.time() < end:\n    time.sleep(0.05)\n"
        "time.sleep(0.5)\nprint('came', len(came))\nsys.exit(130)\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        words = [
            sys.executable,
            "-m",
            "tundish",
            "doctor",
            "--",
            sys.executable,
            str(tmp_path / "a.py"),
        ]
        os.execv(words[0], words)
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the terminal was closed
        while more := os.read(terminal, 1000):
            shown += more
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert b"came 1\r\n" in shown
    assert b"No verdict" in shown
    assert os.waitstatus_to_exitcode(status) == 130


def test_a_script_that_is_killed_gives_128_and_the_signal(doctor):
    result = doctor("--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert result.returncode == 137
    assert "signal 9 ended the script" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "the command is missing"),
        (["train.py"], 2, "fix: tundish doctor -- train.py"),
        (["--step", "3", "--", "python"], 2, "did you mean --steps?"),
        (["--steps", "3", "--", "python"], 2, "--steps: '3' is not a whole number from 5 to"),
        (["--steps", "0", "--", "python"], 2, "--steps: '0' is not a whole number from 5 to"),
        (["--apply", "0", "--", "python"], 2, "--apply 0: changes are numbered from 1"),
        (["--apply", "-1", "--", "python"], 2, "--apply -1: changes are numbered from 1"),
        (["--apply", "workers=0", "--", "python"], 2, "or workers=N, accelerate or plan=FILE"),
        (["--apply", "faster", "--", "python"], 2, "or workers=N, accelerate or plan=FILE"),
        (["--apply", "plan=/no/plan", "--", "python"], 2, "no such file"),
        (["--plan", __file__, "--", "python"], 2, "test_doctor_verb.py is not a plan"),
        (["-o", "/no/such/x.json", "--", "python"], 2, "there is no folder"),
        (["-o", "train.py", "--", "python"], 2, "would be overwritten"),
        (["-o", "/tmp", "--", "/no/such"], 2, "--output /tmp: is a folder"),
        (["-o", "/proc/x.json", "--", "/no/such"], 2, "/proc/x.json: cannot be written"),
        (["--html", "/proc/x.html", "--", "/no/such"], 2, "/proc/x.html: cannot be written"),
        (["--timeline", "/proc/x.json", "--", "/no/such"], 2, "/proc/x.json: cannot be written"),
        (["-v", "--no-layers", "--", "python"], 2, "-v and --no-layers cannot be combined"),
        (["--report", "r.html", "--", "python"], 2, "tundish: --report is now --html\n"),
        (["--report=r.html", "--", "python"], 2, "tundish: --report is now --html\n"),
        (["--layers", "--", "python"], 2, "tundish: --layers is now -v\n"),
        (["--env"], 2, "tundish: --env is now tundish env\n"),
        (["--memory", "--", "python"], 2, "tundish: --memory is now --memory-lines\n"),
        (["--no-replay", "--", "a"], 2, "tundish: --no-replay is now --no-cached-batches\n"),
        (["compre", "a.json", "b.json"], 2, "unknown argument 'compre'; did you mean compare?"),
        (["--", "/no/such/program"], 127, "/no/such/program: No such file"),
    ],
)
def test_invalid_arguments_are_refused(words, code, text, capsys):
    assert main(words) == code
    assert text in capsys.readouterr().err


def test_help_starts_with_an_example(capsys):
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("examples:\n  tundish doctor -- python train.py")
