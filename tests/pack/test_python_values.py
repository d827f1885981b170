"""`tundish.pack(dataset, ...)`: values that a dataset reuses, hides or stores unusually."""

import io
import warnings

import numpy as np
import pytest
import torch
import tundish
from PIL import Image

from tests.helpers.program import needs_program
from tests.helpers.python_sets import pixels

pytestmark = needs_program


def reuse_array():
    buffer = np.zeros((4, 4, 3), np.uint8)
    for i in range(40):
        buffer[:] = i
        yield buffer, i


def reuse_tensor():
    buffer = torch.zeros(3, 4, 4, dtype=torch.uint8)
    for i in range(40):
        yield {"image": buffer.fill_(i), "label": i}


def reuse_dict():
    sample = {"image": None, "label": None}
    for i in range(40):
        sample["image"], sample["label"] = np.full((4, 4, 3), i, np.uint8), i
        yield sample


def reuse_list():
    sample = [None, None]
    for i in range(40):
        sample[:] = [np.full((4, 4, 3), i, np.uint8), i]
        yield sample


def reuse_pillow():
    image = Image.new("RGB", (4, 4))
    for i in range(40):
        image.paste((i, i, i), (0, 0, 4, 4))
        yield image, i


def pillow_file(i, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(np.full((4, 4, 3), i, np.uint8)).save(file, kind)
    return file


def reuse_file():
    """Pillow reads the pixels of an opened file at their first use."""
    buffer = io.BytesIO()
    for i in range(40):
        buffer.seek(0)
        buffer.truncate()
        buffer.write(pillow_file(i).getvalue())
        yield Image.open(buffer), i


def close_pillow_image():
    for i in range(40):
        with Image.open(pillow_file(i, "PNG" if i % 2 else "TIFF")) as image:
            yield image, i


def close_file():
    for i in range(40):
        with pillow_file(i) as file:
            yield [Image.open(file), i]


@pytest.mark.parametrize(
    "samples",
    [
        reuse_array,
        reuse_tensor,
        reuse_dict,
        reuse_list,
        reuse_pillow,
        reuse_file,
        close_pillow_image,
        close_file,
    ],
)
def test_an_iterator_may_reuse_its_buffers(samples, tmp_path):
    tundish.pack(samples(), tmp_path / "a.tnd", progress=False)
    dataset = tundish.Dataset(tmp_path / "a.tnd")
    assert dataset.targets == list(range(40))
    assert [int(np.asarray(dataset[i][0]).max()) for i in range(40)] == list(range(40))


def test_a_list_of_paths_is_refused(tmp_path):
    paths = [str(tmp_path), __file__]
    with pytest.raises(tundish.ArgumentError, match="only their texts would be packed"):
        tundish.pack(paths, tmp_path / "a.tnd", progress=False)
    report = tundish.pack([*paths, "a text"], tmp_path / "a.tnd", progress=False)
    assert report["samples"] == 3


def test_a_closed_image_is_a_refused_sample(tmp_path):
    closed = Image.open(pillow_file(1))
    closed.close()
    samples = [(pixels(0), 0), (closed, 1), (pixels(2), 2)]
    report = tundish.pack(samples, tmp_path / "a.tnd", progress=False, skip_bad=True)
    assert [row["sample"] for row in report["refused"]] == [1]
    with pytest.raises(tundish.Error, match="TND-319"):
        tundish.pack([(closed, 1)], tmp_path / "b.tnd", progress=False)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("named", [False, True])
def test_the_first_samples_may_have_no_label(named, tmp_path):
    labels = [None, None, 1, None, 0]
    samples = [(pixels(i), label) for i, label in enumerate(labels)]
    if named:
        samples = [dict(zip(("image", "label"), sample, strict=True)) for sample in samples]
    tundish.pack(samples, tmp_path / "a.tnd", progress=False)
    assert tundish.Dataset(tmp_path / "a.tnd").targets == [-1, -1, 1, -1, 0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked_array(np.arange(4.0), mask=[0, 1, 0, 0]),
        np.ma.masked_array(3, mask=True),
        np.ma.masked,
        [np.ma.masked, 1.0],
        [[1.0], [np.ma.masked]],
    ],
)
def test_masked_elements_are_refused(value, tmp_path):
    with pytest.raises(tundish.ArgumentError, match="an array with masked elements"):
        tundish.pack([(pixels(0), 0, value)], tmp_path / "a.tnd", progress=False)


