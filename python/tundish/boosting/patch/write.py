"""Writes the changes of a boost as a diff."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..search.results import BoostResult
from .by_hand import ByHand
from .diff import count_changed_lines
from .edits import CannotEdit, Edits
from .float_outputs import names_refused_loss
from .hand_code import hand_code
from .loader_patch import (
    accelerated_anywhere,
    accelerated_loop,
    keyword_of_loader,
    prepares_loaders,
)
from .model_patch import ModelCode, fused_keyword, statement_below_model, statements_on_models
from .precision_patch import autocast_call, calls_by_statement
from .project import Project
from .source_file import SourceFile

_FLAGS = {
    "tf32": [
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cudnn.allow_tf32 = True",
    ],
    "cudnn_benchmark": ["torch.backends.cudnn.benchmark = True"],
}
_NOWHERE = {"file": "", "line": 0, "end_line": 0, "end_column": 0, "kind": "", "is_direct": False}


@dataclass(frozen=True)
class Patch:
    """A unified diff. Bytes of the files that are not UTF-8 are surrogates in `text`."""

    text: str
    by_hand: list[ByHand] = field(default_factory=list)  # each is a comment in the diff, too

    @property
    def changed_lines(self) -> int:
        """Number of added and removed lines, with the comments."""
        return count_changed_lines(self.text)

    @property
    def data(self) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")


def write_patch(result: BoostResult, folder: Path | None = None) -> Patch:
    """Returns the diff that makes the kept changes in the user's files.

    `git apply` and `patch -p1` take it in the top folder of the git repository around `folder`, or
    in `folder` (default: the current one) if there is no repository.
    """
    return _Writer(result, Path(os.path.realpath(folder or Path.cwd()))).write()


class _Writer:
    def __init__(self, result: BoostResult, folder: Path) -> None:
        self._survey = _with_real_paths(result.survey)
        self._changes = [(one["name"], one.get("value", "")) for one in result.changes]
        self._project = Project(result, folder)
        self._hand: list[tuple[ByHand, dict[str, Any]]] = []

    def write(self) -> Patch:
        writers: dict[str, Callable[[str, str], None]] = {
            "accelerate": self._accelerate,
            "workers": self._loader_keyword,
            "pin_memory": self._loader_keyword,
            "tf32": self._flag,
            "cudnn_benchmark": self._flag,
            "channels_last": self._model_statement,
            "compile": self._model_statement,
            "bf16": self._autocast,
            "fused": self._fused,
        }
        for name, value in self._changes:
            writers.get(name, self._unknown)(name, value)
        lost = [one for one, site in self._hand if not self._project.comment(one, site)]
        head = "".join(line + "\n" for one in lost for line in [*one.comment(), ""])
        return Patch(head + self._project.diffs(), [one for one, _ in self._hand])

    # --- the loader ----------------------------------------------------------------------------

    def _accelerate(self, name: str, pack: str) -> None:
        made, loop = self._survey["loader_made"], {**_NOWHERE, **self._survey["loader_place"]}
        if self._survey["framework"] and self._any_file(prepares_loaders):
            reason = (
                "prepare() of Accelerate and setup_dataloaders() of Fabric need torch's DataLoader"
            )
            self._by_hand(name, pack, made, reason)
        elif made["is_direct"]:
            self._try(name, pack, made, lambda s: accelerated_anywhere(s, made, loop, pack))
        else:
            self._try(name, pack, loop, lambda s: accelerated_loop(s, loop["line"], pack))

    def _loader_keyword(self, name: str, value: str) -> None:
        made = self._survey["loader_made"]
        keyword, text = ("num_workers", value) if name == "workers" else ("pin_memory", "True")
        if made["is_direct"]:
            self._try(name, value, made, lambda s: keyword_of_loader(s, made, keyword, text))
        else:
            self._by_hand(name, value, made, "a library constructs the DataLoader")

    # --- flags ---------------------------------------------------------------------------------

    def _flag(self, name: str, value: str) -> None:
        site = {**_NOWHERE, "file": self._project.script}
        self._try(name, value, site, lambda _: Edits(flags=_FLAGS[name]))

    # --- models and optimizers -----------------------------------------------------------------

    def _model_statement(self, name: str, value: str) -> None:
        codes, models = ModelCode(name, value), self._survey["models"]
        before = len(self._hand)
        for optimizer in self._optimizers():
            if optimizer["made"]["is_direct"]:
                self._try(
                    *(name, value, optimizer["made"]),
                    partial(statements_on_models, optimizer=optimizer, models=models, codes=codes),
                )
            else:
                for model in models:
                    self._try(
                        *(name, value, model["made"]),
                        partial(statement_below_model, model=model, codes=codes),
                    )
        if len(self._hand) == before and len(codes.names) < len(_sites(models)):
            site = models[0]["made"]
            self._by_hand(name, value, site, "the names of some models were not found")

    def _unknown(self, name: str, value: str) -> None:
        self._by_hand(name, value, _NOWHERE, "this version does not write it")

    def _fused(self, name: str, value: str) -> None:
        for optimizer in self._optimizers():
            made = optimizer["made"]
            self._try(name, value, made, partial(fused_keyword, optimizer=optimizer))

    def _optimizers(self) -> list[dict[str, Any]]:
        """Returns the optimizers, one for each line that constructs some."""
        return list({str(one["made"]): one for one in self._survey["optimizers"]}.values())

    def _autocast(self, name: str, value: str) -> None:
        models = self._survey["models"]
        files = {site["file"]: site for model in models for site in model["call_sites"]}
        refused = self._any_file(names_refused_loss)
        for file, first in files.items():
            try:
                calls = calls_by_statement(self._project.draft(file).source, models)
            except CannotEdit as error:
                self._by_hand(name, value, first, str(error))
                continue
            for call in calls:
                self._try(
                    name, value, call.site, partial(autocast_call, found=call, refused=refused)
                )

    def _any_file(self, has: Callable[[SourceFile], bool]) -> bool:
        """Examines the script and the files of the survey's places."""
        models, optimizers = self._survey["models"], self._survey["optimizers"]
        sites = [site for model in models for site in (model["made"], *model["call_sites"])]
        sites += [optimizer["made"] for optimizer in optimizers]
        sites += [self._survey["loader_made"], self._survey["loader_place"]]
        for file in sorted({self._project.script, *(site["file"] for site in sites)} - {""}):
            with contextlib.suppress(CannotEdit):
                if has(self._project.draft(file).source):
                    return True
        return False

    # --- results -------------------------------------------------------------------------------

    def _try(
        self, name: str, value: str, site: dict[str, Any], edits: Callable[[SourceFile], Edits]
    ) -> None:
        """Adds the edits of a change to the file of a site, or a comment if that is impossible."""
        if not site["file"]:
            self._by_hand(name, value, site, "its place in the script is unknown")
            return
        try:
            draft = self._project.draft(site["file"])
            draft.add(edits(draft.source))
        except CannotEdit as error:
            self._by_hand(name, value, site, str(error))

    def _by_hand(self, name: str, value: str, site: dict[str, Any], reason: str) -> None:
        place = f"{site['file']}:{site['line']}" if site["line"] else site["file"]
        code = hand_code(self._project, name, value, site, self._survey)
        found = ByHand(name, reason, code, place)
        if not any(one == found for one, _ in self._hand):
            self._hand.append((found, site))


def _sites(models: list[dict[str, Any]]) -> set[str]:
    return {str(model["made"]) for model in models}


def _with_real_paths(value: Any) -> Any:
    """Resolves the paths of all sites of a survey."""
    if isinstance(value, dict):
        return {
            key: os.path.realpath(item) if key == "file" and item else _with_real_paths(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_with_real_paths(item) for item in value]
    return value
