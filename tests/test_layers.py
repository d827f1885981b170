"""Reads the includes and enforces who may know whom."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# src/layers.md is the declaration: a folder may include itself and what stands above it.
LAYERS = re.findall(r"^\| `(\w+)` \|", (ROOT / "src" / "layers.md").read_text(), re.MULTILINE)

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(folder: str) -> list[Path]:
    endings = {".h", ".cpp", ".cu", ".cuh", ".c"}
    return sorted(f for f in (ROOT / "src" / folder).rglob("*") if f.suffix in endings)


def includes(text: str) -> list[str]:
    return INCLUDE.findall(text)


def backward(layer: str, text: str) -> list[str]:
    """The includes of a file of `layer` that point at a later layer or at nothing known."""
    wrong = []
    for name in includes(text):
        folder = name.split("/")[0] if "/" in name else ""
        if name == "tundish.h":
            if layer not in ("capi", "cli"):
                wrong.append(name)
        elif folder not in LAYERS or LAYERS.index(folder) > LAYERS.index(layer):
            wrong.append(name)
    return wrong


def test_no_include_points_back():
    wrong = [
        f"{file.relative_to(ROOT)} includes {name}"
        for layer in LAYERS
        for file in sources(layer)
        for name in backward(layer, file.read_text())
    ]
    assert not wrong, "\n".join(wrong)


def test_a_backward_include_would_be_found():
    assert backward("core", '#include "engine/ring.h"\n') == ["engine/ring.h"]
    assert backward("engine", '#include "core/image.h"\n#include <vector>\n') == []
    assert backward("lanes", '#include "augment/plan.h"\n') == ["augment/plan.h"]
    assert backward("pack", '#include "reader.h"\n') == ["reader.h"]


def test_every_folder_of_the_sources_has_its_place_in_the_order():
    folders = {f.name for f in (ROOT / "src").iterdir() if f.is_dir()}
    assert folders == set(LAYERS)
    assert len(LAYERS) == len(folders)


def test_the_documents_refer_to_the_declaration_and_do_not_repeat_it():
    for name in ("HACKING.md", "src/README.md"):
        text = (ROOT / name).read_text()
        assert "layers.md" in text
        rows = re.findall(r"^\| `(?:src/)?(\w+)/?`", text, re.MULTILINE)
        assert not set(rows) & set(LAYERS), f"{name} has a table of its own"


def test_no_folder_of_the_sources_is_too_large():
    """lanes/ alone may have more: the codec is one idea with a variant per instruction set."""
    counts = {
        folder.relative_to(ROOT / "src"): sum(f.is_file() for f in folder.iterdir())
        for folder in (ROOT / "src").rglob("*")
        if folder.is_dir()
    }
    assert not {name: n for name, n in counts.items() if n > 40 and str(name) != "lanes"}
