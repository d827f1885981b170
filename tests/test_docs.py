"""What the documents say is true: the files they name exist, their code runs."""

import re
import subprocess

import pytest
from program import ROOT

DOCUMENTS = sorted(
    f
    for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "src/README.md", "src/*/README.md")
    for f in ROOT.glob(pattern)
)
# A path with a folder, or a file of the root: src/batch/ring.h, docs/, CMakeLists.txt
FOLDERS = "src|docs|tests|python|include|bench|fuzz|tools|examples"
NAMED = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./*-]*|[A-Z][\w-]*\.(?:md|txt))")
SHORT = re.compile(r"`([a-z_]+\.(?:h|cpp|cu|py|md|\*))`")
# Examples of what a reader would make, not of what is here.
INVENTED = {"your_op.h", "your_op.cpp", "your_op_test.cpp"}


def names_in(text):
    return {name.rstrip(".") for name in NAMED.findall(text)}


def exists(name):
    if any(part.startswith(("your_op", "NAME")) for part in name.split("/")):
        return True
    return any(ROOT.glob(name)) if "*" in name else (ROOT / name).exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda f: str(f.relative_to(ROOT)))
def test_every_file_a_document_names_exists(document):
    missing = sorted(name for name in names_in(document.read_text()) if not exists(name))
    assert not missing


@pytest.mark.parametrize(
    "readme", sorted(ROOT.glob("src/*/README.md")), ids=lambda f: f.parent.name
)
def test_every_file_a_folder_describes_lies_in_it(readme):
    missing = sorted(
        name
        for name in set(SHORT.findall(readme.read_text())) - INVENTED
        if not list(readme.parent.glob(name)) and not list(ROOT.glob(f"**/{name}"))
    )
    assert not missing


@pytest.mark.parametrize("folder", sorted(f.name for f in (ROOT / "src").iterdir() if f.is_dir()))
def test_every_folder_of_the_sources_has_a_readme_of_one_screen(folder):
    text = (ROOT / "src" / folder / "README.md").read_text()
    assert len(text.splitlines()) <= 60


def test_the_road_of_an_image_takes_at_most_six_files():
    text = (ROOT / "docs/follow-one-image.md").read_text()
    picture = re.findall(r"^ +(?:trainer|workers?) +((?:src|python)/\S+)", text, re.MULTILINE)
    assert 4 <= len(picture) <= 6
    assert all((ROOT / name).is_file() for name in picture)
    steps = re.findall(r"^\d+\. \*\*`(\S+)`\*\*", text, re.MULTILINE)
    assert steps == picture


def test_functions_named_on_the_road_are_in_the_files_named_beside_them():
    text = (ROOT / "docs/follow-one-image.md").read_text()
    for path, rest in re.findall(r"^ +\w+ +((?:src|python)/\S+) +(.*)$", text, re.MULTILINE):
        for function in re.findall(r"\b(\w+)\(\)|(tundish_\w+)", rest):
            name = "".join(function)
            assert re.search(rf"\b{name}\b", (ROOT / path).read_text()), f"{name} in {path}"


def test_a_name_that_does_not_exist_would_be_found():
    assert names_in("see `src/batch/rings.h`, HACKING.md.") == {"src/batch/rings.h", "HACKING.md"}
    assert not exists("src/batch/rings.h")
    assert exists("src/batch/ring.*")


def python_blocks(document):
    text = document.read_text() if document.exists() else ""
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", python_blocks(ROOT / "README.md"))
def test_the_python_in_the_readme_runs(block, photos, tmp_path, run_python):
    """It runs where photos/ and train.tnd are, with a training step that does nothing."""
    (tmp_path / "photos").symlink_to(photos.folder)
    for name in set(re.findall(r'"([\w-]+\.tnd)"', block)):
        (tmp_path / name).symlink_to(photos.pack)
    step = "import os, sys\nos.chdir(sys.argv[1])\ntrain_step = lambda *batch: None\n"
    run_python(step + block.replace("...", "pass"), tmp_path)


def test_the_commands_of_the_script_are_those_the_documents_name():
    listed = subprocess.run([ROOT / "dev"], capture_output=True, text=True, timeout=60).stdout
    commands = set(re.findall(r"^  (\w+) ", listed, re.MULTILINE))
    assert {"setup", "build", "test", "demo", "bench", "lint", "fuzz", "wheel"} <= commands
    parts = {"unit", "pytest", "clang"}
    for document in DOCUMENTS:
        named = set(re.findall(r"\./dev ([a-z]+)", document.read_text()))
        assert named <= commands | parts, document
