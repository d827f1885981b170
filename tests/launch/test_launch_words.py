"""`tundish run`: its arguments, the output of --dry-run and --json, and errors."""

import json
import re
import subprocess
import sys

import pytest
from tundish import __main__
from tundish.launch import run_verb as cli
from tundish.launch.gpus import Gpu
from tundish.launch.run_options import ARGUMENTS


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "visible_gpus", lambda: ([], ""))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('ran')")


def test_arguments_after_the_script_belong_to_the_script(tmp_path):
    words = ["--ranks", "2", "train.py", "--json", "--help", "--", "-m"]
    options = ARGUMENTS.parse(words)
    assert options.script == "train.py"
    assert options.arguments == ["--json", "--help", "--", "-m"]
    assert (options.ranks, options.json, options.help, options.m) == (2, False, False, False)


def test_the_script_may_follow_two_dashes_or_be_a_module():
    assert ARGUMENTS.split(["--logs", "a", "--", "-x.py", "b"]) == (["--logs", "a"], ["-x.py", "b"])
    options = ARGUMENTS.parse(["-m", "package.train", "-m"])
    assert options.m
    assert (options.script, options.arguments) == ("package.train", ["-m"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "SCRIPT is missing\n  fix: tundish run train.py"),
        (["trian.py"], "trian.py: no such script\n  fix: did you mean train.py?"),
        (["no/train.py"], "no/train.py: there is no folder no\n  fix: "),
        (["."], ". is a folder\n  fix: name a script in this folder"),
        (["--rank", "2", "train.py"], "unknown option '--rank'; did you mean --ranks?"),
        (["--ranks", "0", "train.py"], "--ranks: '0' is not a whole number from 1 to 99999"),
        (["--ranks", "two", "train.py"], "'two' is not a whole number from 1 to 99999"),
        (["--grace", "-1", "train.py"], "'-1' is not a number of seconds"),
        (["--grace", "nan", "train.py"], "'nan' is not a number of seconds"),
        (["--node-rank", "1", "train.py"], "--node-rank is for --nodes N"),
        (["--nodes", "2", "train.py"], "2 machines need --node-rank N\n  fix: tundish run"),
        (["--node", "1", "train.py"], "--node is now --node-rank"),
        (["--nodes", "2", "--node-rank", "0", "train.py"], "2 machines need --address HOST"),
        (["--nodes", "2", "--node-rank", "2", "--address", "a", "train.py"], "use 0 to 1"),
        (["--address", "a:b", "train.py"], "'b' is not a port"),
        (["--logs", "train.py", "train.py"], "--logs train.py: is a file\n  fix: "),
        (["--logs", "/proc/logs", "train.py"], "--logs /proc/logs: No such file or directory\n"),
    ],
)
def test_invalid_arguments_are_explained_and_nothing_runs(words, said, capsys):
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert err.startswith("tundish: ")
    assert said in err
    assert out == ""


def test_more_ranks_than_gpus_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(cli, "visible_gpus", lambda: ([Gpu(0, "a GPU", "0000:01:00.0")], ""))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cli.main(["--ranks", "2", "--json", "train.py"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["message"].startswith("2 ranks, but 1 GPU is visible")
    assert "fix: --ranks 1" in err


def test_a_driver_that_fails_is_noted(monkeypatch, capsys):
    monkeypatch.setattr(cli, "visible_gpus", lambda: ([], "the CUDA driver reports X"))
    assert cli.main(["--dry-run", "train.py"]) == 0
    assert capsys.readouterr().err == "tundish: the CUDA driver reports X\n"
    assert cli.main(["--dry-run", "-q", "train.py"]) == 0
    assert capsys.readouterr().err == ""


def test_a_dry_run_prints_what_each_rank_gets_and_starts_nothing(monkeypatch, capsys):
    gpus = [Gpu(i, "NVIDIA X", f"0000:0{i}:00.0", i, (2 * i, 2 * i + 1)) for i in range(2)]
    monkeypatch.setattr(cli, "visible_gpus", lambda: (gpus, ""))
    monkeypatch.setattr(cli, "usable_cpus", lambda: {0, 1, 2, 3})
    monkeypatch.setattr(cli, "Supervisor", None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert cli.main(["--dry-run", "train.py", "--lr", "0.1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("python train.py --lr 0.1, 2 times on this machine\n")
    assert "GPU 1 NVIDIA X (0000:01:00.0, NUMA node 1); CPUs" in out
    assert "  rank 1    RANK=1 LOCAL_RANK=1" in out
    assert re.search(r"^    MASTER_PORT=\d+$", out, re.M)
    assert re.search(r"^    WORLD_SIZE=2$", out, re.M)


def test_a_dry_run_as_json_has_the_documented_keys(capsys):
    words = ["--nodes", "2", "--node-rank", "1", "--address", "host0", "--ranks", "2"]
    assert cli.main([*words, "--dry-run", "--json", "train.py", "x"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["command"] == ["python", "train.py", "x"]
    assert (values["nodes"], values["node_rank"], values["world_size"]) == (2, 1, 4)
    assert [one["rank"] for one in values["ranks"]] == [2, 3]
    assert values["ranks"][1]["environment"]["MASTER_PORT"] == "29500"
    assert keys_of(values) <= documented()


def keys_of(values):
    return {*values, *(key for one in values["ranks"] for key in one)}


def documented():
    return set(re.findall(r"[a-z_]+", ARGUMENTS.help().split("with --json:")[1]))


def test_help_starts_with_an_example_and_needs_no_script(capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("examples:\n  tundish run train.py\n")
    assert max(len(line) for line in out.splitlines()) <= 80
    for action in ARGUMENTS._parser._actions:
        assert all(name in out for name in action.option_strings)


def test_the_package_finds_the_verb(capsys):
    assert __main__.main(["run", "--dry-run", "-q", "train.py"]) == 0
    assert "RANK=0" in capsys.readouterr().out


def test_the_launcher_needs_no_torch():
    code = (
        "import sys; from tundish.__main__ import main; code = main(['run', '--dry-run', 'train.py'])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0
