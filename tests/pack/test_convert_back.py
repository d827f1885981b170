"""What `tundish convert` writes is read back as it was."""

import numpy as np
import pytest
import tundish
from PIL import Image

from tests.helpers.program import error_of, needs_program
from tests.helpers.python_sets import pixels

pytestmark = needs_program


def convert(samples, path, to, **options):
    pack = path.parent / "source.tnd"
    tundish.pack(samples, pack, force=True, progress=False, **options)
    tundish.convert(pack, path, to, force=True, progress=False)
    return path


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize(
    "shapes",
    [[(1,), (2,)], [(2,), (1,)], [(3,), (0,), (1,)], [(2,), (2, 2)], [(0, 2), (2, 2)]],
)
def test_arrays_of_any_length_come_back_from_tfrecord(shapes, kind, tmp_path):
    arrays = [np.arange(np.prod(shape)).reshape(shape).astype(kind) for shape in shapes]
    samples = [{"image": pixels(i), "label": i, "boxes": a} for i, a in enumerate(arrays)]
    path = convert(samples, tmp_path / "a.tfrecord", "tfrecord", same_shape=False)
    tundish.pack(path, tmp_path / "back.tnd", progress=False)
    loader = tundish.Loader(tmp_path / "back.tnd", 1, as_dict=True, on_error="fail")
    for batch, array in zip(loader, arrays, strict=True):
        [found] = batch["boxes"]
        assert tuple(found.shape) == array.shape
        assert np.array_equal(np.asarray(found), array)


def test_a_sample_without_bytes_comes_back_from_hdf5(tmp_path):
    texts = [b"abc", b"", b"\0"]
    samples = [{"image": pixels(i), "label": i, "raw": text} for i, text in enumerate(texts)]
    path = convert(samples, tmp_path / "a.h5", "hdf5")
    [batch] = tundish.Loader(path, 3, as_dict=True, on_error="fail")
    assert batch["raw"] == texts
    assert batch["label"].tolist() == [0, 1, 2]


def test_negative_labels_come_back_from_lmdb(tmp_path):
    labels = [-100, -2, -1, 0, 2**31 - 1, -(2**31)]
    samples = [(pixels(i), label) for i, label in enumerate(labels)]
    path = convert(samples, tmp_path / "d", "lmdb")
    assert tundish.Dataset(path).targets == labels
    with pytest.raises(tundish.Error, match="a Datum's label has 32 bits"):
        convert([(pixels(0), -(2**31) - 1)], tmp_path / "e", "lmdb")


@pytest.mark.parametrize("name", ["label", "labels", "y", "image_labels"])
def test_labels_of_an_earlier_conversion_to_npy_are_refused(name, tmp_path):
    """`image.npy` without labels would get these."""
    tundish.pack([(pixels(i),) for i in range(4)], tmp_path / "new.tnd", progress=False)
    folder = tmp_path / "arrays"
    folder.mkdir()
    np.save(folder / f"{name}.npy", np.arange(4))
    words = ("convert", tmp_path / "new.tnd", "-o", folder, "--to", "npy", "--force")
    error = error_of(*words, exit_code=2)
    assert f"{name}.npy" in error["file"]
    assert "it would be taken for the labels of image.npy" in error["reason"]
    assert not (folder / "image.npy").exists()


def test_a_conversion_to_npy_is_repeated_with_force(tmp_path):
    for first in (0, 10):
        samples = [(pixels(i), first + i) for i in range(4)]
        convert(samples, tmp_path / "arrays", "npy")
        assert tundish.Dataset(tmp_path / "arrays" / "image.npy").targets == list(
            range(first, first + 4)
        )


@pytest.mark.filterwarnings("ignore:.*samples have no labels")
def test_samples_of_a_tar_have_distinct_names_whatever_their_keys_are(tmp_path):
    """The second "a" becomes "a-00000002", which another sample is called already."""
    folder = tmp_path / "photos"
    folder.mkdir()
    rows = ["path"]
    for number, name in enumerate(["a.png", "a-00000002.png", "a.bmp"]):
        Image.new("RGB", (4, 4), (number,) * 3).save(folder / name)
        rows.append(name)
    (folder / "list.csv").write_text("\n".join(rows))
    tundish.convert(folder / "list.csv", tmp_path / "b.tar", "tar", progress=False)
    dataset = tundish.Dataset(tmp_path / "b.tar")
    assert [int(image.max()) for image, _ in dataset] == [0, 1, 2]


@pytest.mark.parametrize("name", ["train-idx.tar", "re-idx1-ed/train.tar"])
def test_an_archive_is_no_idx_file_whatever_its_path_is(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    samples = [(pixels(i), i) for i in range(2)]
    pack = tmp_path / "source.tnd"
    tundish.pack(samples, pack, progress=False)
    tundish.convert(pack, path, "tar", progress=False)
    assert tundish.Dataset(path).targets == [0, 1]
