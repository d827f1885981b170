"""What the documents say is true: the files they name exist, their code runs."""

import ast
import re
import subprocess

import pytest

from tests.helpers.program import ROOT

DOCUMENTS = sorted(
    f
    for pattern in ("*.md", "docs/**/*.md", "bench/README.md", "src/README.md", "src/*/README.md")
    for f in ROOT.glob(pattern)
)
# A path with a folder, or a file of the root: src/engine/ring.h, docs/, CMakeLists.txt
FOLDERS = "src|docs|tests|python|include|bench|fuzz|tools|examples"
NAMED = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./*-]*|[A-Z][\w-]*\.(?:md|txt))")
SHORT = re.compile(r"`((?:\w+/)*[\w*]+\.(?:h|c|cpp|cu|cuh|py|md|\*))`")
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


def lies_in(folder, name):
    """Whether the folder has `file.h` or `sub/file.h`; the name of another folder's file begins
    at src/ or at the root: `core/image.h`, `docs/internals/lanes.md`."""
    if list(folder.glob(name)):
        return True
    elsewhere = "/" in name and not (folder / name.split("/")[0]).is_dir()
    return elsewhere and any(list(root.glob(name)) for root in (ROOT / "src", ROOT))


@pytest.mark.parametrize(
    "readme", sorted(ROOT.glob("src/*/README.md")), ids=lambda f: f.parent.name
)
def test_every_file_that_a_readme_describes_exists(readme):
    missing = sorted(
        name
        for name in set(SHORT.findall(readme.read_text())) - INVENTED
        if not lies_in(readme.parent, name)
    )
    assert not missing


@pytest.mark.parametrize("folder", sorted(f.name for f in (ROOT / "src").iterdir() if f.is_dir()))
def test_every_folder_of_the_sources_has_a_readme_of_one_screen(folder):
    text = (ROOT / "src" / folder / "README.md").read_text()
    assert len(text.splitlines()) <= 60
    parts = [f.name for f in (ROOT / "src" / folder).iterdir() if f.is_dir()]
    assert [part for part in parts if f"`{part}/" not in text] == []


def test_a_file_that_a_folder_does_not_have_would_be_found():
    folder = ROOT / "src" / "cuda"
    assert SHORT.findall("`a.h`, `sub/b_2.*`, `c.d`") == ["a.h", "sub/b_2.*"]
    for name in ("gpu_uploader.*", "decode/tiles.*", "core/image.h", "docs/internals/lanes.md"):
        assert lies_in(folder, name)
    assert not lies_in(folder, "tiles.h")
    assert not lies_in(folder, "decode/decode.h")  # of src/decode, not of src/cuda/decode


def test_the_path_of_an_image_takes_at_most_six_files():
    text = (ROOT / "docs/internals/follow-one-image.md").read_text()
    picture = re.findall(r"^ +(?:trainer|workers?) +((?:src|python)/\S+)", text, re.MULTILINE)
    assert 4 <= len(picture) <= 6
    assert all((ROOT / name).is_file() for name in picture)
    steps = re.findall(r"^\d+\. \*\*`(\S+)`\*\*", text, re.MULTILINE)
    assert steps == picture


# A function on the page: next(), `Engine::next`, `Run.next`, tundish_loader_next
FUNCTION = re.compile(r"\b(\w+)\(\)|`(\w+(?:::|\.)_*[a-z]\w*)`|\b(tundish_\w+)")


def functions_beside_files(text):
    """Pairs of a function named in the text and the file it is beside, in picture and list.

    A line of the picture without a file belongs to the file above it; a step, to its first line.
    """
    path, pairs = None, []
    for line in text.splitlines():
        named = re.match(r"(?: +\w+ +|\d+\. \*\*`)((?:src|python)/[\w./]+)", line)
        if named:
            path = named[1]
        elif line.startswith("#"):
            path = None
        if path:
            pairs += [("".join(names), path) for names in FUNCTION.findall(line)]
    return pairs


