"""Explains common mistakes in a training step, which it recognizes by torch's error message.

The patterns match the messages of torch 2.11 and 2.13, on a CPU and on a GPU.
"""

from __future__ import annotations

import re

from ..._c.errors import ArgumentError

_CLASSES = "class labels are int64, as in targets.long(), one for each sample"
_SAME_TYPE = "give the loss targets of the type of the model's outputs, as in targets.float()"
_INPUTS = "give the model inputs of the type of its weights, as in inputs.float()"
_RANGE = "labels must be from 0 to the number of classes minus 1: compare targets.max() with the outputs of the last layer"

# (pattern, fix). The first matching pattern decides.
_FIXES = (
    (
        r"does not require grad and does not have a grad_fn",
        "the loss has no gradient: compute it from the model's outputs by functions that have one; not with "
        "argmax(), .detach(), .item(), torch.tensor(loss) or inside torch.no_grad()",
    ),
    (
        r"grad can be implicitly created only for scalar outputs",
        'the loss must be a single number: end loss_fn with .mean(), or leave out reduction="none"',
    ),
    (
        r"'(float|int|ndarray)' object has no attribute 'backward'",
        "return the loss as a tensor: without .item(), float() or .numpy()",
    ),
    (
        r"'(tuple|list|dict)' object has no attribute 'backward'",
        "loss_fn must return the loss alone, without the outputs or metrics",
    ),
    (r"'NoneType' object has no attribute 'backward'", "end loss_fn with: return loss"),
    (r"Target -?\d+ is out of bounds", _RANGE),
    (
        r"device-side assert triggered",
        "an index was out of range on the GPU, most often a label: "
        + _RANGE
        + "; run the step on the CPU to see the index",
    ),
    (
        r"index out of range in self",
        "an embedding got an index that is not below its num_embeddings: compare inputs.max() with it",
    ),
    (r"expected target dtype to be Long|expected scalar type Long but found", _CLASSES),
    (r"nll_loss\w*\" not implemented for", _CLASSES),
    (
        r"0D or 1D target tensor expected",
        _CLASSES + ": targets of shape (N,), as in targets.squeeze(1)",
    ),
    (r"can't be cast to the desired output type", _SAME_TYPE),
    (r"Found dtype \w+ but expected", _SAME_TYPE),
    (r"mat1 and mat2 must have the same dtype", _INPUTS),
    (r"Input type \(.*\) and (weight|bias) type \(.*\) should be the same", _INPUTS),
    (
        r"scalar types: Long, Int; but got",
        "give the embedding integers, as in inputs.long()",
    ),
    (
        r"Target size .* must be the same as input size",
        "give targets the shape of the model's outputs, as in targets.view_as(outputs)",
    ),
    (
        r"Expected input batch_size .* to match target batch_size",
        "inputs and targets of a batch must have the same number of samples",
    ),
    (
        r"must be Tensor, not \w+",
        "the model does not return a tensor: extract the tensor in "
        "loss_fn(model, batch), which does the forward pass itself",
    ),
    (
        r"takes .*positional arguments? but .* given|missing \d+ required positional argument",
        "the step calls loss_fn(model(batch[0]), *batch[1:]); a loss_fn whose first argument is named "
        "model is called as loss_fn(model, batch)",
    ),
)


def build_error(function: str, text: str, details: str) -> ArgumentError:
    """Returns the error for a build() that fails before any step.

    function  name of the function; empty for a pickled job
    """
    where = f"{function}()" if function else "the pickled job"
    return ArgumentError(
        f"{where} fails: {text}\n"
        f"  fix: call {where} by hand until it works; it runs in its own process, without "
        f"your main program's setup\n{details.rstrip()}".rstrip()
    )


def late_build_error(function: str, minutes: float) -> ArgumentError:
    """Returns the error for a build() that takes longer than the whole run may take."""
    where = f"{function}()" if function else "the pickled job"
    verb = "did not return" if function else "was not loaded"
    return ArgumentError(
        f"{where} {verb} within {minutes:g} minutes, the limit of this run\n"
        f"  fix: find out where it waits: a download, a lock, another rank; --minutes gives more time"
    )


def late_step_error(steps: int, minutes: float) -> ArgumentError:
    """Returns the error for a step that, even without tricks, takes longer than the whole run may take."""
    return ArgumentError(
        f"your step did not finish its first {steps} runs within {minutes:g} minutes, the limit of this run\n"
        "  fix: find out where it waits: a lock, a data loader, another rank; --minutes gives more time"
    )


def fix_of(message: str) -> str:
    """Returns the fix for a failed step, or an empty string for an unknown message."""
    return next((fix for pattern, fix in _FIXES if re.search(pattern, message)), "")
