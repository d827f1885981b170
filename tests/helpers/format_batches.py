"""Compares batches from another file format with batches from a pack, and checks broken files.

A broken file must be refused within limits of memory and time.
"""

import json
import resource

import numpy as np
import tundish
from tundish import transforms as T
from tundish.data.batch.untransformed_fields import array_fields
from tundish.data.open_source import as_source

from tests.helpers import program

MEMORY = 1 << 30  # limit of the address space in bytes, far more than the small test files need


def batches(path, **options):
    """Returns all batches of one epoch in order, with every field as nested lists or arrays."""
    options = {"untransformed": array_fields(as_source(path)), "as_dict": True, **options}
    with tundish.Loader(path, 2, transforms=[T.Resize((8, 8))], **options) as loader:
        return [
            {
                name: value.numpy().copy() if hasattr(value, "numpy") else value
                for name, value in batch.items()
            }
            for batch in loader
        ]


def check_same_batches(path, pack):
    tundish.pack(str(path), str(pack), progress=False)
    first, second = batches(str(path)), batches(str(pack))
    assert len(first) == len(second) > 0
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_equal(one[name], other[name])
    return first


def refusal(path):
    """Returns the error code and message for a file that cannot be opened. Limits the memory."""
    result = program.tundish("info", "--list", path, "--json", preexec_fn=_limit_memory)
    assert result.returncode in (1, 3), (result.returncode, result.stderr.decode())
    error = json.loads(result.stdout)["error"]
    return error["code"], error["message"]


def check_refused(path, data, code, reason):
    """Checks that a file with these bytes is refused with this code, and `reason` in the message."""
    path.write_bytes(data)
    found, message = refusal(path)
    assert (found, reason in message) == (code, True), message


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
