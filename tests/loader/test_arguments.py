"""Invalid arguments and paths get a helpful message; importing has no side effects."""

import gzip
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import tundish
from tundish import transforms as T
from tundish.data.batch import pinned

from tests.helpers.loaders import RANDOM, SQUARE, opened


class Compose:
    """Resembles torchvision's class: neither a list nor a transform of tundish."""


ARGUMENTS = [
    ({"num_workers": 4}, TypeError, "threads=N"),
    ({"collate_fn": list}, TypeError, "as_dict=True"),
    ({"worker_init_fn": print}, TypeError, "no worker processes"),
    ({"sampler": None}, TypeError, "order=tundish.Weighted"),
    ({"batch_sampler": None}, TypeError, "shuffle=True, seed=N"),
    ({"generator": None}, TypeError, "seed=N"),
    ({"persistent_workers": True}, TypeError, "threads run as long as the loader exists"),
    ({"prefetch_factor": 2}, TypeError, "prefetch=N"),
    ({"multiprocessing_context": "fork"}, TypeError, "no worker processes"),
    ({"stage": "/dev/shm"}, TypeError, "copy_to"),
    ({"color": 1}, TypeError, r"no argument 'color': see help\(tundish.Loader\)"),
    ({"batchsize": 8}, TypeError, r"no argument 'batchsize': did you mean batch_size\?"),
    ({"transform": []}, TypeError, r"no argument 'transform': did you mean transforms\?"),
    ({"return_indices": 1}, TypeError, r"did you mean return_index\?"),
    ({"batch_size": 0}, ValueError, "batch_size must be a whole number from 1 to .*, not 0"),
    ({"batch_size": None}, ValueError, "batch_size must be a whole number.*not null"),
    ({"batch_size": "8"}, ValueError, 'batch_size must be a whole number.*not "8"'),
    ({"batch_size": 2.5}, ValueError, "batch_size must be a whole number.*not 2.5"),
    ({"batch_size": True}, ValueError, "batch_size must be a whole number.*not true"),
    ({"batch_size": 2**32 + 4}, ValueError, "batch_size must be .*to 2147483647"),
    ({"threads": 0}, ValueError, "threads must be a whole number from 1"),
    ({"threads": 2**40}, ValueError, "threads must be .*to 65535"),
    ({"prefetch": 0}, ValueError, "prefetch must be a whole number of at least 1"),
    ({"seed": None}, ValueError, "seed must be a whole number, not None"),
    ({"seed": 0.5}, ValueError, "seed must be a whole number, not 0.5"),
    ({"uneven": "some"}, ValueError, 'uneven must be one of pad, drop, exact, or none, not "some"'),
    ({"on_error": "ignore"}, ValueError, "on_error must be one of substitute, skip, fail"),
    ({"drop_last": True, "uneven": "pad"}, ValueError, "contradicts"),
    ({"drop_last": "false"}, ValueError, "drop_last must be True or False, not 'false'"),
    ({"as_dict": "no"}, ValueError, "as_dict must be True or False, not 'no'"),
    ({"labels": [2**63] * 23}, ValueError, "labels must be below"),
    ({"memory_format": "nchw"}, ValueError, "memory_format must be one of channels_last, conti"),
    ({"backend": "jax"}, ValueError, "backend must be auto, torch or numpy, not 'jax'"),
    ({"rank": 0}, ValueError, "pass both rank and world_size, or neither"),
    ({"world_size": 2}, ValueError, "pass both rank and world_size, or neither"),
    ({"rank": 2, "world_size": 2}, ValueError, "rank 2 does not exist in a world of 2"),
    ({"rank": -1, "world_size": 2}, ValueError, "rank must be a whole number from 0"),
    ({"rank": 0, "world_size": 2**32 + 1}, ValueError, "world_size must be .*2147483647"),
    ({"rank": "0", "world_size": "2"}, ValueError, "rank must be a whole number, not '0'"),
    ({"rank": True, "world_size": 2}, ValueError, "rank must be a whole number, not True"),
    ({"labels": [1, 2]}, ValueError, "2 labels for 23 samples"),
    ({"labels": []}, ValueError, "labels"),
    ({"labels": np.zeros(0, np.int64)}, ValueError, "0 labels for 23 samples"),
    ({"labels": [0.5] * 23}, ValueError, "flat sequence of integers"),
    ({"labels": [[[1]]] * 23}, ValueError, "flat sequence of integers"),
    (
        {"transforms": [print]},
        TypeError,
        r"not a transform of tundish\. Use tundish.transforms.*Dataset",
    ),
    ({"transforms": [Compose()]}, TypeError, "pass the Loader a list"),
    ({"transforms": Compose()}, TypeError, r"must be a list of tundish\.transforms, not Compose"),
    ({"transforms": print}, TypeError, "must be a list .*not builtin"),
    ({"transforms": T.Resize(8)}, TypeError, r"transforms must be a list.*\[Resize"),
    ({"transforms": [T.Resize(0)]}, ValueError, "size must be a number of pixels or"),
    ({"transforms": [T.Resize((0, 8))]}, ValueError, r"pixels or .*, not \[0,8\]"),
    (
        {"transforms": [T.Resize(65536)]},
        ValueError,
        "Resize: size must be .* from 1 to 65535",
    ),
    ({"transforms": [T.Resize((1, 2, 3))]}, ValueError, r"\(height, width\)"),
    ({"transforms": [T.Resize("8")]}, ValueError, "size must be a number of pixels or"),
    ({"transforms": [T.Resize(8, antialias=False)]}, ValueError, "antialias"),
    ({"transforms": [T.Resize(8, "lanczos")]}, ValueError, "interpolation must be one of"),
    (
        {"transforms": [T.RandomHorizontalFlip(2)]},
        ValueError,
        "p must be a number from 0 to 1",
    ),
    ({"transforms": [T.RandomResizedCrop(8, (1, 2, 3))]}, ValueError, "scale must be two"),
    ({"transforms": [T.Normalize(std=(1, 0, 1))]}, ValueError, "std must be"),
    (
        {"transforms": [T.Normalize((0.5, 0.5), (0.5, 0.5))]},
        ValueError,
        "mean must be three numbers",
    ),
    ({"transforms": [T.ToDtype("int8")]}, ValueError, "dtype must be one of uint8"),
    ({"transforms": [T.RandomCrop(8, fill=300)]}, ValueError, "fill must be a level"),
    ({"transforms": [T.RandomCrop(8, padding=(1, 2, 3))]}, ValueError, "one, two or four"),
    (
        {"transforms": [T.Normalize(), T.Resize(8)]},
        ValueError,
        "Resize: must come before ToDtype and Normalize",
    ),
]


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    ARGUMENTS,
    ids=[" ".join(map(str, a[0].items())) for a in ARGUMENTS],
)
def test_a_wrong_argument_is_refused_with_a_helpful_message(photos, options, kind, text):
    with pytest.raises(kind, match=text):
        tundish.Loader(photos.pack, **options)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LinearTransformation", "to the batch in the training loop, or use tundish.Dataset"),
        ("Compose", r"pass the Loader a list: transforms=\[T"),
        ("ToImage", "leave it out: batches are tensors"),
        ("ToTensor", "leave it out: batches are tensors"),
        ("Lambda", "a function cannot run in the engine"),
        ("SanitizeBoundingBoxes", "no boxes or points"),
        ("ConvertImageDtype", r'use ToDtype\("float32", scale=True\)'),
    ],
)
def test_a_transform_that_does_not_exist_says_what_to_do(name, text):
    with pytest.raises(AttributeError, match=f"no transform {name}: .*{text}") as error:
        getattr(T, name)
    assert "TrivialAugmentWide" not in str(error.value)  # not every name
    assert not hasattr(T, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RandomResizeCrop", "tundish has no transform RandomResizeCrop: did you mean RandomResizedCrop?"),
        ("ColourJitter", "did you mean ColorJitter?"),
        ("Cutmix", "did you mean CutMix?"),
        ("Shedule", "did you mean Schedule?"),
        ("from_torchvison", "no attribute 'from_torchvison': did you mean from_torchvision?"),
    ],
)  # fmt: skip
def test_a_misspelled_name_is_guessed(name, text):
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(T, name)
    assert not hasattr(T, "__wrapped__")


