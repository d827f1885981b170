"""Imported by Python before the script's first line if `tundish doctor` put this folder on the path.

Starts the probe, then imports the environment's own sitecustomize, if there is one. An error here must
not end the user's script. It is reported, and the script runs unwatched. Ctrl-C here ends the process
with the signal, because a KeyboardInterrupt would be a fatal Python error with a traceback.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

# Python has already imported all three modules, so this does not access the disk.
_raises = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if _raises:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "tundish_doctor_watch"


def _begin() -> None:
    text = os.environ.get("TUNDISH_DOCTOR")
    if not text:
        return
    import importlib
    import types

    probe = os.path.dirname(_HERE)
    diagnosis = os.path.dirname(probe)
    # Create the parent packages without running their code. tundish/__init__.py needs NumPy, which
    # the script's environment may lack.
    parents = {_NAME: os.path.dirname(diagnosis), f"{_NAME}.diagnosis": diagnosis}
    for name, folder in parents.items():
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    session = importlib.import_module(f"{_NAME}.diagnosis.probe.session")
    settings = importlib.import_module(f"{_NAME}.diagnosis.probe.settings")
    session.begin_in_script(*settings.from_variable(text))


def _environment_has_sitecustomize() -> bool:
    import importlib.machinery

    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    return importlib.machinery.PathFinder.find_spec("sitecustomize") is not None


def _import_environment_sitecustomize() -> None:
    import importlib

    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


try:
    _begin()
except Exception as error:
    sys.stderr.write(f"tundish: the script runs unwatched: {type(error).__name__}: {error}\n")
_found = _environment_has_sitecustomize()
if _raises:
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
if _found:
    _import_environment_sitecustomize()
