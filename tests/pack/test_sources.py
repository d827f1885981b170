"""Refuses sources that are no folder, archive or list; opens sources without starting threads."""

import json
import subprocess

import pytest
import tundish

from tests.helpers.program import PROGRAM, needs_program
from tests.helpers.program import tundish as program
from tests.helpers.small_set import SHIM

pytestmark = needs_program


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("missing", None, "TND-301"),
        ("a.tar", b"", "TND-310"),
        ("a.tar", b"nonsense", "TND-306"),
        ("a.bin", b"nonsense", "TND-304"),
        ("a.csv", b"", "TND-308"),
        ("a.csv", b"path\n", "TND-302"),
    ],
)
def test_unsupported_sources_are_refused(name, data, code, tmp_path):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    result = json.loads(
        subprocess.run(
            [PROGRAM, "pack", tmp_path / name, "-o", tmp_path / "out.tnd", "--json"],
            capture_output=True,
            timeout=120,
        ).stdout
    )
    assert result["error"]["code"] == code
    assert not (tmp_path / "out.tnd").exists()


@pytest.mark.parametrize("address", ["s3://bucket/photos", "https://example.org/train.tnd"])
def test_the_address_of_remote_data_is_refused_with_the_remedy(address, tmp_path):
    with pytest.raises(tundish.Error) as error:
        tundish.Loader(address, 4)
    assert error.value.code == "TND-304"
    assert "download the data" in str(error.value)
    assert "spelling" not in str(error.value)
    words = ["pack", address, "-o", tmp_path / "out.tnd"]
    assert "TND-304" in program(*words).stderr.decode()


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes it")
def test_a_source_opens_where_no_thread_can_be_started(tiny, run_python):
    code = """
import sys, tundish
print(len(tundish.Dataset(sys.argv[1])))
try:
    tundish.Dataset("gone")
except tundish.MissingError:
    print("gone")
"""
    faults = {"FAIL_CALL": "thread", "FAIL_NTH": "1", "FAIL_ERRNO": "11", "FAIL_KEEP": "1"}
    env = {"LD_PRELOAD": str(SHIM), "OPENBLAS_NUM_THREADS": "1"} | faults
    assert run_python(code, tiny.pack, env=env).stdout == f"{tiny.count}\ngone\n"
