"""`tundish.pack(dataset, ...)`: sequences, torch Datasets, iterables and Hugging Face datasets."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import torch
import tundish
from PIL import Image

from tests.helpers.program import needs_program
from tests.helpers.program import tundish as run
from tests.helpers.python_sets import Arrays, Killed, Unpicklable, WithBadSamples, photo, pixels

pytestmark = needs_program
ROOT = Path(__file__).resolve().parents[2]


def packed(dataset, tmp_path, **options):
    """Returns the samples of the pack as dicts, in order."""
    tundish.pack(dataset, tmp_path / "a.tnd", **options)
    loader = tundish.Loader(tmp_path / "a.tnd", 1, as_dict=True, on_error="fail")
    return [{name: value[0] for name, value in batch.items()} for batch in loader]


def same_image(tensor, array):
    """Compares a Loader's (3, H, W) with NumPy's (H, W, 3) or (H, W)."""
    array = array if array.ndim == 3 else array[:, :, None]
    return np.array_equal(
        tensor.numpy(), np.broadcast_to(array, (*array.shape[:2], 3)).transpose(2, 0, 1)
    )


def test_tuples_of_images_and_labels_are_loaded_as_the_data_set_gives_them(tmp_path):
    dataset = Arrays(20)
    rows = packed(dataset, tmp_path)
    assert len(rows) == 20
    for row, (image, label) in zip(rows, dataset, strict=False):
        assert same_image(row["image"], image)
        assert row["label"] == label
    assert tundish.Dataset(tmp_path / "a.tnd").classes == ["cat", "dog"]
    assert run("verify", tmp_path / "a.tnd").returncode == 0


def test_every_kind_of_field_is_restored(tmp_path):
    def sample(i):
        return {
            "caption": f"photo {i} \u00e9",
            "weight": i / 3,
            "raw": bytes([i, 0, 255]),
            "matrix": np.full((2, 3), i, ">f8"),
            "boxes": np.zeros((i, 4), np.float32),
            "views": i + 2**40,
            "flag": i % 2 == 0,
            "points": [i, i + 1],
            "half": torch.full((2,), i, dtype=torch.bfloat16),
            "mask": Image.fromarray(np.full((2, 2), i, np.uint8)),
            "image": pixels(i),
            "label": np.int64(i),
        }

    rows = packed([sample(i) for i in range(5)], tmp_path)
    for i, row in enumerate(rows):
        assert (row["caption"], row["raw"]) == (f"photo {i} \u00e9", bytes([i, 0, 255]))
        assert row["weight"] == i / 3
        assert row["matrix"].dtype == torch.float64
        assert (row["matrix"] == i).all()
        assert row["boxes"].shape == (i, 4)
        assert row["views"] == i + 2**40
        assert row["flag"] == (i % 2 == 0)
        assert row["points"].tolist() == [i, i + 1]
        assert (row["half"].view(torch.bfloat16) == i).all()
        assert (row["mask"] == i).all()
        assert same_image(row["image"], pixels(i))
        assert row["label"] == i


def test_encoded_images_keep_their_bytes(tmp_path):
    files = [photo(i) for i in range(3)]
    (tmp_path / "photo.jpg").write_bytes(files[1])
    lazy = Image.open(tmp_path / "photo.jpg")  # Pillow has not read the pixels yet
    tundish.pack([(files[0], 0), (lazy, 1), (files[2], 2)], tmp_path / "a.tnd")
    assert run("unpack", tmp_path / "a.tnd", "-o", tmp_path / "out").returncode == 0
    found = [file.read_bytes() for file in sorted((tmp_path / "out").rglob("0000*"))]
    assert found == files
    assert np.asarray(lazy).shape[2] == 3  # still usable


def test_pillow_images_are_stored_without_loss(tmp_path):
    data = pixels(1)
    cropped = Image.open(io.BytesIO(photo(1))).crop((1, 2, 9, 8))
    drafted = Image.open(io.BytesIO(photo(1, 64)))
    drafted.draft("RGB", (16, 16))
    images = {
        "RGB": Image.fromarray(data),
        "L": Image.fromarray(data[:, :, 0]),
        "RGBA": Image.fromarray(np.dstack([data, data[:, :, 0]])),
        "P": Image.fromarray(data).quantize(8),
        "1": Image.fromarray(data[:, :, 0]).convert("1"),
        "cropped": cropped,
        "drafted": drafted,
    }
    expected = [
        np.asarray(image.convert("RGB")) for image in images.values() if image is not drafted
    ]
    rows = packed([{"image": image} for image in images.values()], tmp_path)
    expected.append(np.asarray(drafted.convert("RGB")))
    for row, array in zip(rows, expected, strict=True):
        assert same_image(row["image"], array)


def test_tensors_are_images_with_the_channels_first_or_arrays(tmp_path):
    class Set(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return torch.from_numpy(pixels(i).transpose(2, 0, 1).copy()), torch.tensor(i)

    for i, row in enumerate(packed(Set(), tmp_path)):
        assert same_image(row["image"], pixels(i))
        assert row["label"] == i
    floats = torch.utils.data.TensorDataset(torch.rand(4, 3, 5, 5), torch.arange(4))
    tundish.pack(floats, tmp_path / "floats.tnd")
    [(arrays, labels)] = tundish.Loader(tmp_path / "floats.tnd", 4)
    assert torch.equal(arrays["field0"] if isinstance(arrays, dict) else arrays, floats.tensors[0])
    with pytest.warns(UserWarning, match="'field0' is packed as a plain array .* leave ToTensor"):
        tundish.pack([(torch.rand(3, 8, 9), 1)], tmp_path / "pictures.tnd")
    assert labels.tolist() == [0, 1, 2, 3]


def test_vectors_are_labels_where_the_classes_are_known(tmp_path):
    vectors = np.random.default_rng(0).random((6, 3)).astype(np.float32)
    dataset = [(pixels(i), vectors[i]) for i in range(6)]
    tundish.pack(dataset, tmp_path / "a.tnd", classes=["a", "b", "c"])
    [(_, labels)] = tundish.Loader(tmp_path / "a.tnd", 6)
    assert np.array_equal(labels.numpy(), vectors)
    assert "field1" in packed(dataset, tmp_path, force=True)[0]


def test_single_values_and_named_tuples_are_packed(tmp_path):
    rows = packed([np.arange(i, i + 3) for i in range(2)], tmp_path)
    assert [row["value"].tolist() for row in rows] == [[0, 1, 2], [1, 2, 3]]
    Row = namedtuple("Row", ["img", "y", "text"])
    rows = packed([Row(pixels(i), i, str(i)) for i in range(3)], tmp_path, force=True)
    assert rows[2].keys() == {"img", "y", "text"}
    assert rows[2]["text"] == "2"


def test_iterators_are_packed_to_their_end(tmp_path):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return ((pixels(i), i) for i in range(30))

    seen = []
    report = tundish.pack(Stream(), tmp_path / "a.tnd", progress=seen.append)
    assert report["samples"] == 30
    assert report["one_process_reason"] == "it can only be iterated"
    assert seen[-1]["samples"] == 30
    assert seen[-1]["samples_total"] == 0
    assert len(packed(((pixels(i), i) for i in range(30)), tmp_path, force=True)) == 30
    with pytest.raises(tundish.ArgumentError, match="can only be iterated"):
        tundish.pack(Stream(), tmp_path / "b.tnd", processes=2)
    with pytest.raises(tundish.Error, match=r"(?s)TND-601.*number of samples"):
        tundish.pack(Stream(), tmp_path / "b.tnd", shard=(0, 2))


@pytest.mark.parametrize("shard_size", [None, "20KB"])
def test_an_interrupted_iterator_resumes_to_the_same_bytes(tmp_path, shard_size):
    def samples(broken_at):
        for i in range(120):
            if i == broken_at:
                raise OSError("the line is dead")
            yield pixels(i), i

    options = {"shard_size": shard_size}
    for name in ("whole", "a"):
        (tmp_path / name).mkdir()
    tundish.pack(samples(-1), tmp_path / "whole" / "a.tnd", **options)
    for broken_at in (100, 119):
        with pytest.raises(
            tundish.Error, match=r"(?s)sample \d+: .*the line is dead.*are packed and kept"
        ) as info:
            tundish.pack(samples(broken_at), tmp_path / "a" / "a.tnd", **options)
        assert info.value.code == "TND-319"
    assert tundish.pack(samples(-1), tmp_path / "a" / "a.tnd", **options)["resumed_at"] == 119
    files = sorted(os.listdir(tmp_path / "whole"))
    assert files == sorted(os.listdir(tmp_path / "a"))
    for name in files:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


class HuggingFaceLike:
    """Behaves like `datasets.Dataset` where tundish uses it."""

    class Image:
        def __init__(self, decode=True):
            self.decode = decode

    class ClassLabel:
        names = ("cat", "dog")

    format = {"type": None}  # noqa: RUF012

    def __init__(self, files, features=None):
        self.files = files
        self.features = features or {"image": self.Image(), "label": self.ClassLabel()}
        self.column_names = list(self.features)

    def cast_column(self, name, feature):
        return HuggingFaceLike(self.files, self.features | {name: feature})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        assert not self.features["image"].decode
        return {"image": {"bytes": self.files[i], "path": None}, "label": i % 2}


def test_a_data_set_of_hugging_face_is_not_decoded(tmp_path):
    files = [photo(i) for i in range(4)]
    tundish.pack(HuggingFaceLike(files), tmp_path / "a.tnd")
    assert tundish.Dataset(tmp_path / "a.tnd").classes == ["cat", "dog"]
    assert tundish.Dataset(tmp_path / "a.tnd").targets == [0, 1, 0, 1]
    run("unpack", tmp_path / "a.tnd", "-o", tmp_path / "out")
    assert {f.read_bytes() for f in (tmp_path / "out").rglob("0000*")} == set(files)
    tundish.pack(HuggingFaceLike(files), tmp_path / "b.tnd", filter="label=dog")
    assert tundish.Dataset(tmp_path / "b.tnd").targets == [1, 1]


def test_bad_samples_are_named_with_number_and_reason(tmp_path):
    with pytest.raises(tundish.Error) as info:
        tundish.pack(WithBadSamples(), tmp_path / "a.tnd")
    assert info.value.code == "TND-319"
    text = str(info.value)
    assert "sample 41" in text
    assert "Traceback (most recent call last)" in text
    assert "KeyError: 'no such file'" in text
    assert "3 such files were left out" in text
    report = tundish.pack(WithBadSamples(), tmp_path / "b.tnd", skip_bad=True)
    assert report["samples"] == 87
    assert [(bad["sample"], bad["code"]) for bad in report["refused"]] == [
        (41, "TND-319"),
        (50, "TND-320"),
        (61, "TND-320"),
    ]
    assert "field 'label': expected an integer, got str" in report["refused"][1]["message"]
    assert "expected a tuple of 2 values, got ndarray" in report["refused"][2]["message"]


@pytest.mark.parametrize(
    ("dataset", "text"),
    [
        ([], "no samples"),
        ({"image": 1}, "a dict is a single sample"),
        (object(), "is not a dataset"),
        (
            [{"a": pixels(0), "b": pixels(0)}],
            "TND-318 several fields could be the image; there are: a, b",
        ),
        ([{"objects": [{"box": 1}]}], "field 'objects' is list, which a pack cannot hold"),
        ([{"label": 1}], "beside its label"),
        ([1j], "which a pack cannot hold"),
    ],
)
def test_an_object_that_is_not_a_dataset_is_refused(dataset, text, tmp_path):
    with pytest.raises(tundish.Error, match=text):
        tundish.pack(dataset, tmp_path / "a.tnd")
    assert os.listdir(tmp_path) == []


def test_array_shapes_may_vary_on_request(tmp_path):
    dataset = [{"x": pixels(i), "a": np.zeros(40 if i == 21 else 3)} for i in range(40)]
    report = tundish.pack(dataset, tmp_path / "a.tnd", skip_bad=True)
    assert "expected float64 (3,), got float64 (40,)" in report["refused"][0]["message"]
    assert len(packed(dataset, tmp_path, force=True, same_shape=False)[21]["a"]) == 40


def test_processes_give_the_same_bytes_and_options_work(tmp_path):
    for processes in (0, 1, 3):
        folder = tmp_path / str(processes)
        folder.mkdir()
        report = tundish.pack(
            Arrays(), folder / "a.tnd", processes=processes, shard_size="20KB", resize="8x8"
        )
        assert report["processes"] == processes
    files = sorted(os.listdir(tmp_path / "0"))
    assert len(files) > 2
    for name in files:
        whole = (tmp_path / "0" / name).read_bytes()
        assert whole == (tmp_path / "1" / name).read_bytes()
        assert whole == (tmp_path / "3" / name).read_bytes()


def test_a_dead_worker_is_named_and_the_next_pack_resumes(tmp_path):
    (tmp_path / "marker").touch()
    dataset = Killed(tmp_path / "marker")
    tundish.pack(dataset, tmp_path / "whole.tnd")
    with pytest.raises(tundish.Error, match="process 1 ended with code 9") as info:
        tundish.pack(dataset, tmp_path / "a.tnd", processes=1, threads=1)
    assert info.value.code == "TND-321"
    assert "samples are packed and kept" in str(info.value)
    assert not (tmp_path / "a.tnd").exists()
    other = [(pixels(i + 1, 4 + i % 3, 5), i % 2) for i in range(120)]
    for file in (".a.tnd.journal", ".a.tnd.partial"):
        shutil.copy(tmp_path / file, tmp_path / file.replace("a.", "b.", 1))
    report = tundish.pack(other, tmp_path / "b.tnd", classes=["cat", "dog"])
    assert report["resumed_at"] == 0  # another dataset
    (tmp_path / "marker").unlink()
    assert tundish.pack(dataset, tmp_path / "a.tnd", processes=0)["resumed_at"] > 63
    assert (tmp_path / "a.tnd").read_bytes() == (tmp_path / "whole.tnd").read_bytes()


def test_an_unpicklable_dataset_is_read_in_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr("tundish.samples.worker_pool._WORTH_SECONDS", 0)
    report = tundish.pack(Unpicklable(), tmp_path / "a.tnd")
    assert report["processes"] == 0
    assert "cannot be pickled" in report["one_process_reason"]
    with pytest.raises(
        tundish.ArgumentError, match=r"(?s)cannot be pickled.*fix: pass processes=0"
    ):
        tundish.pack(Unpicklable(), tmp_path / "b.tnd", processes=2)


SCRIPT = """
import sys, tundish, tundish.samples.worker_pool
class Set(list):
    pass
