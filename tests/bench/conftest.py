import subprocess

import pytest

from tests.helpers.bench_runs import ROOT

MAKE_SAMPLES = ROOT / "build" / "release" / "make_samples"


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples") / "images"
    subprocess.run([MAKE_SAMPLES, folder, "24", "3"], check=True)
    return folder
