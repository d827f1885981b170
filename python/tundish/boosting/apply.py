"""`tundish.boost`: makes the changes of a saved result in this process."""

from __future__ import annotations

import os
from typing import Any

from . import boost_file
from .inject.begin import begin
from .inject.request import VARIABLE, request_of_result

_active: list[Any] = []  # the injector, so that a second call does nothing


def boost(path: str | os.PathLike[str] = "boost.json") -> None:
    """Makes the changes that `tundish boost` found, in this process.

        import tundish

        tundish.boost("boost.json")  # before the model and the loader are used

    Models, optimizers and loaders are changed when the training loop first uses them. One line on
    stderr tells what is active. Objects that differ from those of the search stay as they are, and the
    line says so. Under `tundish run --boost`, and in a second call, it does nothing.

    path  the file that `tundish boost` wrote
    """
    values = boost_file.load(os.fspath(path))
    if os.environ.get(VARIABLE) or _active:
        return
    _active.append(begin(request_of_result(values, os.fspath(path))))
