"""Bad samples: an exact report, and a budget for their number."""

import json
import random
import warnings
from types import SimpleNamespace

import pytest
import tundish

from tests.helpers.loaders import opened
from tests.helpers.small_set import image

COUNT = 600
BAD = 30  # 5 %


@pytest.fixture(scope="module")
def corrupt(make, tmp_path_factory):
    """600 samples, 5 % with a flipped bit at seeded random positions."""
    root = tmp_path_factory.mktemp("corrupt")
    for number in range(COUNT):
        make.write(root / f"folder/x/{number:03}.png", image(number))
    pack = make.pack(root / "folder", root / "corrupt.tnd")
    bad = sorted(random.Random(5).sample(range(COUNT), BAD))
    content = bytearray(pack.read_bytes())
    places = {}
    for number in bad:
        places[number] = content.find(image(number))
        assert places[number] > 0
        content[places[number] + 40] ^= 0x10
    pack.write_bytes(content)
    return SimpleNamespace(pack=pack, bad=bad, places=places)


def epoch(loader):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [int(i) for *_, index in loader for i in index]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_the_report_is_exact(corrupt, policy, threads):
    loader = opened(
        corrupt.pack, 7, on_error=policy, threads=threads, shuffle=True, return_index=True
    )
    seen = [epoch(loader) for _ in range(3)]
    report = loader.report()
    listed = report["bad_samples"]
    assert report["listed"] == len(listed) == report["bad"]
    for number, samples in enumerate(seen):
        first_tries = {}
        for one in listed:
            if one["epoch"] == number:
                first_tries.setdefault(one["position"], one["sample"])
        assert sorted(first_tries.values()) == corrupt.bad
        if policy == "skip":
            assert sorted(samples) == sorted(set(range(COUNT)) - set(corrupt.bad))
    for one in listed:
        assert one["sample"] in corrupt.bad
        assert one["file"] == str(corrupt.pack)
        assert one["key"] == f"x/{one['sample']:03}.png"
        assert one["code"] == "TND-203"
        assert one["offset"] <= corrupt.places[one["sample"]] + 40
        assert "stored" in one["reason"]
        if policy == "skip":
            assert one["replaced_by"] is None
        else:
            assert one["replaced_by"] == seen[one["epoch"]][one["position"]]
    places = "skipped" if policy == "skip" else "replaced"
    assert report[places] == 3 * BAD
    assert report["delivered"] == 3 * COUNT - report["skipped"]
    assert loader.stats()["data/bad"] == report["bad"]


def test_a_report_is_written_as_json_or_as_a_table(corrupt, tmp_path):
    loader = opened(corrupt.pack, 7, on_error="substitute", return_index=True)
    epoch(loader)
    loader.write_report(tmp_path / "bad.json")
    assert json.loads((tmp_path / "bad.json").read_text()) == loader.report()
    loader.write_report(tmp_path / "bad.txt")
    head, names, *rows = (tmp_path / "bad.txt").read_text().splitlines()
    assert head.endswith(
        f"600 samples delivered, {loader.report()['bad']} bad, 30 places filled with another, 0 left empty"
    )
    assert names.split("  ")[0] == "sample"
    assert [int(row.split()[0]) for row in rows] == [one["sample"] for one in loader.bad_samples()]
    assert all("TND-203" in row and "corrupt.tnd" in row for row in rows)


def test_a_report_without_bad_samples_is_one_line(tiny, tmp_path):
    loader = opened(tiny.pack, return_index=True)
    epoch(loader)
    loader.write_report(tmp_path / "bad.txt")
    assert (tmp_path / "bad.txt").read_text().count("\n") == 1
    assert loader.report()["bad_samples"] == []


@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_exceeding_max_bad_is_an_error_that_names_some_samples(corrupt, policy):
    loader = opened(corrupt.pack, 10, on_error=policy, max_bad=0.01, return_index=True)
    with pytest.raises(tundish.Error, match=r"TND-605 .*too many bad samples") as caught:
        epoch(loader)
    text = str(caught.value)
    assert "max_bad=0.01 allows 1.00 %" in text
    assert f"record {corrupt.bad[0]} (x/{corrupt.bad[0]:03}.png): TND-203" in text
    assert "max_bad=None" in text
    assert "loader.bad_samples() lists them" in text
    assert loader.stats()["data/batches"] == 30  # 300 draws, including the last ones


