"""Writes seeds, some hostile, of fuzz/corpus/pickle, pth and cifar_pickle; needs torch."""

import collections
import os
import pickle
from pathlib import Path

import numpy as np
import torch

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def cifar():
    pixels = np.arange(3072, dtype=np.uint8).reshape(1, 3072)
    ten = {b"batch_label": b"1", b"labels": [6], b"data": pixels, b"filenames": [b"a.png"]}
    hundred = {"fine_labels": [19], "coarse_labels": [11], "data": pixels}
    for protocol in (0, 2, 4, 5):
        for name, value in (("ten", ten), ("hundred", hundred)):
            (CORPUS / "cifar_pickle" / f"{name}-{protocol}").write_bytes(
                pickle.dumps(value, protocol)
            )
    wrong = {
        "empty": {"data": pixels[:0], "labels": []},
        "uneven": {"data": pixels, "labels": [1, 2]},
        "floats": {"data": pixels[:0].astype(np.float32), "labels": []},
        "turned": {"data": np.asfortranarray(np.zeros((2, 3072), np.uint8)), "labels": [1, 2]},
        "names": {"data": pixels, "labels": ["cat"]},
        "calls": {"data": Calls(os.system, "echo hi"), "labels": [1]},
        "nothing": {"label_names": ["cat", "dog"]},
    }
    for name, value in wrong.items():
        (CORPUS / "cifar_pickle" / name).write_bytes(pickle.dumps(value, 2))


def main():
    cifar()
    plain = {
        "a": [1, 2.5, None, True, 2**80, -(2**40)],
        b"b": ("é", {1, 2}),
        "c": collections.OrderedDict(x=1),
    }
    array = {"data": np.arange(12, dtype=np.uint8).reshape(2, 6), "labels": [1, 2]}
    itself = []
    itself.append(itself)
    for protocol in range(6):
        (CORPUS / "pickle" / f"plain-{protocol}").write_bytes(pickle.dumps(plain, protocol))
        (CORPUS / "pickle" / f"array-{protocol}").write_bytes(pickle.dumps(array, protocol))
    hostile = {"system": Calls(os.system, "echo hi"), "eval": Calls(eval, "1"), "itself": itself}
    for name, value in hostile.items():
        for protocol in (0, 4):
            (CORPUS / "pickle" / f"{name}-{protocol}").write_bytes(pickle.dumps(value, protocol))
    # 60 nested lists; each contains the previous list twice.
    twice = b"\x80\x04]\x94" + b"".join(b"]\x94(h%ch%ce" % (i, i) for i in range(60)) + b"."
    (CORPUS / "pickle" / "doubling").write_bytes(twice)
    small = {"images": torch.zeros(2, 3, 4, dtype=torch.uint8), "labels": torch.tensor([1, 2])}
    torch.save(small, CORPUS / "pth" / "zip")
    torch.save(small, CORPUS / "pth" / "legacy", _use_new_zipfile_serialization=False)
    rows = [(torch.zeros(2, 2), 1), (torch.ones(2, 2), 0)]
    torch.save(rows, CORPUS / "pth" / "rows-legacy", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