data = Set([(bytes([i]), i) for i in range(20)])
if len(sys.argv) > 2: tundish.samples.worker_pool._WORTH_SECONDS = 0
report = tundish.pack(data, sys.argv[1], processes=None if len(sys.argv) > 2 else 1)
print(report["one_process_reason"])
"""


def test_a_dataset_class_may_be_defined_in_the_script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, tmp_path / "script.py", tmp_path / "a.tnd"]
    alone = subprocess.run([*words, "default"], capture_output=True, text=True)
    assert "defined in the running script" in alone.stdout, alone.stderr
    result = subprocess.run([*words[:2], tmp_path / "b.tnd"], capture_output=True, text=True)
    assert "if __name__ == '__main__'" in result.stderr
    guarded = SCRIPT.replace("data = ", "if __name__ == '__main__':\n  data = ").replace(
        "\nreport", "\n  report"
    )
    guarded = guarded.replace("\nif len", "\n  if len").replace("\nprint", "\n  print")
    (tmp_path / "script.py").write_text(guarded)
    result = subprocess.run([*words[:2], tmp_path / "c.tnd"], capture_output=True, text=True)
    assert result.stdout == "None\n", result.stderr


def alive(process_id):
    try:
        return Path(f"/proc/{process_id}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_packs(tmp_path, how):
    code = (
        "import sys, tundish; from tests.helpers.python_sets import Slow; "
        "tundish.pack(Slow(sys.argv[1]), sys.argv[2], processes=1)"
    )
    (tmp_path / "readers").mkdir()
    words = [sys.executable, "-c", code, tmp_path / "readers", tmp_path / "a.tnd"]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(os.listdir(tmp_path / "readers")) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    readers = [int(name) for name in os.listdir(tmp_path / "readers")]
    assert len(readers) == 2  # the caller, which read a few samples, and a worker
    process.send_signal(how)
    text = process.communicate()[1]
    while any(alive(reader) for reader in readers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(reader) for reader in readers)
    assert not (tmp_path / "a.tnd").exists()
    if how == signal.SIGINT:
        assert text.count("KeyboardInterrupt") == 1


def test_an_unstorable_text_is_named(tmp_path):
    rows = [{"image": pixels(0), "text": text} for text in ("a", "\ud800", "b")]
    with pytest.raises(tundish.Error, match=r"sample 1: field 'text': .* no text"):
        tundish.pack(rows, tmp_path / "a.tnd", progress=False)
