"""Detects models that load published weights. Their layers must not change."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .names import written

if TYPE_CHECKING:
    from .script import Script

_LOADS = {"load_state_dict_from_url", "load_url", "load_state_dict_from_hf", "hf_hub_download"}
_LOADS |= {"build_model_with_cfg", "load_pretrained"}


def loads_published_weights(script: Script) -> bool:
    """Returns whether a model defined in this file can load published weights.

    Recognizes transformers models, from_pretrained() methods, and weights from a URL or a hub.
    """
    for node in script.nodes(ast.ClassDef):
        bases = [written(base).rpartition(".")[2] for base in node.bases]
        if any(
            base.endswith("PreTrainedModel") or base == "PyTorchModelHubMixin" for base in bases
        ):
            return True
    if any(node.name == "from_pretrained" for node in script.nodes(ast.FunctionDef)):
        return True
    return any(script.calls_named(name) for name in _LOADS)
