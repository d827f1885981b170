"""What can be packed: folders as torchvision reads them, archives of every make, lists."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import zstandard
from PIL import Image

from tests.helpers import program
from tests.helpers.files import tree, write
from tests.helpers.program import PROGRAM, needs_program
from tests.helpers.small_set import SHIM
from tests.helpers.torchvision_child import ask_torchvision

ENDINGS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

pytestmark = needs_program

# Names in the order of os.fsencode: blanks, line ends, quotes, bytes that are not UTF-8.
NAMES = [
    b"Zebra/1.jpg",
    b"a b/two words.JPG",
    b"a/.jpg",
    b"a/nested-1/x.png",
    b"a/nested/deeper/x.png",
    b"a/nested/x.png",
    b"line\nend/tab\there.jpeg",
    b"quote\"'/50%,;.png",
    "ä/é.jpg".encode(),
    "日本/犬.jpg".encode(),
    "\U0001f600/\ue000.jpg".encode(),
    b"\xff\xfe/\xc3.jpg",
    b"\xff\xfe/\xc3\xa4.jpg",
]


def tundish(*words, exit_code=0):
    result = program.tundish(*words)
    assert result.returncode == exit_code, result.stderr.decode()
    return result


def rows(path):
    """What `ls` shows, with keys as bytes."""
    lines = tundish("ls", path, "--json").stdout.decode().splitlines()
    found = [json.loads(line) for line in lines]
    for row in found:
        row["key"] = bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
    return found


def keys(path):
    return [row["key"] for row in rows(path)]


def packed(source, exit_code=0):
    target = Path(os.fspath(source) + ".tnd")
    target.unlink(missing_ok=True)
    tundish("pack", source, "-o", target, "--quiet", exit_code=exit_code)
    return target


def error_of(*words, exit_code):
    """Code and message of what `tundish` refuses."""
    found = json.loads(tundish(*words, "--json", exit_code=exit_code).stdout)["error"]
    return found["code"], found["message"]


def image(number):
    """A small image that no other number gives."""
    file = io.BytesIO()
    color = (number % 256, number // 256, 77)
    Image.new("RGB", (8 + number % 5, 8), color).save(file, "PNG" if number % 2 else "JPEG")
    return file.getvalue()


def write_all(root, files):
    for name, data in files.items():
        write(os.path.join(os.fsencode(root), name), data)


def torchvision_samples(directory):
    """torchvision.datasets.folder.make_dataset, in its own words but for the class lookup."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    samples = []
    for label, name in enumerate(classes):
        for root, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            for file in sorted(files):
                if file.lower().endswith(ENDINGS):
                    path = os.path.relpath(os.path.join(root, file), directory)
                    samples.append((os.fsencode(path), label))
    return classes, samples


@pytest.fixture(scope="module")
def files():
    return {name: image(number) for number, name in enumerate(NAMES)}


@pytest.fixture
def folder(tmp_path, files):
    write_all(tmp_path / "folder", files)
    return tmp_path / "folder"


# --- image folders ----------------------------------------------------------------------------


def test_a_folder_has_torchvisions_order_and_labels(folder):
    (folder / "a" / "notes.txt").write_text("no image")
    (folder / "empty").mkdir()
    (folder / "linked").symlink_to(folder / "a" / "nested", target_is_directory=True)
    (folder / "a" / "linked.jpg").symlink_to(folder / "Zebra" / "1.jpg")
    classes, samples = torchvision_samples(os.fspath(folder))
    for source in (folder, packed(folder)):
        found = rows(source)
        assert [(row["key"], row["label"]) for row in found] == samples
        for row in found:
            expected = classes[row["label"]]
            assert expected.isprintable() is False or row["class"] == expected


