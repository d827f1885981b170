"""Reads includes and imports, and enforces the order of layers."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# src/layers.md declares the order: a folder may include itself and the folders listed before it.
LAYERS = re.findall(r"^\| `([\w/]+)` \|", (ROOT / "src" / "layers.md").read_text(), re.MULTILINE)

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(folder: str) -> list[Path]:
    endings = {".h", ".cpp", ".cu", ".cuh", ".c"}
    return sorted(f for f in (ROOT / "src" / folder).rglob("*") if f.suffix in endings)


def includes(text: str) -> list[str]:
    return INCLUDE.findall(text)


def layer_of(name: str) -> str:
    """Returns loader/engine for loader/engine/ring.h, base for base/machine/cpu.h, "" if none."""
    return next((layer for layer in LAYERS if name.startswith(f"{layer}/")), "")


def backward(layer: str, text: str) -> list[str]:
    """Returns includes of a file of `layer` that name a later layer or an unknown file."""
    wrong = []
    for name in includes(text):
        folder = layer_of(name)
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
    assert backward("base", '#include "loader/engine/ring.h"\n') == ["loader/engine/ring.h"]
    assert backward("loader/engine", '#include "base/image.h"\n#include <vector>\n') == []
    assert backward("codec/lanes", '#include "augment/plan.h"\n') == ["augment/plan.h"]
    assert backward("codec/lanes", '#include "codec/decode/png.h"\n') == ["codec/decode/png.h"]
    assert backward("data/pack", '#include "reader.h"\n') == ["reader.h"]
    assert backward("data/pack", '#include "data/reader.h"\n') == ["data/reader.h"]


def test_every_folder_of_the_sources_has_its_place_in_the_order():
    folders = [f for f in (ROOT / "src").iterdir() if f.is_dir()]
    rooms = {layer.split("/")[0] for layer in LAYERS}
    assert {f.name for f in folders} == rooms
    divided = {layer.split("/")[0] for layer in LAYERS if "/" in layer}
    parts = {f"{f.name}/{p.name}" for f in folders for p in f.iterdir() if p.is_dir()}
    assert {part for part in parts if part.split("/")[0] in divided} | (rooms - divided) == set(
        LAYERS
    )
    assert len(LAYERS) == len(set(LAYERS))


def test_the_source_folders_have_no_cyclic_dependencies():
    rooms = [layer.split("/")[0] for layer in LAYERS]
    in_order = [room for n, room in enumerate(rooms) if n == 0 or rooms[n - 1] != room]
    assert len(in_order) == len(set(in_order)) == 11


def test_the_documents_refer_to_the_declaration_and_do_not_repeat_it():
    for name in ("HACKING.md", "src/README.md"):
        text = (ROOT / name).read_text()
        assert "layers.md" in text
        rows = re.findall(r"^\| `src/([\w/]+?)/?`", text, re.MULTILINE)
        assert not set(rows) & set(LAYERS), f"{name} has a table of its own"


def test_no_folder_of_the_sources_is_too_large():
    """Only codec/lanes may have more files, because each instruction set has a variant."""
    counts = {
        folder.relative_to(ROOT / "src"): sum(
            f.is_file() and f.name != "CMakeLists.txt" for f in folder.iterdir()
        )
        for folder in (ROOT / "src").rglob("*")
        if folder.is_dir()
    }
    assert not {name: n for name, n in counts.items() if n > 40 and str(name) != "codec/lanes"}


# --- Python -----------------------------------------------------------------------------------

# A part of the package may import itself and the parts listed before it. "" is the package with its
# public names: later parts use the library as a user does.
PARTS = [
    "_lazy",
    "_process",
    "_c",
    "_cli",
    "transforms",
    "data.gpu",
    "data",
    "program",
    "child_python",
    "scratch_folder",
    "progress",
    "samples",
    "packing",
    "converting",
    "dropin",
    "report",
    "optim",
    "launch",
    "tuning",
    "diagnosis",
    "boosting",
    "",
    "demo",
]
PARTS += ["__main__"]

# The order within a part: a folder may import itself and the folders listed before it. Modules
# beside the folders are free to use them and to be used by them.
FOLDERS = {
    "data": ["gpu", "settings", "batch"],
    "dropin": ["changes", "datasets", "packs"],
    "optim": ["_binding", "_muon", "_flat"],
    "tuning": ["memory", "tricks", "numerics", "report", "trials", "search", "cli"],
    "diagnosis": [
        *("environment", "probe", "script", "layers", "memory", "timeline", "rules", "lint"),
        *("verdict", "process", "report", "cli"),
    ],
    "boosting": ["inject", "trials", "search", "patch", "report", "cli"],
}
# print(verdict) and verdict.save() import the report when they are called.
PRINTED_BY = ("tundish.diagnosis.verdict.verdict", "tundish.diagnosis.report")
PACKAGE = ROOT / "python" / "tundish"


def part_of(module: str) -> str:
    """Returns the part: tundish.data.gpu.choice -> data.gpu; tundish.Loader -> "", the package."""
    name = module.removeprefix("tundish").removeprefix(".")
    known = [part for part in PARTS if part and f"{name}.".startswith(f"{part}.")]
    return max(known, key=len, default="")


def imported(module: str, is_package: bool, text: str) -> list[str]:
    """Returns the tundish modules that a module imports, also in functions and for types only."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level + is_package or None]
                base = ".".join([*above, base] if base else above)
            found += [f"{base}.{one.name}" for one in node.names]
    return [name for name in found if name.split(".")[0] == "tundish"]


