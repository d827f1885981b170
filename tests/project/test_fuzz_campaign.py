"""The counts of fuzz/executions.json: their meaning, and when they restart."""

import importlib.util
import json

from tests.helpers.program import ROOT

spec = importlib.util.spec_from_file_location(
    "fuzz_campaign", ROOT / "tools" / "dev" / "fuzz_campaign.py"
)
fuzz_campaign = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz_campaign)

NAMES = sorted(file.stem for file in (ROOT / "fuzz").glob("*.cpp"))
LOG = """INFO: seed corpus: files: 3
#4	INITED cov: 100 ft: 120 corp: 3/30b
#50	NEW    cov: 101 ft: 130 corp: 4/40b lim: 4
#90	REDUCE cov: 101 ft: 130 corp: 4/38b lim: 4
#100	DONE   cov: 101 ft: 130 corp: 4/38b lim: 4
Done 100 runs in 2 second(s)
stat::number_of_executed_units: 100
"""


def test_every_target_names_its_parser_and_is_built():
    built = (ROOT / "cmake" / "fuzz.cmake").read_text()
    assert "file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*.cpp)" in built
    for name in NAMES:
        files = fuzz_campaign.parser_files(ROOT, name)
        assert any("src" in file.relative_to(ROOT).parts for file in files), name
        assert list((ROOT / "fuzz" / "corpus" / name).iterdir()), name


def test_the_kept_counts_are_of_targets_that_exist():
    for name, entry in fuzz_campaign.read_ledger(ROOT).items():
        assert name in NAMES
        assert entry["executions"] >= entry["last_new_edge"] >= 0
        assert entry["executions"] == 0 or entry["commits"]


def test_executions_of_runs_are_added():
    entry = fuzz_campaign.entry_of({}, "a", "state")
    fuzz_campaign.add_run(entry, LOG, 2.0, "first", ["-max_len=9"])
    assert (entry["executions"], entry["last_new_edge"]) == (100, 50)
    fuzz_campaign.add_run(entry, LOG.replace("cov: 101", "cov: 100"), 1.0, "second", [])
    assert (entry["executions"], entry["last_new_edge"]) == (200, 50)
    fuzz_campaign.add_run(entry, LOG, 1.0, "second", [])
    assert (entry["executions"], entry["last_new_edge"]) == (300, 250)
    assert (entry["cpu_seconds"], entry["commits"]) == (4.0, ["first", "second"])


def test_a_replay_before_the_run_counts_nothing():
    replay = "#3\tINITED cov: 90 ft: 1 corp: 1/1b\n#3\tDONE   cov: 90 ft: 1\n"
    assert fuzz_campaign.read_log(replay + LOG) == (100, 50)
    assert fuzz_campaign.read_log(replay) == (0, 0)


def test_changed_code_restarts_the_count(tmp_path):
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "src").mkdir()
    target = tmp_path / "fuzz" / "a.cpp"
    target.write_text('// parser: src/a.*\n#include "meter.h"\n#include "src/other.h"\n')
    for file in ("fuzz/meter.h", "src/a.cpp", "src/a_test.cpp", "src/other.h"):
        (tmp_path / file).write_text("1")
    states = [fuzz_campaign.state_of(tmp_path, "a")]

    def changes(file):
        (tmp_path / file).write_text("2")
        states.append(fuzz_campaign.state_of(tmp_path, "a"))
        return states[-1] != states[-2]

    assert changes("src/a.cpp")
    assert changes("fuzz/meter.h")
    assert not changes("src/a_test.cpp")
    assert not changes("src/other.h")
    ledger = {"a": {"state": states[-1], "executions": 7}}
    assert fuzz_campaign.entry_of(ledger, "a", states[-1])["executions"] == 7
    assert fuzz_campaign.entry_of(ledger, "a", "another")["executions"] == 0


def test_moved_files_and_comments_keep_the_count(tmp_path):
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    target = tmp_path / "fuzz" / "a.cpp"
    target.write_text('// parser: src/a.cpp\n#include "a.h"\nint x;\n')
    (tmp_path / "src" / "a.cpp").write_text('#include "b.h"\nauto s = "// text";\n')
    before = fuzz_campaign.state_of(tmp_path, "a")
    (tmp_path / "src" / "a.cpp").unlink()
    target.write_text("// parser: src/deep/a.cpp\n// A comment.\nint x;\n")
    moved = tmp_path / "src" / "deep" / "a.cpp"
    moved.write_text('#include "deep/b.h"\n\nauto s =  "// text";  /* why */\n')
    assert fuzz_campaign.state_of(tmp_path, "a") == before
    moved.write_text('auto s = "// other";\n')
    assert fuzz_campaign.state_of(tmp_path, "a") != before


def test_a_campaign_runs_until_the_number_is_reached(tmp_path, monkeypatch):
    """Replaces ./dev by a script: 100 executions per slice, a finding in the second target."""
    monkeypatch.setattr(fuzz_campaign, "commit_of", lambda root: "a commit")
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "build" / "fuzz" / "log").mkdir(parents=True)
    (tmp_path / "build" / "fuzz" / "findings").mkdir()
    for name in ("a", "b"):
        (tmp_path / "fuzz" / f"{name}.cpp").write_text("// parser: fuzz/a.cpp\n")
    (tmp_path / "log").write_text(LOG)
    dev = tmp_path / "dev"
    dev.write_text(
        """#!/bin/sh
cp log build/fuzz/log/$2.log
echo "$@" >>calls
[ $2 = a ] || { touch build/fuzz/findings/b-crash; exit 1; }
"""
    )
    dev.chmod(0o755)
    assert fuzz_campaign.campaign(tmp_path, ["a", "b"], 250, 10) == 1
    kept = json.loads((tmp_path / "fuzz" / "executions.json").read_text())
    assert kept["a"]["executions"] == 300
    assert kept["a"]["findings"] == []
    assert kept["b"]["findings"] == ["b-crash"]
    calls = (tmp_path / "calls").read_text().split("\n")
    assert [call.split()[-1] for call in calls[:4]] == ["250", "150", "50", "250"]
    assert fuzz_campaign.campaign(tmp_path, ["a"], 250, 10) == 0  # nothing left to do
    assert (tmp_path / "calls").read_text().split("\n") == calls
