"""as_dict=True: every field of a sample, aligned with its image."""

import io

import numpy as np
import pytest
import torch
import tundish

from tests.helpers.loaders import opened


def test_as_dict_gives_every_kind_of_field_of_a_tar(make, tmp_path):
    members = {}
    for number in range(5):
        array = npy(np.arange(number + 1, dtype=np.int16))
        members[f"s{number}.jpg"] = make.jpeg(number, 20, 20)
        members[f"s{number}.cls"] = str(number % 2).encode()
        members[f"s{number}.txt"] = f"a photo, n° {number}".encode()
        members[f"s{number}.json"] = f'{{"n": {number}}}'.encode()
        members[f"s{number}.npy"] = array
        if number != 3:
            members[f"s{number}.bin"] = bytes([number, 0, 255])
    tar = make.tar(tmp_path / "shard.tar", members)
    for path in (tar, make.pack(tar, tmp_path / "shard.tnd")):
        first, second = opened(path, 3, as_dict=True, return_index=True, untransformed=["npy"])
        assert set(first) == {"image", "label", "txt", "json", "npy", "bin", "index"}
        assert first["image"].shape == (3, 3, 24, 24)
        assert first["label"].tolist() == [0, 1, 0]
        assert first["txt"] == ["a photo, n° 0", "a photo, n° 1", "a photo, n° 2"]
        assert second["json"] == ['{"n": 3}', '{"n": 4}']
        assert [x.tolist() for x in first["npy"]] == [[0], [0, 1], [0, 1, 2]]
        assert second["npy"][0].dtype == np.int16
        assert second["bin"] == [b"", bytes([4, 0, 255])]
        assert second["index"].tolist() == [3, 4]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_as_dict_gives_numbers_and_texts_of_a_list(make, tmp_path):
    for number in range(3):
        make.write(tmp_path / f"{number}.png", make.png(number, 16, 16))
    (tmp_path / "list.csv").write_text(
        'path,label,age,name\n0.png,b,1.5,"Ann, B."\n1.png,a,-2,Zoë\n2.png,b,3e2,\n'
    )
    for path in (tmp_path / "list.csv", make.pack(tmp_path / "list.csv", tmp_path / "list.tnd")):
        loader = opened(path, 3, as_dict=True)
        (batch,) = loader
        assert loader.classes == ["a", "b"]
        assert batch["label"].tolist() == [1, 0, 1]
        assert batch["age"].dtype == torch.float64
        assert batch["age"].tolist() == [1.5, -2.0, 300.0]
        assert batch["name"] == ["Ann, B.", "Zoë", ""]


def test_a_field_that_would_be_hidden_is_refused(make, tmp_path):
    make.write(tmp_path / "0.png", make.png(0, 16, 16))
    (tmp_path / "list.csv").write_text("path,index\n0.png,700\n")
    (batch,) = opened(tmp_path / "list.csv", as_dict=True)
    assert batch["index"].tolist() == [700]
    with pytest.raises(ValueError, match="field 'index', which return_index=True would overwrite"):
        opened(tmp_path / "list.csv", as_dict=True, return_index=True)


@pytest.mark.parametrize("kind", ["cut", "objects", "other"])
@pytest.mark.filterwarnings("ignore:.*have no labels")
def test_an_array_that_cannot_be_loaded_is_a_bad_sample(make, tmp_path, kind):
    members = {}
    for number in range(4):
        array = npy(np.arange(50.0))
        if number == 2:
            array = {"cut": array[:-9], "objects": npy(np.array([{}])), "other": b"none"}[kind]
        members |= {f"{number}.png": make.png(number, 16, 16), f"{number}.npy": array}
    tar = make.tar(tmp_path / "shard.tar", members)
    options = {"as_dict": True, "untransformed": ["npy"]}
    loader = opened(tar, 4, **options, return_index=True, on_error="skip")
    with pytest.warns(UserWarning, match="a bad sample was left out"):
        (batch,) = loader
    assert batch["index"].tolist() == [0, 1, 3]
    (bad,) = loader.bad_samples()
    assert (bad["sample"], bad["file"]) == (2, str(tar))
    assert "field 'npy': " in bad["reason"]
    assert next(iter(opened(tar, 4)))[0].shape[0] == 4, "without as_dict it is not read"
    with pytest.raises(tundish.SampleError, match=r"(?s)record 2 .*field 'npy'"):
        list(opened(tar, 4, **options, on_error="fail"))


@pytest.mark.filterwarnings("ignore:.*have no labels")
def test_an_array_that_only_numpy_rejects_is_an_error(make, tmp_path):
    array = npy(np.zeros(3, [("a", "<f4"), ("b", "<f4")]))
    members = {}
    for number in range(4):
        data = array[:-5] if number == 1 else array
        members |= {f"{number}.png": make.png(number, 16, 16), f"{number}.npy": data}
    tar = make.tar(tmp_path / "shard.tar", members)
    loader = opened(tar, 2, as_dict=True, untransformed=["npy"], return_index=True)
    iterator = iter(loader)
    with pytest.raises(
        tundish.SampleError, match=r"the field 'npy' of one of the samples \[0, 1\]"
    ):
        next(iterator)
    assert next(iterator)["index"].tolist() == [2, 3], "the loader goes on"


def test_number_like_text_columns_are_restored_verbatim(make, tmp_path):
    codes = {"id": ["00123", "123", "7"], "code": [f"1234567890123456789{n}" for n in range(3)]}
    for number in range(3):
        make.write(tmp_path / f"{number}.png", make.png(number, 16, 16))
    rows = [f"{n}.png,{codes['id'][n]},{codes['code'][n]}" for n in range(3)]
    (tmp_path / "list.csv").write_text("\n".join(["path,id,code", *rows]))
    for path in (tmp_path / "list.csv", make.pack(tmp_path / "list.csv", tmp_path / "list.tnd")):
        (batch,) = opened(path, 3, as_dict=True)
        assert {name: batch[name] for name in codes} == codes


@pytest.mark.filterwarnings("ignore:.*have no labels")
def test_fields_stay_with_their_images_when_shuffled_and_when_one_is_skipped(make, tmp_path):
    members = {}
    for number in range(12):
        members[f"{number:02}.png"] = make.png(number, 16, 16)[: 60 if number == 4 else None]
        members[f"{number:02}.txt"] = str(number).encode()
    tar = make.tar(tmp_path / "shard.tar", members)
    loader = opened(tar, 4, as_dict=True, return_index=True, shuffle=True, on_error="skip")
    with pytest.warns(UserWarning, match="bad sample"):
        batches = list(loader)
    pairs = [(int(i), t) for b in batches for i, t in zip(b["index"], b["txt"], strict=True)]
    assert sorted(pairs) == [(n, str(n)) for n in range(12) if n != 4]
