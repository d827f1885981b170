"""Replays any batch of a run from its state, with the operations applied to each image."""

import io
import json
import re

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T
from tundish.data import open_source as source
from tundish.data.settings import memory_budget

from tests.helpers.program import documented_keys, err, error_of, needs_program, out, result_json
from tests.helpers.program import tundish as program

CROP = T.RandomResizedCrop(24)
RANDOM = [CROP, T.RandomHorizontalFlip(), T.Normalize()]


def opened(path, **options):
    options.setdefault("transforms", RANDOM)
    options.setdefault("shuffle", True)
    options.setdefault("seed", 5)
    return tundish.Loader(path, 6, return_index=True, backend="numpy", **options)


def states_and_batches(loader, epochs=2):
    out = []
    for _ in range(epochs):
        state = loader.state_dict()
        for batch in loader:
            out.append((state, batch))
            state = loader.state_dict()
    return out


def test_every_batch_of_a_run_can_be_replayed(photos):
    run = states_and_batches(opened(photos.pack))
    other = opened(photos.pack, threads=3)
    for state, batch in run:
        replayed = other.replay(json.loads(json.dumps(state)))
        for ours, theirs in zip(replayed.batch, batch, strict=True):
            assert ours.tobytes() == theirs.tobytes()
        assert [plan["sample"] for plan in replayed.plans] == batch[2].tolist()
        assert [plan["label"] for plan in replayed.plans] == batch[1].tolist()
    assert other.state_dict()["position"] == 0, "the loader stays where it is"


def test_a_plan_executed_with_pillow_gives_the_image(photos):
    loader = opened(photos.pack, transforms=[CROP, T.RandomHorizontalFlip()], seed=6)
    images, _, index = loader.replay(loader.state_dict()).batch
    plans = loader.replay(loader.state_dict()).plans
    flips = 0
    for image, sample, plan in zip(images, index, plans, strict=True):
        (step,) = plan["steps"]
        x, y, width, height = step["crop"]
        pixels = Image.fromarray(loader.dataset[int(sample)][0])
        assert list(pixels.size) == plan["image"]
        expected = pixels.crop((x, y, x + width, y + height)).resize(step["size"], 2)
        if step["mirror_x"]:
            expected = expected.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            flips += 1
        assert np.array_equal(image.transpose(1, 2, 0), np.asarray(expected))
    assert 0 < flips < len(plans)


def test_a_replay_leaves_the_trace_alone(photos, tmp_path):
    trace = tmp_path / "trace.json.gz"
    loader = opened(photos.pack, trace=str(trace))
    loader.replay(loader.state_dict())
    assert not trace.exists()
    loader.close()
    assert trace.exists()


def test_a_replay_makes_no_copy_and_counts_no_memory(photos, tmp_path, monkeypatch):
    loader = opened(photos.pack, copy_to=tmp_path, memory="64MiB")
    expected = next(iter(loader))
    monkeypatch.setattr(source, "open_copy", None)
    monkeypatch.setattr(memory_budget, "budget", {None: 0}.__getitem__)
    fresh = loader.state_dict() | {"position": 0}
    assert loader.replay(fresh).batch[0].tobytes() == expected[0].tobytes()


def test_a_rank_replays_its_own_part(photos):
    loader = opened(photos.pack, rank=1, world_size=2)
    batch = next(iter(loader))
    fresh = opened(photos.pack, rank=1, world_size=2)
    replayed = fresh.replay(fresh.state_dict())
    assert replayed.batch[0].tobytes() == batch[0].tobytes()
    assert [plan["position"] for plan in replayed.plans] == list(range(6, 12))