def defines(path, name):
    """Whether the file holds the body of this function, or of the method `Class::name`."""
    text = (ROOT / path).read_text()
    *owner, name = re.split(r"::|\.", name)
    if path.endswith(".py"):
        scopes = [ast.parse(text)]
        if owner:
            scopes = [s for s in scopes[0].body if isinstance(s, ast.ClassDef) and s.name in owner]
        return any(
            isinstance(node, ast.FunctionDef) and node.name == name
            for scope in scopes
            for node in scope.body
        )
    # At the beginning of a line, as clang-format leaves a definition, with a body before any ";".
    qualified = "::".join([*owner, name]) if owner else rf"(?:\w+::)*{name}"
    found = re.search(rf"^[\w][\w:<>,&* ]*[ &*]{qualified}\(", text, re.MULTILINE)
    return found is not None and "{" in text[found.end() :].split(";")[0]


def calls(path, name):
    """Whether the file calls the method `Class::name` of an object."""
    member = re.split(r"::|\.", name)[-1]
    return re.search(rf"(?:->|\.){member}\(", (ROOT / path).read_text()) is not None


def test_functions_named_on_the_path_are_in_the_files_named_beside_them():
    pairs = functions_beside_files((ROOT / "docs/internals/follow-one-image.md").read_text())
    files = {path for _, path in pairs}
    defined = [(name, path) for name, path in pairs if defines(path, name)]
    others = set(pairs) - set(defined)
    # A method may be beside its caller where another file of the path has its body.
    missing = [
        f"{name} in {path}"
        for name, path in others
        if not (calls(path, name) and any(defines(other, name) for other in files))
    ]
    assert not missing
    assert len(defined) >= 4, "the page names too few functions, or the test does not see them"


def test_a_function_that_a_file_does_not_define_would_be_found():
    page = "    trainer  src/a.cpp   load(): x\n    workers              work(): y\n"
    page += "1. **`src/b.cpp`**. It calls\n   `Engine::next`.\n## Other\nthe `x.y` and z()\n"
    assert functions_beside_files(page) == [
        ("load", "src/a.cpp"),
        ("work", "src/a.cpp"),
        ("Engine::next", "src/b.cpp"),
    ]
    assert defines("src/engine/engine.cpp", "Engine::next")
    assert defines("python/tundish/data/run.py", "Run.next")
    assert not defines("src/engine/engine.cpp", "load_sample")  # called there
    assert not defines("src/sample/sample.h", "load_sample")  # declared there
    assert not defines("python/tundish/data/run.py", "Run._next")
    assert not calls("src/order/order.cpp", "Engine::next")


def test_a_name_that_does_not_exist_would_be_found():
    assert names_in("see `src/engine/rings.h`, HACKING.md.") == {"src/engine/rings.h", "HACKING.md"}
    assert not exists("src/engine/rings.h")
    assert exists("src/engine/ring.*")


# A link to a file of the repository, perhaps to a heading of it: [text](../bench/README.md#rules)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text, folder):
    """Links of a text, as if it was in this folder, that lead nowhere."""
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


def test_every_page_for_users_is_in_the_table_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    pages = sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md"))
    assert [page for page in pages if f"({page})" not in readme] == []


def python_blocks(document, kind="python"):
    return re.findall(rf"^```{kind}\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)


# What a page may take for granted: a training step, a model, a logger; torchvision's models are small.
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
PAGES = [f for f in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if python_blocks(f)]


@pytest.mark.parametrize("page", PAGES, ids=lambda f: f.name)
def test_the_python_of_a_page_runs(page, photos, tmp_path, run_python):
    """Its blocks, in order, as in a notebook, where photos/, train.tnd and val.tnd are.

    Blocks that need a GPU or other data are marked ```py and only compiled.
    """
    (tmp_path / "photos").symlink_to(photos.folder)
    for name in ("train.tnd", "val.tnd"):
        (tmp_path / name).symlink_to(photos.pack)
    run_python(PRELUDE + "\n".join(python_blocks(page)), tmp_path)


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
