"""Python imports this before the script's first line when `tundish doctor` put its folder on the path.

It starts the watch, then imports the sitecustomize that the environment has of its own, if any. An
error here must not end the user's script: it is reported and the script runs unwatched. Ctrl-C here
ends the process as a signal does; as an exception it would be a fatal error of Python, with a traceback.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

# All three are imported already: nothing is looked for on a disk before this.
_raises = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if _raises:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "tundish_doctor_watch"


def _begin() -> None:
    text = os.environ.get("TUNDISH_DOCTOR")
    if not text:
        return
    import importlib.util

    folder = os.path.dirname(_HERE)
    spec = importlib.util.spec_from_file_location(
        _NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = package
    spec.loader.exec_module(package)
    session = importlib.import_module(f"{_NAME}.session")
    settings = importlib.import_module(f"{_NAME}.settings")
    session.begin_in_script(*settings.from_variable(text))


def _environment_has_its_own() -> bool:
    import importlib.machinery

    sys.path[:] = [one for one in sys.path if os.path.abspath(one or ".") != _HERE]
    return importlib.machinery.PathFinder.find_spec("sitecustomize") is not None


def _import_the_environments_own() -> None:
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
_found = _environment_has_its_own()
if _raises:
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
if _found:
    _import_the_environments_own()
