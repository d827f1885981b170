"""Lists source files, and counts the lines of each function in them."""

import ast
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CPP = {".cpp", ".h", ".cu", ".cuh", ".c"}
OTHERS = {".py", ".sh", ".cmake"}
NAMES = {"CMakeLists.txt", "dev"}


class Function(NamedTuple):
    name: str
    line: int  # number of the first line of the signature
    lines: int  # number of lines, including the signature


def sources() -> list[Path]:
    """Returns the source files that git tracks or would track. Omits build folders and environments."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in names.split("\0") if name]
    kinds = CPP | OTHERS
    return [f for f in files if f.is_file() and (f.suffix in kinds or f.name in NAMES)]


def functions(path: Path) -> list[Function]:
    if path.suffix == ".py":
        return python_functions(path.read_text())
    return cpp_functions(path.read_text()) if path.suffix in CPP else []


def python_functions(text: str) -> list[Function]:
    """Returns all functions. The lines of a function include its nested functions."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return [Function(f.name, f.lineno, (f.end_lineno or 0) - f.lineno + 1) for f in found]


# --- C++ --------------------------------------------------------------------------------------

# Text whose braces do not count: strings, comments and preprocessor directives. Strings come first,
# because a string may contain "//", and a comment may contain a quote. A directive may continue after
# a backslash.
NOT_CODE = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'"
    r"|//[^\n]*|/\*.*?\*/"
    r"|^[ \t]*#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)
# Text that may stand between the parameters of a function and its body.
BODY_FOLLOWS = re.compile(
    r"(?:\)|\b(?:const|noexcept|override|final|mutable|try)|->\s*[\w:<>,*&\s]+)\s*$"
)
TYPE = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:struct|class|union|enum)\b[^()]*$", re.DOTALL)
MEMBERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")  # start of a constructor's initializers
ALIGNED = re.compile(r"\balignas\([^()]*\)|__attribute__\(\(.*?\)\)")


def without_text(code: str) -> str:
    """Removes comments, literals and directives from C++ code. Keeps line breaks."""
    return NOT_CODE.sub(lambda m: "_" + "\n" * m[0].count("\n"), code)


def kind_of(head: str) -> str:
    """Returns what a brace opens, by the text before it: a scope for functions, a function, or neither."""
    head = ALIGNED.sub("", head)
    if re.search(r"\bnamespace\b|^\s*extern\b", head) and "(" not in head:
        return "scope"
    if TYPE.match(head):
        return "scope"
    if BODY_FOLLOWS.search(head) and "(" in head:
        return "function"
    return "neither"


def name_of(head: str) -> str:
    """Returns the word before the first parenthesis, ignoring templates and attributes."""
    flat = re.sub(r"template\s*<[^{}]*?>\s*(?=\w)", "", ALIGNED.sub("", head))
    found = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", flat)
    return found[1] if found else flat.strip()[:40]


def cpp_functions(text: str) -> list[Function]:
    """Returns the functions in C++ code. A lambda is part of the function that contains it.

    Omits CUDA kernels, which must be one function to keep their values in registers.
    """
    code = without_text(text)
    found = []
    scopes: list[str] = []  # kinds of the braces that are open
    begin = 0  # start of the text before the next brace
    opened = 0  # start of the current function's head
    for match in re.finditer(r"[{};]", code):
        at, inside = match.start(), "function" in scopes
        if match[0] == "{":
            head = code[begin:at]
            # This is an initializer such as a_{1}, between a constructor's parameters and its body.
            member = MEMBERS.search(head) and re.search(r"[\w>]$", head)
            kind = "neither" if inside else "member" if member else kind_of(head)
            scopes.append(kind)
            if kind == "function":
                opened = begin
            if kind != "member":
                begin = at + 1
        elif match[0] == "}":
            if not scopes:
                raise ValueError(f"line {code.count(chr(10), 0, at) + 1}: a brace too many")
            kind = scopes.pop()
            if kind == "function":
                found.append(function_between(code, opened, at))
            if kind != "member":
                begin = at + 1
        elif not inside:
            begin = at + 1
    if scopes:
        raise ValueError("a brace is not closed")
    return [f for f in found if f.name]


def function_between(code: str, opened: int, end: int) -> Function:
    head = code[opened : code.index("{", opened)]
    head = re.sub(r"^\s*(?:(?:public|private|protected)\s*:|_\s)*\s*", "", head)
    first = opened + code[opened:].index(head[:1])
    line = code.count("\n", 0, first) + 1
    name = "" if "__global__" in head else name_of(head)
    return Function(name, line, code.count("\n", first, end) + 1)