def test_a_folder_equals_torchvision_itself(folder):
    """Names that are not UTF-8 are left to the test above: this one speaks JSON with a child."""
    shutil.rmtree(os.path.join(os.fsencode(folder), b"\xff\xfe"))
    code = """
import json
from torchvision.datasets.folder import ImageFolder
print(json.dumps(ImageFolder(sys.argv[1]).samples))
"""
    samples = json.loads(ask_torchvision(code, folder))
    expected = [(os.path.relpath(path, folder).encode(), label) for path, label in samples]
    assert [(row["key"], row["label"]) for row in rows(folder)] == expected


def test_a_folder_comes_back_from_its_pack_byte_for_byte(folder, files, tmp_path):
    tundish("unpack", packed(folder), "-o", tmp_path / "again", "--quiet")
    again = tree(tmp_path / "again")
    assert {name: again.get(name) for name in files} == files
    assert set(again) - set(files) <= {b"list.csv"}


def test_a_loop_of_links_ends(folder):
    (folder / "a" / "loop").symlink_to(folder / "a", target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    before = [key for key in keys(folder) if not key.startswith(b"loop/")]
    assert len(before) == len(NAMES)


def test_an_empty_class_keeps_its_number_and_is_named(folder):
    (folder / "Aardvark").mkdir()
    result = tundish("pack", folder, "-o", folder / "out.tnd")
    assert b"TND-305" in result.stderr
    assert b"Aardvark" in result.stderr
    assert rows(folder / "out.tnd")[0]["label"] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_an_error(folder):
    (folder / "a").chmod(0)
    try:
        assert error_of("ls", folder, exit_code=1)[0] == "TND-504"
    finally:
        (folder / "a").chmod(0o755)


# --- archives ---------------------------------------------------------------------------------


def add(archive, name, data):
    member = tarfile.TarInfo(os.fsdecode(name))
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def members_of(path):
    """What Python's tarfile reads, which shares no line with ours."""
    with tarfile.open(path, encoding="utf-8", errors="surrogateescape") as archive:
        return {
            os.path.normpath(os.fsencode(member.name)): archive.extractfile(member).read()
            for member in archive
            if member.isreg()
        }


def check_archive(path, expected):
    """The archive and its pack have the expected images in order, and give them back."""
    assert keys(path) == list(expected)
    pack = packed(path)
    assert keys(pack) == list(expected)
    again = path.parent / "again"
    shutil.rmtree(again, ignore_errors=True)
    tundish("unpack", pack, "-o", again, "--quiet")
    found = tree(again)
    assert {name: found.get(name) for name in expected} == expected


# A name that begins with a dot belongs to no sample; the others agree with nobody before the dot.
TAR_NAMES = [name for name in NAMES if name != b"a/.jpg"]


@pytest.mark.parametrize("form", ["USTAR", "GNU", "PAX"])
def test_an_archive_of_pythons_tarfile(form, files, tmp_path):
    members = {name: files[name] for name in TAR_NAMES}
    members[b"d" * 80 + b"/" + b"n" * 90 + b".jpg"] = image(100)
    if form != "USTAR":
        members[b"e" * 150 + b"/" + b"n" * 200 + b".jpg"] = image(101)
    path = tmp_path / "a.tar"
    form = getattr(tarfile, form + "_FORMAT")
    with tarfile.open(
        path, "w", format=form, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for name, data in members.items():
            add(archive, name, data)
    check_archive(path, members)


@pytest.mark.parametrize("form", ["v7", "oldgnu", "gnu", "ustar", "posix"])
def test_an_archive_of_gnu_tar(form, folder, files, tmp_path):
    version = subprocess.run(["tar", "--version"], capture_output=True, text=True)
    if "GNU tar" not in version.stdout:
        pytest.skip("another tar program")
    os.remove(folder / "a" / ".jpg")
    if form != "v7":
        write_all(folder, {b"d" * 80 + b"/" + b"n" * 90 + b".jpg": image(100)})
    os.link(folder / "Zebra" / "1.jpg", folder / "Zebra" / "2.jpg")
    path = tmp_path / "a.tar"
    line = [
        "tar",
        "--create",
        f"--format={form}",
        "--sort=name",
        f"--file={path}",
        "-C",
        folder,
        ".",
    ]
    subprocess.run(line, check=True)
    expected = members_of(path)
    assert len(expected) == len(TAR_NAMES) + (form != "v7")  # the second link has no data
    check_archive(path, expected)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_a_compressed_archive_gives_the_same_pack(kind, files, tmp_path):
    plain = tmp_path / "plain.tar"
    with tarfile.open(plain, "w") as archive:
        for number in range(300):
            add(archive, b"%d/%d.jpg" % (number % 3, number), image(number))
    data = plain.read_bytes()
    half = len(data) // 2
    if kind == "zst":
        compress = zstandard.ZstdCompressor(write_checksum=True).compress
    else:
        compress = {"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress
    path = tmp_path / "named.anyhow"
    path.write_bytes(compress(data[:half]) + compress(data[half:]))
    assert rows(path) == rows(plain)
    assert packed(path).read_bytes() == packed(plain).read_bytes()

    path.write_bytes(path.read_bytes()[:-20])
    code, message = error_of("pack", path, "-o", tmp_path / "b.tnd", exit_code=3)
    assert code == "TND-312"
    assert "named.anyhow" in message
    assert not (tmp_path / "b.tnd").exists()


def test_samples_of_a_webdataset_have_their_fields(tmp_path):
    path = tmp_path / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(5):
            stem = b"s/%04d" % number
            add(archive, stem + b".png", image(number))
            add(archive, stem + b".cls", b"%d\n" % (number * 10))
            add(archive, stem + b".txt", b"caption %d" % number)
            add(archive, stem + b".seg.png", image(1000 + number))
    pack = packed(path)
    found = rows(pack)
    assert [row["label"] for row in found] == [0, 10, 20, 30, 40]
    info = json.loads(tundish("info", pack, "--json").stdout)
    assert [(field["name"], field["type"]) for field in info["fields"]] == [
        ("image", "image"),
        ("label", "label"),
        ("txt", "text"),
        ("seg.png", "bytes"),
    ]
    tundish("unpack", pack, "-o", tmp_path / "again", "--quiet")
    again = tree(tmp_path / "again")
    assert again[b"s/0003.seg.png"] == image(1003)
    assert again[b"s/0003.txt"] == b"caption 3"
    listed = list(csv.DictReader(io.StringIO(again[b"list.csv"].decode())))
    assert listed[3] == {"path": "s/0003.png", "label": "30"}


def test_names_that_lead_out_of_an_archive_stay_inside(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for number, name in enumerate([b"../../up.jpg", b"/root/abs.jpg", b"c/../../x.jpg"]):
            add(archive, name, image(number))
    assert keys(packed(path)) == [b"up.jpg", b"root/abs.jpg", b"x.jpg"]
    tundish("unpack", packed(path), "-o", tmp_path / "deep" / "er", "--quiet")
    assert not (tmp_path / "up.jpg").exists()
    assert (tmp_path / "deep" / "er" / "up.jpg").exists()


def test_a_damaged_archive_is_refused_with_its_place(files, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in TAR_NAMES:
            add(archive, name, files[name])
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    code, message = error_of("pack", path, "-o", tmp_path / "b.tnd", exit_code=3)
    assert code == "TND-306"
    assert "at byte" in message
    path.write_bytes(whole[:3] + b"?" + whole[4:])
    assert error_of("ls", path, exit_code=3)[0] == "TND-306"
    with tarfile.open(path, "w") as archive:
        for name in [b"a.jpg", b"b.jpg", b"a.jpg"]:
            add(archive, name, image(1))
    assert error_of("ls", path, exit_code=3)[0] == "TND-307"


# --- lists ------------------------------------------------------------------------------------


def write_list(path, lines, **options):
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        csv.writer(file, **options).writerows(lines)
    return path


@pytest.mark.parametrize(("ending", "options"), [(".csv", {}), (".tsv", {"delimiter": "\t"})])
def test_a_list_written_by_pythons_csv(ending, options, folder, files, tmp_path):
    labels = ["dog", "cat", "eel"]
    lines = [["path", "label", "weight", "note"]]
    for number, name in enumerate(files):
        path = os.path.join("folder", os.fsdecode(name))
        lines.append([path, labels[number % 3], number / 4, f'say "{number}",\nthen go'])
    path = write_list(tmp_path / ("list" + ending), lines, **options)
    pack = packed(path)
    for source in (path, pack):
        found = rows(source)
        assert [row["key"] for row in found] == [b"folder/" + name for name in files]
        assert [row["class"] for row in found] == [labels[n % 3] for n in range(len(files))]
        assert [row["label"] for row in found] == [[1, 0, 2][n % 3] for n in range(len(files))]

    tundish("unpack", pack, "-o", tmp_path / "again", "--quiet")
    again = packed(tmp_path / "again" / "list.csv")
    assert rows(again) == rows(pack)
    assert tree(tmp_path / "again" / "folder") == files


def test_a_list_of_absolute_paths_names_no_place_of_the_machine(folder, files, tmp_path):
    (tmp_path / "lists").mkdir()
    lines = [["path"]] + [[os.fsdecode(os.path.join(os.fsencode(folder), n))] for n in files]
    pack = packed(write_list(tmp_path / "lists" / "list.csv", lines))
    assert keys(pack) == list(files)
    assert os.fsencode(tmp_path) not in pack.read_bytes()


def test_a_row_whose_file_is_missing_is_refused_alone(folder, tmp_path):
    lines = [["path"], ["folder/Zebra/1.jpg"], ["folder/missing.jpg"]]
    path = write_list(tmp_path / "list.csv", lines)
    result = tundish("pack", path, "-o", tmp_path / "out.tnd", exit_code=3)
    assert b"missing.jpg" in result.stderr
    assert b"TND-301" in result.stderr
    assert keys(tmp_path / "out.tnd") == [b"folder/Zebra/1.jpg"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("path,label\na.jpg,1\nb.jpg\n", "TND-308", "line 3: 1 columns"),
        ('path,label\na.jpg,1\n"b.jpg,2\n', "TND-308", "line 3: a quote opens"),
        ("name,label\na.jpg,1\n", "TND-308", "no column is named 'path'"),
        ("path,label\na.jpg,1\nb.jpg,\n", "TND-313", "line 3, column 'label'"),
        ("path,label\na.jpg,1\nb.jpg,1.5\n", "TND-313", "line 3, column 'label'"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_by_line(text, code, words, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(text)
    found, message = error_of("ls", path, exit_code=3)
    assert found == code
    assert words in message


# --- what is nothing of these -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("missing", None, "TND-301"),
        ("a.tar", b"", "TND-310"),
        ("a.tar", b"nonsense", "TND-306"),
        ("a.bin", b"nonsense", "TND-304"),
        ("a.csv", b"", "TND-308"),
        ("a.csv", b"path\n", "TND-302"),
    ],
)
def test_what_cannot_be_packed_is_refused(name, data, code, tmp_path):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    result = json.loads(
        subprocess.run(
            [PROGRAM, "pack", tmp_path / name, "-o", tmp_path / "out.tnd", "--json"],
            capture_output=True,
            timeout=120,
        ).stdout
    )
    assert result["error"]["code"] == code
    assert not (tmp_path / "out.tnd").exists()


@pytest.mark.skipif(not SHIM.exists(), reason="./dev build makes it")
def test_a_source_opens_where_no_thread_can_be_started(tiny, run_python):
    code = """
import sys, tundish
print(len(tundish.Dataset(sys.argv[1])))
try:
    tundish.Dataset("gone")
except tundish.MissingError:
    print("gone")
"""
    faults = {"FAIL_CALL": "thread", "FAIL_NTH": "1", "FAIL_ERRNO": "11", "FAIL_KEEP": "1"}
    env = {"LD_PRELOAD": str(SHIM), "OPENBLAS_NUM_THREADS": "1"} | faults
    assert run_python(code, tiny.pack, env=env).stdout == f"{tiny.count}\ngone\n"