def upward(module: str, text: str, is_package: bool = False) -> list[str]:
    place = PARTS.index(part_of(module))
    names = imported(module, is_package, text)
    return [name for name in names if PARTS.index(part_of(name)) > place]


def modules() -> dict[str, Path]:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        words = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = file
    return found


def test_no_import_points_to_a_later_part():
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for module, file in modules().items()
        for name in upward(module, file.read_text(), file.name == "__init__.py")
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_of_a_later_part_would_be_found():
    assert upward("tundish.data.gpu.lag", "from ..loader import Loader") == [
        "tundish.data.loader.Loader"
    ]
    assert (
        upward("tundish.data.loader", "from .gpu import lag\nfrom .._c.errors import Error") == []
    )
    assert upward("tundish._c", "from . import library", is_package=True) == []
    assert upward("tundish._c.errors", "def f():\n    from .. import Loader") == ["tundish.Loader"]
    assert upward("tundish.demo.train", "import tundish\nfrom tundish import transforms") == []
    assert upward("tundish._cli.verb", "from ..tuning import cli") == ["tundish.tuning.cli"]
    assert upward("tundish.report.chart", "from ..demo import page") == ["tundish.demo.page"]
    assert upward("tundish.tuning.cli", "from ..report import page") == []
    assert upward("tundish.tuning.cli", "from .. import Loader") == ["tundish.Loader"]


def test_every_part_of_the_package_has_its_place_in_the_order():
    parts = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__"}
    parts |= {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert parts <= set(PARTS)


def folder_of(part: str, module: str) -> str:
    """Returns the folder of a part: tundish.tuning.trials.pool -> trials; "" for other modules."""
    name = module.removeprefix(f"tundish.{part}.")
    return next((one for one in FOLDERS[part] if f"{name}.".startswith(f"{one}.")), "")


def crossing(part: str, module: str, text: str, is_package: bool = False) -> list[str]:
    """Returns the imports of a module in a folder of the part that name a later folder."""
    folders, place = FOLDERS[part], folder_of(part, module)
    return [
        name
        for name in imported(module, is_package, text)
        if place and folder_of(part, name) in folders[folders.index(place) + 1 :]
        if not (module == PRINTED_BY[0] and name.startswith(f"{PRINTED_BY[1]}."))
    ]


def test_no_import_within_a_part_points_to_a_later_folder():
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for module, file in modules().items()
        for part in FOLDERS
        if module.startswith(f"tundish.{part}.")
        for name in crossing(part, module, file.read_text(), file.name == "__init__.py")
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_of_a_later_folder_would_be_found():
    later = "from ..search.rows import Row"
    assert crossing("tuning", "tundish.tuning.trials.pool", later) == [
        "tundish.tuning.search.rows.Row"
    ]
    assert crossing("tuning", "tundish.tuning.plan", "from .search.rows import Row") == []
    assert crossing("tuning", "tundish.tuning.search.rows", "from ..trials import pool") == []
    whole = "from . import pool\nfrom .. import search"
    assert crossing("tuning", "tundish.tuning.trials", whole, is_package=True) == [
        "tundish.tuning.search"
    ]


def test_every_folder_of_a_part_has_its_place_in_the_order():
    for part, folders in FOLDERS.items():
        packages = {file.parent.name for file in (PACKAGE / part).glob("*/__init__.py")}
        assert packages == set(folders), part
    divided = {file.parents[1].name for file in PACKAGE.glob("*/*/__init__.py")}
    assert divided == set(FOLDERS)