def test_the_loader_continues_after_max_bad_was_exceeded(corrupt):
    loader = opened(corrupt.pack, 10, max_bad=0.01, on_error="skip", return_index=True)
    iterator, seen, errors = iter(loader), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                seen += next(iterator)[2].tolist()
            except tundish.Error:
                errors += 1
            except StopIteration:
                break
    assert errors == 2  # after 300 draws, and at the end of the epoch
    assert seen == [i for i in range(COUNT) if i not in corrupt.bad], "nothing is lost"
    report = loader.report()
    assert report["delivered"] + report["skipped"] == COUNT


def test_a_budget_that_is_not_exceeded_changes_nothing(corrupt):
    plain = opened(corrupt.pack, 10, on_error="skip", return_index=True)
    held = opened(corrupt.pack, 10, on_error="skip", max_bad=0.2, return_index=True)
    assert epoch(held) == epoch(plain)


def test_a_small_epoch_is_checked_at_its_end(make, tmp_path):
    for number in range(10):
        make.write(tmp_path / f"x/{number}.png", b"no image" if number == 2 else image(number))
    loader = opened(tmp_path, 2, on_error="skip", max_bad=0.05, return_index=True)
    with pytest.raises(tundish.Error, match=r"1 of 10 samples are bad \(10\.00 %\)"):
        epoch(loader)
    assert loader.stats()["data/batches"] == 5


def test_the_point_of_a_resume_does_not_change_the_check_of_max_bad(make, tmp_path):
    for number in range(60):
        make.write(tmp_path / f"x/{number:02}.png", b"no image" if number == 57 else image(number))
    options = {"on_error": "skip", "max_bad": 0.05, "return_index": True}
    assert len(epoch(opened(tmp_path, 4, **options))) == 59
    loader = opened(tmp_path, 4, **options)
    loader.load_state_dict({**loader.state_dict(), "position": 56})
    assert epoch(loader) == [56, 58, 59]
    loader.load_state_dict({**loader.state_dict(), "epoch": 0, "position": 57})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = opened(tmp_path, 1, **options)
        alone.load_state_dict({**loader.state_dict(), "epoch": 0, "position": 57})
        assert [batch[2].tolist() for batch in alone] == [[58], [59]], (
            "one bad sample is no verdict"
        )


def test_a_replay_is_not_checked_against_max_bad(make, tmp_path):
    for number in range(220):
        good = number >= 200
        make.write(tmp_path / f"x/{number:03}.png", image(number) if good else b"no image")
    order = tundish.Subset([*range(200, 220), *range(200)])
    loader = opened(tmp_path, 20, on_error="skip", order=order, return_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [batch[2].tolist() for batch in loader] == [list(range(200, 220))]
        for first in range(0, 220, 20):
            state = {**loader.state_dict(), "epoch": 0, "position": first}
            expected = list(range(200, 220)) if first == 0 else []
            assert loader.replay(state).batch[2].tolist() == expected
        large = opened(tmp_path, 120, on_error="skip", order=order, return_index=True)
        assert [len(batch[2]) for batch in large] == [20]
        state = {**large.state_dict(), "epoch": 0, "position": 120}
        assert large.replay(state).batch[2].tolist() == []


def test_bad_samples_of_joined_packs_are_named_by_their_own_file(make, tmp_path):
    for name, bad in (("a", None), ("b", 2)):
        for number in range(5):
            data = b"no image" if number == bad else image(number)
            make.write(tmp_path / name / "x" / f"{number}.png", data)
    paths = [tmp_path / "a", tmp_path / "b"]
    loader = opened(paths, 10, on_error="skip", return_index=True, max_bad=0.05)
    with pytest.raises(tundish.Error, match=rf"1 of 10 .*; {tmp_path}/b: record 2 \(x/2.png\)"):
        epoch(loader)
    (one,) = loader.bad_samples()
    assert (one["sample"], one["record"], one["file"]) == (7, 2, str(tmp_path / "b"))
    loader.write_report(tmp_path / "bad.txt")
    row = (tmp_path / "bad.txt").read_text().splitlines()[2]
    assert row.split()[:6] == ["7", "0", "7", f"{tmp_path}/b", "(x/2.png)", "2"]
    with pytest.raises(tundish.SampleError, match=rf"{tmp_path}/b: record 2 \(x/2.png\) is not"):
        loader.dataset[7]


@pytest.mark.parametrize("value", [-0.1, 1.5, "x", float("nan")])
def test_a_budget_is_a_share(tiny, value):
    with pytest.raises(ValueError, match="max_bad must be a number from 0 to 1"):
        opened(tiny.pack, max_bad=value)


def test_a_budget_and_failing_at_once_contradict(tiny):
    with pytest.raises(ValueError, match="max_bad has no meaning"):
        opened(tiny.pack, max_bad=0.1, on_error="fail")
