"""`tundish env`: findings about the machine, for people, issues and programs."""

import json
import os
import re
import sys
import types

import pytest
from tundish import __main__ as entry
from tundish.diagnosis.environment import torch_versions

from tests.helpers.program import ROOT, err, needs_program, out, tundish

pytestmark = needs_program
FAKE = ROOT / "build" / "release" / "libfake_nvml.so"
KEYS = {"area", "name", "level", "figure", "reason", "fix", "values"}


def environment(*words, fake=None, folder=None, **variables):
    """Returns the JSON of `tundish env`; `fake` describes the fake driver, None means no driver."""
    variables = {**os.environ, **variables}
    if fake is not None:
        link = folder / "libnvidia-ml.so.1"
        if not link.exists():
            link.symlink_to(FAKE)
        variables |= {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML": fake}
    result = tundish("env", *words, "--json", env=variables)
    found = json.loads(result.stdout)
    assert result.returncode == (1 if found["worst"] == "problem" else 0), err(result)
    return found


def named(found, area, name):
    (one,) = [x for x in found["findings"] if x["area"] == area and x["name"] == name]
    return one


def test_the_json_has_the_keys_documented_in_the_help():
    text = out(tundish("env", "--help"))
    assert text.startswith("examples:\n  tundish env\n")
    assert max(map(len, text.splitlines())) <= 88
    assert out(tundish("help", "env")) == text
    promised = set(re.findall(r"\w+", re.search(r"with --json:\n\{(.*?)\}", text, re.S)[1]))
    found = environment()
    assert set(found) == promised
    assert {one["area"] for one in found["findings"]} >= {"software", "cpu", "memory"}
    for one in found["findings"]:
        assert set(one) == KEYS
        assert one["figure"]
        assert bool(one["reason"]) == (one["level"] != "ok") == bool(one["fix"])
    assert sum(found["counts"].values()) == len(found["findings"])


def test_a_fake_gpu_is_judged_through_the_library_that_is_loaded(tmp_path):
    well = environment(fake="", folder=tmp_path)
    assert named(well, "software", "NVIDIA driver")["figure"] == "550.54.15, for CUDA 12.4, 1 GPU"
    gpu = [one for one in well["findings"] if one["area"] == "gpu 0"]
    assert {one["name"] for one in gpu} >= {"throttling", "power limit", "clocks", "PCIe", "ECC"}
    assert {one["level"] for one in gpu} == {"ok"}
    ill = environment(fake="count=2,pcie_width=4,uncorrected_errors=3", folder=tmp_path)
    assert named(ill, "gpu 1", "PCIe")["level"] == "problem"
    assert "--gpu-reset" in named(ill, "gpu 1", "ECC")["fix"]
    assert ill["worst"] == "problem"


def test_a_driver_that_does_not_start_is_named(tmp_path):
    found = environment(fake="start=18", folder=tmp_path)
    driver = named(found, "software", "NVIDIA driver")
    assert driver["level"] == "problem"
    assert "reboot" in driver["fix"]


def test_threads_beyond_the_cpus_are_found():
    found = environment(OMP_NUM_THREADS="4096")
    threads = named(found, "cpu", "threads")
    assert threads["level"] == "problem"
    assert threads["fix"].startswith("export OMP_NUM_THREADS=")


def test_the_storage_of_a_pack_is_measured_at_its_record_size(photos):
    found = environment(photos.pack)
    assert named(found, "storage", "file system")["values"]["total_bytes"] > 0
    random = named(found, "storage", "random reading")["values"]
    assert random["record_bytes"] == os.stat(photos.pack).st_size // photos.count
    for depth in (1, 4, 16, 64):
        assert random[f"reads_per_second_{depth}"] > 0
    assert named(found, "storage", "sequential reading")["values"]["bytes_per_second"] > 0
    assert 0 <= named(found, "storage", "page cache")["values"]["share"] <= 1


def test_small_files_are_read_whole_and_nothing_is_read_without_the_test(photos):
    found = environment(photos.folder, "--no-read-test")
    names = {one["name"] for one in found["findings"] if one["area"] == "storage"}
    assert names == {"file system", "page cache"}


def test_a_path_that_is_missing_or_empty_is_named(tmp_path):
    result = tundish("env", tmp_path / "absent")
    assert result.returncode == 1
    assert "absent" in err(result)
    empty = named(environment(tmp_path), "storage", "file system")
    assert empty["level"] == "problem"


def test_markdown_is_a_table_for_an_issue():
    text = out(tundish("env", "--markdown"))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[1] == "|---|---|---|---|---|"
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert len(rows) > 8
    both = tundish("env", "--markdown", "--json")
    assert both.returncode == 2


def test_python_forwards_env_to_the_program(monkeypatch):
    started = []
    monkeypatch.setattr(os, "execv", lambda program, words: started.append(words[1:]))
    entry.main(["env", "x"])
    assert started == [["env", "x"]]


def test_python_verbs_keep_their_arguments(monkeypatch):
    started = []
    monkeypatch.setattr(os, "execv", lambda *words: started.append(words))
    kept = []
    fake = types.SimpleNamespace(main=lambda words: kept.append(words) or 0)
    monkeypatch.setattr(entry, "_import_or_exit", lambda module: fake)
    assert entry.main(["doctor", "--", "python", "train.py", "--env"]) == 0
    assert entry.main(["check", "--env"]) == 0
    assert kept == [["--", "python", "train.py", "--env"], ["--env"]]
    assert started == []


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Creates a site-packages folder with a torch that requires NVIDIA packages."""

    def make(version_py, requires=(), installed=()):
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('imported')")
        (tmp_path / "torch" / "version.py").write_text(version_py)
        for name, version, needs in [("torch", "9.9", requires), *installed]:
            info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
            lines += [f"Requires-Dist: {one}" for one in needs]
            (info / "METADATA").write_text("\n".join(lines) + "\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        return torch_versions.torch_versions()

    return make


def test_versions_are_read_without_importing_torch(made_up):
    found = made_up(
        "__version__ = '9.9+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n",
        [
            "filelock",
            "nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'",
            "nvidia-nccl-cu12 (==2.27) ; platform_system == 'Linux'",
            "nvidia-thing-cu12==1.0; platform_system == 'Windows'",
        ],
        [("nvidia-cudnn-cu12", "9.1", []), ("nvidia-nccl-cu12", "2.27", [])],
    )
    assert found["torch"] == "9.9+cu128"
    assert found["cuda"] == "12.8"
    assert found["hip"] == ""
    assert found["cudnn"] == "9.1"
    wrong = [{"package": "nvidia-cudnn-cu12", "wanted": "9.10.2.21", "installed": "9.1"}]
    assert found["wrong"] == wrong


def test_a_corrupt_torch_is_described_as_far_as_possible(made_up):
    found = made_up("\x00 cuda = \n__version__ = 3\n", ["nvidia-x==", "==", ";;"])
    assert found["torch"] == found["cuda"] == ""
    assert found["wrong"] == []
