"""Creates mutants: small faults in C++ code, each with one operator or constant replaced."""

from __future__ import annotations

import random
import re
from dataclasses import asdict, dataclass
from pathlib import Path

OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "&": "|",
    "|": "&",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
    "+=": "-=",
    "-=": "+=",
    "|=": "&=",
    "&=": "|=",
}
WORDS = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
WORDS |= {"++": "--", "--": "++", "!": ""}

# clang-format puts spaces around binary operators, but not around such characters in types and
# templates.
BINARY = re.compile(r"(?<=\s)(?:" + "|".join(map(re.escape, OPERATORS)) + r")(?=\s)")
WORD = re.compile(r"\b(?:true|false)\b|std::m(?:in|ax)(?=[(<])|\+\+|--|!(?=[\w(])")
NUMBER = re.compile(r"(?<![\w.'])(?:0x[\da-fA-F']+|\d[\d']*)(?=[uUlL]{0,3}(?![\w.']))")
HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)*\''  # strings
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*"  # the preprocessor
    r"|\bstatic_assert\([^;]*;",  # static assertions, which the compiler checks
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Mutant:
    file: str  # path relative to the root
    line: int
    column: int  # line and column are counted from 1
    before: str
    after: str

    def apply(self, text: str) -> str:
        lines = text.split("\n")
        at, end = self.column - 1, self.column - 1 + len(self.before)
        line = lines[self.line - 1]
        if line[at:end] != self.before:
            raise ValueError(f"{self.file}:{self.line} holds no {self.before!r} any more")
        lines[self.line - 1] = line[:at] + self.after + line[end:]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str | int]:
        return asdict(self)


def only_code(text: str) -> str:
    """Replaces comments, strings, preprocessor lines and static assertions by spaces."""
    return HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def other_number(text: str, choose: random.Random) -> str:
    value = int(text.replace("'", ""), 0) if text.startswith("0x") else int(text.replace("'", ""))
    changed = value + 1 if value == 0 else value + choose.choice((-1, 1))
    return hex(changed) if text.startswith("0x") else str(changed)


def mutants_of(text: str, file: str, choose: random.Random) -> list[Mutant]:
    """Returns one mutant for each operator and each integer in the code of a source file."""
    found = []
    for number, line in enumerate(only_code(text).split("\n"), 1):
        for kind, after in (
            (BINARY, lambda t: OPERATORS[t]),
            (WORD, lambda t: WORDS[t]),
            (NUMBER, lambda t: other_number(t, choose)),
        ):
            for site in kind.finditer(line):
                found.append(Mutant(file, number, site.start() + 1, site[0], after(site[0])))
    return found


def chosen(root: Path, files: list[str], seed: int) -> list[Mutant]:
    """Returns all mutants of these files, shuffled by the seed."""
    choose = random.Random(seed)
    every = [
        mutant
        for file in sorted(files)
        for mutant in mutants_of((root / file).read_text(), file, choose)
    ]
    choose.shuffle(every)
    return every