def test_other_missing_transform_names_raise_a_plain_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'size'"):
        T.size  # noqa: B018


def test_the_torch_spellings_of_an_argument_are_understood(photos, digest):
    for torch_name, name in [
        (torch.channels_last, "channels_last"),
        (torch.contiguous_format, "contiguous"),
    ]:
        a, b = (opened(photos.pack, memory_format=x) for x in (torch_name, name))
        assert next(iter(a))[0].stride() == next(iter(b))[0].stride()


def test_a_path_that_does_not_exist_is_a_file_not_found_error(tmp_path):
    for name in ("no.tnd", "no"):
        with pytest.raises(FileNotFoundError, match=f"TND-301 .*{name}: does not exist") as caught:
            tundish.Loader(tmp_path / name)
        assert isinstance(caught.value, tundish.Error)
        assert caught.value.code == "TND-301"
        assert isinstance(caught.value, tundish.MissingError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again), again.code) == (
            type(caught.value),
            str(caught.value),
            "TND-301",
        )


def test_a_path_is_not_truncated_at_a_null_byte(photos):
    for kind in (tundish.Loader, tundish.Dataset):
        with pytest.raises(ValueError, match="null byte"):
            kind(f"{photos.pack}\0.old")


@pytest.mark.parametrize("kind", [tundish.Loader, tundish.Dataset])
def test_a_python_dataset_must_be_packed_first(kind):
    class Squares:
        def __len__(self):
            return 3

    for dataset, name in ((Squares(), "Squares"), ([{"label": 1}], "dict"), (3, "int")):
        with pytest.raises(
            TypeError,
            match=rf"the path must be a str, os.PathLike or tundish.DataSource, not {name}\n  fix: .*tundish\.pack\(",
        ):
            kind(dataset)


