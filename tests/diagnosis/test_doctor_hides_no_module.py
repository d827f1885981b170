"""Files of the script's folder are imported as without the doctor, whatever their names are."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import threading

from torch.utils.data import DataLoader
from tundish.diagnosis.probe.imports import AfterImport
from tundish.diagnosis.probe.settings import VARIABLE, Settings, to_variable
from tundish.diagnosis.process.command import _START

from tests.helpers import plants

# loaded by Python's start in a watched script; torch loads all others too
KNOWN = {"sitecustomize", "sysconfig", "tundish_doctor_watch"}
TEXT = "import json, sys; before = set(sys.modules); import torch; print(json.dumps([*{}]))"


def modules(folder, which, **variables):
    code = TEXT.format(which)
    environment = {**os.environ, **variables}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, check=True
    )
    return {name for name in json.loads(ended.stdout) if "." not in name and name[0] != "_"}


def test_the_watch_imports_only_modules_that_torch_imports(tmp_path):
    variable = to_variable(os.fspath(tmp_path), Settings())
    early = modules(tmp_path, "before", PYTHONPATH=_START, **{VARIABLE: variable})
    assert "tundish_doctor_watch" in early
    assert early - KNOWN <= modules(tmp_path, "sys.modules")


class OwnFinder:
    """Finds one module, as the finder of an editable installation does."""

    def __init__(self, spec):
        self.spec = spec

    def find_spec(self, name, path, target=None):
        return self.spec if name == self.spec.name else None


def test_modules_of_other_finders_are_seen(tmp_path):
    (tmp_path / "far.py").write_text("x = 1\n")
    finder = OwnFinder(importlib.util.spec_from_file_location("far_away", tmp_path / "far.py"))
    seen = []
    hook = AfterImport({"far_away": lambda: seen.append(sys.modules["far_away"].x)})
    sys.meta_path.append(finder)
    try:
        hook.install()
        importlib.import_module("far_away")
    finally:
        hook.uninstall()
        sys.meta_path.remove(finder)
        sys.modules.pop("far_away", None)
    assert seen == [1]


def test_a_loop_in_a_thread_ends_by_an_exception_that_threading_does_not_print():
    ended = []

    def train():
        try:
            plants.train(DataLoader(plants.Samples(), 4))
        except SystemExit as error:
            ended.append(type(error))

    with plants.watched(stop=True):
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert ended == [SystemExit]  # no subclass
