"""The program as a user meets it: verbs, exit codes, JSON, messages, pipes, Ctrl-C."""

import io
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.executable).parent / "tundish"
VERBS = ["pack", "info", "ls", "cat", "verify", "unpack", "bench", "demo", "explain"]
ERROR_KEYS = {"code", "message", "title", "file", "record", "key", "offset", "reason", "exit"}

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="./dev build makes the program")


def tundish(*words, **options):
    options.setdefault("capture_output", True)
    return subprocess.run([PROGRAM, *map(os.fspath, words)], timeout=120, **options)


def out(result):
    return result.stdout.decode()


def err(result):
    return result.stderr.decode()


def result_json(*words, exit_code=0):
    result = tundish(*words, "--json")
    assert result.returncode == exit_code, err(result)
    return json.loads(result.stdout)


def jpeg(color=(200, 30, 30), size=(32, 24)):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "JPEG")
    return file.getvalue()


def png(size=(16, 16)):
    file = io.BytesIO()
    Image.new("RGB", size, (1, 2, 3)).save(file, "PNG")
    return file.getvalue()


def write(path, data):
    path = os.fsencode(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


@pytest.fixture
def photos(tmp_path):
    """Two classes, three images, one of them a PNG that calls itself JPEG."""
    write(tmp_path / "photos/cat/a.jpg", jpeg())
    write(tmp_path / "photos/cat/b.JPEG", png())
    write(tmp_path / "photos/dog/c.jpg", jpeg((0, 90, 200), (64, 48)))
    return tmp_path / "photos"


@pytest.fixture
def packed(photos, tmp_path):
    result = tundish("pack", photos, "-o", tmp_path / "train.tnd", "--quiet")
    assert result.returncode == 0, err(result)
    return tmp_path / "train.tnd"


def open_terminal():
    """Both ends of a terminal, where the machine has any to give."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"there is no terminal to be had here: {error}")


def left_behind(folder, *expected):
    """Names in a folder beyond those expected: temporary files would show up here."""
    return sorted(set(os.listdir(folder)) - set(expected))


# --- help -----------------------------------------------------------------------------------------


def test_help_starts_with_an_example_and_lists_every_verb():
    text = out(tundish("--help"))
    assert text.startswith("examples:\n  tundish pack")
    assert re.findall(r"^  ([a-z]+)  +\S", text, re.M) == [*VERBS]
    assert out(tundish("help")) == text


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_starts_with_its_example(verb):
    result = tundish("help", verb)
    assert result.returncode == 0
    assert out(result).startswith(f"examples:\n  tundish {verb}")
    assert "exit codes: 0 done" in out(result)
    assert max(map(len, out(result).splitlines())) <= 88
    assert tundish(verb, "--help").stdout == result.stdout


def test_the_version_is_that_of_the_project():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert out(tundish("--version")) == f"tundish {version}\n"


def test_a_missing_verb_is_a_usage_error():
    result = tundish()
    assert result.returncode == 2
    assert "usage: tundish VERB" in err(result)


@pytest.mark.parametrize(
    ("slip", "meant"), [("pakc", "pack"), ("verfy", "verify"), ("unp", "unpack")]
)
def test_a_slip_of_a_verb_names_the_right_one(slip, meant):
    result = tundish(slip)
    assert result.returncode == 2
    assert f"did you mean {meant}?" in err(result)


def test_a_slip_of_an_option_names_the_right_one(photos, tmp_path):
    result = tundish("pack", photos, "-o", tmp_path / "a.tnd", "--skipbad")
    assert result.returncode == 2
    assert "did you mean --skip-bad?" in err(result)
    assert "tundish help pack" in err(result)


@pytest.mark.parametrize(
    "words",
    [
        ["pack", "photos"],
        ["pack", "photos", "-o"],
        ["pack", "photos", "-o", ""],
        ["pack", "photos", "-o", "a.tnd", "--threads", "many"],
        ["pack", "photos", "-o", "a.tnd", "--threads", "-1"],
        ["pack", "photos", "more", "-o", "a.tnd"],
        ["info"],
        ["cat", "a.tnd"],
        ["cat", "a.tnd", "first"],
        ["cat", "a.tnd", "99999999999999999999999"],
        ["explain"],
        ["explain", "TND-999"],
        ["explain", "TND-203", "--all"],
        ["bench", "a.tnd", "--size", "0"],
        ["help", "nothing"],
    ],
)
def test_wrong_use_is_exit_code_2_with_a_message(words, tmp_path):
    result = tundish(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == b""
    assert err(result).startswith("tundish: ")
    assert os.listdir(tmp_path) == []


# --- the verbs ------------------------------------------------------------------------------------


def documented_keys(verb):
    text = out(tundish("help", verb))
    keys = re.search(r"with --json:\n.*?\{(.*?)\}", text, re.S)[1]
    return set(re.findall(r"[a-z_0-9]+", keys))


def test_pack_tells_what_it_reads_and_what_it_made(photos, tmp_path):
    result = tundish("pack", photos, "-o", tmp_path / "train.tnd")
    assert result.returncode == 0
    assert re.search(r"^  reading +image folder, 2 classes, 3 samples", err(result), re.M)
    assert re.search(r"^  done +.*train\.tnd  .*3 samples \(1 png, 2 lanes\)", out(result), re.M)
    assert re.search(r"^  lanes +2 JPEGs re-coded to .* byte for byte", out(result), re.M)
    assert re.search(r"^  next +tundish bench ", out(result), re.M)
    assert left_behind(tmp_path, "photos", "train.tnd") == []


def test_pack_prints_the_documented_keys(photos, tmp_path):
    report = result_json("pack", photos, "-o", tmp_path / "train.tnd")
    assert set(report) == documented_keys("pack")
    assert report["samples"] == 3
    assert report["codecs"] == {"lanes": 2, "png": 1}
    assert report["lanes"]["images"] == 2
    assert report["lanes"]["kept"] == {}
    assert report["refused"] == []
    assert report["log"] is None
    assert report["file_bytes"] == (tmp_path / "train.tnd").stat().st_size


def test_a_dry_run_writes_nothing(photos, tmp_path):
    report = result_json("pack", photos, "-o", tmp_path / "train.tnd", "--dry-run")
    assert set(report) == documented_keys("pack")
    assert report["dry_run"] is True
    assert report["samples"] == 3
    assert left_behind(tmp_path, "photos") == []


def test_pack_replaces_a_file_only_when_told(photos, packed):
    before = packed.read_bytes()
    write(photos / "dog/d.jpg", jpeg((9, 9, 9)))
    result = tundish("pack", photos, "-o", packed)
    assert result.returncode == 1
    assert "TND-506" in err(result)
    assert "--force" in err(result)
    assert packed.read_bytes() == before
    assert tundish("pack", photos, "-o", packed, "--force").returncode == 0
    assert result_json("info", packed)["records"] == 4


def test_the_same_input_gives_the_same_bytes(photos, packed, tmp_path):
    for threads in ("1", "2", "5"):
        again = tmp_path / f"again{threads}.tnd"
        assert tundish("pack", photos, "-o", again, "--threads", threads).returncode == 0
        assert again.read_bytes() == packed.read_bytes()


def test_info_prints_the_documented_keys(photos, packed):
    info = result_json("info", packed)
    assert set(info) == documented_keys("info")
    assert info["kind"] == "pack"
    assert info["records"] == 3
    assert info["classes"] == ["cat", "dog"]
    assert info["labels"] == {"0": 2, "1": 1}
    assert info["fields"][0] == {"name": "image", "type": "image"}
    assert info["width"] == {"min": 16, "median": 32, "max": 64}
    folder = result_json("info", photos)
    assert set(folder) == set(info)
    assert folder["kind"] == "image folder"
    assert folder["id"] is None
    assert "3, " in re.search(r"^  records +(.*)$", out(tundish("info", packed)), re.M)[1]


def test_ls_lists_every_record(photos, packed):
    text = out(tundish("ls", packed)).splitlines()
    assert [line.split()[-1] for line in text] == ["cat/a.jpg", "cat/b.JPEG", "dog/c.jpg"]
    rows = [json.loads(line) for line in tundish("ls", packed, "--json").stdout.splitlines()]
    assert all(set(row) == documented_keys("ls") for row in rows)
    assert [row["class"] for row in rows] == ["cat", "cat", "dog"]
    assert rows[1]["codec"] == "png"
    some = tundish("ls", packed, "--json", "--from", "1", "--count", "1").stdout.splitlines()
    assert [json.loads(line)["record"] for line in some] == [1]
    assert len(out(tundish("ls", photos)).splitlines()) == 3


def test_cat_gives_the_bytes_of_a_record(photos, packed):
    assert tundish("cat", packed, "2").stdout == (photos / "dog/c.jpg").read_bytes()
    assert tundish("cat", packed, "2", "--field", "label").stdout == b"1\n"
    record = result_json("cat", packed, "2")
    assert set(record) == documented_keys("cat")
    size = (photos / "dog/c.jpg").stat().st_size
    assert record["fields"] == [{"name": "image", "type": "image", "bytes": size}]
    result = tundish("cat", packed, "0", "--field", "nothing")
    assert result.returncode == 2
    assert "there are: image, label" in err(result)
    result = tundish("cat", packed, "3")
    assert result.returncode == 1
    assert "TND-201" in err(result)


def test_cat_does_not_write_an_image_to_a_terminal(packed):
    terminal, end = open_terminal()
    result = subprocess.run([PROGRAM, "cat", packed, "0"], stdout=end, stderr=subprocess.PIPE)
    os.close(end)
    os.close(terminal)
    assert result.returncode == 2
    assert b"not for a terminal" in result.stderr


def test_verify_checks_bytes_and_pixels(packed):
    result = tundish("verify", packed)
    assert result.returncode == 0
    assert "every checksum is right" in out(result)
    report = result_json("verify", packed, "--pixels")
    assert set(report) == documented_keys("verify")
    assert report["ok"] is True
    assert report["images_decoded"] == 3


def test_unpack_gives_the_original_files(photos, packed, tmp_path):
    report = result_json("unpack", packed, "-o", tmp_path / "back")
    assert set(report) == documented_keys("unpack")
    assert report["files"] == 3
    assert tree(tmp_path / "back") == tree(photos)
    again = result_json("unpack", packed, "-o", tmp_path / "back")
    assert again["already_there"] == 3


def test_unpack_keeps_other_files_unless_told(photos, packed, tmp_path):
    write(tmp_path / "back/cat/a.jpg", b"mine")
    result = tundish("unpack", packed, "-o", tmp_path / "back")
    assert result.returncode == 1
    assert "TND-506" in err(result)
    assert (tmp_path / "back/cat/a.jpg").read_bytes() == b"mine"
    assert tundish("unpack", packed, "-o", tmp_path / "back", "--force").returncode == 0
    assert tree(tmp_path / "back") == tree(photos)


def tree(folder):
    root = os.fsencode(folder)
    files = {}
    for where, _, names in os.walk(root):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, root)] = file.read()
    return files


def test_a_list_comes_back_with_its_labels_and_columns(tmp_path):
    write(tmp_path / "in/x/a.jpg", jpeg())
    write(tmp_path / "in/b.jpg", jpeg((1, 1, 1)))
    rows = 'path,label,note,weight\nx/a.jpg,cat,"one, two",0.5\nb.jpg,dog,"a ""quote""",3\n'
    write(tmp_path / "in/list.csv", rows.encode())
    first, second = tmp_path / "first.tnd", tmp_path / "second.tnd"
    assert tundish("pack", tmp_path / "in/list.csv", "-o", first).returncode == 0
    assert tundish("unpack", first, "-o", tmp_path / "back").returncode == 0
    assert (tmp_path / "back/x/a.jpg").read_bytes() == jpeg()
    assert tundish("pack", tmp_path / "back/list.csv", "-o", second).returncode == 0
    assert second.read_bytes() == first.read_bytes()


def test_an_archive_comes_back_with_every_file(tmp_path):
    files = {
        "s/1.jpg": jpeg(),
        "s/1.json": b"{}",
        "s/1.mask.png": png(),
        "s/2.jpg": jpeg((5, 5, 5)),
    }
    tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", tmp_path / "in.tar", "-o", tmp_path / "a.tnd").returncode == 0
    assert tundish("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back").returncode == 0
    back = tree(tmp_path / "back")
    back.pop(b"list.csv", None)
    assert back == {name.encode(): data for name, data in files.items()}


def tar_of(path, files):
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def test_files_beside_images_keep_their_spelling(tmp_path):
    files = {"1.JPG": jpeg(), "1.TXT": b"one", "1.image": b"x", "2.jpg": jpeg(), "2.TXT": b"two"}
    source = tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", source, "-o", tmp_path / "a.tnd").returncode == 0
    report = result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back")
    assert tree(tmp_path / "back") == {name.encode(): data for name, data in files.items()}
    assert report["list"] is None


def test_what_unpack_cannot_give_back_is_said_when_packing(tmp_path):
    files = {"1.jpg": jpeg(), "1.txt": b"one", "2.jpg": jpeg(), "2.TXT": b"two"}
    files |= {"2.json": b"{}", "3.jpg": jpeg(), "3.json": b""}
    source = tar_of(tmp_path / "in.tar", files)
    report = result_json("pack", source, "-o", tmp_path / "a.tnd")
    assert "1 files have endings that others spell in another case" in report["warnings"][0]
    assert "2.TXT" in report["warnings"][0]
    assert "1 files beside images are empty" in report["warnings"][1]
    assert "3.json" in report["warnings"][1]
    assert tundish("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back").returncode == 0
    assert set(tree(tmp_path / "back")) == {
        *(b"1.jpg", b"1.txt", b"2.jpg", b"2.txt", b"2.json", b"3.jpg")
    }


def test_the_list_of_labels_takes_a_name_that_is_free(tmp_path):
    files = {"list.jpg": jpeg(), "list.csv": b"mine", "list.cls": b"3"}
    source = tar_of(tmp_path / "in.tar", files)
    assert tundish("pack", source, "-o", tmp_path / "a.tnd").returncode == 0
    report = result_json("unpack", tmp_path / "a.tnd", "-o", tmp_path / "back")
    assert report["list"] == "list-2.csv"
    back = tree(tmp_path / "back")
    assert back[b"list.csv"] == b"mine"
    assert back[b"list-2.csv"] == b"path,label\nlist.jpg,3\n"


def test_bench_times_one_thread_and_all(packed):
    words = ["bench", packed, "--runs", "1", "--milliseconds", "20", "--size", "8", "--batch", "2"]
    report = result_json(*words)
    assert set(report) == documented_keys("bench")
    assert report["rows"][0]["threads"] == 1
    assert all(row["images_per_second"] > 0 for row in report["rows"])
    assert "images/s" in out(tundish(*words))
    assert len(result_json(*words, "--threads", "3")["rows"]) == 1


def test_the_demo_runs_without_python_beside_it(tmp_path):
    """A copy of the program alone: it says what is missing and ends with what it has."""
    shutil.copy(PROGRAM, tmp_path / "tundish")
    words = ["./tundish", "demo", "--images", "20", "--milliseconds", "20", "--work", "work"]
    alone = {"PATH": "", "HOME": str(tmp_path)}
    result = subprocess.run(words, capture_output=True, cwd=tmp_path, env=alone)
    assert result.returncode == 0, err(result)
    for word in ("made", "packed", "verified", "loaded"):
        assert re.search(rf"^  {word} ", err(result), re.M), err(result)
    assert "no Python here can import tundish" in out(result)
    assert (tmp_path / "work/demo.tnd").is_file()
    about = json.loads((tmp_path / "work/demo.json").read_text())
    assert (about["pack"], about["folder"]) == ("demo.tnd", "photos")
    result = subprocess.run([*words, "--json"], capture_output=True, cwd=tmp_path, env=alone)
    report = json.loads(result.stdout)
    assert set(report) == documented_keys("demo")
    assert report["samples"] == 20
    assert report["python"] is None


@pytest.mark.parametrize("name", ["photos/cat/mine.jpg", "demo.tnd", "demo.json", "report.html"])
def test_the_demo_touches_nothing_that_no_demo_made(name, tmp_path):
    write(tmp_path / name, b"mine")
    before = tree(tmp_path)
    result = tundish("demo", "--images", "10", "--work", ".", cwd=tmp_path)
    assert result.returncode == 2
    assert "tundish demo --work NEW-FOLDER" in err(result)
    assert tree(tmp_path) == before


def test_explain_knows_every_code_in_several_spellings():
    text = out(tundish("explain", "TND-203"))
    assert text.startswith("TND-203 fails its checksum\n  why: ")
    assert out(tundish("explain", "203")) == text
    assert out(tundish("explain", "tnd203")) == text
    entry = result_json("explain", "TND-203")
    assert set(entry) == documented_keys("explain")
    assert entry in result_json("explain", "--all")


def test_the_page_of_error_codes_is_up_to_date():
    page = (ROOT / "docs/errors.md").read_text()
    assert page == out(tundish("explain", "--all")), (
        "./dev build && tundish explain --all > docs/errors.md"
    )


def test_remedies_name_only_verbs_that_exist():
    for entry in result_json("explain", "--all"):
        for verb in re.findall(r"tundish ([a-z]+)", entry["remedy"]):
            assert verb in VERBS, entry


def test_quiet_prints_nothing_when_all_is_well(photos, tmp_path):
    result = tundish("pack", photos, "-o", tmp_path / "a.tnd", "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    result = tundish("verify", tmp_path / "a.tnd", "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


# --- bad input ------------------------------------------------------------------------------------


def error_of(*words, exit_code):
    """The error as JSON; the same is on stderr for people."""
    result = tundish(*words, "--json")
    assert result.returncode == exit_code, (out(result), err(result))
    error = json.loads(result.stdout)["error"]
    assert set(error) >= ERROR_KEYS
    assert error["exit"] == exit_code
    assert err(result).strip().endswith(error["message"])
    assert "what now: " in error["message"]
    return error


def test_a_missing_source_is_named(tmp_path):
    for words in (["pack", tmp_path / "no", "-o", tmp_path / "a.tnd"], ["info", tmp_path / "no"]):
        error = error_of(*words, exit_code=1)
        assert error["code"] == "TND-301"
        assert error["file"] == str(tmp_path / "no")
    assert error_of("verify", tmp_path / "no.tnd", exit_code=1)["code"] == "TND-301"
    assert os.listdir(tmp_path) == []


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "notes/cat/readme.txt", b"no image")
    for name in ("empty", "notes"):
        error = error_of("pack", tmp_path / name, "-o", tmp_path / "a.tnd", exit_code=1)
        assert error["code"] == "TND-302"
    assert left_behind(tmp_path, "empty", "notes") == []


def test_a_source_of_no_known_kind_is_refused(tmp_path):
    write(tmp_path / "a.docx", b"PK")
    error = error_of("pack", tmp_path / "a.docx", "-o", tmp_path / "a.tnd", exit_code=1)
    assert error["code"] == "TND-304"


@pytest.mark.parametrize("verb", ["verify", "info", "ls", "unpack"])
def test_a_pipe_is_refused_and_not_waited_for(verb, tmp_path):
    os.mkfifo(tmp_path / "pipe.tnd")
    more = ["-o", tmp_path / "out"] if verb == "unpack" else []
    result = subprocess.run(
        [PROGRAM, verb, tmp_path / "pipe.tnd", *more], capture_output=True, timeout=60
    )
    assert result.returncode in (1, 3)
    assert re.search(r"TND-(101|304)", out(result) + err(result))


def test_messages_name_what_can_be_done(photos, packed, tmp_path):
    error = error_of("pack", photos, "-o", packed / "x.tnd", exit_code=2)
    assert "Not a directory" in error["reason"]
    result = tundish("verify", photos)
    assert result.returncode == 3
    assert "it is a folder" in err(result)
    assert "tundish pack FOLDER" in err(result)
    write(tmp_path / "junk", b"junk" * 99)
    for words in (["verify", tmp_path / "junk"], ["verify", "-q", tmp_path / "junk"]):
        result = tundish(*words)
        assert (result.returncode, result.stdout) == (3, b"")
        assert "TND-101" in err(result)
        assert "on_error" not in err(result)
    result = tundish("pack", tmp_path / "junk", "-o", tmp_path / "a.tnd")
    assert "give a folder like" in err(result)
    for entry in result_json("explain", "--all"):
        assert "{" not in entry["remedy"]


def test_quiet_verify_names_damage_on_stderr(photos, packed):
    assert tundish("pack", photos, "-o", packed, "--force", "--codec", "keep").returncode == 0
    data = bytearray(packed.read_bytes())
    data[data.index((photos / "cat/a.jpg").read_bytes()) + 40] ^= 1
    packed.write_bytes(data)
    result = tundish("verify", "--quiet", packed)
    assert (result.returncode, result.stdout) == (3, b"")
    assert "TND-203" in err(result)
    assert "on_error" in out(tundish("verify", packed))


def test_ls_of_a_folder_does_not_claim_what_it_has_not_read(photos):
    assert [line.split()[1:3] for line in out(tundish("ls", photos)).splitlines()] == [
        ["-", "-"]
    ] * 3
    row = json.loads(tundish("ls", photos, "--json").stdout.splitlines()[0])
    assert (row["codec"], row["width"], row["height"]) == (None, None, None)


def test_a_class_folder_without_images_is_a_warning(photos, tmp_path):
    (photos / "emu").mkdir()
    result = tundish("pack", photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 0
    assert "emu" in err(result)
    assert result_json("info", tmp_path / "a.tnd")["classes"] == ["cat", "dog", "emu"]
    report = result_json("pack", photos, "-o", tmp_path / "b.tnd")
    assert "emu" in report["warnings"][0]


@pytest.fixture
def bad_photos(photos):
    """Twelve files that must be refused, beside the three good ones."""
    write(photos / "cat/empty.jpg", b"")
    write(photos / "cat/page.jpg", b"<!DOCTYPE html><html>404</html>")
    (photos / "cat/gone.jpg").symlink_to("nowhere.jpg")
    for i in range(9):
        write(photos / f"dog/noise{i}.png", bytes(range(7)) * (i + 1))
    return photos


def test_refused_files_are_named_counted_and_left_out(bad_photos, tmp_path):
    result = tundish("pack", bad_photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 3
    assert err(result).count("refused: TND-") == 10
    assert "2 more" in err(result)
    log = (tmp_path / "a.tnd.log").read_text()
    for name in ("empty.jpg", "page.jpg", "gone.jpg", "noise8.png"):
        assert name in log
    assert log.startswith("# refused by tundish pack: 12 of 15 samples\n")
    assert re.search(r"^  refused +12, all named in .*a\.tnd\.log$", out(result), re.M)
    assert result_json("info", tmp_path / "a.tnd")["records"] == 3
    assert tundish("verify", tmp_path / "a.tnd", "--pixels").returncode == 0
    assert left_behind(tmp_path, "photos", "a.tnd", "a.tnd.log") == []


def test_refused_files_have_codes_in_the_report(bad_photos, tmp_path):
    report = result_json("pack", bad_photos, "-o", tmp_path / "a.tnd", exit_code=3)
    codes = {row["key"]: row["code"] for row in report["refused"]}
    assert len(codes) == 12
    assert codes["cat/empty.jpg"] == "TND-310"
    assert codes["cat/page.jpg"] == "TND-401"
    assert codes["cat/gone.jpg"] == "TND-301"
    assert all(set(row) == {"sample", "key", "code", "message"} for row in report["refused"])


def test_skip_bad_makes_refusals_no_failure(bad_photos, tmp_path):
    words = ["pack", bad_photos, "-o", tmp_path / "a.tnd", "--skip-bad"]
    assert tundish(*words).returncode == 0
    assert (tmp_path / "a.tnd.log").exists()
    shutil.rmtree(bad_photos / "dog")
    for name in ("empty", "page", "gone"):
        (bad_photos / f"cat/{name}.jpg").unlink()
    assert tundish(*words, "--force").returncode == 0
    assert not (tmp_path / "a.tnd.log").exists(), "a log of an older pack misleads"


def test_images_that_cannot_be_decoded_here_are_counted_when_packed(photos, tmp_path):
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "WEBP")
    write(photos / "cat/w.webp", file.getvalue())
    result = tundish("pack", photos, "-o", tmp_path / "a.tnd")
    assert result.returncode == 0
    assert "1 of 4 images are of a kind that cannot be decoded here" in err(result)


def test_a_set_of_nothing_but_bad_files_is_no_pack(tmp_path):
    write(tmp_path / "set/cat/a.jpg", b"")
    error = error_of("pack", tmp_path / "set", "-o", tmp_path / "a.tnd", exit_code=1)
    assert error["code"] == "TND-302"
    assert left_behind(tmp_path, "set") == []


def test_a_truncated_image_is_packed_and_found_by_verify(photos, tmp_path):
    noisy = Image.frombytes("RGB", (64, 64), os.urandom(64 * 64 * 3))
    file = io.BytesIO()
    noisy.save(file, "JPEG")
    write(photos / "cat/short.jpg", file.getvalue()[: len(file.getvalue()) // 2])
    assert tundish("pack", photos, "-o", tmp_path / "a.tnd").returncode == 0
    assert tundish("verify", tmp_path / "a.tnd").returncode == 0
    report = result_json("verify", tmp_path / "a.tnd", "--pixels", exit_code=3)
    assert [row["key"] for row in report["damage"]] == ["cat/short.jpg"]
    assert report["damage"][0]["code"] in ("TND-405", "TND-406")
    assert report["damage"][0]["record"] == 2


def test_an_image_that_lies_about_its_size_is_told(photos, tmp_path):
    lying = bytearray(jpeg())
    at = lying.index(b"\xff\xc0") + 5
    lying[at : at + 4] = b"\xff\xff\xff\xff"  # 65,535 x 65,535 pixels
    write(photos / "cat/lying.jpg", bytes(lying))
    result = tundish("pack", photos, "-o", tmp_path / "a.tnd", "--json")
    report = json.loads(result.stdout)
    named = report["refused"] + report["doubtful"]
    assert [(row["key"], row["code"]) for row in named] == [("cat/lying.jpg", "TND-404")]


def test_what_is_not_a_pack_is_told(tmp_path):
    write(tmp_path / "a.tnd", b"hello, I am a text file and not a pack at all" * 10)
    for verb in (["info"], ["ls"], ["unpack", "-o", tmp_path / "out"], ["bench"]):
        assert error_of(verb[0], tmp_path / "a.tnd", *verb[1:], exit_code=3)["code"] == "TND-101"
    report = result_json("verify", tmp_path / "a.tnd", exit_code=3)
    assert [row["code"] for row in report["damage"]] == ["TND-101"]
    assert left_behind(tmp_path, "a.tnd") == []


def test_a_pack_cut_short_is_incomplete(packed):
    data = packed.read_bytes()
    for keep in (len(data) - 1, len(data) // 2, 100):
        packed.write_bytes(data[:keep])
        assert error_of("info", packed, exit_code=3)["code"] == "TND-105"
        assert result_json("verify", packed, exit_code=3)["ok"] is False


def test_damaged_names_hide_neither_pixels_nor_files(photos, tmp_path):
    write(photos / "dog/short.jpg", jpeg()[:-40])
    packed = tmp_path / "a.tnd"
    assert tundish("pack", photos, "-o", packed).returncode == 0
    data = bytearray(packed.read_bytes())
    data[data.index(b"cat/a.jpg")] ^= 1
    packed.write_bytes(data)
    report = result_json("verify", packed, "--pixels", exit_code=3)
    assert report["damage"][0]["code"] == "TND-107"
    assert (report["damage"][-1]["record"], report["damage"][-1]["key"]) == (3, None)
    assert report["images_decoded"] == 3
    report = result_json("unpack", packed, "-o", tmp_path / "back", exit_code=3)
    assert [row["code"] for row in report["damaged"]] == ["TND-107"]
    back = tree(tmp_path / "back")
    assert set(back) == {b"record-0.jpg", b"record-1.png", b"record-2.jpg", b"record-3.jpg"}
    assert back[b"record-2.jpg"] == (photos / "dog/c.jpg").read_bytes()


def test_damage_is_found_named_and_does_not_hide_the_rest(photos, packed, tmp_path):
    assert tundish("pack", photos, "-o", packed, "--force", "--codec", "keep").returncode == 0
    data = bytearray(packed.read_bytes())
    at = data.index((photos / "cat/a.jpg").read_bytes()) + 40
    data[at] ^= 1
    packed.write_bytes(data)
    report = result_json("verify", packed, exit_code=3)
    record = next(row for row in report["damage"] if row["code"] == "TND-203")
    assert (record["record"], record["key"]) == (0, "cat/a.jpg")
    assert record["offset"] is not None
    result = tundish("verify", packed)
    assert re.search(r"TND-203  record 0 \(cat/a\.jpg\) fails its checksum at byte", out(result))

    error = error_of("cat", packed, "0", exit_code=3)
    assert error["code"] == "TND-203"
    assert tundish("cat", packed, "2").stdout == (photos / "dog/c.jpg").read_bytes()

    report = result_json("unpack", packed, "-o", tmp_path / "back", exit_code=3)
    assert [row["code"] for row in report["damaged"]] == ["TND-203"]
    assert sorted(tree(tmp_path / "back")) == [b"cat/b.JPEG", b"dog/c.jpg"]


def test_names_with_spaces_newlines_and_other_bytes_survive(tmp_path):
    names = [
        b"with space.jpg",
        b"line\nbreak.jpg",
        b"latin-\xe9.jpg",
        "ümläut.jpg".encode(),
        b"-o.jpg",
    ]
    for i, name in enumerate(names):
        write(os.fsencode(tmp_path) + b"/set of photos/a class\xff/" + name, jpeg((i, 0, 0)))
    source = tmp_path / "set of photos"
    assert tundish("pack", source, "-o", tmp_path / "my pack.tnd").returncode == 0
    text = out(tundish("ls", tmp_path / "my pack.tnd"))
    assert len(text.splitlines()) == len(names)
    assert r"line\x0abreak.jpg" in text
    assert r"latin-\xe9.jpg" in text
    rows = [
        json.loads(x) for x in tundish("ls", tmp_path / "my pack.tnd", "--json").stdout.splitlines()
    ]
    keys = {
        bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode() for row in rows
    }
    assert keys == {b"a class\xff/" + name for name in names}
    assert tundish("unpack", tmp_path / "my pack.tnd", "-o", tmp_path / "back").returncode == 0
    assert tree(tmp_path / "back") == tree(source)


def test_the_hint_for_a_name_with_spaces_can_be_typed(photos, tmp_path):
    result = tundish("pack", photos, "-o", "my pack.tnd", cwd=tmp_path)
    assert "tundish bench 'my pack.tnd'" in out(result)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_what_may_not_be_read_or_written_is_told(photos):
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(photos, folder / "photos")
        shutil.copy(PROGRAM, folder / "tundish")
        (folder / "photos/cat/a.jpg").chmod(0)

        def as_nobody(*words):
            words = [folder / "tundish", *words, "--json"]
            return subprocess.run(words, capture_output=True, cwd=folder, user=65534, group=65534)

        result = as_nobody("pack", "photos", "-o", "a.tnd")
        assert result.returncode == 1
        assert json.loads(result.stdout)["error"]["code"] == "TND-504"
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        result = as_nobody("pack", "photos", "-o", "open/a.tnd")
        assert result.returncode == 3
        assert [row["code"] for row in json.loads(result.stdout)["refused"]] == ["TND-504"]
        (folder / "photos/dog").chmod(0)
        result = as_nobody("pack", "photos", "-o", "open/b.tnd")
        assert result.returncode == 1
        assert "photos/dog" in result.stderr.decode()
        result = as_nobody("unpack", "open/a.tnd", "-o", "back")
        assert result.returncode == 1
        assert json.loads(result.stdout)["error"]["code"] == "TND-504"
        assert sorted(os.listdir(folder / "open")) == ["a.tnd", "a.tnd.log"]
    finally:
        shutil.rmtree(folder)


def test_a_missing_folder_for_the_output_is_told(photos, tmp_path):
    error = error_of("pack", photos, "-o", tmp_path / "no/such/a.tnd", exit_code=1)
    assert (error["code"], error["file"]) == ("TND-301", f"{tmp_path}/no/such/")
    result = tundish("pack", photos, "-o", tmp_path)
    assert result.returncode == 2
    assert "is a folder" in err(result)


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def test_a_full_disk_leaves_nothing_behind(photos, packed, tmp_path):
    before = packed.read_bytes()
    words = [PROGRAM, "pack", photos, "-o", packed, "--force"]
    result = subprocess.run(words, capture_output=True, preexec_fn=small_files_only)
    assert result.returncode == 1
    assert "TND-503" in err(result)
    assert packed.read_bytes() == before
    words = [PROGRAM, "unpack", packed, "-o", tmp_path / "back"]
    result = subprocess.run(words, capture_output=True, preexec_fn=small_files_only)
    assert result.returncode == 1
    assert "TND-503" in err(result)
    whole = tree(photos)
    assert all(data == whole[name] for name, data in tree(tmp_path / "back").items())
    assert left_behind(tmp_path, "photos", "train.tnd", "back") == []


def test_a_full_standard_output_is_a_failure(packed):
    for words in (["ls", packed], ["info", packed], ["cat", packed, "0"], ["--help"]):
        with open("/dev/full", "wb") as full:
            result = tundish(*words, stdout=full, stderr=subprocess.PIPE, capture_output=False)
        assert result.returncode == 1
        assert "TND-503 standard output" in err(result)


# --- pipes, terminals and Ctrl-C ------------------------------------------------------------------


def test_a_closed_pipe_ends_the_program_without_noise(packed):
    reading, writing = os.pipe()
    os.close(reading)
    result = tundish("ls", packed, stdout=writing, stderr=subprocess.PIPE, capture_output=False)
    os.close(writing)
    assert result.returncode == -signal.SIGPIPE
    assert result.stderr == b""


def test_a_closed_pipe_of_messages_does_not_stop_a_pack(photos, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    words = ["pack", photos, "-o", tmp_path / "a.tnd"]
    result = tundish(*words, stdout=subprocess.PIPE, stderr=writing, capture_output=False)
    os.close(writing)
    assert result.returncode == 0
    assert tundish("verify", tmp_path / "a.tnd").returncode == 0


@pytest.fixture
def many(tmp_path):
    """Enough files that a signal hits the work and not its end."""
    write(tmp_path / "many/c/0.jpg", jpeg())
    for i in range(1, 3000):
        os.link(tmp_path / "many/c/0.jpg", tmp_path / f"many/c/{i}.jpg")
    return tmp_path / "many"


def interrupt_after_first_line(words):
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    try:
        stdout, stderr = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, stdout, first + stderr


def test_ctrl_c_ends_a_pack_and_leaves_the_old_state(many, tmp_path):
    (tmp_path / "old.tnd").write_bytes(b"old")
    for _ in range(20):  # a signal may come too late
        words = ["pack", many, "-o", tmp_path / "old.tnd", "--force"]
        code, _, stderr = interrupt_after_first_line(words)
        assert left_behind(tmp_path, "many", "old.tnd") == []
        if code == 130:
            break
        assert code == 0
        (tmp_path / "old.tnd").write_bytes(b"old")
    assert code == 130
    assert (tmp_path / "old.tnd").read_bytes() == b"old"
    assert b"TND-507" in stderr
    assert b"was interrupted" in stderr


def test_ctrl_c_ends_a_benchmark(packed):
    code, stdout, stderr = interrupt_after_first_line(["bench", packed, "--milliseconds", "600000"])
    assert code == 130
    assert stdout == b""
    assert b"TND-507" in stderr


def on_terminal(*words, env=None):
    """Runs with a terminal as stderr; returns what was drawn on it."""
    terminal, end = open_terminal()
    plain = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    environment = {**plain, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(env or {})}
    process = subprocess.Popen(
        [PROGRAM, *map(os.fspath, words)], stdout=subprocess.PIPE, stderr=end, env=environment
    )
    os.close(end)
    drawn = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(terminal)
    process.communicate()
    return process.returncode, drawn.decode()


@pytest.fixture
def large(tmp_path):
    """Some tenths of a second of decoding."""
    file = io.BytesIO()
    Image.effect_noise((1500, 1500), 60).convert("RGB").save(file, "JPEG", quality=95)
    for i in range(20):
        write(tmp_path / f"large/c/{i}.jpg", file.getvalue())
    words = ["--codec", "keep"]  # the others decode too fast
    assert tundish("pack", tmp_path / "large", "-o", tmp_path / "large.tnd", *words).returncode == 0
    return tmp_path / "large.tnd"


def test_progress_is_drawn_on_a_terminal_only(large):
    words = ["verify", large, "--pixels", "--threads", "1"]
    code, drawn = on_terminal(*words)
    assert code == 0
    assert re.search(r"\r  .*decoding.*%.* img/s", drawn)
    assert drawn.endswith("\r\x1b[K"), "the line is wiped at the end"
    assert b"\r" not in tundish(*words).stderr
    for silent in (["--quiet"], ["--json"]):
        assert on_terminal(*words, *silent)[1] == ""
    assert "\r  " not in on_terminal(*words, env={"TERM": "dumb"})[1]


def test_colour_follows_the_terminal_and_the_variables(tmp_path):
    words = ["info", tmp_path / "no.tnd"]
    assert "\x1b[31mTND-301" in on_terminal(*words)[1]
    assert "\x1b[" not in on_terminal(*words, env={"NO_COLOR": "1"})[1]
    assert "\x1b[" not in on_terminal(*words, "--no-color")[1]
    assert "\x1b[" not in on_terminal(*words, env={"TERM": "dumb"})[1]
    assert b"\x1b[" not in tundish(*words).stderr
    assert b"\x1b[" in tundish(*words, env={**os.environ, "FORCE_COLOR": "1"}).stderr
