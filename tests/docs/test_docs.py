"""Documentation is correct: referenced files exist and code blocks run."""

import ast
import re
import subprocess

import pytest

from tests.helpers.program import ROOT
from tests.helpers.warm_python import run_warm

DOCUMENTS = sorted(
    f
    for pattern in ("*.md", "docs/**/*.md", "bench/README.md", "src/README.md", "src/**/README.md")
    for f in ROOT.glob(pattern)
)
LAYERS = re.findall(r"^\| `([\w/]+)` \|", (ROOT / "src" / "layers.md").read_text(), re.MULTILINE)
# A path with a folder, or a file of the root: src/loader/engine/ring.h, docs/, CMakeLists.txt
FOLDERS = "src|docs|tests|python|include|bench|fuzz|tools|examples"
NAMED = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./*-]*|[A-Z][\w-]*\.(?:md|txt))")
SHORT = re.compile(r"`((?:\w+/)*[\w*]+\.(?:h|c|cpp|cu|cuh|py|md|\*))`")
# Example paths that a reader would create; the repository does not have them.
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


def lies_in(folder, name):
    """Returns whether the folder has `file.h` or `sub/file.h`.

    A file of another folder has a path from src/ or the root: `base/image.h`,
    `docs/internals/lanes.md`.
    """
    if list(folder.glob(name)):
        return True
    elsewhere = "/" in name and not (folder / name.split("/")[0]).is_dir()
    return elsewhere and any(list(root.glob(name)) for root in (ROOT / "src", ROOT))


@pytest.mark.parametrize(
    "readme", sorted(ROOT.glob("src/*/**/README.md")), ids=lambda f: f.parent.name
)
def test_every_file_that_a_readme_describes_exists(readme):
    missing = sorted(
        name
        for name in set(SHORT.findall(readme.read_text())) - INVENTED
        if not lies_in(readme.parent, name)
    )
    assert not missing


@pytest.mark.parametrize("layer", LAYERS)
def test_every_folder_of_the_sources_has_a_readme_of_one_screen(layer):
    text = (ROOT / "src" / layer / "README.md").read_text()
    assert len(text.splitlines()) <= 60
    parts = [f.name for f in (ROOT / "src" / layer).iterdir() if f.is_dir()]
    assert [part for part in parts if f"`{part}/" not in text] == []


def test_a_file_that_a_folder_does_not_have_would_be_found():
    folder = ROOT / "src" / "cuda"
    assert SHORT.findall("`a.h`, `sub/b_2.*`, `c.d`") == ["a.h", "sub/b_2.*"]
    for name in ("gpu_uploader.*", "decode/tiles.*", "base/image.h", "docs/internals/lanes.md"):
        assert lies_in(folder, name)
    assert not lies_in(folder, "tiles.h")
    assert not lies_in(folder, "decode/decode.h")  # decode.h is in src/codec


def test_a_name_that_does_not_exist_would_be_found():
    assert names_in("see `src/loader/engine/rings.h`, HACKING.md.") == {
        "src/loader/engine/rings.h",
        "HACKING.md",
    }
    assert not exists("src/loader/engine/rings.h")
    assert exists("src/loader/engine/ring.*")


# A link to a file of the repository, optionally to a heading: [text](../bench/README.md#rules)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(text):
    """Returns the anchors of a page's headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text, folder):
    """Returns the broken links of a text located in this folder."""
    broken = []
    for path, anchor in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        target = folder / path if path else None
        if target is not None and not target.exists():
            broken.append(path)
        elif anchor and anchor not in anchors(target.read_text() if target else text):
            broken.append(f"{path}#{anchor}")
    return broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda f: str(f.relative_to(ROOT)))
def test_every_link_of_a_document_leads_somewhere(document):
    assert broken_links(document.read_text(), document.parent) == []


def test_a_broken_link_would_be_found():
    text = "# A heading, here\n[x](README.md) [y](#a-heading-here) [z](gone.md) [w](README.md#no)"
    assert broken_links(text, ROOT) == ["gone.md", "README.md#no"]


def test_every_page_for_users_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"README.md"}
    assert sorted(page for page in pages if f"({page})" not in index) == []
    parts = ["## Tutorial", "## How-to guides", "## Reference", "## Explanation"]
    assert re.findall(r"^## .*", index, re.MULTILINE) == parts


def test_a_new_subject_becomes_a_section_before_it_becomes_a_page():
    """29 pages with the index: a reader finds a page by its name."""
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/formats/*.md")]
    assert len(pages) <= 29


def python_blocks(document, kind="python"):
    return re.findall(rf"^```{kind}\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)


# Names that a page may assume: a training step, a model, a logger; torchvision's models are small.
PRELUDE = """
import os, sys
os.chdir(sys.argv[1])
import torch, torchvision
train_step = lambda *batch: None
logger = type("Logger", (), {"log": lambda self, values: None})()
model = lambda images: torch.zeros(len(images), 3)
torchvision.models.resnet18 = lambda num_classes: torch.nn.Sequential(
    torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, num_classes))
"""
USER_PAGES = [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/formats/*.md"))]
PAGES = [f for f in (ROOT / "README.md", *USER_PAGES) if python_blocks(f)]


@pytest.mark.parametrize("page", PAGES, ids=lambda f: f.name)
def test_the_python_of_a_page_runs(page, photos, tmp_path):
    """Runs the blocks in order, like a notebook, beside photos/, train.tnd and val.tnd.

    Blocks that need a GPU or other data are marked ```py and only compiled.
    """
    (tmp_path / "photos").symlink_to(photos.folder)
    for name in ("train.tnd", "val.tnd"):
        (tmp_path / name).symlink_to(photos.pack)
    shown = run_warm("-c", PRELUDE + "\n".join(python_blocks(page)), tmp_path).stdout
    assert steps_beyond_the_end(shown) == []


def steps_beyond_the_end(shown):
    """Returns lines such as "epoch 0, step 40 of 38"."""
    steps = re.findall(r"\bstep (\d+) of (\d+)", shown)
    return [f"step {step} of {count}" for step, count in steps if int(step) > int(count)]


def test_a_resumed_epoch_counts_to_its_last_step(photos, tmp_path):
    """docs/resume.md counts the steps of the whole epoch."""
    (tmp_path / "train.tnd").symlink_to(photos.pack)
    blocks = python_blocks(ROOT / "docs" / "resume.md")
    number = next(n for n, block in enumerate(blocks) if "enumerate(loader, start=done)" in block)
    code = PRELUDE + "\n".join(blocks[: number + 1])
    lines = re.findall(r"step (\d+) of (\d+)", run_warm("-c", code, tmp_path).stdout)
    steps, (count, *others) = ([int(one) for one in of] for of in zip(*lines, strict=True))
    assert steps == list(range(steps[0], count + 1))
    assert set(others) <= {count}
    assert steps_beyond_the_end("epoch 0, step 38 of 38, step 40 of 38") == ["step 40 of 38"]


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda f: f.name)
def test_the_python_that_is_not_run_compiles(page):
    for block in python_blocks(page, "py"):
        assert ast.parse(block).body


def test_the_commands_of_the_script_are_those_the_documents_name():
    listed = subprocess.run([ROOT / "dev"], capture_output=True, text=True, timeout=60).stdout
    commands = set(re.findall(r"^  (\w+) ", listed, re.MULTILINE))
    assert {"setup", "build", "test", "demo", "bench", "lint", "fuzz", "wheel"} <= commands
    parts = {"unit", "pytest", "clang"}
    for document in DOCUMENTS:
        named = set(re.findall(r"\./dev ([a-z]+)", document.read_text()))
        assert named <= commands | parts, document
