"""Reads the includes and enforces who may know whom."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A folder may include itself and what stands before it; the road of the data, then the faces.
LAYERS = ["core", "trace", "augment", "lanes", "decode", "source", "pack", "cuda", "batch", "capi"]
LAYERS += ["cli"]

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
    assert backward("core", '#include "batch/ring.h"\n') == ["batch/ring.h"]
    assert backward("batch", '#include "core/image.h"\n#include <vector>\n') == []
    assert backward("pack", '#include "reader.h"\n') == ["reader.h"]


def test_every_folder_of_the_sources_has_its_place_in_the_order():
    folders = {f.name for f in (ROOT / "src").iterdir() if f.is_dir()}
    assert folders <= set(LAYERS)