def test_a_replay_does_not_detect_the_rank_again(photos, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = opened(photos.pack)
    state = loader.state_dict()
    batch = next(iter(loader))
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("WORLD_SIZE")
    assert loader.replay(state).batch[0].tobytes() == batch[0].tobytes()


def test_the_replayed_batch_matches_the_run_and_the_requested_rank(photos):
    ranks = [opened(photos.pack, rank=r, world_size=3, uneven="drop") for r in range(3)]
    state = ranks[0].state_dict()
    assert all(loader.state_dict() == state for loader in ranks)
    other = tundish.Loader(photos.pack, 2, return_index=True, backend="numpy", shuffle=True, seed=5,
                           transforms=RANDOM, rank=4, world_size=5)  # fmt: skip
    for rank, loader in enumerate(ranks):
        batch = next(iter(loader))
        assert other.replay(state, rank=rank).batch[0].tobytes() == batch[0].tobytes()
    with pytest.raises(ValueError, match=r"a run with 3 ranks.*replay\(state, rank=0\)"):
        other.replay(state)
    with pytest.raises(ValueError, match="rank 3 does not exist in a world of 3"):
        other.replay(state, rank=3)


def test_a_substitute_names_the_sample_it_replaces(tiny, tmp_path):
    files = sorted(tiny.folder.rglob("*.png"))[:6]
    (tmp_path / "bad.png").write_bytes(b"no image")
    rows = ["path,label", *[f"{file},0" for file in files], f"{tmp_path}/bad.png,0"]
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    loader = opened(tmp_path / "list.csv", shuffle=False, on_error="substitute")
    list(loader.replay(loader.state_dict()).plans)
    state = {**loader.state_dict(), "position": 6}
    with pytest.warns(UserWarning, match="replaced"):
        (plan,) = loader.replay(state).plans
    assert plan["replaces"][0] == 6
    assert plan["sample"] < 6


def test_a_state_at_the_end_of_an_epoch_has_no_batch(tiny):
    loader = opened(tiny.pack)
    state = {**loader.state_dict(), "position": tiny.count}
    with pytest.raises(ValueError, match="end of epoch 0"):
        loader.replay(state)
    with pytest.raises(tundish.Error, match="TND-603"):
        opened(tiny.pack, seed=6).replay(state)


# --- the program ------------------------------------------------------------------------------


def saved(loader, path):
    path.write_text(json.dumps(loader.state_dict()))
    return path


@needs_program
def test_the_program_replays_from_the_state_alone(photos, tmp_path):
    transforms = [
        T.RandomCrop(40, padding=4, pad_if_needed=True, padding_mode="reflect"),
        CROP,
        T.RandomVerticalFlip(0.3),
        T.Normalize(),
        T.RandomHorizontalFlip(),
    ]
    loader = opened(photos.pack, transforms=transforms, seed=-3, exif_orientation=True)
    iterator = iter(loader)
    next(iterator)
    state = saved(loader, tmp_path / "state.json")
    plans = loader.replay(loader.state_dict()).plans
    sheet = tmp_path / "sheet.png"
    result = result_json("view", photos.pack, "--state", state, "-o", sheet)
    assert set(result) == documented_keys("view", "--state")
    assert result["samples"] == plans
    assert result["epoch"] == 0
    assert result["position"] == 6
    assert result["sheet"] == str(sheet)
    image = Image.open(io.BytesIO(sheet.read_bytes())).convert("RGB")
    # The first tile is the batch's first image before Normalize.
    bytes_only = opened(
        photos.pack,
        transforms=[*transforms[:3], T.ToDtype("uint8"), transforms[4]],
        seed=-3,
        exif_orientation=True,
    )
    iterator = iter(bytes_only)
    next(iterator)
    first = next(iterator)[0][0].transpose(1, 2, 0)
    assert np.array_equal(np.asarray(image)[6:30, 6:30], first)


@needs_program
def test_the_program_prints_the_plans_in_words(photos, tmp_path):
    loader = opened(photos.pack, order=tundish.Repeated(2, of=tundish.Balanced()))
    state = saved(loader, tmp_path / "state.json")
    result = program("view", photos.pack, "--state", state, "--batch-size", "16")
    assert result.returncode == 0, err(result)
    lines = out(result).splitlines()
    assert len(lines) == 17
    for line, plan in zip(lines[1:], loader.replay(loader.state_dict()).plans, strict=False):
        x, y, width, height = plan["steps"][0]["crop"]
        assert f"sample {plan['sample']} label {plan['label']}" in line
        assert f"crop {width}x{height}+{x}+{y}, to 24x24" in line
        assert ("flip left-right" in line) == plan["steps"][0]["mirror_x"]
    assert "repeat 1" in lines[2]


def with_bad(make, folder, count, *bad):
    for n in range(count):
        image = make.png(n, 12, 12)
        make.write(folder / "x" / f"{n:02}.png", image[:60] if n in bad else image)
    return folder


@needs_program
@pytest.mark.parametrize("on_error", ["substitute", "skip"])
def test_the_program_treats_bad_samples_as_the_run_did(make, tmp_path, on_error):
    folder = with_bad(make, tmp_path / "set", 20, 9, 14)
    options = {"shuffle": False, "on_error": on_error, "world_size": 2}
    with pytest.warns(UserWarning, match="bad sample"):
        batch = next(iter(opened(folder, rank=1, **options)))
    loader = opened(folder, rank=0, **options)
    state = saved(loader, tmp_path / "state.json")
    result = result_json("view", folder, "--state", state, "--rank", "1")
    assert [one["sample"] for one in result["samples"]] == batch[2].tolist()
    assert result["bad"][0]["sample"] == 9
    replaced = [one["replaces"] for one in result["samples"] if one["replaces"]]
    assert bool(replaced) == (on_error == "substitute")
    words = out(program("view", folder, "--state", state, "--rank", "1"))
    assert ("for 9" in words) == (on_error == "substitute")
    assert "bad: TND-406" in words or "bad: TND-405" in words
    assert result_json("view", folder, "--state", state)["bad"] == []
    all_ranks = result_json("view", folder, "--state", state, "--batch-size", "12")
    assert all_ranks["bad"][0]["sample"] == 9
    error = program("view", folder, "--state", state, "--rank", "2")
    assert (error.returncode, "the run had 2 ranks" in err(error)) == (2, True)


@needs_program
def test_the_program_replays_batches_of_one_and_large_seeds(make, tmp_path):
    for n in range(3):
        make.write(tmp_path / "set" / "x" / f"{n}.png", make.png(n, 10 + n, 10))
    loader = tundish.Loader(tmp_path / "set", 1, seed=2**64 + 5, backend="numpy", shuffle=True)
    state = saved(loader, tmp_path / "state.json")
    (sample,) = result_json("view", tmp_path / "set", "--state", state)["samples"]
    assert sample == loader.replay(loader.state_dict()).plans[0]


@needs_program
@pytest.mark.parametrize(
    ("name", "value"), [("epoch", -1), ("position", 2.7), ("position", None), ("epoch", "1")]
)
def test_the_program_refuses_a_position_that_is_not_an_integer(photos, tmp_path, name, value):
    state = {**opened(photos.pack).state_dict(), name: value}
    (tmp_path / "state.json").write_text(json.dumps(state))
    error = error_of("view", photos.pack, "--state", tmp_path / "state.json", exit_code=1)
    assert error["code"] == "TND-603"
    assert f"its {name} must be a whole number, not {json.dumps(value)}" in error["message"]


def changed(loader, folder, config=None, **more):
    """Writes a state with changed numbers to a file."""
    state = loader.state_dict()
    state = {**state, **more, "run_config": {**state["run_config"], **(config or {})}}
    (folder / "changed.json").write_text(json.dumps(state))
    return folder / "changed.json"


WRONG = [
    (
        {"batch_size": 2**31},
        "batch_size must be a whole number from 1 to 2147483647, not 2147483648",
    ),
    ({"batch_size": 2**32 + 6}, "batch_size must be .*, not 4294967302"),
    ({"batch_size": 0}, "batch_size must be .* from 1 .*, not 0"),
    ({"batch_size": 6.5}, "batch_size must be a whole number .*, not 6.5"),
    ({"world_size": 2**32 + 1}, "world_size must be .*, not 4294967297"),
    ({"world_size": -1}, "world_size must be .*, not -1"),
    ({"world_size": "2"}, 'world_size must be a whole number .*, not "2"'),
    ({"draws": 2**60}, "draws must be a whole number from 0 to .*, not 1152921504606846976"),
    ({"repeats": 2**32 + 1}, "repeats must be .*, not 4294967297"),
    ({"sampling": 2}, "sampling must be one of every, weighted, groups, listed, not 2"),
    ({"uneven": 1}, "uneven must be one of"),
    ({"on_error": ["skip"]}, "on_error must be one of"),
    (
        {"transforms": [{"name": "CenterCrop", "size": [2**32 + 24, 24]}]},
        "CenterCrop: size must be",
    ),
    ({"color": 1}, "there is no argument 'color'"),
]


@needs_program
@pytest.mark.parametrize(("config", "message"), WRONG)
def test_the_program_refuses_out_of_range_numbers(photos, tmp_path, config, message):
    state = changed(opened(photos.pack), tmp_path, config)
    error = error_of("view", photos.pack, "--state", state, exit_code=1)
    assert (error["code"], error["file"]) == ("TND-603", str(state))
    assert re.search(message, error["message"])


@needs_program
def test_the_program_refuses_a_position_outside_the_epoch(photos, tmp_path):
    positions = photos.count
    state = changed(opened(photos.pack), tmp_path, position=positions + 1)
    error = error_of("view", photos.pack, "--state", state, exit_code=1)
    assert f"its position is {positions + 1}, and an epoch has {positions}" in error["message"]
    state = changed(opened(photos.pack), tmp_path, epoch=2**63)
    error = error_of("view", photos.pack, "--state", state, exit_code=1)
    assert "its epoch is larger than any" in error["message"]


def huge(photos):
    """Returns a loader with an epoch long enough for a batch of any size."""
    return opened(photos.pack, order=tundish.Balanced(draws=2**40))


@needs_program
def test_the_program_allocates_nothing_for_an_impossible_batch(photos, tmp_path):
    state = changed(huge(photos), tmp_path, {"batch_size": 2**31 - 1})
    error = error_of("view", photos.pack, "--state", state, exit_code=1)
    assert (error["code"], error["file"]) == ("TND-603", str(state))
    assert "its batch_size is 2,147,483,647: a batch of 2,147,483,647 images" in error["message"]
    assert "tundish view --state STATE --batch-size N" in error["message"]
    words = ("view", photos.pack, "--state", state, "--batch-size", "3")
    assert len(result_json(*words)["samples"]) == 3


@needs_program
def test_the_program_refuses_a_state_that_is_too_large_or_too_deep(photos, tmp_path):
    (tmp_path / "long.json").write_bytes(b" " * 2**20 + b"{}")
    error = error_of("view", photos.pack, "--state", tmp_path / "long.json", exit_code=1)
    assert "more than 1,048,576 bytes" in error["message"]
    deep = json.dumps(opened(photos.pack).state_dict() | {"epoch": 5}).replace(
        '"epoch": 5', f'"epoch": {"[" * 200_000}{"]" * 200_000}'
    )
    (tmp_path / "deep.json").write_text(deep)
    error = error_of("view", photos.pack, "--state", tmp_path / "deep.json", exit_code=1)
    assert "nested too deep" in error["message"]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_a_loader_refuses_to_replay_out_of_range_numbers(photos, config, message):
    loader = opened(photos.pack)
    state = loader.state_dict()
    with pytest.raises(ValueError, match=message):
        loader.replay({**state, "run_config": {**state["run_config"], **config}})


def test_a_loader_allocates_nothing_for_an_impossible_batch(photos):
    loader = huge(photos)
    state = loader.state_dict()
    with pytest.raises(ValueError, match="its batch_size is 2,147,483,647: a batch of"):
        loader.replay({**state, "run_config": {**state["run_config"], "batch_size": 2**31 - 1}})


@needs_program
def test_the_program_names_several_packs_and_a_changed_seed_as_the_reason(photos, tiny, tmp_path):
    joined = saved(opened([tiny.pack, tiny.pack]), tmp_path / "joined.json")
    error = error_of("view", tiny.pack, "--state", joined, exit_code=1)
    assert "packs were given as lists" in error["message"]
    state = {**opened(photos.pack).state_dict(), "seed": 6}
    (tmp_path / "seed.json").write_text(json.dumps(state))
    error = error_of("view", photos.pack, "--state", tmp_path / "seed.json", exit_code=1)
    assert "or its seed was changed" in error["message"]


@needs_program
def test_the_program_asks_for_another_state_at_the_end_of_an_epoch(photos, tmp_path):
    state = changed(opened(photos.pack), tmp_path, position=photos.count)
    result = program("view", photos.pack, "--state", state)
    assert result.returncode == 2
    assert "was saved at the end of epoch 0, and no batch of it follows" in err(result)
    assert "give a state that was saved before the batch" in err(result)
    assert "build the loader" not in err(result)


@needs_program
def test_the_program_refuses_states_that_do_not_fit(photos, tiny, tmp_path):
    state = saved(opened(photos.pack), tmp_path / "state.json")
    assert error_of("view", tiny.pack, "--state", state, exit_code=1)["code"] == "TND-603"
    given = saved(opened(photos.pack, order=tundish.Subset([1, 2])), tmp_path / "given.json")
    error = error_of("view", photos.pack, "--state", given, exit_code=1)
    assert "loader.replay(state)" in error["message"]
    (tmp_path / "none.json").write_text("[1")
    error = error_of("view", photos.pack, "--state", tmp_path / "none.json", exit_code=1)
    assert "no state of a loader" in error["message"]
    missing = error_of("view", photos.pack, "--state", tmp_path / "gone.json", exit_code=1)
    assert missing["code"] == "TND-301"
    (tmp_path / "sheet.png").write_bytes(b"mine")
    words = ("view", photos.pack, "--state", state, "-o", tmp_path / "sheet.png")
    assert error_of(*words, exit_code=1)["code"] == "TND-506"
    assert (tmp_path / "sheet.png").read_bytes() == b"mine"
    assert program(*words, "--force").returncode == 0
