"""Makes a torchvision that was built for CUDA work with a torch that was built without CUDA.

pip offers only one build of each torchvision version. Its two libraries are linked to torch's CUDA
libraries, which a CPU build of torch lacks, so `import torchvision` fails. For tensors on the CPU, no
function in the CUDA libraries is ever called. This script writes empty replacements of these libraries
next to torchvision. All their functions return 0, which means that there is no device. The script adds
a line to torchvision's extension.py that loads the replacements first. JPEG decoding, transforms and
operations on the CPU remain torchvision's own code. Does nothing if torchvision already loads.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = "# written by tools/torchvision_on_cpu.py"
LOADS = "import torch, torchvision; torch.ops.torchvision.nms; torch.ops.image.decode_jpeg"
EMPTY = {  # library: symbols that torchvision imports from it
    "libc10_cuda.so": re.compile(r"(_ZNK?3c104cuda\w+)$"),
    "libtorch_cuda.so": re.compile(r"(_ZNK?2at4cuda\w+)$"),
    "libcudart.so.13": re.compile(r"(\w+)@libcudart\.so\.13$"),
}


def loads() -> bool:
    return subprocess.run([sys.executable, "-c", LOADS], capture_output=True).returncode == 0


def missing_symbols(folder: Path) -> list[str]:
    libraries = [folder / "_C.so", folder / "image.so"]
    line = ["nm", "-D", "--undefined-only", "--format=just-symbols", *libraries]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()


def compile_empty(target: Path, symbols: list[str], work: Path) -> None:
    code = []
    for number, name in enumerate(symbols):
        if name.endswith("9allocatorE"):  # a variable, not a function
            code.append(f'void* x{number} __asm__("{name}");')
        else:
            code.append(
                f'long x{number}(void) __asm__("{name}"); long x{number}(void) {{ return 0; }}'
            )
    (work / "empty.c").write_text("\n".join(code))
    line = ["gcc", "-shared", "-fPIC", work / "empty.c", "-o", target, f"-Wl,-soname,{target.name}"]
    if target.name.startswith("libcudart"):  # the symbols of this library have versions
        (work / "version").write_text(f"{target.name} {{ global: *; }};")
        line.append(f"-Wl,--version-script={work / 'version'}")
    subprocess.run(line, check=True)


def main() -> None:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        sys.exit("torchvision is not installed")
    if loads():
        return
    folder = Path(spec.origin).parent
    symbols = missing_symbols(folder)
    with tempfile.TemporaryDirectory() as work:
        for name, pattern in EMPTY.items():
            found = {match[1] for symbol in symbols if (match := pattern.match(symbol))}
            compile_empty(folder.parent / "torchvision.libs" / name, sorted(found), Path(work))
    extension = folder / "extension.py"
    text = extension.read_text()
    if MARK not in text:
        line = f"import ctypes, pathlib  {MARK}\n"
        for name in EMPTY:
            path = f"pathlib.Path(__file__).parents[1] / 'torchvision.libs' / '{name}'"
            line += f"ctypes.CDLL(str({path}), ctypes.RTLD_GLOBAL)\n"
        extension.write_text(line + text)
    if not loads():
        sys.exit("torchvision still does not load")


if __name__ == "__main__":
    main()