def test_an_object_that_is_not_a_dataset_is_refused(tmp_path, make):
    (tmp_path / "empty").mkdir()
    make.write(tmp_path / "a.txt", b"hello")
    make.write(tmp_path / "b.tnd", b"hello")
    for name, code in [("empty", "TND-302"), ("a.txt", "TND-304"), ("b.tnd", "TND-101")]:
        with pytest.raises(tundish.Error, match=code):
            tundish.Loader(tmp_path / name)


def test_a_compressed_tar_can_be_packed_but_not_trained_from(make, tmp_path, photos, digest):
    path = make.write(tmp_path / "photos.tar.gz", gzip.compress(photos.tar.read_bytes()))
    with pytest.raises(tundish.Error, match=r"TND-309.*\n.*pack it first: tundish pack"):
        tundish.Loader(path)
    packed = make.pack(path, tmp_path / "photos.tnd")
    assert digest(list(opened(packed))) == digest(list(opened(photos.pack)))


def test_pin_memory_without_cuda_is_left_out_with_a_warning(photos):
    if not pinned.pinning_obstacle("torch"):
        pytest.skip("page-locked memory is available here")
    with pytest.warns(UserWarning, match="pin_memory is ignored: "):
        loader = opened(photos.pack, pin_memory=True)
    assert len(list(loader)) == 5


def test_a_class_folder_without_images_is_a_warning(make, tmp_path):
    make.write(tmp_path / "a/1.png", make.png(1, 8, 8))
    (tmp_path / "b").mkdir()
    with pytest.warns(UserWarning, match=r"TND-305|without images"):
        loader = opened(tmp_path, 1)
    assert loader.classes == ["a", "b"]


# --- importing, with and without torch ---------------------------------------------------------


def test_importing_starts_no_thread_and_needs_neither_torch_nor_numpy(run_python):
    code = """
import os, sys
import tundish
assert len(os.listdir("/proc/self/task")) == 1
assert not {"torch", "numpy"} & set(sys.modules), sys.modules.keys()
print(tundish.__version__)
"""
    result = run_python(code, options=["-X", "dev", "-W", "error"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", result.stdout)
    assert result.stderr == ""


def test_a_library_of_another_version_is_refused_when_importing(run_python, tmp_path):
    package = tmp_path / "tundish"
    shutil.copytree(
        Path(tundish.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    code = "import sys; sys.path.insert(0, sys.argv[1]); import tundish"
    result = run_python(code, tmp_path, check=False)
    assert result.returncode == 1
    assert "libtundish.so is missing: run ./dev build" in result.stderr
    (tmp_path / "old.c").write_text("unsigned tundish_abi(void) { return 1; }")
    subprocess.run(
        ["cc", "-shared", "-o", package / "libtundish.so", tmp_path / "old.c"], check=True
    )
    result = run_python(code, tmp_path, check=False)
    assert result.returncode == 1
    assert "belongs to another version of tundish" in result.stderr


def test_without_torch_batches_are_numpy_arrays(photos, run_python):
    code = """
import sys
sys.modules["torch"] = None  # `import torch` now fails
import numpy as np
import tundish
from tundish import transforms as T
from tundish.data.batch import pinned
loader = tundish.Loader(sys.argv[1], 5, transforms=[T.Resize((24, 24))], as_dict=True)
batch = next(iter(loader))
assert type(batch["image"]) is type(batch["label"]) is np.ndarray
images, labels, index = next(iter(tundish.Loader(
    sys.argv[1], 5, transforms=[T.Resize((24, 24)), T.Normalize()], return_index=True)))
assert images.shape == (5, 3, 24, 24) and images.dtype == np.float32 and images.flags.writeable
assert images.strides == (24 * 24 * 3 * 4, 4, 24 * 3 * 4, 3 * 4)
assert labels.dtype == index.dtype == np.int64
images[:] = 0
try:
    tundish.Loader(sys.argv[1], backend="torch")
except ImportError as error:
    print("refused:", error)
"""
    result = run_python(code, photos.pack, options=["-X", "dev", "-W", "error"])
    assert result.stdout.startswith("refused:")
    assert result.stderr == ""


def test_the_numpy_backend_gives_the_values_of_the_torch_backend(photos):
    arrays = opened(photos.pack, transforms=RANDOM, backend="numpy")
    tensors = opened(photos.pack, transforms=RANDOM, backend="torch")
    for (a, i), (b, j) in zip(arrays, tensors, strict=True):
        np.testing.assert_array_equal(a, b.numpy())
        np.testing.assert_array_equal(i, j.numpy())


def test_bfloat16_without_torch_is_refused_with_the_reason(photos):
    with pytest.raises(ValueError, match=r"bfloat16.*NumPy"):
        opened(photos.pack, transforms=[*SQUARE, T.ToDtype("bfloat16")], backend="numpy")