def test_masked_images_and_later_masked_arrays_are_refused(tmp_path):
    hidden = np.ma.masked_array(pixels(0), mask=pixels(0) > 9)
    with pytest.raises(tundish.Error, match="got an array with masked elements"):
        tundish.pack([(hidden, 0)], tmp_path / "a.tnd", progress=False)
    values = [np.ma.masked_array(np.arange(3), mask=[0, i == 2, 0]) for i in range(4)]
    samples = [(pixels(i), i, value) for i, value in enumerate(values)]
    with pytest.raises(tundish.Error, match=r"(?s)TND-320.*expected int64"):
        tundish.pack(samples, tmp_path / "a.tnd", progress=False)
    [batch] = tundish.Loader(tmp_path / "a.tnd", 3, as_dict=True)
    assert batch["label"].tolist() == [0, 1, 3]
    assert batch["field2"].tolist() == [[0, 1, 2]] * 3


@pytest.mark.parametrize(
    "value",
    [torch.eye(3).to_sparse(), torch.ones(2).to(torch.float8_e4m3fn)],
)
def test_tensors_that_numpy_lacks_are_refused_with_the_type(value, tmp_path):
    with pytest.raises(tundish.ArgumentError, match=r"'field2' is .* of Tensor, which a pack"):
        tundish.pack([(pixels(0), 0, value)], tmp_path / "a.tnd", progress=False)


def test_a_tensor_with_a_negative_bit_is_packed(tmp_path):
    values = torch.tensor([1.0, 2.0])._neg_view()
    tundish.pack([(pixels(0), 0, values)], tmp_path / "a.tnd", progress=False)
    [batch] = tundish.Loader(tmp_path / "a.tnd", 1, as_dict=True)
    assert batch["field2"].tolist() == [[-1.0, -2.0]]


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "TGA", "PCX", "JPEG2000", "BMP", "PNG", "GIF"])
def test_opened_pillow_images_of_any_format_can_be_loaded(kind, tmp_path):
    file = io.BytesIO()
    Image.fromarray(pixels(1)).save(file, kind)
    images = [Image.open(io.BytesIO(file.getvalue())) for _ in range(2)]
    expected = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    tundish.pack([(image, 0) for image in images], tmp_path / "a.tnd", progress=False)
    assert np.array_equal(tundish.Dataset(tmp_path / "a.tnd")[1][0], expected)


@pytest.mark.parametrize("value", [True, np.bool_(True), torch.tensor([1]), np.array([2])])
def test_samples_without_a_label_give_a_warning_if_a_value_could_be_one(value, tmp_path):
    with pytest.warns(UserWarning, match="the samples have no label: 'field1' is"):
        tundish.pack([(pixels(0), value)], tmp_path / "a.tnd", progress=False)
    named = {"image": pixels(0), "target": "cat"}
    with pytest.warns(UserWarning, match="the samples have no label: 'target' is str"):
        tundish.pack([named], tmp_path / "b.tnd", progress=False)


@pytest.mark.parametrize("sample", [(pixels(0),), (pixels(0), "a photo"), (pixels(0), 0.5)])
def test_samples_that_need_no_label_give_no_warning(sample, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tundish.pack([sample], tmp_path / "a.tnd", progress=False)
    assert result["samples"] == 1


@pytest.mark.parametrize("option", ["classes", "identity", "same_shape", "processes"])
def test_options_of_python_samples_are_refused_for_a_path(option, tmp_path):
    with pytest.raises(tundish.ArgumentError, match=f"{option}= is for samples from Python"):
        tundish.pack(tmp_path, tmp_path / "a.tnd", **{option: ["cat"]})
