"""Imported by Python before the script's first line if a verb put this folder on the path.

Starts the doctor's probe and the changes of a boost, then imports the environment's own sitecustomize,
if there is one. An error here must not end the user's script. It is reported, and the script runs on
without the probe or the changes. Ctrl-C here ends the process with the signal, because a
KeyboardInterrupt would be a fatal Python error with a traceback.
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


# Variables that verbs set, and the modules that they start. The changes of a boost come first: the
# probe then measures the changed script.
_MODULES = {"TUNDISH_BOOST": "boosting.inject.begin", "TUNDISH_DOCTOR": "diagnosis.probe.session"}


def _begin() -> None:
    wanted = [module for variable, module in _MODULES.items() if os.environ.get(variable)]
    if not wanted:
        return
    import importlib
    import types

    package = os.path.dirname(os.path.dirname(_HERE))
    # Parent packages without their code: tundish/__init__.py needs NumPy, which the script may
    # lack.
    parents = {_NAME: package}
    for part in ("boosting", "diagnosis"):
        parents[f"{_NAME}.{part}"] = os.path.join(package, part)
    for name, folder in parents.items():
        parent = types.ModuleType(name)
        parent.__path__ = [folder]
        sys.modules[name] = parent
    for module in wanted:
        try:
            importlib.import_module(f"{_NAME}.{module}").begin_from_environment()
        except Exception as error:
            how = (
                "unwatched" if module.startswith("diagnosis") else "without the changes of a boost"
            )
            text = f"tundish: the script runs {how}: {type(error).__name__}: {error}\n"
            sys.stderr.write(text)


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
